/* The loop of a simulation with fixed step: the end of modes, speeds that are held, recording, and what
 * Python asks for besides. loop.py is the same in Python. steps.c stands before this text. */

/* ------------------------------------------------------------------------- the end of a mode */

static double worst_named(const Run *r, const double *k)
{
    double least = INFINITY, *g = named_events(r, k);
    for (int64_t e = 0; e < named_count(r); e++)
        least = g[e] < least ? g[e] : least;
    return least;
}

/* Whether a constraint holds until the present step ends. */
static int is_pinned(const Run *r, int64_t c) { return r->at_once[c] >= CHATTERS; }

/* The least of the event functions: negative where a mode has ended. */
static double worst(const Run *r, const double *k)
{
    double least = INFINITY, *g = events(r, k);
    for (int64_t c = 0; c < r->m; c++)
        if (g[c] < least && !(is_pinned(r, c) && is_stuck(r, c)))
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

/* The modes after a state where some have ended; what comes to rest slides back at first,
 * and is held where that does not lead back. */
static void change(Run *r, int at_once)
{
    const double *g = events(r, r->k);
    for (int64_t c = 0; c < r->m; c++)
        if (g[c] < 0.0 && !is_stuck(r, c)) {
            if (r->kinds[c] == LIMITED)
                r->x[r->nq + r->rows[c]] = 0.0, r->at_once[c] += at_once;
            r->modes[c] = r->kinds[c] != LIMITED ? 1.0 - r->modes[c]
                          : is_pinned(r, c)      ? 0.0
                                                 : -r->modes[c];
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
    int64_t found = -1, hardest = -1;
    double most = 0.0;
    for (int64_t c = 0; c < r->m && found < 0; c++)
        if (r->kinds[c] == LIMITED && r->x[r->nq + r->rows[c]] == 0.0 && g[r->m + c] < 0.0)
            r->modes[found = c] = 0.0;
    for (int64_t c = 0; c < r->m && found < 0; c++)
        if (is_stuck(r, c) && !is_pinned(r, c) && g[c] < 0.0
            && fabs(push[c]) / r->limits[c] > most)
            hardest = c, most = fabs(push[c]) / r->limits[c];
    if (hardest >= 0)
        r->modes[found = hardest] = push[hardest] > 0.0 ? 1.0 : -1.0;
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
    double kinetic = 0.0, gained = 0.0;
    for (int64_t i = 0; i < n; i++) {
        gained += momentum[i] * (u[i] + 0.5 * change[i]);
        kinetic += 0.5 * u[i] * dot(mass_of(r, r->k) + i * n, u, n);
    }
    if (status == RUNNING && gained > GAINED * kinetic) /* the algebra has failed */
        return UNBALANCED;
    u[n] += gained;
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
        memset(r->at_once, 0, (size_t)r->m * sizeof(int64_t));
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
