/* Accelerations of a state, with joints that stick and joints at their stops. */

/* Adds what pushes joints back that are beyond a limit: a spring and a damper that never pull. */
static void add_stops(const Run *r, const double *q, const double *u, double *force)
{
    for (int64_t k = 0; k < r->n; k++) {
        double side = (double)r->stops[k];
        if (side == 0.0)
            continue;
        double limit = side > 0.0 ? r->upper[k] : r->lower[k];
        double depth = side * (q[r->coordinate[k]] - limit);
        double push = r->stiffness[k] * depth + r->absorption[k] * side * u[k];
        if (push > 0.0)
            force[k] -= side * push;
    }
}

/* Solves a x = b in place of b; a is symmetric and positive definite, its lower half is lost. */
static int solve(double *a, double *b, int64_t size)
{
    for (int64_t j = 0; j < size; j++) {
        double pivot = a[j * size + j];
        for (int64_t k = 0; k < j; k++)
            pivot -= a[j * size + k] * a[j * size + k];
        if (!(pivot > 0.0))
            return SINGULAR;
        pivot = sqrt(pivot);
        a[j * size + j] = pivot;
        for (int64_t i = j + 1; i < size; i++) {
            double sum = a[i * size + j];
            for (int64_t k = 0; k < j; k++)
                sum -= a[i * size + k] * a[j * size + k];
            a[i * size + j] = sum / pivot;
        }
    }
    for (int64_t i = 0; i < size; i++) {
        for (int64_t k = 0; k < i; k++)
            b[i] -= a[i * size + k] * b[k];
        b[i] /= a[i * size + i];
    }
    for (int64_t i = size - 1; i >= 0; i--) {
        for (int64_t k = i + 1; k < size; k++)
            b[i] -= a[k * size + i] * b[k];
        b[i] /= a[i * size + i];
    }
    return RUNNING;
}

/* Accelerations when some joints stick, and the force of friction that holds those. */
static int held(const Run *r, const Arrays *a, const double *q, const double *u, Rates *k)
{
    const double *in[] = {q, u};
    int64_t n = r->n;
    double *bias = a->scratch;
    r->mass(in, a->mass);
    r->bias(in, bias);
    memcpy(a->factor, a->mass, (size_t)(n * n) * sizeof(double));
    for (int64_t i = 0; i < n; i++) {
        int stuck = r->modes[i] == STUCK;
        k->udot[i] = stuck ? 0.0 : k->force[i] - bias[i];
        for (int64_t j = 0; j < n; j++)
            if (stuck || r->modes[j] == STUCK)
                a->factor[i * n + j] = i == j;
    }
    if (solve(a->factor, k->udot, n) != RUNNING)
        return SINGULAR;
    for (int64_t i = 0; i < n; i++) {
        if (r->modes[i] != STUCK)
            continue;
        k->udot[i] = 0.0;
        k->hold[i] = k->force[i] - bias[i];
        for (int64_t j = 0; j < n; j++)
            k->hold[i] -= a->mass[i * n + j] * k->udot[j];
        k->force[i] -= k->hold[i];
    }
    return RUNNING;
}

/* Everything that follows from a state in the present modes. */
static int rates_at(const Run *r, const Arrays *a, double t, const State *x, Rates *k)
{
    const double *q = x->q, *u = x->u, *in[] = {q, u, k->force};
    int64_t n = r->n, stuck = 0;
    int status = input_torque(r, a, t, q, u, k->tau);
    if (status != RUNNING)
        return status;
    memcpy(k->force, k->tau, (size_t)n * sizeof(double));
    if (r->wrench_count)
        add_wrenches(r, a, t, q, k->force);
    if (r->limits == COMPLIANT_LIMITS)
        add_stops(r, q, u, k->force);
    for (int64_t i = 0; r->dry && i < n; i++) {
        if (r->modes[i] == STUCK)
            stuck++;
        else
            k->force[i] -= (double)r->modes[i] * r->friction[i];
    }
    if (!stuck)
        r->forward(in, k->udot);
    else if (held(r, a, q, u, k) != RUNNING)
        return SINGULAR;
    *k->power = 0.0;
    for (int64_t i = 0; i < n; i++)
        *k->power += u[i] * (k->force[i] - r->damping[i] * u[i]);
    return RUNNING;
}
