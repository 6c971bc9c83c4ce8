/* Constraints by name in a simulation with fixed step: recombination of Kane's equations for those
 * rows that hold, friction of those that slide, and what tells when that ends. `holding.py` is the
 * same in Python. Speeds are measured so that each alone has the same kinetic energy; rows, in these
 * units, have length one. Speeds of dependent columns d follow from the others, f: u_d = c - D u_f. */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "floating point is relaxed, as by -ffast-math: what is not finite would not be noticed"
#endif

typedef void kernel(const double *const *in, double *out);

enum { RUNNING, FINISHED, DIVERGED, SINGULAR, INPUT_FAULT, LIMIT_REACHED, DOUBTFUL };
enum { EVENT = 10, UNSOLVABLE };
enum { UNWATCHED, PUSHES, OPEN }; /* what is watched of a row: its force, or its error */
enum { NO_GRIP, STICKS, SLIDES };

/* holding.py describes the same to Python. */
typedef struct {
    /* rows of all constraints, and their kernel with q in place `state` of what it is given */
    int64_t n, nq, count, state;
    kernel *rows;
    const double **in;
    const int64_t *positions, *holds, *watched;
    /* limited forces: which rows, times the force of which other row, if any, and in which mode */
    int64_t limit_count;
    const int64_t *first, *size, *of, *grip;
    const double *statics, *kinetics;
    double *direction, *aimed; /* of slipping: where it went at first, and goes now */
    double *slack; /* of every row, then of every limit: how far below zero it may be */
    const double *inertia;
    double halt; /* when Python is to look at it again */
    int64_t looking; /* Python wants to see everything */
    /* how speeds were chosen, for how many rows */
    int64_t rank, chosen, choices, redundant;
    int64_t *dependent, *independent, *pivot_row, *acting, *used, *spare, *there;
    double *said, *tableau, *scale, *lengths, *mass, *block, *reduced, *motions, *forces, *nulls;
    double *couple, *particular, *right, *friction, *push, *wanted, *rates, *applied;
    /* how speeds depend on others; and how rows are eliminated in a known order, if they are */
    double *follow, *factors, *inverse, *known_scale, *known_length;
    int64_t *known_acting;
    int64_t in_order, has_order;
    int64_t within; /* within a step: that the order is good enough is seen at its ends */
    const double *metric; /* M in the units of the elimination */
    const double *said_of; /* the state that `said` is of, if known, and its time */
    double said_at;
} Named;

static const double *row_of(const Named *c, int64_t i) { return c->said + i * (c->n + 2); }

/* Code of its own for the sizes that are met most: loops of which the length is known are quick. */
#define OF_SIZE static inline __attribute__((always_inline))
#define BY_SIZE(size, call)     \
    switch (size) {             \
    case 1: return call(1);     \
    case 2: return call(2);     \
    case 3: return call(3);     \
    case 4: return call(4);     \
    case 5: return call(5);     \
    case 6: return call(6);     \
    default: return call(size); \
    }

static double dot(const double *a, const double *b, int64_t size)
{
    double sum = 0.0;
    for (int64_t i = 0; i < size; i++)
        sum += a[i] * b[i];
    return sum;
}

/* ------------------------------------------------------------------ the choice of dependent speeds */

/* The rows that hold and those of single speeds, in scaled units, with their right side and ones. */
static int64_t fill_tableau(Named *c, int64_t m)
{
    int64_t n = c->n, w = n + 1 + m;
    double longest = 0.0;
    for (int64_t k = 0; k < m; k++) {
        double *row = c->tableau + k * w, length = 0.0;
        int64_t i = c->acting[k];
        memset(row, 0, (size_t)w * sizeof(double));
        if (i < c->count) {
            const double *said = row_of(c, i);
            for (int64_t j = 0; j < n; j++) {
                row[j] = said[j] * c->scale[j];
                length += row[j] * row[j];
            }
            row[n] = said[n];
        } else {
            row[i - c->count] = c->scale[i - c->count];
            length = row[i - c->count] * row[i - c->count];
        }
        row[n + 1 + k] = 1.0;
        c->lengths[k] = sqrt(length);
        longest = c->lengths[k] > longest ? c->lengths[k] : longest;
    }
    for (int64_t k = 0; k < m; k++) {
        double *row = c->tableau + k * w, there = c->lengths[k] > VANISHED * longest;
        double length = there ? c->lengths[k] : 1.0;
        for (int64_t j = 0; j <= n; j++)
            row[j] = there ? row[j] / length : 0.0;
        c->lengths[k] = length, c->there[k] = there;
    }
    return w;
}

