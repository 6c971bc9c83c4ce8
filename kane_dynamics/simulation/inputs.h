/* Torques of the input, and wrenches, at a time and state. */

/* The last of ascending times that is not after t; -1 before the first. */
static int64_t index_at(const double *times, int64_t count, double t)
{
    int64_t low = -1, high = count;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (times[middle] <= t)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The value at t, in the time span in which `middle` lies: steps do not cross its ends. */
static void value_at(const History *h, double t, double middle, double *value)
{
    int64_t i = index_at(h->times, h->count, middle);
    size_t size = (size_t)h->width * sizeof(double);
    if (i < 0 && !h->early) {
        memset(value, 0, size);
        return;
    }
    const double *from = h->values + (i < 0 ? 0 : i) * h->width;
    memcpy(value, from, size);
    if (i < 0 || !h->linear || i + 1 == h->count)
        return;
    double share = (t - h->times[i]) / (h->times[i + 1] - h->times[i]);
    for (int64_t k = 0; k < h->width; k++)
        value[k] += share * (from[h->width + k] - from[k]);
}

/* The time span of the reference in which the present step lies; the first also holds before it. */
static int64_t reference_span(const Run *r)
{
    int64_t i = index_at(r->reference.begins, r->reference.count, r->middle);
    return i < 0 ? 0 : i;
}

/* Position, speed and acceleration of joint k in the reference. */
static void reference_at(const Run *r, int64_t i, int64_t k, double t, double x[3])
{
    const double *c = r->reference.coefficients + (i * r->n + k) * 6;
    double s = t - r->reference.begins[i];
    x[0] = c[0] + s * (c[1] + s * (c[2] + s * (c[3] + s * (c[4] + s * c[5]))));
    x[1] = c[1] + s * (2 * c[2] + s * (3 * c[3] + s * (4 * c[4] + s * 5 * c[5])));
    x[2] = 2 * c[2] + s * (6 * c[3] + s * (12 * c[4] + s * 20 * c[5]));
}

/* kp (q_ref - q) + kd (u_ref - u) + gravity(q); nothing drives a free joint. */
static void pd_control(const Run *r, double t, const double *q, const double *u, double *tau)
{
    const double *in[] = {q};
    int64_t i = reference_span(r);
    r->gravity(in, tau);
    for (int64_t k = 0; k < r->n; k++) {
        double x[3];
        if (r->coordinate[k] < 0) {
            tau[k] = 0.0;
            continue;
        }
        reference_at(r, i, k, t, x);
        tau[k] += r->kp[k] * (x[0] - q[r->coordinate[k]]) + r->kd[k] * (x[1] - u[k]);
    }
}

/* Inverse dynamics of udot_ref + kp (q_ref - q) + kd (u_ref - u), dry friction included. */
static void computed_torque(const Run *r, const Arrays *a, double t, const double *q,
                            const double *u, double *tau)
{
    double *udot = a->scratch;
    const double *in[] = {q, u, udot};
    int64_t i = reference_span(r);
    for (int64_t k = 0; k < r->n; k++) {
        double x[3];
        reference_at(r, i, k, t, x);
        udot[k] = x[2] + r->kp[k] * (x[0] - q[r->coordinate[k]]) + r->kd[k] * (x[1] - u[k]);
    }
    r->inverse(in, tau);
    for (int64_t k = 0; r->dry && k < r->n; k++) {
        int64_t slip = r->modes[k] == STUCK ? (udot[k] > 0.0) - (udot[k] < 0.0) : r->modes[k];
        tau[k] += r->friction[k] * (double)slip;
    }
}

/* What a function of the user says; without a result, Python knows what is wrong. */
static int asked_torque(const Run *r, double t, const double *q, const double *u, double *tau)
{
    size_t n = (size_t)r->n, nq = (size_t)r->nq;
    r->asked[0] = t;
    memcpy(r->asked + 1, q, nq * sizeof(double));
    memcpy(r->asked + 1 + nq, u, n * sizeof(double));
    void *result = r->call(r->callable);
    if (result == NULL)
        return INPUT_FAULT;
    r->release(result);
    memcpy(tau, r->asked + 1 + nq + n, n * sizeof(double));
    return RUNNING;
}

static int input_torque(const Run *r, const Arrays *a, double t, const double *q, const double *u,
                        double *tau)
{
    switch (r->input) {
    case TORQUE_HISTORY:
        value_at(&r->torque, t, r->middle, tau);
        return RUNNING;
    case TORQUE_FUNCTION:
        return asked_torque(r, t, q, u, tau);
    case PD_CONTROL:
        pd_control(r, t, q, u, tau);
        return RUNNING;
    case COMPUTED_TORQUE:
        computed_torque(r, a, t, q, u, tau);
        return RUNNING;
    default:
        memset(tau, 0, (size_t)r->n * sizeof(double));
        return RUNNING;
    }
}

/* Adds the generalized forces of the wrenches. */
static void add_wrenches(const Run *r, const Arrays *a, double t, const double *q, double *force)
{
    const double *in[] = {q, a->values};
    for (int64_t k = 0; k < r->wrench_count; k++)
        value_at(r->wrenches + k, t, r->middle, a->values + 6 * k);
    r->wrench(in, a->scratch);
    for (int64_t k = 0; k < r->n; k++)
        force[k] += a->scratch[k];
}
