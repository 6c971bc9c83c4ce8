/* Constraints by name in a simulation with fixed step, second part: recombination of Kane's equations
 * for those rows that hold, friction of those that slide, what tells when that ends, and the way back
 * onto constraints. `holding.py` is the same in Python. elimination.c stands before this text. */

/* ------------------------------------------------------------------------------- the equations */

/* Cholesky's factor of a symmetric matrix, in its lower half, with the inverse of its diagonal. */
OF_SIZE int factorize_of(double *a, int64_t size)
{
    for (int64_t i = 0; i < size; i++) {
        double *row = a + i * size;
        for (int64_t j = 0; j < i; j++)
            row[j] = (row[j] - dot(row, a + j * size, j)) * a[j * size + j];
        double left = row[i] - dot(row, row, i);
        if (!(left > DBL_EPSILON * row[i]))
            return SINGULAR;
        row[i] = 1.0 / sqrt(left);
    }
    return RUNNING;
}

static int factorize(double *a, int64_t size)
{
#define FACTORIZE(size) factorize_of(a, size)
    BY_SIZE(size, FACTORIZE)
}

OF_SIZE void substitute_of(const double *restrict a, double *restrict b, int64_t size)
{
    for (int64_t j = 0; j < size; j++)
        b[j] = (b[j] - dot(a + j * size, b, j)) * a[j * size + j];
    for (int64_t i = size - 1; i >= 0; i--) {
        double sum = b[i];
        for (int64_t k = i + 1; k < size; k++)
            sum -= a[k * size + i] * b[k];
        b[i] = sum * a[i * size + i];
    }
}

static void substitute(const double *a, double *b, int64_t size)
{
#define SUBSTITUTE(size) substitute_of(a, b, size)
    BY_SIZE(size, SUBSTITUTE)
}

/* TᵀM T of the p independent speeds. */
OF_SIZE void reduce_of(Named *c, int64_t p)
{
    int64_t n = c->n, r = n - p;
    const int64_t *dependent = c->dependent, *independent = c->independent;
    const double *restrict follow = c->follow;
    double *restrict block = c->block, *restrict reduced = c->reduced;
    for (int64_t i = 0; i < n; i++) {
        const double *restrict mass = c->metric + i * n;
        for (int64_t f = 0; f < p; f++) {
            double sum = mass[independent[f]];
            for (int64_t k = 0; k < r; k++)
                sum -= mass[dependent[k]] * follow[k * p + f];
            block[i * p + f] = sum;
        }
    }
    for (int64_t e = 0; e < p; e++)
        for (int64_t f = 0; f <= e; f++) {
            double sum = block[independent[e] * p + f];
            for (int64_t k = 0; k < r; k++)
                sum -= follow[k * p + e] * block[dependent[k] * p + f];
            reduced[e * p + f] = sum;
        }
}

static void reduce_mass(Named *c)
{
#define REDUCE(p) reduce_of(c, p)
    BY_SIZE(c->n - c->rank, REDUCE)
}

/* The same of M, factorized; it is measured in the units of the elimination. */
static int reduce(Named *c, const double *M)
{
    int64_t n = c->n;
    c->metric = c->in_order ? M : c->mass;
    for (int64_t i = 0; i < n && !c->in_order; i++)
        for (int64_t j = 0; j < n; j++)
            c->mass[i * n + j] = c->scale[i] * M[i * n + j] * c->scale[j];
    reduce_mass(c);
    return factorize(c->reduced, n - c->rank);
}

/* Forces of m rows that exert what is given on the dependent speeds; those of least norm. */
static void force_rows(Named *c, int64_t m, int64_t w, double *left, double *force)
{
    memset(force, 0, (size_t)m * sizeof(double));
    if (c->in_order) {
        press(c, left);
        for (int64_t k = 0; k < c->rank; k++)
            force[c->pivot_row[k]] = left[k];
    } else {
        for (int64_t k = 0; k < c->rank; k++)
            for (int64_t i = 0; i < m; i++)
                force[i] += c->tableau[c->pivot_row[k] * w + c->n + 1 + i] * left[k];
        for (int64_t i = 0; i < m; i++)
            force[i] /= c->lengths[i];
    }
    for (int64_t k = 0; k < c->redundant; k++) {
        const double *null = c->nulls + k * m;
        double share = dot(null, force, m);
        for (int64_t i = 0; i < m; i++)
            force[i] -= share * null[i];
    }
}

