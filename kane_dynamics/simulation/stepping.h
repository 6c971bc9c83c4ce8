/* One step of a method. */

/* Rates of the coordinates: speeds, and those of positions and quaternions. */
static void coordinate_rates(const Run *r, const double *q, const double *u, double *qdot)
{
    for (int64_t k = 0; k < r->n; k++)
        if (r->coordinate[k] >= 0)
            qdot[r->coordinate[k]] = u[k];
    for (int64_t k = 0; k < r->turning_count; k++) {
        const double *e = q + r->turning[2 * k], *w = u + r->turning[2 * k + 1];
        double *edot = qdot + r->turning[2 * k];
        edot[0] = 0.5 * (e[3] * w[0] + e[1] * w[2] - e[2] * w[1]);
        edot[1] = 0.5 * (e[3] * w[1] + e[2] * w[0] - e[0] * w[2]);
        edot[2] = 0.5 * (e[3] * w[2] + e[0] * w[1] - e[1] * w[0]);
        edot[3] = -0.5 * (e[0] * w[0] + e[1] * w[1] + e[2] * w[2]);
    }
    for (int64_t k = 0; k < r->moving_count; k++) {
        const double *e = q + r->moving[3 * k + 1], *v = u + r->moving[3 * k + 2];
        double *p = qdot + r->moving[3 * k];
        /* velocity in the world: v + 2 e × (e × v + e4 v) */
        double cx = e[1] * v[2] - e[2] * v[1] + e[3] * v[0];
        double cy = e[2] * v[0] - e[0] * v[2] + e[3] * v[1];
        double cz = e[0] * v[1] - e[1] * v[0] + e[3] * v[2];
        p[0] = v[0] + 2.0 * (e[1] * cz - e[2] * cy);
        p[1] = v[1] + 2.0 * (e[2] * cx - e[0] * cz);
        p[2] = v[2] + 2.0 * (e[0] * cy - e[1] * cx);
    }
}

static void normalize(const Run *r, double *q)
{
    for (int64_t k = 0; k < r->turning_count; k++) {
        double *e = q + r->turning[2 * k];
        double norm = sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2] + e[3] * e[3]);
        for (int i = 0; i < 4; i++)
            e[i] /= norm;
    }
}

/* y = x + h (qdot, udot, power); y may be x. */
static void move(const Run *r, const State *x, double h, const double *qdot, const Rates *k,
                 State *y)
{
    for (int64_t i = 0; i < r->nq; i++)
        y->q[i] = x->q[i] + h * qdot[i];
    for (int64_t i = 0; i < r->n; i++)
        y->u[i] = x->u[i] + h * k->udot[i];
    *y->work = *x->work + h * *k->power;
}

/* Speeds first, then coordinates with the new speeds. */
static int semi_implicit_euler(const Run *r, Arrays *a, double h, const State *x, const Rates *k1,
                               State *y)
{
    double power = 0.0;
    for (int64_t i = 0; i < r->n; i++) {
        y->u[i] = x->u[i] + h * k1->udot[i];
        power += 0.5 * (x->u[i] + y->u[i]) * (k1->force[i] - r->damping[i] * x->u[i]);
    }
    coordinate_rates(r, x->q, y->u, a->qdot);
    for (int64_t i = 0; i < r->nq; i++)
        y->q[i] = x->q[i] + h * a->qdot[i];
    *y->work = *x->work + h * power;
    normalize(r, y->q);
    return RUNNING;
}

