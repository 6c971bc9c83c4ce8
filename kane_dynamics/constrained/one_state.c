/* Accelerations of a robot with constraints in one state, by multipliers in the metric of M: with
 * M = L L', B = A L'^-1 and S = B B', the forces of constraints follow from S l = -(A a + b), where
 * a are the accelerations without them. Rows are taken in the order of the largest pivot of S, and
 * where one is neither clearly there nor clearly nothing, who asked takes the longer way. */
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef void kernel(const double *const *in, double *out);

/* one_state.py describes the same to Python. */
typedef struct {
    int64_t n, nq, all, m, anchor_count, quaternion_count;
    const int64_t *chosen, *quaternions; /* rows that hold; where quaternions begin */
    kernel *mass, *bias, *rows;
    double *given;                               /* q, u, tau and anchors; then udot */
    double *M, *c, *said, *A, *S, *a, *left, *x; /* scratch, and what kernels say */
    int64_t *order;
} Robot;

static double dot(const double *a, const double *b, int64_t size)
{
    double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
    int64_t k = 0;
    for (; k + 3 < size; k += 4) {
        s0 += a[k] * b[k];
        s1 += a[k + 1] * b[k + 1];
        s2 += a[k + 2] * b[k + 2];
        s3 += a[k + 3] * b[k + 3];
    }
    for (; k < size; k++)
        s0 += a[k] * b[k];
    return (s0 + s1) + (s2 + s3);
}

static int acceptable(const Robot *r, const double *q, const double *u, const double *tau)
{
    double sum = 0.0;
    for (int64_t k = 0; k < r->nq; k++)
        sum += fabs(q[k]);
    for (int64_t k = 0; k < r->n; k++)
        sum += fabs(u[k]) + fabs(tau[k]);
    if (!(sum < 1e100))
        return 0;
    for (int64_t k = 0; k < r->quaternion_count; k++) {
        const double *e = q + r->quaternions[k];
        if (!(fabs(dot(e, e, 4) - 1.0) < 1e-14))
            return 0;
    }
    return 1;
}

/* The lower half of a becomes its Cholesky factor, with the inverse of its diagonal. */
static int factorize(double *a, int64_t size)
{
    for (int64_t i = 0; i < size; i++) {
        double *row = a + i * size;
        for (int64_t j = 0; j < i; j++)
            row[j] = (row[j] - dot(row, a + j * size, j)) * a[j * size + j];
        double left = row[i] - dot(row, row, i);
        if (!(left > SINGULAR * row[i]))
            return 0;
        row[i] = 1.0 / sqrt(left);
    }
    return 1;
}

static void forward(const double *L, double *b, int64_t size)
{
    for (int64_t i = 0; i < size; i++)
        b[i] = (b[i] - dot(L + i * size, b, i)) * L[i * size + i];
}

static void backward(const double *L, double *b, int64_t size)
{
    for (int64_t i = size - 1; i >= 0; i--) {
        b[i] *= L[i * size + i];
        for (int64_t j = 0; j < i; j++)
            b[j] -= L[i * size + j] * b[i];
    }
}

/* Cholesky of S with pivots, its rows and columns in `order`; the rank, or -1 if it is in doubt. */
static int64_t factorize_pivoted(double *S, int64_t m, int64_t *order)
{
    for (int64_t k = 0; k < m; k++) {
        int64_t best = k;
        for (int64_t i = k; i < m; i++)
            if (S[i * m + i] > S[best * m + best])
                best = i;
        double pivot = S[best * m + best];
        if (!(pivot > NOTHING))
            return isnan(pivot) ? -1 : k;
        if (pivot < SOMETHING)
            return -1;
        if (best != k) {
            int64_t other = order[k];
            order[k] = order[best];
            order[best] = other;
            for (int64_t j = 0; j < m; j++) {
                double t = S[k * m + j];
                S[k * m + j] = S[best * m + j];
                S[best * m + j] = t;
            }
            for (int64_t i = 0; i < m; i++) {
                double t = S[i * m + k];
                S[i * m + k] = S[i * m + best];
                S[i * m + best] = t;
            }
        }
        double root = 1.0 / sqrt(pivot);
        S[k * m + k] = root;
        for (int64_t i = k + 1; i < m; i++)
            S[i * m + k] *= root;
        for (int64_t i = k + 1; i < m; i++)
            for (int64_t j = k + 1; j <= i; j++) {
                S[i * m + j] -= S[i * m + k] * S[j * m + k];
                S[j * m + i] = S[i * m + j];
            }
    }
    return m;
}

/* Whether udot was found. */
__attribute__((visibility("default"))) int64_t accelerate(Robot *r)
{
    if (r == NULL)
        return sizeof(Robot);
    int64_t n = r->n, m = r->m, w = n + 2;
    const double *q = r->given, *u = q + r->nq, *tau = u + n, *anchors = tau + n;
    if (!acceptable(r, q, u, tau))
        return 0;
    const double *in[3] = {q, u, anchors};
    r->mass(in, r->M);
    r->bias(in, r->c);
    r->rows(in, r->said);
    if (!factorize(r->M, n))
        return 0;
    double *a = r->a, *B = r->A;
    for (int64_t k = 0; k < n; k++)
        a[k] = tau[k] - r->c[k];
    forward(r->M, a, n);
    for (int64_t i = 0; i < m; i++) {
        memcpy(B + i * n, r->said + r->chosen[i] * w, (size_t)n * sizeof(double));
        double *row = B + i * n;
        forward(r->M, row, n);
        double length = sqrt(dot(row, row, n)), scale = length > 0.0 ? 1.0 / length : 0.0;
        r->left[i] = -scale * r->said[r->chosen[i] * w + n];
        for (int64_t k = 0; k < n; k++)
            row[k] *= scale;
        r->left[i] -= dot(row, a, n);
        r->order[i] = i;
    }
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j <= i; j++)
            r->S[i * m + j] = r->S[j * m + i] = dot(B + i * n, B + j * n, n);
    int64_t rank = factorize_pivoted(r->S, m, r->order);
    if (rank < 0)
        return 0;
    for (int64_t i = 0; i < rank; i++)
        r->x[i] = (r->left[r->order[i]] - dot(r->S + i * m, r->x, i)) * r->S[i * m + i];
    for (int64_t i = rank - 1; i >= 0; i--) {
        r->x[i] *= r->S[i * m + i];
        for (int64_t j = 0; j < i; j++)
            r->x[j] -= r->S[i * m + j] * r->x[i];
    }
    for (int64_t i = 0; i < rank; i++)
        for (int64_t k = 0; k < n; k++)
            a[k] += r->x[i] * B[r->order[i] * n + k];
    backward(r->M, a, n);
    for (int64_t i = 0; i < m; i++) { /* also rows that were taken for redundant */
        const double *row = r->said + r->chosen[i] * w;
        double sum = row[n], terms = fabs(row[n]);
        for (int64_t k = 0; k < n; k++) {
            sum += row[k] * a[k];
            terms += fabs(row[k] * a[k]);
        }
        if (!(fabs(sum) <= SATISFIED * terms))
            return 0;
    }
    memcpy(r->given + r->nq + 2 * n + r->anchor_count, a, (size_t)n * sizeof(double));
    return 1;
}