/* What scaled generalized forces v make of accelerations and, if asked, of the forces of m rows; with
 * the bias of the rows, or without. */
static void respond(Named *c, int64_t m, int64_t w, const double *v, int biased, double *motion,
                    double *force)
{
    int64_t n = c->n, r = c->rank, p = n - r;
    const double *follow = c->follow;
    double *h = c->right, *y = c->right + n, *left = h;
    for (int64_t i = 0; i < n; i++) {
        double sum = v[i];
        for (int64_t k = 0; k < r && biased; k++)
            sum -= c->metric[i * n + c->dependent[k]] * c->particular[k];
        h[i] = sum;
    }
    for (int64_t f = 0; f < p; f++) {
        double sum = h[c->independent[f]];
        for (int64_t k = 0; k < r; k++)
            sum -= follow[k * p + f] * h[c->dependent[k]];
        y[f] = sum;
    }
    substitute(c->reduced, y, p);
    for (int64_t f = 0; f < p; f++)
        motion[c->independent[f]] = y[f];
    for (int64_t k = 0; k < r; k++)
        motion[c->dependent[k]] = (biased ? c->particular[k] : 0.0) - dot(follow + k * p, y, p);
    for (int64_t k = 0; k < r && force != NULL; k++)
        left[k] = dot(c->metric + c->dependent[k] * n, motion, n) - v[c->dependent[k]];
    if (force != NULL)
        force_rows(c, m, w, left, force);
}

/* Where the limits slip to: along their velocity, or opposite to it once that has turned back. */
static void aim(Named *c, const double *u)
{
    for (int64_t l = 0; l < c->limit_count; l++) {
        const double *begun = c->direction + 2 * l;
        double v[2] = {0.0, 0.0}, speed, along;
        for (int64_t a = 0; a < c->size[l]; a++) {
            c->aimed[2 * l + a] = begun[a];
            v[a] = dot(row_of(c, c->first[l] + a), u, c->n);
        }
        speed = sqrt(v[0] * v[0] + v[1] * v[1]), along = v[0] * begun[0] + v[1] * begun[1];
        if (c->grip[l] != SLIDES || c->size[l] < 2 || !(speed > BARELY) || along == 0.0)
            continue;
        for (int64_t a = 0; a < 2; a++)
            c->aimed[2 * l + a] = (along < 0.0 ? -v[a] : v[a]) / speed;
    }
}

/* Generalized force of a limit that slides, per unit of friction against it, in scaled units. */
static void slip(const Named *c, int64_t l, double *v)
{
    memset(v, 0, (size_t)c->n * sizeof(double));
    for (int64_t a = 0; a < c->size[l]; a++)
        for (int64_t j = 0; j < c->n; j++)
            v[j] -= c->scale[j] * c->aimed[2 * l + a] * row_of(c, c->first[l] + a)[j];
}

/* Solves a x = b in place of b by elimination with pivoting; the sign of the determinant of a. */
static int solve_any(double *a, double *b, int64_t size)
{
    int sign = 1;
    for (int64_t j = 0; j < size; j++) {
        int64_t best = j;
        for (int64_t i = j + 1; i < size; i++)
            best = fabs(a[i * size + j]) > fabs(a[best * size + j]) ? i : best;
        if (!(fabs(a[best * size + j]) > UNDECIDED))
            return 0;
        for (int64_t k = 0; k < size && best != j; k++) {
            double kept = a[j * size + k];
            a[j * size + k] = a[best * size + k], a[best * size + k] = kept;
        }
        if (best != j) {
            double kept = b[j];
            b[j] = b[best], b[best] = kept, sign = -sign;
        }
        sign = a[j * size + j] < 0.0 ? -sign : sign;
        for (int64_t i = j + 1; i < size; i++) {
            double share = a[i * size + j] / a[j * size + j];
            for (int64_t k = j; k < size; k++)
                a[i * size + k] -= share * a[j * size + k];
            b[i] -= share * b[j];
        }
    }
    for (int64_t i = size - 1; i >= 0; i--) {
        for (int64_t k = i + 1; k < size; k++)
            b[i] -= a[i * size + k] * b[k];
        b[i] /= a[i * size + i];
    }
    return sign;
}