/* y = x + h/6 (k1 + 2 k2 + 2 k3 + k4), y being another state than x. */
static int runge_kutta_4(const Run *r, Arrays *a, double t, double h, const State *x,
                         const Rates *k1, State *y)
{
    static const double nodes[] = {0.5, 0.5, 1.0}, weights[] = {2.0, 2.0, 1.0};
    const Rates *last = k1;
    double *qdot = a->qdot;
    coordinate_rates(r, x->q, x->u, qdot);
    memcpy(y->q, qdot, (size_t)r->nq * sizeof(double));
    memcpy(y->u, k1->udot, (size_t)r->n * sizeof(double));
    *y->work = *k1->power;
    for (int s = 0; s < 3; s++) {
        move(r, x, h * nodes[s], qdot, last, &a->stage);
        normalize(r, a->stage.q);
        int status = rates_at(r, a, t + h * nodes[s], &a->stage, &a->k);
        if (status != RUNNING)
            return status;
        coordinate_rates(r, a->stage.q, a->stage.u, qdot);
        move(r, y, weights[s], qdot, &a->k, y);
        last = &a->k;
    }
    for (int64_t i = 0; i < r->nq; i++)
        y->q[i] = x->q[i] + h / 6 * y->q[i];
    for (int64_t i = 0; i < r->n; i++)
        y->u[i] = x->u[i] + h / 6 * y->u[i];
    *y->work = *x->work + h / 6 * *y->work;
    normalize(r, y->q);
    return RUNNING;
}

/* The first speed, or else n + the first coordinate, that is not a number of reasonable size. */
static int64_t unreasonable(const Run *r, const State *x)
{
    for (int64_t i = 0; i < r->n; i++)
        if (!(fabs(x->u[i]) < LARGEST_SPEED))
            return i;
    for (int64_t i = 0; i < r->nq; i++)
        if (!(fabs(x->q[i]) < LARGEST_COORDINATE))
            return r->n + i;
    return -1;
}

/* Accelerations and forces of a state, if they are numbers. */
static int checked_rates_at(Run *r, const Arrays *a, double t, const State *x, Rates *k)
{
    int status = rates_at(r, a, t, x, k);
    for (int64_t i = 0; status == RUNNING && i < r->n; i++)
        if (!isfinite(k->udot[i]) || !isfinite(k->force[i])) {
            r->culprit = i;
            return DIVERGED;
        }
    return status;
}

/* From x at t to y at t + h, in the present modes. */
static int advance(Run *r, Arrays *a, double t, double h, const State *x, const Rates *k1, State *y)
{
    int status = r->method == EULER ? semi_implicit_euler(r, a, h, x, k1, y)
                                    : runge_kutta_4(r, a, t, h, x, k1, y);
    if (status != RUNNING)
        return status;
    int64_t culprit = unreasonable(r, y);
    if (culprit < 0)
        return RUNNING;
    r->culprit = culprit;
    return DIVERGED;
}

/* How far the step of Runge and Kutta that has just been computed is from the trapezoid rule. */
static double roughness(const Run *r, const Arrays *a, double h)
{
    double rough = 0.0;
    for (int64_t i = 0; i < r->n; i++) {
        double trapezoid = h / 2 * (a->k1.udot[i] + a->k.udot[i]);
        double off = fabs(a->next.u[i] - a->at.u[i] - trapezoid);
        if (off > rough)
            rough = off;
    }
    return rough;
}

/* Whether a step is to have its error estimated: one now and then, every one that is rougher than
 * all before; and all of Euler's, which have no stages to compare and cost one evaluation more. */
static int is_estimated(Run *r, double rough)
{
    if (rough > WORSE * r->roughest) {
        r->roughest = rough;
        return 1;
    }
    return r->method == EULER || r->steps_done % r->error_stride == 0;
}

/* Keeps the largest difference between the step to y and two steps of half the length. */
static int estimate_error(Run *r, Arrays *a, double h, const Rates *k1, const State *y)
{
    double factor = r->method == EULER ? 2.0 : 16.0 / 15.0, t = r->t + h / 2;
    State *x = &a->half;
    int status = advance(r, a, r->t, h / 2, &a->at, k1, x);
    if (status == RUNNING)
        status = rates_at(r, a, t, x, &a->trial);
    if (status == RUNNING)
        status = advance(r, a, t, h / 2, x, &a->trial, &a->side);
    if (status != RUNNING)
        return status;
    for (int64_t i = 0; i < r->nq; i++)
        r->local_error = fmax(r->local_error, factor * fabs(a->side.q[i] - y->q[i]));
    for (int64_t i = 0; i < r->n; i++)
        r->local_error = fmax(r->local_error, factor * fabs(a->side.u[i] - y->u[i]));
    return RUNNING;
}
