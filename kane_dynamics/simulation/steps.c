/* A simulation with fixed step: tables over time, everything that follows from a state, and steps from
 * one to the next. run.py and loop.py are the same in Python, and say more; what follows from a state,
 * which is q, u and the work done, stands where rates.py says. Constraints by name come from
 * constraints.c, which stands before this text. */

enum { LIMITED, ONE_SIDED, FINAL };
enum { ONE_MORE_LOOK = 0, GO_BACK = -1, TRY = -2, TAKE = -3, CORRECT = -4, IMPOSE = -5 }; /* not steps */

typedef struct {
    int64_t count, width, terms, span;
    const double *begins, *coefficients; /* (count), (count, width, terms) */
    double *values;
} Table;

/* compiled.py describes the same to Python. */
typedef struct {
    /* the mechanism: kernels, what they are given with q in place `state`, and its constraints */
    int64_t n, nq, m, state, quaternion_count, table_count;
    kernel *rates, *held, *coordinate_rates;
    const double **in, **short_in; /* the second one for coordinate rates */
    const int64_t *quaternions, *kinds, *rows;
    const double *limits;
    double *modes;
    int64_t *at_once, *is_held, *free;
    Named *named; /* constraints by name, if there are any */
    kernel *embedded; /* with those embedded that hold at first, if there is one for them */
    const int64_t *embedded_rows; /* which rows these are */
    Table *tables;
    /* a function of the user: how Python calls it and drops its result; t, q, u that it is given */
    void *(*call)(void *), (*release)(void *), *callable;
    double *asked;
    /* when: steps end at each of the breaks, from the start to the end */
    int64_t euler, break_count, row_count, error_stride;
    double step, same_time;
    const double *breaks, *row_times;
    /* what came out: columns of t, q, u, udot, tau, other forces, work */
    double *t_column, *q_column, *u_column, *udot_column, *tau_column, *other_column, *work_column;
    double *force_column;
    int8_t *mark_column;
    const int8_t *marks; /* how constraints by name stand, as it is recorded */
    int64_t rows_done;
    double local_error, roughest;
    /* whether they are now; and how many steps go by before a state is seen to satisfy constraints */
    int64_t embeds, patience, unseen, sees, corrected;
    double growth, least_growth; /* of the elimination: now, and when a state was last looked at */
    /* where it is: x at t, and k that follows from x, if that is known; else y and ky at last_t */
    int64_t status, culprit, span, step_in_span, steps_done, stuck, acts, known, changes, estimates;
    double t, last_t, now, middle, until;
    double *x, *k, *y, *ky, *stage, *half, *finer, *k2, *k3, *k4, *trial, *factor, *right;
} Run;

static double *events(const Run *r, const double *k) { return (double *)k + r->nq + 4 * r->n + 1; }
static double *mass_of(const Run *r, const double *k) { return events(r, k) + 2 * r->m; }
static double *pushes(const Run *r, const double *k) { return mass_of(r, k) + r->n * r->n; }
/* Of constraints by name: event functions, their rates, forces of rows. */
static double *named_events(const Run *r, const double *k) { return pushes(r, k) + r->m; }
static int64_t named_count(const Run *r) { return r->named->count + r->named->limit_count; }
static double *named_forces(const Run *r, const double *k)
{
    return named_events(r, k) + 2 * named_count(r);
}
static int is_stuck(const Run *r, int64_t c) { return r->kinds[c] == LIMITED && r->modes[c] == 0.0; }

/* ----------------------------------------------------------------- what follows from a state */
static void fill(const Table *table, double t)
{
    const double *c = table->coefficients + table->span * table->width * table->terms;
    double s = t - table->begins[table->span];
    for (int64_t i = 0; i < table->width; i++, c += table->terms) {
        table->values[i] = c[table->terms - 1];
        for (int64_t j = table->terms - 2; j >= 0; j--)
            table->values[i] = c[j] + s * table->values[i];
    }
}

/* Goes to the spans in which the present step lies; whether they are others. */
static int enter_spans(Run *r)
{
    int others = 0;
    for (Table *each = r->tables; each < r->tables + r->table_count; each++) {
        int64_t span = each->span < 0 ? 0 : each->span;
        while (span + 1 < each->count && each->begins[span + 1] <= r->middle)
            span++;
        if (span == each->span)
            continue;
        each->span = span;
        fill(each, r->t);
        others = 1;
    }
    return others;
}

/* What a function of the user says; without a result, Python knows what is wrong. */
static int ask(Run *r, double t, const double *x)
{
    r->asked[0] = t;
    memcpy(r->asked + 1, x, (size_t)(r->nq + r->n) * sizeof(double));
    void *result = r->call(r->callable);
    if (result == NULL)
        return INPUT_FAULT;
    r->release(result);
    return RUNNING;
}