static void pivot(double *tableau, int64_t m, int64_t w, int64_t i, int64_t j)
{
    double *restrict own = tableau + i * w, factor = 1.0 / own[j];
    for (int64_t k = 0; k < w; k++)
        own[k] *= factor;
    own[j] = 1.0;
    for (int64_t l = 0; l < m; l++) {
        double *restrict other = tableau + l * w, share = other[j];
        if (l == i || share == 0.0)
            continue;
        for (int64_t k = 0; k < w; k++)
            other[k] -= share * own[k];
        other[j] = 0.0;
    }
}

static void sort_independent(Named *c)
{
    int64_t p = 0;
    for (int64_t j = 0; j < c->n; j++) {
        int is_dependent = 0;
        for (int64_t k = 0; k < c->rank; k++)
            is_dependent |= c->dependent[k] == j;
        if (!is_dependent)
            c->independent[p++] = j;
    }
}

/* The largest coefficient by which a dependent speed follows from an independent one. */
static double largest(const Named *c, int64_t w, int64_t *at_k, int64_t *at_j)
{
    double most = 0.0;
    for (int64_t k = 0; k < c->rank; k++)
        for (int64_t f = 0; f < c->n - c->rank; f++) {
            double size = fabs(c->tableau[c->pivot_row[k] * w + c->independent[f]]);
            if (size > most)
                most = size, *at_k = k, *at_j = f;
        }
    return most;
}

/* Eliminates the speeds chosen before; whether that is as good as it was. */
static int eliminate_as_before(Named *c, int64_t m, int64_t w)
{
    int64_t k_unused, j_unused;
    memset(c->used, 0, (size_t)m * sizeof(int64_t));
    for (int64_t k = 0; k < c->rank; k++) {
        int64_t j = c->dependent[k], best = -1;
        double most = REDUNDANT;
        for (int64_t i = 0; i < m; i++)
            if (!c->used[i] && fabs(c->tableau[i * w + j]) > most)
                best = i, most = fabs(c->tableau[i * w + j]);
        if (best < 0)
            return 0;
        pivot(c->tableau, m, w, best, j);
        c->used[best] = 1, c->pivot_row[k] = best;
    }
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < c->n && !c->used[i]; j++)
            if (fabs(c->tableau[i * w + j]) > LEFT_OVER)
                return 0;
    return largest(c, w, &k_unused, &j_unused) <= STAYS_BELOW;
}

/* Chooses dependent speeds: complete pivoting, then exchanges as long as one speed follows from
 * another by more than CHOSEN_BELOW: the least singular value of the dependent block is then at
 * least that of the rows by 1/sqrt(1 + CHOSEN_BELOW² r (n - r)) (Gu and Eisenstat 1996). */
static void choose(Named *c, int64_t m, int64_t w)
{
    int64_t n = c->n, k_most = 0, j_most = 0;
    memset(c->used, 0, (size_t)m * sizeof(int64_t));
    for (c->rank = 0; c->rank < m && c->rank < n; c->rank++) {
        double most = REDUNDANT;
        int64_t row = -1, column = -1;
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n && !c->used[i]; j++)
                if (fabs(c->tableau[i * w + j]) > most)
                    row = i, column = j, most = fabs(c->tableau[i * w + j]);
        if (row < 0)
            break;
        pivot(c->tableau, m, w, row, column);
        c->used[row] = 1, c->pivot_row[c->rank] = row, c->dependent[c->rank] = column;
    }
    sort_independent(c);
    for (int64_t k = 0; k < 8 * n && largest(c, w, &k_most, &j_most) > CHOSEN_BELOW; k++) {
        int64_t leaves = c->dependent[k_most];
        pivot(c->tableau, m, w, c->pivot_row[k_most], c->independent[j_most]);
        c->dependent[k_most] = c->independent[j_most], c->independent[j_most] = leaves;
    }
    sort_independent(c);
    c->chosen = m, c->choices++;
}

