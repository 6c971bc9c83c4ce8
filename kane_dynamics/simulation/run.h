/* What a simulation is made of; integrator.py describes the same to Python. */
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef void state_function(const double *const *in, double *out);
typedef void *call_function(void *callable);
typedef void release_function(void *result);

enum { EULER, RK4 };
enum { NO_TORQUE, TORQUE_HISTORY, TORQUE_FUNCTION, PD_CONTROL, COMPUTED_TORQUE };
enum { IGNORE_LIMITS, STOP_AT_LIMITS, COMPLIANT_LIMITS };
enum { RUNNING, FINISHED, DIVERGED, SINGULAR, INPUT_FAULT, LIMIT_REACHED };
/* Modes of a joint with dry friction are the sign of its speed, or: */
enum { STUCK = 2 };

/* Values over time, constant or linear between two times. */
typedef struct {
    int64_t count, width;
    int64_t linear;
    int64_t early; /* whether the first value also holds before its time */
    const double *times, *values;
} History;

/* Polynomials of degree 5 in time for each joint, a set for each time span. */
typedef struct {
    int64_t count;
    const double *begins, *coefficients; /* (count), (count, n, 6) */
} Reference;

typedef struct {
    /* the robot: its equations know damping, but not dry friction */
    int64_t n, nq, turning_count, moving_count;
    const int64_t *coordinate;  /* of each speed; -1 if of a free or ball joint */
    const int64_t *turning;     /* where quaternions and their angular velocities begin */
    const int64_t *moving;      /* where positions, their quaternions and velocities begin */
    state_function *forward, *mass, *bias, *gravity, *inverse, *wrench;
    const double *damping, *friction;
    int64_t dry;
    /* limits of its joints */
    int64_t limits;
    const double *lower, *upper, *stiffness, *absorption;
    /* what drives it */
    int64_t input;
    History torque;
    call_function *call; /* of Python, as is the next */
    release_function *release;
    void *callable;
    double *asked; /* t, q, u, and the torque that `callable` puts there */
    const double *kp, *kd;
    Reference reference;
    int64_t wrench_count;
    const History *wrenches;
    /* when: steps end at each of the breaks, the first of which is the start and the last the end */
    int64_t method, break_count, row_count, error_stride;
    double step, same_time; /* within the second, times of rows are the same */
    const double *breaks, *row_times;
    /* what came out: rows of t, q, u, udot, tau, force, work */
    double *rows;
    int64_t rows_done, row_waiting;
    double local_error, roughest; /* the largest so far */
    /* where it is */
    int64_t status, culprit, span, step_in_span, steps_done;
    double t, middle;
    int64_t *modes, *stops, *pinned;
    double *workspace;
} Run;

/* A state: coordinates, speeds, and the work done so far by forces that have no potential. */
typedef struct {
    double *q, *u, *work;
} State;

/* What follows from a state. */
typedef struct {
    double *tau;   /* torques of the input */
    double *force; /* generalized forces: tau, wrenches, stops and dry friction */
    double *hold;  /* what pushes a stuck joint */
    double *udot;
    double *power; /* of the forces, less what damping takes */
} Rates;

/* The arrays of a run, in its workspace. */
typedef struct {
    State at, next, stage, half, side;
    Rates k1, k, trial;
    double *qdot, *scratch, *mass, *factor, *values;
} Arrays;

static double *take(double **place, int64_t count)
{
    double *taken = *place;
    *place += count;
    return taken;
}

static State take_state(const Run *r, double **place)
{
    State x = {take(place, r->nq), take(place, r->n), take(place, 1)};
    return x;
}

static Rates take_rates(const Run *r, double **place)
{
    Rates k = {take(place, r->n), take(place, r->n), take(place, r->n), take(place, r->n),
               take(place, 1)};
    return k;
}

/* Lays the arrays into the workspace; the initial state is the first of them. */
static Arrays arrays_of(const Run *r, double **place)
{
    Arrays a;
    a.at = take_state(r, place);
    a.next = take_state(r, place);
    a.stage = take_state(r, place);
    a.half = take_state(r, place);
    a.side = take_state(r, place);
    a.k1 = take_rates(r, place);
    a.k = take_rates(r, place);
    a.trial = take_rates(r, place);
    a.qdot = take(place, r->nq);
    a.scratch = take(place, r->n);
    a.mass = take(place, r->n * r->n);
    a.factor = take(place, r->n * r->n);
    a.values = take(place, 6 * r->wrench_count);
    return a;
}

static void copy_state(const Run *r, State *to, const State *from)
{
    memcpy(to->q, from->q, (size_t)r->nq * sizeof(double));
    memcpy(to->u, from->u, (size_t)r->n * sizeof(double));
    *to->work = *from->work;
}