/* Solves a x = b in place of b; of a, symmetric and positive definite, the lower half is lost. */
static int solve(double *a, double *b, int64_t size)
{
    for (int64_t j = 0; j < size; j++) {
        for (int64_t i = j; i < size; i++) {
            double sum = a[i * size + j];
            for (int64_t k = 0; k < j; k++)
                sum -= a[i * size + k] * a[j * size + k];
            if (i == j && !(sum > 0.0))
                return SINGULAR;
            a[i * size + j] = i == j ? sqrt(sum) : sum / a[j * size + j];
        }
        for (int64_t k = 0; k < j; k++)
            b[j] -= a[j * size + k] * b[k];
        b[j] /= a[j * size + j];
    }
    for (int64_t i = size - 1; i >= 0; i--) {
        for (int64_t k = i + 1; k < size; k++)
            b[i] -= a[k * size + i] * b[k];
        b[i] /= a[i * size + i];
    }
    return RUNNING;
}

/* Kane's equations recombined for the independent speeds: accelerations while others are held, the
 * forces that hold those, and what pushes against them. For unit rows that is a selection. */
static int recombine(Run *r, double *k)
{
    int64_t n = r->n, p = 0;
    double *M = mass_of(r, k), *udot = k + r->nq, *other = udot + 2 * n + 1;
    for (int64_t i = 0; i < n; i++)
        if (!r->is_held[i])
            r->free[p++] = i;
    for (int64_t i = 0; i < p; i++) {
        r->right[i] = udot[r->free[i]];
        for (int64_t j = 0; j <= i; j++)
            r->factor[i * p + j] = M[r->free[i] * n + r->free[j]];
    }
    int status = solve(r->factor, r->right, p);
    for (int64_t c = 0; c < r->m; c++) {
        int64_t i = r->rows[c];
        if (!is_stuck(r, c))
            continue;
        double push = udot[i];
        for (int64_t j = 0; j < p; j++)
            push -= M[i * n + r->free[j]] * r->right[j];
        pushes(r, k)[c] = push;
        other[i] -= push;
        events(r, k)[c] = r->limits[c] - fabs(push);
    }
    memset(udot, 0, (size_t)n * sizeof(double));
    for (int64_t i = 0; i < p; i++)
        udot[r->free[i]] = r->right[i];
    return status;
}

static void say_rows(Run *r, const double *x)
{
    r->named->in[r->named->state] = x;
    r->named->in[r->named->state + 1] = x + r->nq;
    r->named->rows(r->named->in, r->named->said);
    r->named->said_of = NULL;
}

/* What constraints by name make of a state, and speeds that are held besides; of a state within a
 * step nobody asks for forces and events. */
static int follow_named(Run *r, const double *x, double *k)
{
    Named *c = r->named;
    int within = c->within = x == r->stage;
    double *udot = k + r->nq, *other = udot + 2 * r->n + 1, *force = named_forces(r, k);
    double *g = named_events(r, k);
    const double *u = x + r->nq;
    int status = RUNNING;
    if (c->said_of != x || c->said_at != r->now)
        say_rows(r, x);
    aim(c, u);
    if (r->acts) { /* what slides takes energy */
        double *power = udot + r->n, before = dot(u, other, r->n);
        status = constrain(c, mass_of(r, k), r->is_held, udot, other, c->push, force, !within);
        *power += dot(u, other, r->n) - before;
    } else if (!within)
        memset(force, 0, (size_t)c->count * sizeof(double));
    if (within)
        return status;
    for (int64_t i = 0; i < r->m; i++)
        if (is_stuck(r, i)) {
            pushes(r, k)[i] = c->push[r->rows[i]];
            events(r, k)[i] = r->limits[i] - fabs(c->push[r->rows[i]]);
        }
    watch(c, u, udot, force, g, g + named_count(r));
    return status;
}

/* What follows from a state by the equations in which constraints are embedded; whether it is good.
 * Forces of constraints, also those on generalized speeds, are left out: `tell` adds them. */
static int embed(Run *r, const double *x, double *k)
{
    const double *udot = k + r->nq;
    double sum = 0.0, *g = named_events(r, k);
    r->embedded(r->in, k);
    for (int64_t i = 0; i < r->n; i++)
        sum += udot[i];
    r->growth = isfinite(sum) ? *mass_of(r, k) : INFINITY;
    if (!(r->growth <= 1.0))
        return 0;
    for (int64_t e = 0; e < named_count(r) && x != r->stage; e++)
        g[e] = INFINITY, g[named_count(r) + e] = 0.0;
    return 1;
}