/* Remembers the order in which rows were eliminated, and how long they and the speeds were. */
static void remember(Named *c, int64_t m)
{
    double longest = 0.0;
    c->has_order = 1;
    for (int64_t k = 0; k < m; k++) {
        c->has_order &= c->acting[k] < c->count;
        c->known_acting[k] = c->acting[k];
        longest = fmax(longest, c->there[k] ? c->lengths[k] : 0.0);
    }
    for (int64_t k = 0; k < m; k++) /* of what is not there, what it must not exceed */
        c->known_length[k] = c->there[k] ? c->lengths[k] : -VANISHED * longest;
    memcpy(c->known_scale, c->scale, (size_t)c->n * sizeof(double));
}

/* Rows of the r dependent speeds, the others and the bias, which are eliminated in the known order;
 * whether the order is good enough. Units are those of the rows and speeds themselves. */
OF_SIZE int reduce_in_order_of(Named *c, int64_t r)
{
    int64_t n = c->n, p = n - r, w = n + 1;
    double *restrict factors = c->factors, *restrict inverse = c->inverse;
    for (int64_t k = 0; k < r; k++) {
        const double *restrict row = row_of(c, c->acting[c->pivot_row[k]]);
        double *own = factors + k * w;
        for (int64_t l = 0; l < r; l++)
            own[l] = row[c->dependent[l]];
        for (int64_t f = 0; f < p; f++)
            own[r + f] = row[c->independent[f]];
        own[n] = row[n];
    }
    for (int64_t k = 0; k < r; k++) {
        double size = fabs(factors[k * w + k]) * c->known_scale[c->dependent[k]];
        if (!(size > STEADY * c->known_length[c->pivot_row[k]]))
            return 0;
        inverse[k] = 1.0 / factors[k * w + k];
        for (int64_t i = k + 1; i < r; i++) {
            double share = factors[i * w + k];
            if (share == 0.0)
                continue;
            factors[i * w + k] = share *= inverse[k];
            for (int64_t l = k + 1; l < w; l++)
                factors[i * w + l] -= share * factors[k * w + l];
        }
    }
    for (int64_t j = r; j < w; j++)
        for (int64_t k = r - 1; k >= 0; k--) {
            double sum = factors[k * w + j];
            for (int64_t l = k + 1; l < r; l++)
                sum -= factors[k * w + l] * factors[l * w + j];
            factors[k * w + j] = sum * inverse[k];
        }
    return 1;
}

static int reduce_in_order(Named *c)
{
#define IN_ORDER(r) reduce_in_order_of(c, r)
    BY_SIZE(c->rank, IN_ORDER)
}

/* Whether what was eliminated in the known order is as good as it was: dependent speeds follow from
 * others by little, and of redundant rows nothing is left. */
static int is_as_good(const Named *c, int64_t m)
{
    int64_t n = c->n, r = c->rank, p = n - r;
    const double *scale = c->known_scale;
    for (int64_t k = 0; k < r; k++)
        for (int64_t f = 0; f < p; f++)
            if (!(fabs(c->follow[k * p + f]) * scale[c->independent[f]]
                  <= STAYS_BELOW * scale[c->dependent[k]]))
                return 0;
    for (int64_t i = 0; i < m; i++) {
        const double *row = row_of(c, c->acting[i]);
        double length = c->known_length[i];
        for (int64_t j = 0; j < n && length < 0.0; j++)
            if (!(fabs(row[j]) * scale[j] <= -length))
                return 0;
        for (int64_t f = 0; f < p && length > 0.0 && c->spare[i]; f++) {
            double left = row[c->independent[f]];
            for (int64_t k = 0; k < r; k++)
                left -= row[c->dependent[k]] * c->follow[k * p + f];
            if (!(fabs(left) * scale[c->independent[f]] <= LEFT_OVER * length))
                return 0;
        }
    }
    return 1;
}

