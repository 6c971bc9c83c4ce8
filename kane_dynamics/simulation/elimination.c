/* Constraints by name in a simulation with fixed step, first part: which speeds depend on others while
 * rows hold, and how these are eliminated. Speeds are measured so that each alone has the same kinetic
 * energy; rows, in these units, have length one. Speeds of dependent columns d follow from the others,
 * f: u_d = c - D u_f. */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "floating point is relaxed, as by -ffast-math: what is not finite would not be noticed"
#endif

typedef void kernel(const double *const *in, double *out);

enum { RUNNING, FINISHED, DIVERGED, SINGULAR, INPUT_FAULT, LIMIT_REACHED, DOUBTFUL };
enum { UNBALANCED = 9, EVENT, UNSOLVABLE };
enum { UNWATCHED, PUSHES, OPEN }; /* what is watched of a row: its force, or its error */
enum { NO_GRIP, STICKS, SLIDES };

/* holding.py describes the same to Python. */
typedef struct {
    /* rows of all constraints, and their kernel with q in place `state` of what it is given */
    int64_t n, nq, count, state;
    kernel *rows;
    const double **in;
    kernel *drifts; /* what rows say of speeds that are zero, if that is not zero */
    const double **drifts_in;
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
    double *drift; /* of all rows */
    const double *still; /* speeds that are zero, if coordinates move then */
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
