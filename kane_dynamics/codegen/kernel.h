/* What the printed statements call: sine and cosine of many angles at once, and what is
 * faster than lane by lane.
 *
 * `lanes` holds LANES doubles side by side. With GCC or Clang it is a vector of the machine; with
 * another compiler, or with NO_VECTORS, it is one double and everything below still holds.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || \
    (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "floating point is relaxed, as by -ffast-math; equations need the rounding of the standard"
#endif

#if !defined(__GNUC__) || defined(NO_VECTORS)
#define LANES 1
#elif defined(__AVX512F__) && !defined(ONE_STATE)
#define LANES 8
#else
#define LANES 4
#endif

#if LANES == 1
typedef double lanes;
typedef int64_t bits;
#else
typedef double lanes __attribute__((vector_size(8 * LANES)));
typedef int64_t bits __attribute__((vector_size(8 * LANES)));
#endif

#if defined(__GNUC__)
#define APART __attribute__((noinline))
#define EXPORT __attribute__((visibility("default")))
#else
#define APART
#define EXPORT
#endif

static inline bits bits_of(lanes x) { bits b; memcpy(&b, &x, sizeof b); return b; }
static inline lanes lanes_of(bits b) { lanes x; memcpy(&x, &b, sizeof x); return x; }
static inline lanes all(double x) { return (lanes){0} + x; }

static APART void library_sine_cosine(lanes x, lanes *sine, lanes *cosine)
{
    double angle[LANES], s[LANES], c[LANES];
    memcpy(angle, &x, sizeof angle);
    for (int i = 0; i < LANES; i++) {
        s[i] = sin(angle[i]);
        c[i] = cos(angle[i]);
    }
    memcpy(sine, s, sizeof s);
    memcpy(cosine, c, sizeof c);
}

/* Whether the magnitude of any lane exceeds the limit. */
static inline int any_beyond(lanes x, double limit)
{
    const bits beyond = (x > limit) | (x < -limit);
    uint64_t word[LANES];
    memcpy(word, &beyond, sizeof word);
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            word[i] |= word[i + half];
    return word[0] != 0;
}

/* The angle is reduced to |r| <= pi/4 by Cody and Waite's method with pi/2 in three parts, keeping
 * the rounding error of r; both functions are then polynomials in r*r, fitted by Remez's algorithm
 * to 2^-58 of the result. The error stays below 1 ulp. Angles beyond what the reduction bears go
 * to the C library.
 */
static APART void sine_cosine(lanes x, lanes *sine, lanes *cosine)
{
    if (any_beyond(x, 1e5)) {
        library_sine_cosine(x, sine, cosine);
        return;
    }
    /* Adding 1.5 * 2^52 rounds to an integer, which then stands in the low bits. */
    const lanes rounding = all(6755399441055744.0);
    const lanes shifted = x * 0.6366197723675814 + rounding;
    const lanes turns = shifted - rounding;
    const bits quadrant = bits_of(shifted);
    const lanes first = x - turns * 0x1.921fb544p+0;
    const lanes second = turns * 0x1.0b4611a6p-34;
    const lanes r = first - second;
    const lanes error = ((first - r) - second) - turns * 0x1.3198a2e037073p-69;
    const lanes z = r * r;

    const lanes p = 0.00833333333332237 + z * (-0.00019841269829771086 + z *
        (2.7557313678643845e-06 + z * (-2.505075595863526e-08 + z * 1.5896666370939634e-10)));
    const lanes cube = z * r;
    const lanes s = r - ((z * (0.5 * error - cube * p) - error) - cube * -0.16666666666666632);

    const lanes q = z * (0.0416666666666666 + z * (-0.0013888888888874064 + z *
        (2.480158728944353e-05 + z * (-2.755731434067416e-07 + z *
        (2.0875721625702183e-09 + z * -1.1359559428690583e-11)))));
    const lanes half = 0.5 * z;
    const lanes near = 1.0 - half;
    const lanes c = near + (((1.0 - near) - half) + (z * q - r * error));

    /* Odd quadrants exchange sine and cosine; signs follow the second lowest bit. */
    const bits exchange = (bits_of(s) ^ bits_of(c)) & -(quadrant & 1);
    *sine = lanes_of(bits_of(s) ^ exchange ^ ((quadrant & 2) << 62));
    *cosine = lanes_of(bits_of(c) ^ exchange ^ (((quadrant + 1) & 2) << 62));
}

