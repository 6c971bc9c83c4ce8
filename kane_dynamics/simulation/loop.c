/* The loop of a simulation with fixed step: tables over time, steps, the end of modes, speeds that
 * are held, errors of steps, recording. run.py and loop.py are the same in Python, and say more;
 * what follows from a state, which is q, u and the work done, stands where rates.py says. Constraints
 * by name come from constraints.c, which stands before this text. */

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
    int64_t *pinned, *is_held, *free;
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
            x[i] += c->rates[i];
        normalize(r, x);
    }
    for (int64_t i = 0; i < c->count; i++)
        if (c->holds[i]) {
            c->wanted[i] = -dot(row_of(c, i), x + r->nq, r->n);
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

/* ------------------------------------------------------------------------- the end of a mode */

static double worst_named(const Run *r, const double *k)
{
    double least = INFINITY, *g = named_events(r, k);
    for (int64_t e = 0; e < named_count(r); e++)
        least = g[e] < least ? g[e] : least;
    return least;
}

/* The least of the event functions: negative where a mode has ended. */
static double worst(const Run *r, const double *k)
{
    double least = INFINITY, *g = events(r, k);
    for (int64_t c = 0; c < r->m; c++)
        if (g[c] < least && !(r->pinned[c] && is_stuck(r, c)))
            least = g[c];
    return r->named ? fmin(least, worst_named(r, k)) : least;
}

/* The constraint that ends the motion, -1 if none does. */
static int64_t final_end(const Run *r, const double *k)
{
    for (int64_t c = 0; c < r->m; c++)
        if (r->kinds[c] == FINAL && events(r, k)[c] < 0.0)
            return c;
    return -1;
}

/* The part of a step, if less than `first`, at which some functions, taken for the cubic polynomials
 * with their values and slopes at both ends, were negative and have come back. */
static double turn_of(const double *g0, const double *g1, int64_t size, double h, double first)
{
    for (int64_t c = 0; c < size; c++) {
        double slope = h * g0[size + c], after = h * g1[size + c], rise = g1[c] - g0[c];
        double b = 3.0 * rise - 2.0 * slope - after, d = slope + after - 2.0 * rise;
        if (!(slope < 0.0 && after > 0.0))
            continue;
        double turn = -slope / (b + sqrt(b * b - 3.0 * d * slope));
        double least = g0[c] + turn * (slope + turn * (b + turn * d));
        if (least < 0.0)
            first = fmin(first, turn);
    }
    return first;
}

/* When within a step an event function was negative and has come back; else h. */
static double excursion(const Run *r, double h)
{
    double first = turn_of(events(r, r->k), events(r, r->ky), r->m, h, 1.0);
    if (r->named)
        first = turn_of(named_events(r, r->k), named_events(r, r->ky), named_count(r), h, first);
    return h * first;
}

/* The state some time after the present one, as y, and what follows from it, as ky. */
static int look(Run *r, double h, double *g)
{
    int status = advance(r, r->t, h, r->x, r->k, r->y);
    if (status == RUNNING)
        status = checked(r, r->t + h, r->y, r->ky);
    *g = worst(r, r->ky);
    return status;
}

/* Finds the end of a mode within a step by the method of Ridders (1979): shortens h, and makes y the
 * first state in which the mode no longer holds; if that ends the motion, the last before. */
static int find_end(Run *r, double *h, int64_t *final)
{
    double low = 0.0, high = *h, least = ldexp(*h, -HALVINGS), s = high, g, half, middle, root;
    double ends[2] = {worst(r, r->ky), worst(r, r->k)}, product;
    int status = RUNNING;
    for (int guess = 0; high - low > least && status == RUNNING; guess = !guess) {
        if (guess) {
            root = sqrt(g * g - product);
            s = root > 0.0 ? middle + half * g / root : middle;
            s = fmin(fmax(s, low + least / 2), high - least / 2);
        } else {
            half = (high - low) / 2, s = middle = low + half, product = ends[0] * ends[1];
        }
        status = look(r, s, &g);
        *(g < 0.0 ? &high : &low) = s;
        ends[!(g < 0.0)] = g;
    }
    *h = high;
    if (status == RUNNING && s != high)
        status = look(r, high, &g);
    *final = final_end(r, r->ky);
    return status == RUNNING && *final >= 0 ? look(r, *h = low, &g) : status;
}

/* ------------------------------------------------------------------------------ what follows */
static void take_stock(Run *r)
{
    r->stuck = 0;
    memset(r->is_held, 0, (size_t)r->n * sizeof(int64_t));
    for (int64_t c = 0; c < r->m; c++)
        if (is_stuck(r, c))
            r->is_held[r->rows[c]] = 1, r->stuck++;
    r->acts = r->stuck || (r->named && (r->named->looking || acts(r->named)));
    r->embeds = r->embedded && !r->stuck && !r->named->looking && is_firm(r->named)
                && !memcmp(r->named->holds, r->embedded_rows,
                           (size_t)r->named->count * sizeof(int64_t));
}

/* The modes after a state where some have ended; what has come to rest is held at first. */
static void change(Run *r, int pin)
{
    const double *g = events(r, r->k);
    for (int64_t c = 0; c < r->m; c++)
        if (g[c] < 0.0 && !is_stuck(r, c)) {
            if (r->kinds[c] == LIMITED)
                r->x[r->nq + r->rows[c]] = 0.0, r->pinned[c] = pin;
            r->modes[c] = r->kinds[c] == LIMITED ? 0.0 : 1.0 - r->modes[c];
        }
    take_stock(r);
    r->known = 0;
    if (r->named)
        r->named->said_of = NULL;
}

/* Changes one mode that does not agree with what follows from the present state, if one does not. */
static int agree(Run *r)
{
    const double *g = events(r, r->k), *push = pushes(r, r->k);
    int64_t found = -1;
    double most = 0.0;
    for (int64_t c = 0; c < r->m; c++)
        if (is_stuck(r, c) && !r->pinned[c] && g[c] < 0.0 && fabs(push[c]) / r->limits[c] > most)
            found = c, most = fabs(push[c]) / r->limits[c];
    if (found >= 0)
        r->modes[found] = push[found] > 0.0 ? 1.0 : -1.0;
    for (int64_t c = 0; c < r->m && found < 0; c++)
        if (r->kinds[c] == LIMITED && r->x[r->nq + r->rows[c]] == 0.0 && g[r->m + c] < 0.0)
            r->modes[found = c] = 0.0;
    take_stock(r);
    return found < 0;
}

/* What follows from the present state, once modes agree with it. */
static int settle(Run *r)
{
    int status = r->known ? RUNNING : checked(r, r->t, r->x, r->k);
    for (int64_t turn = 0; turn < 8 * r->m && status == RUNNING && !agree(r); turn++)
        status = checked(r, r->t, r->x, r->k);
    r->known = status == RUNNING;
    return status;
}

/* -------------------------------------------------------------------------------------- rows */
/* Adds what constraints exert, if it has been left out. */
static int tell(Run *r, double t, const double *x, double *k)
{
    if (!r->embeds)
        return RUNNING;
    double *whole = r->k2;
    r->embeds = 0;
    int status = checked(r, t, x, whole);
    r->embeds = 1;
    double *other = k + r->nq + 2 * r->n + 1, *its = whole + r->nq + 2 * r->n + 1;
    memcpy(other, its, (size_t)r->n * sizeof(double));
    memcpy(named_forces(r, k), named_forces(r, whole), (size_t)r->named->count * sizeof(double));
    return status;
}

static void write_row(Run *r, double t, const double *x, double *k)
{
    tell(r, t, x, k);
    int64_t row = r->rows_done++, n = r->n, nq = r->nq;
    size_t size = (size_t)n * sizeof(double);
    r->t_column[row] = t;
    memcpy(r->q_column + row * nq, x, (size_t)nq * sizeof(double));
    memcpy(r->u_column + row * n, x + nq, size);
    memcpy(r->udot_column + row * n, k + nq, size);
    if (r->tau_column) /* else there are none but zeros */
        memcpy(r->tau_column + row * n, k + nq + n + 1, size);
    if (r->other_column)
        memcpy(r->other_column + row * n, k + nq + 2 * n + 1, size);
    r->work_column[row] = x[nq + n];
    if (r->named) {
        size_t count = (size_t)r->named->count;
        size_t marks = (size_t)named_count(r);
        memcpy(r->force_column + row * r->named->count, named_forces(r, k), count * sizeof(double));
        memcpy(r->mark_column + row * named_count(r), r->marks, marks);
    }
}

static void write_last(Run *r, double t, const double *x, double *k)
{
    if (r->rows_done == 0 || r->t_column[r->rows_done - 1] < t)
        write_row(r, t, x, k);
}

static int due(const Run *r, double t)
{
    return r->rows_done < r->row_count && r->row_times[r->rows_done] <= t + r->same_time;
}

/* Rows between the steps: a shorter step to each, which leads nowhere else. */
static int write_rows_before(Run *r, double end)
{
    int status = RUNNING;
    while (status == RUNNING && due(r, end - 2 * r->same_time)) {
        double t = r->row_times[r->rows_done];
        status = advance(r, r->t, t - r->t, r->x, r->k, r->half);
        if (status == RUNNING)
            status = checked(r, t, r->half, r->trial);
        if (status == RUNNING)
            write_row(r, t, r->half, r->trial);
    }
    return status;
}

/* -------------------------------------------------------------------------------------- loop */

/* Slips go on from where they go to now; what has come free is watched closely. */
static void go_on(Run *r)
{
    Named *c = r->named;
    const double *g = named_events(r, r->k);
    for (int64_t e = 0; e < named_count(r); e++)
        if (g[e] > FAR_FROM * c->slack[e] && isfinite(g[e]))
            c->slack[e] = 0.0;
    for (int64_t l = 0; l < c->limit_count; l++)
        if (c->grip[l] == SLIDES)
            memcpy(c->direction + 2 * l, c->aimed + 2 * l, 2 * sizeof(double));
}

/* Takes the state that was reached for the present one; what follows from it may be known. */
static void accept(Run *r, double t, int known)
{
    double *x = r->x, *k = r->k;
    r->x = r->y, r->k = r->ky, r->y = x, r->ky = k;
    r->last_t = r->t, r->t = t, r->known = known;
}

/* How far to go at once: stops are too stiff for a whole step. */
static double part_end(const Run *r, double target)
{
    double end = r->t + r->step / PARTS_AT_STOPS;
    for (int64_t c = 0; c < r->m; c++)
        if (r->kinds[c] == ONE_SIDED && r->modes[c] != 0.0 && end < target - SAME_TIME * r->step)
            return end;
    return target;
}

/* Whether modes have ended in the step to y, or within it: the step is then shortened. */
static int ends_within(Run *r, double *h, int64_t may_turn, int *status)
{
    double g, turn;
    *status = checked(r, r->t + *h, r->y, r->ky);
    if (*status != RUNNING || worst(r, r->ky) < 0.0 || !may_turn)
        return worst(r, r->ky) < 0.0;
    turn = excursion(r, *h);
    if (!(turn < *h))
        return 0;
    *status = look(r, turn, &g);
    if (g < 0.0)
        *h = turn;
    else if (*status == RUNNING)
        *status = look(r, *h, &g);
    return g < 0.0;
}

/* From r->t to the end of a step, in several parts if modes change on the way. */
static int reach(Run *r, double target)
{
    int64_t most_changes = r->named ? MOST_PARTS : 4 * r->n + 8, final = -1;
    while (r->t < target) {
        double end = part_end(r, target), h = end - r->t, whole = h, part;
        int ends = 0, doubt = 0;
        r->middle = r->t + h / 2;
        r->known &= !enter_spans(r);
        int status = settle(r);
        be_patient(r);
        if (status != RUNNING)
            return status;
        if (due(r, r->t))
            write_row(r, r->t, r->x, r->k);
        status = advance(r, r->t, h, r->x, r->k, r->y);
        int estimated = status == RUNNING && is_estimated(r, h);
        if (status == RUNNING && (r->m || r->named))
            ends = ends_within(r, &h, r->changes < most_changes, &status);
        part = h;
        if (status == RUNNING && ends && r->changes < most_changes)
            status = find_end(r, &h, &final);
        else if (status == RUNNING && ends)
            final = final_end(r, r->ky);
        else if (status == RUNNING && estimated)
            status = estimate_error(r, h, &doubt);
        end = h < whole ? r->t + h : end;
        if (status == RUNNING)
            status = write_rows_before(r, end);
        if (status != RUNNING)
            return status;
        accept(r, end, r->m > 0 || r->named != NULL);
        r->culprit = final;
        if (final >= 0)
            return LIMIT_REACHED;
        if (ends)
            change(r, h < AT_ONCE * part), r->changes++;
        if (ends && r->named && worst_named(r, r->k) < 0.0)
            return EVENT;
        if (!ends && r->named)
            go_on(r);
        if (doubt)
            return DOUBTFUL;
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

static int finish(Run *r)
{
    r->middle = r->t;
    r->known &= !enter_spans(r);
    int status = settle(r);
    if (status == RUNNING)
        write_last(r, r->t, r->x, r->k);
    return status == RUNNING ? FINISHED : status;
}

/* Takes away, by an impulse, the speeds that rows which hold do not allow: M du = A'P, A (u + du) = 0.
 * In k2 are then, in the places of forces and events, impulses of all rows and what speeds they met. */
static int impose(Run *r)
{
    Named *c = r->named;
    int64_t n = r->n;
    double *u = r->x + r->nq, *change = r->k2 + r->nq, *momentum = change + 2 * n + 1;
    int status = checked(r, r->t, r->x, r->k);
    if (status != RUNNING)
        return status;
    for (int64_t i = 0; i < c->count; i++)
        c->said[i * (n + 2) + n] = named_events(r, r->k2)[i] = dot(row_of(c, i), u, n);
    memset(change, 0, (size_t)n * sizeof(double));
    memset(momentum, 0, (size_t)n * sizeof(double));
    status = constrain(c, mass_of(r, r->k), NULL, change, momentum, c->push,
                       named_forces(r, r->k2), 1);
    for (int64_t i = 0; i < n; i++)
        u[n] += momentum[i] * (u[i] + 0.5 * change[i]);
    for (int64_t i = 0; i < n; i++)
        u[i] += change[i];
    return status;
}

/* What Python asks for when constraints by name change: what follows from the present state; the
 * state before the last step; a state on the way from there, and to go on from it; an impulse. */
static int64_t special(Run *r, int64_t what)
{
    double g;
    take_stock(r);
    r->embeds = 0, r->sees = 1;
    if (what == ONE_MORE_LOOK || what == IMPOSE) { /* with the inputs of what comes after */
        r->middle = r->t + r->same_time;
        enter_spans(r);
        r->known = 0;
        return what == IMPOSE ? impose(r) : settle(r);
    }
    if (what == GO_BACK)
        return accept(r, r->last_t, 1), RUNNING;
    if (what == TRY)
        return look(r, r->until - r->t, &g);
    if (what == CORRECT)
        return correct(r, r->t, r->x);
    return accept(r, r->until, 1), RUNNING;
}

/* Lets Python see all that follows from the last good state: at an event that is the one before. */
static int64_t told(Run *r, int64_t status)
{
    if (status == EVENT && r->last_t >= 0.0)
        tell(r, r->last_t, r->y, r->ky);
    else if (r->known)
        tell(r, r->t, r->x, r->k);
    return status;
}

/* Does at most so many steps and returns the status; the size of a run if there is none. When a step
 * is in doubt it returns early: y, x and `finer` are then where the step came from, where it led, and
 * where two half steps lead. What a run that fails has last found good becomes its last row. */
__attribute__((visibility("default"))) int64_t kane_loop(Run *r, int64_t steps)
{
    if (r == NULL)
        return (int64_t)sizeof(Run);
    if (r->named) /* the state and constraints may have been changed */
        r->named->said_of = NULL;
    if (steps <= 0)
        return special(r, steps);
    for (take_stock(r); steps > 0 && r->status == RUNNING; steps--) {
        double target = step_end(r);
        int status = reach(r, target);
        if (status == DOUBTFUL || status == EVENT)
            return told(r, status);
        r->status = status;
        r->steps_done++, r->step_in_span++, r->changes = 0;
        memset(r->pinned, 0, (size_t)r->m * sizeof(int64_t));
        if (r->status == RUNNING && target == r->breaks[r->span + 1]) {
            r->step_in_span = 0;
            if (++r->span + 1 == r->break_count)
                r->status = finish(r);
        }
        if (r->named && r->status == RUNNING && r->t >= r->named->halt)
            return told(r, EVENT);
    }
    if (r->status > FINISHED && r->known)
        write_last(r, r->t, r->x, r->k);
    else if (r->status > FINISHED && r->last_t >= 0.0)
        write_last(r, r->last_t, r->y, r->ky);
    return told(r, r->status);
}