/* Everything that follows from a state in the present modes. */
static int evaluate(Run *r, double t, const double *x, double *k)
{
    r->now = t;
    r->in[r->state] = x;
    r->in[r->state + 1] = x + r->nq;
    for (int64_t i = 0; i < r->table_count; i++)
        if (r->tables[i].terms > 1)
            fill(r->tables + i, t);
    int status = r->call ? ask(r, t, x) : RUNNING;
    if (status != RUNNING)
        return status;
    if (!r->embeds || !embed(r, x, k)) {
        (r->acts ? r->held : r->rates)(r->in, k);
        if (r->named)
            status = follow_named(r, x, k);
        else if (r->acts)
            status = recombine(r, k);
    }
    for (int64_t c = 0; c < r->m; c++)
        if (r->kinds[c] == LIMITED)
            events(r, k)[r->m + c] = r->modes[c] * k[r->nq + r->rows[c]];
    return status;
}

/* The same, if all accelerations and forces are numbers. */
static int checked(Run *r, double t, const double *x, double *k)
{
    int status = evaluate(r, t, x, k);
    const double *udot = k + r->nq, *tau = udot + r->n + 1;
    for (int64_t i = 0; i < r->n && status == RUNNING; i++)
        if (!(fabs(udot[i]) + fabs(tau[i] + tau[r->n + i]) <= DBL_MAX))
            r->culprit = i, status = DIVERGED;
    return status;
}

/* ------------------------------------------------------------------------------------- steps */
static void normalize(const Run *r, double *x)
{
    for (int64_t k = 0; k < r->quaternion_count; k++) {
        double *e = x + r->quaternions[k];
        double norm = sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2] + e[3] * e[3]);
        for (int i = 0; i < 4; i++)
            e[i] /= norm;
    }
}

/* Speeds first, then coordinates with the new speeds. */
static int semi_implicit_euler(Run *r, double t, double h, const double *x, const double *k1,
                               double *y)
{
    int64_t n = r->n, nq = r->nq;
    const double *u = x + nq, *udot = k1 + nq, *tau = udot + n + 1;
    double *v = y + nq, power = 0.0;
    for (int64_t i = 0; i < n; i++) {
        v[i] = u[i] + h * udot[i];
        power += 0.5 * (u[i] + v[i]) * (tau[i] + tau[n + i] + tau[2 * n + i]);
    }
    r->now = t;
    r->short_in[r->state] = x;
    r->short_in[r->state + 1] = v;
    r->coordinate_rates(r->short_in, r->k2);
    for (int64_t i = 0; i < nq; i++)
        y[i] = x[i] + h * r->k2[i];
    y[nq + n] = x[nq + n] + h * power;
    return RUNNING;
}

static int stage(Run *r, double t, double h, const double *restrict x, const double *restrict k,
                 double *next)
{
    double *restrict y = r->stage;
    for (int64_t i = 0, size = r->nq + r->n + 1; i < size; i++)
        y[i] = x[i] + h * k[i];
    normalize(r, y);
    return evaluate(r, t + h, y, next);
}

static int runge_kutta_4(Run *r, double t, double h, const double *restrict x,
                         const double *restrict k1, double *restrict y)
{
    const double *restrict k2 = r->k2, *restrict k3 = r->k3, *restrict k4 = r->k4;
    int status = stage(r, t, h / 2, x, k1, r->k2);
    if (status == RUNNING)
        status = stage(r, t, h / 2, x, k2, r->k3);
    if (status == RUNNING)
        status = stage(r, t, h, x, k3, r->k4);
    for (int64_t i = 0, size = r->nq + r->n + 1; i < size; i++)
        y[i] = x[i] + h / 6 * (k1[i] + 2.0 * (k2[i] + k3[i]) + k4[i]);
    return status;
}