static int64_t place(const Named *c, int64_t m, int64_t row)
{
    for (int64_t k = 0; k < m && row >= 0; k++)
        if (c->acting[k] == row)
            return k;
    return -1;
}

/* Whether a limit slides under the force of another row. */
static int slides_under(const Named *c, int64_t m, int64_t l)
{
    return c->grip[l] == SLIDES && c->of[l] >= 0 && place(c, m, c->of[l]) >= 0;
}

/* Friction of the limits that slide under the force of other rows: of each per unit of its factor,
 * with `motion` and `force` of the rest corrected. */
static int slide(Named *c, int64_t m, int64_t w, double *motion, double *force, double *friction)
{
    int64_t n = c->n, sliding = 0, *which = c->used; /* which is no longer needed */
    for (int64_t l = 0; l < c->limit_count; l++)
        if (slides_under(c, m, l))
            which[sliding++] = l;
    if (!sliding)
        return RUNNING;
    double *signs = c->couple + sliding * sliding, *pressed = signs + sliding;
    double *v = c->right + 2 * n;
    for (int64_t j = 0; j < sliding; j++) {
        slip(c, which[j], v);
        respond(c, m, w, v, 0, c->motions + (j + 1) * n, c->forces + (j + 1) * m);
        int64_t of = c->of[which[j]]; /* what only pushes does so, whatever it would do alone */
        signs[j] = c->watched[of] != PUSHES && force[place(c, m, of)] < 0.0 ? -1.0 : 1.0;
    }
    for (int64_t i = 0; i < sliding; i++) {
        int64_t row = place(c, m, c->of[which[i]]);
        pressed[i] = force[row];
        for (int64_t j = 0; j < sliding; j++)
            c->couple[i * sliding + j] = (i == j)
                                         - c->forces[(j + 1) * m + row] * signs[j]
                                               * c->kinetics[which[j]];
    }
    if (solve_any(c->couple, pressed, sliding) <= 0)
        return UNSOLVABLE;
    for (int64_t j = 0; j < sliding; j++) {
        double amount = friction[which[j]] = signs[j] * c->kinetics[which[j]] * pressed[j];
        for (int64_t i = 0; i < n; i++)
            motion[i] += amount * c->motions[(j + 1) * n + i];
        for (int64_t i = 0; i < m; i++)
            force[i] += amount * c->forces[(j + 1) * m + i];
    }
    return RUNNING;
}

/* Which rows act: those that hold, and speeds that are held by themselves. */
static int64_t gather(Named *c, const int64_t *is_held)
{
    int64_t m = 0;
    for (int64_t i = 0; i < c->count; i++)
        if (c->holds[i])
            c->acting[m++] = i;
    for (int64_t j = 0; j < c->n && is_held; j++)
        if (is_held[j])
            c->acting[m++] = c->count + j;
    return m;
}

/* Whether constraints do anything to the motion. */
static int acts(const Named *c)
{
    for (int64_t i = 0; i < c->count; i++)
        if (c->holds[i])
            return 1;
    for (int64_t l = 0; l < c->limit_count; l++)
        if (c->grip[l] == SLIDES)
            return 1;
    return 0;
}

/* Whether there is nothing whose forces or distances are watched. */
static int is_firm(const Named *c)
{
    for (int64_t i = 0; i < c->count; i++)
        if (c->watched[i] != UNWATCHED)
            return 0;
    for (int64_t l = 0; l < c->limit_count; l++)
        if (c->grip[l] != NO_GRIP)
            return 0;
    return 1;
}