#define out(i) result[i]
#define BODY static void body(INPUTS in, real *restrict result, real *restrict kept)
#define PIECE(k) static APART void piece_##k(INPUTS in, real *restrict result, real *restrict kept)
#define CALL(k) piece_##k(in, result, kept)

#if defined(ONE_STATE)

typedef double real;
#define INPUTS const double *const *
#define REAL(x) (x)

/* Four angles at a time, or fewer and some that nobody asked for. */
#define SINCOS1(...) SINCOS2(__VA_ARGS__, 0.0, unused, unused)
#define SINCOS2(...) SINCOS3(__VA_ARGS__, 0.0, unused, unused)
#define SINCOS3(...) SINCOS4(__VA_ARGS__, 0.0, unused, unused)
#define SINCOS4(a, sa, ca, b, sb, cb, c, sc, cc, d, sd, cd) do { \
        double sine[4], cosine[4], unused; \
        four_sines_cosines(a, b, c, d, sine, cosine); \
        sa = sine[0], ca = cosine[0], sb = sine[1], cb = cosine[1]; \
        sc = sine[2], cc = cosine[2], sd = sine[3], cd = cosine[3]; \
    } while (0)

/* They reach the lanes in registers: memory would stall them. */
static inline void four_sines_cosines(double a, double b, double c, double d, double *sine,
                                      double *cosine)
{
#if LANES == 4
    const lanes x = {a, b, c, d};
    lanes s, t;
    sine_cosine(x, &s, &t);
    memcpy(sine, &s, sizeof s);
    memcpy(cosine, &t, sizeof t);
#else
    sine_cosine(a, sine, cosine);
    sine_cosine(b, sine + 1, cosine + 1);
    sine_cosine(c, sine + 2, cosine + 2);
    sine_cosine(d, sine + 3, cosine + 3);
#endif
}

#else

typedef lanes real;
#define INPUTS const lanes *restrict
#define REAL(x) all(x)
/* Less zero, a number becomes lanes and lanes stay what they are. */
#define WIDE(x) ((x) - (lanes){0})
/* Functions that are not defined here are computed lane by lane, the i-th of a variable at a time. */
#define LANE(x) ((double *)&(x))[i]
#define SIGN(x) lanes_sign(x)
#define SELECT(x, a, b) lanes_select(x, WIDE(a), WIDE(b))
#define SINCOS1(x, s, c) sine_cosine(x, &s, &c)
#define SINCOS2(x, s, c, ...) SINCOS1(x, s, c); SINCOS1(__VA_ARGS__)
#define SINCOS3(x, s, c, ...) SINCOS1(x, s, c); SINCOS2(__VA_ARGS__)
#define SINCOS4(x, s, c, ...) SINCOS1(x, s, c); SINCOS3(__VA_ARGS__)

/* Memory that is to be freed, NULL if there is none. Stacks may be too small for many lanes. */
static inline lanes *lanes_array(size_t length)
{
    void *memory;
    const size_t alignment = sizeof(lanes) < sizeof memory ? sizeof memory : sizeof(lanes);
    return posix_memalign(&memory, alignment, length * sizeof(lanes)) ? NULL : memory;
}

static inline lanes lanes_sign(lanes x)
{
#if LANES == 1
    return (x > 0.0) - (x < 0.0);
#else
    /* Where a comparison of lanes holds, it sets all bits. */
    const bits one = bits_of(all(1.0));
    return lanes_of((x > 0.0) & one) - lanes_of((x < 0.0) & one);
#endif
}