/* Takes a state back onto the constraints that hold: the nearest one. */
static int correct(Run *r, double t, double *x)
{
    Named *c = r->named;
    int status = RUNNING;
    double fastest = 0.0;
    r->now = t, c->within = 0;
    for (int64_t turn = 0; status == RUNNING; turn++) {
        double most = 0.0;
        say_rows(r, x);
        for (int64_t i = 0; i < c->count; i++) {
            c->wanted[i] = -row_of(c, i)[c->n + 1];
            if (c->holds[i] && c->positions[i])
                most = fmax(most, fabs(c->wanted[i]));
        }
        if (!(most > CLOSED) || turn == CORRECTIONS)
            break;
        r->corrected = 1;
        status = nearest(c, 1, c->wanted);
        r->short_in[r->state] = x;
        r->short_in[r->state + 1] = c->wanted;
        r->coordinate_rates(r->short_in, c->rates);
        for (int64_t i = 0; i < r->nq; i++)
            c->rates[r->nq + i] = c->rates[i];
        if (c->still) { /* coordinates move by themselves, too */
            r->short_in[r->state + 1] = c->still;
            r->coordinate_rates(r->short_in, c->rates);
            for (int64_t i = 0; i < r->nq; i++)
                c->rates[r->nq + i] -= c->rates[i];
        }
        for (int64_t i = 0; i < r->nq; i++)
            x[i] += c->rates[r->nq + i];
        normalize(r, x);
    }
    if (c->drifts) {
        c->drifts_in[c->state] = x;
        c->drifts(c->drifts_in, c->drift);
    }
    for (int64_t i = 0; i < c->count; i++)
        if (c->holds[i]) {
            c->wanted[i] = -dot(row_of(c, i), x + r->nq, r->n) - c->drift[i];
            fastest = fmax(fastest, fabs(c->wanted[i]));
        }
    if (status == RUNNING && fastest <= STILL) { /* what was said is of this state */
        c->said_of = x, c->said_at = t;
        return status;
    }
    if (status == RUNNING)
        status = nearest(c, 0, c->wanted);
    for (int64_t i = 0; i < r->n; i++)
        x[r->nq + i] += c->wanted[i];
    r->corrected = 1;
    return status;
}

/* A state drifts from constraints by the error of a step: where that is rounding, few are looked at;
 * more where dependent speeds begin to follow from others by much. */
static void be_patient(Run *r)
{
    if (r->sees) {
        r->unseen = 0, r->least_growth = r->growth;
        r->patience = r->corrected ? 1 : 2 * r->patience < PATIENCE ? 2 * r->patience : PATIENCE;
    }
    r->corrected = 0;
    r->sees = !r->embeds || ++r->unseen >= r->patience || !(r->growth < 2.0 * r->least_growth);
}

/* From x at t to y at t + h, in the present modes. */
static int advance(Run *r, double t, double h, const double *x, const double *k1, double *y)
{
    int status = (r->euler ? semi_implicit_euler : runge_kutta_4)(r, t, h, x, k1, y);
    for (int64_t i = 0; i < r->n && status == RUNNING; i++)
        if (!(fabs(y[r->nq + i]) < LARGEST_SPEED))
            r->culprit = i, status = DIVERGED;
    for (int64_t i = 0; i < r->nq && status == RUNNING; i++)
        if (!(fabs(y[i]) < LARGEST_COORDINATE))
            r->culprit = r->n + i, status = DIVERGED;
    normalize(r, y);
    return r->named && r->acts && r->sees && status == RUNNING ? correct(r, t + h, y) : status;
}

/* Whether the step just computed, of length h, is to have its error estimated: if it is further from
 * the trapezoid rule than all before, or one of a sample; and all of Euler's. */
static int is_estimated(Run *r, double h)
{
    double rough = 0.0;
    for (int64_t i = r->nq; !r->euler && i < r->nq + r->n; i++) {
        double off = fabs(r->y[i] - r->x[i] - h / 2 * (r->k[i] + r->k4[i]));
        rough = off > rough ? off : rough;
    }
    int worse = rough > WORSE * r->roughest;
    r->roughest = worse ? rough : r->roughest;
    return worse || r->euler || r->steps_done % r->error_stride == 0;
}

/* Compares the step to y with two shorter steps, the first of which is `part` of it: how far they
 * are apart, and whether the step is in doubt. */
static int compare(Run *r, double h, double part, double *most, int *doubt)
{
    double t = r->t + part * h;
    int status = advance(r, r->t, part * h, r->x, r->k, r->half);
    *most = *doubt = 0;
    if (status == RUNNING)
        status = evaluate(r, t, r->half, r->trial);
    if (status == RUNNING)
        status = advance(r, t, h - part * h, r->half, r->trial, r->finer);
    for (int64_t i = 0; i < r->nq + r->n; i++) {
        double off = fabs(r->finer[i] - r->y[i]);
        *most = off > *most ? off : *most;
        *doubt |= i >= r->nq && off > DOUBT * fabs(r->y[i]) + SLOW;
    }
    return status;
}

/* Estimates the error of the step to y. The shorter steps meet elsewhere each time, so that nothing
 * periodic hides between the places where it is looked at; in doubt, halves are what is judged. */
static int estimate_error(Run *r, double h, int *doubt)
{
    double part = 0.25 + 0.5 * fmod(GOLDEN * (double)++r->estimates, 1.0), most;
    double order = r->euler ? 2.0 : 5.0, rest = pow(part, order) + pow(1.0 - part, order);
    int status = compare(r, h, part, &most, doubt);
    r->local_error = fmax(r->local_error, most / (1.0 - rest));
    return status == RUNNING && *doubt ? compare(r, h, 0.5, &most, doubt) : status;
}