/* Eliminates the dependent speeds, measured by what mass they feel alone. The known order is taken
 * only while they feel nearly the mass that they did when it was found. */
static int64_t eliminate_by_mass(Named *c, int64_t m, const double *M)
{
    int64_t n = c->n;
    for (int64_t j = 0; j < n && !c->within; j++) {
        double own = M[j * n + j], ratio = own * c->known_scale[j] * c->known_scale[j];
        c->has_order &= own > 0.0 && ratio > 0.25 && ratio < 4.0;
    }
    if (c->has_order && eliminate_in_order(c, m)) {
        for (int64_t j = 0; j < n; j++)
            c->scale[j] = 1.0;
        return c->in_order = 1, n + 1;
    }
    for (int64_t j = 0; j < n; j++)
        c->scale[j] = M[j * n + j] > 0.0 ? 1.0 / sqrt(M[j * n + j]) : 1.0;
    c->has_order = 0;
    return eliminate(c, m);
}

/* Forces of all rows, and what pushes against held speeds, from those of rows that act. */
static void tell_forces(const Named *c, int64_t m, const double *found, double *push, double *force)
{
    memset(force, 0, (size_t)c->count * sizeof(double));
    for (int64_t k = 0; k < m; k++)
        *(c->acting[k] < c->count ? force + c->acting[k] : push + c->acting[k] - c->count) =
            c->acting[k] < c->count ? found[k] : -found[k];
    for (int64_t l = 0; l < c->limit_count; l++)
        for (int64_t a = 0; a < c->size[l] && c->grip[l] == SLIDES; a++)
            force[c->first[l] + a] = -c->friction[l] * c->aimed[2 * l + a];
}

/* Accelerations and forces while constraints hold and slide.
 *
 * `udot` holds the generalized forces less the bias, and then accelerations; to `other` comes what
 * constraints exert, `push` is what pushes against speeds that are held, `force` that of all rows;
 * the last two only if `forces`. */
static int constrain(Named *c, const double *M, const int64_t *is_held, double *udot, double *other,
                     double *push, double *force, int forces)
{
    int64_t n = c->n, m = gather(c, is_held);
    double *v = c->right + 3 * n, *motion = c->motions, *found = c->forces;
    double *friction = c->friction;
    memcpy(c->applied, udot, (size_t)n * sizeof(double));
    int64_t w = eliminate_by_mass(c, m, M);
    for (int64_t j = 0; j < n; j++)
        v[j] = c->scale[j] * udot[j];
    for (int64_t l = 0; l < c->limit_count; l++) {
        friction[l] = 0.0;
        forces |= slides_under(c, m, l);
        if (c->grip[l] != SLIDES || c->of[l] >= 0)
            continue;
        friction[l] = c->kinetics[l];
        slip(c, l, c->right + 2 * n);
        for (int64_t j = 0; j < n; j++)
            v[j] += friction[l] * c->right[2 * n + j];
    }
    if (forces)
        find_nulls(c, m, w);
    int status = reduce(c, M);
    if (status != RUNNING)
        return status;
    respond(c, m, w, v, 1, motion, forces ? found : NULL);
    status = slide(c, m, w, motion, found, friction);
    if (forces)
        tell_forces(c, m, found, push, force);
    for (int64_t j = 0; j < n; j++)
        other[j] -= udot[j], udot[j] = c->scale[j] * motion[j];
    for (int64_t j = 0; j < n; j++)
        other[j] += dot(M + j * n, udot, n);
    return status;
}

/* ------------------------------------------------------------------------------------- events */

/* How hard the row is pressed that a limit is a share of; one if it is a force itself. */
static double pressed(const Named *c, int64_t l, const double *force)
{
    return c->of[l] < 0 ? 1.0 : fabs(c->holds[c->of[l]] ? force[c->of[l]] : 0.0);
}