static inline lanes lanes_select(lanes x, lanes a, lanes b)
{
#if LANES == 1
    return x >= 0.0 ? a : b;
#else
    const bits first = x >= 0.0;
    return lanes_of((bits_of(a) & first) | (bits_of(b) & ~first));
#endif
}

#if LANES > 1
#if defined(__clang__)
#define PICK(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
#define PICK(a, b, i, j, k, l) __builtin_shuffle(a, b, (four_bits){i, j, k, l})
#endif

typedef double four __attribute__((vector_size(32)));
typedef int64_t four_bits __attribute__((vector_size(32)));

/* Four entries of four rows become four rows of four entries. */
static inline void transpose(const double *a, const double *b, const double *c, const double *d,
                             double *to, ptrdiff_t stride)
{
    four p, q, r, s;
    memcpy(&p, a, sizeof p);
    memcpy(&q, b, sizeof q);
    memcpy(&r, c, sizeof r);
    memcpy(&s, d, sizeof s);
    const four even_pq = PICK(p, q, 0, 4, 2, 6), odd_pq = PICK(p, q, 1, 5, 3, 7);
    const four even_rs = PICK(r, s, 0, 4, 2, 6), odd_rs = PICK(r, s, 1, 5, 3, 7);
    p = PICK(even_pq, even_rs, 0, 1, 4, 5);
    q = PICK(odd_pq, odd_rs, 0, 1, 4, 5);
    r = PICK(even_pq, even_rs, 2, 3, 6, 7);
    s = PICK(odd_pq, odd_rs, 2, 3, 6, 7);
    memcpy(to, &p, sizeof p);
    memcpy(to + stride, &q, sizeof q);
    memcpy(to + 2 * stride, &r, sizeof r);
    memcpy(to + 3 * stride, &s, sizeof s);
}

/* Puts states side by side. Lanes beyond the last state repeat it. */
static inline void gather(const double *rows, ptrdiff_t stride, int size, ptrdiff_t left, lanes *to)
{
    double *entry = (double *)to;
    const double *row[LANES];
    for (int lane = 0; lane < LANES; lane++)
        row[lane] = rows + (lane < left ? lane : left - 1) * stride;
    for (int lane = 0; lane < LANES; lane += 4)
        for (int i = 0; i + 4 <= size; i += 4)
            transpose(row[lane] + i, row[lane + 1] + i, row[lane + 2] + i, row[lane + 3] + i,
                      entry + i * LANES + lane, LANES);
    for (int i = size / 4 * 4; i < size; i++)
        for (int lane = 0; lane < LANES; lane++)
            entry[i * LANES + lane] = row[lane][i];
}

/* The way back. Lanes beyond the last state are dropped. */
static inline void scatter(const lanes *from, int size, ptrdiff_t left, double *rows)
{
    const double *entry = (const double *)from;
    const int whole = left >= LANES ? size / 4 * 4 : 0;
    for (int lane = 0; lane < LANES; lane += 4)
        for (int i = 0; i < whole; i += 4) {
            const double *at = entry + i * LANES + lane;
            transpose(at, at + LANES, at + 2 * LANES, at + 3 * LANES, rows + lane * size + i, size);
        }
    for (int i = whole; i < size; i++)
        for (int lane = 0; lane < LANES && lane < left; lane++)
            rows[lane * size + i] = entry[i * LANES + lane];
}

#else
static inline void gather(const double *rows, ptrdiff_t stride, int size, ptrdiff_t left, lanes *to)
{
    (void)stride, (void)left;
    memcpy(to, rows, size * sizeof *to);
}

static inline void scatter(const lanes *from, int size, ptrdiff_t left, double *rows)
{
    (void)left;
    memcpy(rows, from, size * sizeof *rows);
}
#endif

#endif
