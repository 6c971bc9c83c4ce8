/* Joints that stick, slide, and meet their stops: when a mode ends, and what follows it. */

/* Whether a state was reached in modes that no longer hold there. */
static int outlived(const Run *r, const Arrays *a, double t, const State *x, Rates *k, int *status)
{
    int64_t stuck = 0;
    for (int64_t i = 0; r->limits && i < r->n; i++) {
        double q = r->coordinate[i] < 0 ? 0.0 : x->q[r->coordinate[i]];
        if (r->stops[i] >= 0 && (r->stops[i] ? q < r->upper[i] : q > r->upper[i]))
            return 1;
        if (r->stops[i] <= 0 && (r->stops[i] ? q > r->lower[i] : q < r->lower[i]))
            return 1;
    }
    for (int64_t i = 0; r->dry && i < r->n; i++) {
        if (r->modes[i] == STUCK)
            stuck += !r->pinned[i];
        else if ((double)r->modes[i] * x->u[i] < 0.0)
            return 1;
    }
    if (!stuck)
        return 0;
    *status = rates_at(r, a, t, x, k);
    for (int64_t i = 0; *status == RUNNING && i < r->n; i++)
        if (r->modes[i] == STUCK && !r->pinned[i] && fabs(k->hold[i]) > RELEASE * r->friction[i])
            return 1;
    return 0;
}

/* The joint that lies beyond a limit, -1 if none does. */
static int64_t joint_beyond(const Run *r, const State *x)
{
    for (int64_t i = 0; i < r->n; i++) {
        double q = r->coordinate[i] < 0 ? 0.0 : x->q[r->coordinate[i]];
        if (q < r->lower[i] || q > r->upper[i])
            return i;
    }
    return -1;
}

/* Whether a joint was beyond a limit within the step to a->next and has come back: the step is then
 * shortened to where it turned. */
static int find_excursion(Run *r, Arrays *a, double *h, const Rates *k1, int *status)
{
    for (int64_t i = 0; i < r->n && *status == RUNNING; i++) {
        double before = a->at.u[i], after = a->next.u[i], turn = *h * before / (before - after);
        if (r->coordinate[i] < 0 || !(before * after < 0.0))
            continue;
        double furthest = a->at.q[r->coordinate[i]] + turn * before; /* twice as far, to be sure */
        if (furthest >= r->lower[i] && furthest <= r->upper[i])
            continue;
        *status = advance(r, a, r->t, turn, &a->at, k1, &a->side);
        if (*status == RUNNING && outlived(r, a, r->t + turn, &a->side, &a->trial, status)) {
            *h = turn;
            return 1;
        }
    }
    return 0;
}

/* Finds the end of a mode within a step by bisection: shortens h, and makes y the state there.
 * That is the first state in which the mode no longer holds; if that one is forbidden, because a
 * joint lies beyond a limit, it is the last before. */
static int find_end(Run *r, Arrays *a, double *h, const Rates *k1, State *y, int64_t *forbidden)
{
    double low = 0.0, high = *h;
    int status = RUNNING;
    for (int i = 0; i < HALVINGS && status == RUNNING; i++) {
        double middle = low + (high - low) / 2;
        status = advance(r, a, r->t, middle, &a->at, k1, y);
        if (status == RUNNING && outlived(r, a, r->t + middle, y, &a->trial, &status))
            high = middle;
        else
            low = middle;
    }
    if (status == RUNNING)
        status = advance(r, a, r->t, *h = high, &a->at, k1, y);
    if (status != RUNNING || r->limits != STOP_AT_LIMITS)
        return status;
    *forbidden = joint_beyond(r, y);
    return *forbidden < 0 ? RUNNING : advance(r, a, r->t, *h = low, &a->at, k1, y);
}

/* The modes after a state where some have ended; a joint that has come to rest sticks at first. */
static void change_modes(Run *r, State *x, int pin)
{
    for (int64_t i = 0; r->limits && i < r->n; i++) {
        double q = r->coordinate[i] < 0 ? 0.0 : x->q[r->coordinate[i]];
        r->stops[i] = (q > r->upper[i]) - (q < r->lower[i]);
    }
    for (int64_t i = 0; r->dry && i < r->n; i++) {
        if (r->modes[i] == STUCK || (double)r->modes[i] * x->u[i] >= 0.0)
            continue;
        x->u[i] = 0.0;
        r->modes[i] = STUCK;
        r->pinned[i] = pin;
    }
}

/* The stuck joint that is pushed hardest beyond its friction, -1 if none is. */
static int64_t to_release(const Run *r, const Rates *k)
{
    int64_t hardest = -1;
    double most = RELEASE;
    for (int64_t i = 0; i < r->n; i++) {
        if (r->modes[i] != STUCK || r->pinned[i] || !(fabs(k->hold[i]) > most * r->friction[i]))
            continue;
        hardest = i;
        most = fabs(k->hold[i]) / r->friction[i];
    }
    return hardest;
}

/* Rates of a state, once its modes agree with them. */
static int settle(Run *r, Arrays *a, double t, const State *x, Rates *k)
{
    int status = checked_rates_at(r, a, t, x, k);
    for (int64_t turn = 0; r->dry && status == RUNNING && turn < 8 * r->n; turn++) {
        int64_t i = to_release(r, k);
        if (i >= 0) {
            r->modes[i] = k->hold[i] > 0.0 ? 1 : -1;
        } else {
            for (i = 0; i < r->n; i++)
                if (r->friction[i] > 0.0 && r->modes[i] != STUCK && x->u[i] == 0.0 &&
                    (double)r->modes[i] * k->udot[i] < 0.0)
                    break;
            if (i == r->n)
                break;
            r->modes[i] = STUCK;
        }
        status = checked_rates_at(r, a, t, x, k);
    }
    return status;
}