/* Functions that are not negative while modes last, and their rates, as far as these are known. */
static void watch(const Named *c, const double *u, const double *udot, const double *force,
                  double *g, double *rate)
{
    int64_t n = c->n;
    for (int64_t i = 0; i < c->count; i++) {
        g[i] = INFINITY, rate[i] = 0.0;
        if (c->watched[i] == PUSHES)
            g[i] = force[i] + c->slack[i];
        else if (c->watched[i] == OPEN)
            g[i] = row_of(c, i)[n + 1] + c->slack[i], rate[i] = dot(row_of(c, i), u, n);
    }
    for (int64_t l = 0; l < c->limit_count; l++) {
        int64_t e = c->count + l, first = c->first[l];
        double square = 0.0, along = 0.0, gain = 0.0;
        g[e] = INFINITY, rate[e] = 0.0;
        for (int64_t a = 0; a < c->size[l] && c->grip[l] != NO_GRIP; a++) {
            const double *row = row_of(c, first + a);
            square += force[first + a] * force[first + a];
            along += c->direction[2 * l + a] * dot(row, u, n);
            gain += c->direction[2 * l + a] * (dot(row, udot, n) + row[n]);
        }
        if (c->grip[l] == STICKS)
            g[e] = RELEASE * c->statics[l] * pressed(c, l, force) - sqrt(square) + c->slack[e];
        else if (c->grip[l] == SLIDES)
            g[e] = along + c->slack[e], rate[e] = gain;
    }
}

/* --------------------------------------------------------------------- back onto constraints */

/* What the dependent speeds alone are if rows are to change as wanted, in scaled units. */
static void aim_at(const Named *c, int64_t m, int64_t w, const double *wanted, double *right)
{
    int64_t r = c->rank;
    for (int64_t k = 0; k < r && !c->in_order; k++) {
        const double *own = c->tableau + c->pivot_row[k] * w + c->n + 1;
        right[k] = 0.0;
        for (int64_t i = 0; i < m; i++)
            right[k] += own[i] * wanted[c->acting[i]] / c->lengths[i];
    }
    for (int64_t k = 0; k < r && c->in_order; k++) {
        right[k] = wanted[c->acting[c->pivot_row[k]]];
        for (int64_t l = 0; l < k; l++)
            right[k] -= c->factors[k * w + l] * right[l];
    }
    for (int64_t k = r - 1; k >= 0 && c->in_order; k--) {
        for (int64_t l = k + 1; l < r; l++)
            right[k] -= c->factors[k * w + l] * right[l];
        right[k] *= c->inverse[k];
    }
    for (int64_t k = 0; k < r && c->in_order; k++)
        right[k] /= c->scale[c->dependent[k]];
}

/* The smallest motion that rows, of positions alone or all, change by `wanted`. */
static int nearest(Named *c, int of_positions, double *motion)
{
    int64_t n = c->n, m = 0;
    for (int64_t i = 0; i < c->count; i++)
        if (c->holds[i] && (c->positions[i] || !of_positions))
            c->acting[m++] = i;
    for (int64_t j = 0; j < n; j++)
        c->scale[j] = c->inertia[j] > 0.0 ? 1.0 / sqrt(c->inertia[j]) : 1.0;
    int64_t w = eliminate(c, m), r = c->rank, p = n - r;
    double *gram = c->reduced, *right = c->right;
    aim_at(c, m, w, motion, right);
    for (int64_t k = 0; k < r && c->in_order; k++)
        for (int64_t f = 0; f < p; f++)
            c->follow[k * p + f] *= c->scale[c->independent[f]] / c->scale[c->dependent[k]];
    for (int64_t k = 0; k < r; k++)
        for (int64_t l = 0; l <= k; l++)
            gram[k * r + l] = (k == l) + dot(c->follow + k * p, c->follow + l * p, p);
    int status = factorize(gram, r);
    if (status != RUNNING)
        return status;
    substitute(gram, right, r);
    memset(motion, 0, (size_t)n * sizeof(double));
    for (int64_t k = 0; k < r; k++) {
        motion[c->dependent[k]] += right[k];
        for (int64_t f = 0; f < p; f++)
            motion[c->independent[f]] += right[k] * c->follow[k * p + f];
    }
    for (int64_t j = 0; j < n; j++)
        motion[j] *= c->scale[j];
    return RUNNING;
}
