/* The whole loop of a simulation with fixed step; calls the compiled equations of the robot. */
#include "run.h"
#include "inputs.h"
#include "rates.h"
#include "stepping.h"
#include "modes.h"

/* Writes a row; it counts when its time has come, else it waits for what may go wrong. */
static void write_row(Run *r, double t, const State *x, const Rates *k, int counts)
{
    int64_t n = r->n, nq = r->nq;
    double *row = r->rows + r->rows_done * (2 + nq + 4 * n);
    *row++ = t;
    memcpy(row, x->q, (size_t)nq * sizeof(double));
    memcpy(row + nq, x->u, (size_t)n * sizeof(double));
    memcpy(row + nq + n, k->udot, (size_t)n * sizeof(double));
    memcpy(row + nq + 2 * n, k->tau, (size_t)n * sizeof(double));
    memcpy(row + nq + 3 * n, k->force, (size_t)n * sizeof(double));
    row[nq + 4 * n] = *x->work;
    r->rows_done += counts;
    r->row_waiting = !counts;
}

static int due(const Run *r, double t)
{
    return r->rows_done < r->row_count && r->row_times[r->rows_done] <= t + r->same_time;
}

/* Rows between the steps: a shorter step to each, which leads nowhere else. */
static int write_rows_before(Run *r, Arrays *a, double end, const Rates *k1)
{
    int status = RUNNING;
    while (status == RUNNING && due(r, end - 2 * r->same_time)) {
        double t = r->row_times[r->rows_done];
        status = advance(r, a, r->t, t - r->t, &a->at, k1, &a->side);
        if (status == RUNNING)
            status = checked_rates_at(r, a, t, &a->side, &a->trial);
        if (status == RUNNING)
            write_row(r, t, &a->side, &a->trial, 1);
    }
    return status;
}

/* Ends at a limit. */
static int stop_at_limit(Run *r, Arrays *a, int64_t joint)
{
    const double *last = r->rows + (r->rows_done - 1) * (2 + r->nq + 4 * r->n);
    int status = checked_rates_at(r, a, r->t, &a->at, &a->k1);
    if (status != RUNNING)
        return status;
    r->culprit = joint;
    if (r->rows_done == 0 || *last < r->t)
        write_row(r, r->t, &a->at, &a->k1, 1);
    return LIMIT_REACHED;
}

/* Takes the state that was reached for the present one. */
static void accept(Run *r, Arrays *a, double t)
{
    State reached = a->next;
    a->next = a->at;
    a->at = reached;
    r->t = t;
}

/* How far to go at once: stops are too stiff for a whole step. */
static double part_end(const Run *r, double target)
{
    double end = r->t + r->step / PARTS_AT_STOPS;
    for (int64_t i = 0; i < r->n && r->limits == COMPLIANT_LIMITS; i++)
        if (r->stops[i] && end < target - SAME_TIME * r->step)
            return end;
    return target;
}

/* From r->t to the end of a step, in several parts if modes change on the way. */
static int reach(Run *r, Arrays *a, double target)
{
    int64_t most_changes = r->dry || r->limits ? 4 * r->n + 8 : 0;
    memset(r->pinned, 0, (size_t)r->n * sizeof(int64_t));
    for (int64_t changes = 0; r->t < target;) {
        double part = part_end(r, target), whole = part - r->t, h = whole;
        int64_t forbidden = -1;
        r->middle = r->t + h / 2;
        int status = settle(r, a, r->t, &a->at, &a->k1);
        if (status != RUNNING)
            return status;
        write_row(r, r->t, &a->at, &a->k1, due(r, r->t));
        status = advance(r, a, r->t, h, &a->at, &a->k1, &a->next);
        double rough = status == RUNNING && r->method == RK4 ? roughness(r, a, h) : 0.0;
        int ends = status == RUNNING && most_changes &&
                   outlived(r, a, part, &a->next, &a->trial, &status);
        if (status == RUNNING && !ends && r->limits && changes < most_changes) {
            ends = find_excursion(r, a, &h, &a->k1, &status);
            if (ends)
                whole = h, part = r->t + h;
        }
        if (ends && changes < most_changes)
            status = find_end(r, a, &h, &a->k1, &a->next, &forbidden);
        else if (ends && r->limits == STOP_AT_LIMITS)
            forbidden = joint_beyond(r, &a->next);
        else if (status == RUNNING && is_estimated(r, rough))
            status = estimate_error(r, a, h, &a->k1, &a->next);
        double end = h < whole ? r->t + h : part;
        if (status == RUNNING)
            status = write_rows_before(r, a, end, &a->k1);
        if (status != RUNNING)
            return status;
        accept(r, a, end);
        if (forbidden >= 0)
            return stop_at_limit(r, a, forbidden);
        changes += ends;
        if (ends)
            change_modes(r, &a->at, h < AT_ONCE * whole);
    }
    return RUNNING;
}

/* The end of the present step. */
static double step_end(const Run *r)
{
    double begin = r->breaks[r->span], end = r->breaks[r->span + 1];
    double next = begin + (double)(r->step_in_span + 1) * r->step;
    return next < end - SAME_TIME * r->step ? next : end;
}

static int finish(Run *r, Arrays *a)
{
    r->middle = r->t;
    int status = settle(r, a, r->t, &a->at, &a->k1);
    if (status == RUNNING && r->rows_done < r->row_count)
        write_row(r, r->t, &a->at, &a->k1, 1);
    return status == RUNNING ? FINISHED : status;
}

/* Does at most so many steps and returns the status; the size of a run if there is none.
 * What a run that fails has last found good becomes its last row. */
__attribute__((visibility("default"))) int64_t kane_integrate(Run *r, int64_t steps)
{
    if (r == NULL)
        return (int64_t)sizeof(Run);
    double *place = r->workspace;
    Arrays a = arrays_of(r, &place);
    State first = a.at;
    for (; steps > 0 && r->status == RUNNING; steps--) {
        double target = step_end(r);
        r->status = reach(r, &a, target);
        r->steps_done++;
        r->step_in_span++;
        if (r->status == RUNNING && target == r->breaks[r->span + 1]) {
            r->step_in_span = 0;
            if (++r->span + 1 == r->break_count)
                r->status = finish(r, &a);
        }
    }
    if (r->status > FINISHED && r->row_waiting)
        r->rows_done++, r->row_waiting = 0;
    if (a.at.q != first.q)
        copy_state(r, &first, &a.at);
    return r->status;
}