static int eliminate_in_order(Named *c, int64_t m)
{
    int64_t r = c->rank, p = c->n - r, w = c->n + 1;
    if (!c->has_order || c->chosen != m
        || memcmp(c->known_acting, c->acting, (size_t)m * sizeof(int64_t))
        || !reduce_in_order(c))
        return 0;
    for (int64_t k = 0; k < r; k++) {
        c->particular[k] = -c->factors[k * w + c->n];
        memcpy(c->follow + k * p, c->factors + k * w + r, (size_t)p * sizeof(double));
    }
    return c->within || is_as_good(c, m);
}

/* Eliminates the dependent speeds: in the known order, without a search, if that is good enough;
 * then rows and speeds are in their own units. Else these speeds are chosen again if need be. */
static int64_t eliminate(Named *c, int64_t m)
{
    int64_t n = c->n;
    c->in_order = eliminate_in_order(c, m);
    if (c->in_order)
        return n + 1;
    int64_t w = fill_tableau(c, m);
    if (c->chosen == m && eliminate_as_before(c, m, w)) {
        remember(c, m);
    } else {
        fill_tableau(c, m);
        choose(c, m, w);
        c->has_order = 0;
    }
    for (int64_t i = 0; i < m; i++)
        c->spare[i] = !c->used[i];
    for (int64_t k = 0; k < c->rank; k++) {
        const double *row = c->tableau + c->pivot_row[k] * w;
        c->particular[k] = -row[n];
        for (int64_t f = 0; f < n - c->rank; f++)
            c->follow[k * (n - c->rank) + f] = row[c->independent[f]];
    }
    return w;
}

/* Forces of the eliminated rows that exert what is given on the dependent speeds. */
static void press(const Named *c, double *restrict x)
{
    int64_t r = c->rank, w = c->n + 1;
    for (int64_t k = 0; k < r; k++) {
        for (int64_t l = 0; l < k; l++)
            x[k] -= c->factors[l * w + k] * x[l];
        x[k] *= c->inverse[k];
    }
    for (int64_t k = r - 1; k >= 0; k--)
        for (int64_t l = k + 1; l < r; l++)
            x[k] -= c->factors[l * w + k] * x[l];
}

/* A combination of rows that vanishes, for each row that is redundant. */
static void fill_null(Named *c, int64_t m, int64_t w, int64_t i, double *null)
{
    const double *row = row_of(c, c->acting[i]);
    double *share = c->right;
    if (!c->in_order) {
        for (int64_t k = 0; k < m; k++)
            null[k] = c->tableau[i * w + c->n + 1 + k] / c->lengths[k];
        return;
    }
    memset(null, 0, (size_t)m * sizeof(double));
    for (int64_t k = 0; k < c->rank; k++)
        share[k] = row[c->dependent[k]];
    press(c, share);
    null[i] = 1.0;
    for (int64_t k = 0; k < c->rank; k++)
        null[c->pivot_row[k]] = -share[k];
}

/* Rows of combinations that vanish, of rows as they are given: orthonormal. */
static void find_nulls(Named *c, int64_t m, int64_t w)
{
    c->redundant = 0;
    for (int64_t i = 0; i < m; i++) {
        double *null = c->nulls + c->redundant * m;
        if (!c->spare[i] || (c->in_order && c->known_length[i] < 0.0))
            continue; /* what is not there presses nothing */
        fill_null(c, m, w, i, null);
        for (int64_t k = 0; k < c->redundant; k++) {
            const double *other = c->nulls + k * m;
            double share = dot(null, other, m);
            for (int64_t l = 0; l < m; l++)
                null[l] -= share * other[l];
        }
        double length = sqrt(dot(null, null, m));
        for (int64_t k = 0; k < m; k++)
            null[k] /= length;
        c->redundant++;
    }
}

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
