// Computes y[m, n] = a[m, k] b[k, n] for every product of a batch, Plain buffers.
//
// Defines: COLUMNS, 4 or 8. HAS_ROWS_OF_B, there are as many columns, and neighbours of b are
// neighbours in memory. DEPTHS, 1 or 4; 4: with 4 columns, neighbours in depth of a are neighbours
// in memory, and those of b are without HAS_ROWS_OF_B. HAS_QUADS_OF_A, HAS_QUADS_OF_B: four
// neighbours in memory are one aligned quad; HAS_WHOLE_QUADS: those of y are. A work-item takes a
// tile of 4 rows and COLUMNS of y: columns first, then rows, then the batch. Strides are in
// elements.
//
// Per depth, 8 columns: 32 multiply-adds for 4 scalar loads and one of 32 bytes; 32 sums and 12
// factors are in registers. 4 columns and 4 depths: 64 multiply-adds for 8 loads of 16 bytes; 16
// sums and 20 factors. That is for GPUs on which a load takes its slots whatever its width, and a
// work-item has few registers.
#include "kernels/batch_matmul/batch_axes.cl"

#define LOAD_FOUR_0(type, p) FACTORS_4(type, p)
#define LOAD_FOUR_1(type, p) FACTOR4(type, p)
#define LOAD_FOUR(is_quad, type, p) PASTE(LOAD_FOUR, is_quad)(type, p)
#if COLUMNS == 8
#define FACTORS ACC8
#define LOAD_COLUMNS(p) FACTORS_8(TYPE_1, p)
#else
#define FACTORS ACC4
#define LOAD_COLUMNS(p) LOAD_FOUR(HAS_QUADS_OF_B, TYPE_1, p)
#endif

// A place in a or b is a pointer or, where a Mali has no registers for eight of them beside sums in
// halves and in floats, an element behind it: IN_A(place), IN_B(place) point there.
#if HAS_RUNS && !HAS_ROWS_OF_B
#define PLACE_IN(type) int
#define FIRST_PLACE(p) 0
#define IN_A(place) (a + (place))
#define IN_B(place) (b + (place))
#else
#define PLACE_IN(type) global const type*
#define FIRST_PLACE(p) p
#define IN_A(place) (place)
#define IN_B(place) (place)
#endif

// Places in b: with HAS_ROWS_OF_B one of the row of a depth, else of COLUMNS columns, the last
// again where there are fewer. LOAD_DEPTH: the columns of b at the first depth. Four depths are the
// quads at B_QUAD(i), of which COLUMNS_OF(i, lane) makes the columns at depth i, whose lane it is.
#if HAS_ROWS_OF_B
#define B_PLACES 1
#define B_STEP(i) 0
#define B_QUAD(i) (b_k[0] + (i)*b_depth)
#define LOAD_DEPTH LOAD_COLUMNS(b_k[0])
#define COLUMNS_OF(i, lane) of_b[i]
#else
#define B_PLACES COLUMNS
#define B_STEP(i) (min(i, n - 1) * b_column)
#define B_QUAD(i) IN_B(b_k[i])
#define B_AT(i) FACTOR(TYPE_1, IN_B(b_k[i]), 0)
#if COLUMNS == 8
#define LOAD_DEPTH (ACC8)(B_AT(0), B_AT(1), B_AT(2), B_AT(3), B_AT(4), B_AT(5), B_AT(6), B_AT(7))
#else
#define LOAD_DEPTH (ACC4)(B_AT(0), B_AT(1), B_AT(2), B_AT(3))
#endif
#define COLUMNS_OF(i, lane) (ACC4)(of_b[0].lane, of_b[1].lane, of_b[2].lane, of_b[3].lane)
#endif

// Adds the products of the next four depths, and of the next one.
#define ADD_DEPTHS                                                                 \
  ACC4 of_b[4];                                                                    \
  _Pragma("unroll") for (int i = 0; i < 4; ++i) of_b[i] = LOAD_COLUMNS(B_QUAD(i)); \
  _Pragma("unroll") for (int i = 0; i < B_PLACES; ++i) b_k[i] += 4 * b_depth;      \
  _Pragma("unroll") for (int r = 0; r < 4; ++r) {                                  \
    const ACC4 of_a = LOAD_FOUR(HAS_QUADS_OF_A, TYPE_0, IN_A(a_k[r]));             \
    a_k[r] += 4;                                                                   \
    sums[r] += of_a.x * COLUMNS_OF(0, x);                                          \
    sums[r] += of_a.y * COLUMNS_OF(1, y);                                          \
    sums[r] += of_a.z * COLUMNS_OF(2, z);                                          \
    sums[r] += of_a.w * COLUMNS_OF(3, w);                                          \
  }
#define ADD_DEPTH                                      \
  const FACTORS of_b = LOAD_DEPTH;                     \
  _Pragma("unroll") for (int r = 0; r < 4; ++r) {      \
    sums[r] += FACTOR(TYPE_0, IN_A(a_k[r]), 0) * of_b; \
    a_k[r] += a_depth;                                 \
  }                                                    \
  _Pragma("unroll") for (int i = 0; i < B_PLACES; ++i) b_k[i] += b_depth;

// Writes lanes [begin, end) to p.
static inline void store_between(float4 v, global TYPE_Y* p, int begin,
                                 int end GRID_PARAMS_OF(TYPE_Y)) {
  if (begin <= 0 && end > 0) STORE_ONE(TYPE_Y, v.x, p, 0);
  if (begin <= 1 && end > 1) STORE_ONE(TYPE_Y, v.y, p, 1);
  if (begin <= 2 && end > 2) STORE_ONE(TYPE_Y, v.z, p, 2);
  if (begin <= 3 && end > 3) STORE_ONE(TYPE_Y, v.w, p, 3);
}

kernel void batch_matmul_f32_cl_buffer(global const TYPE_0* restrict a,
                                       global const TYPE_1* restrict b,
                                       global TYPE_Y* restrict y PARAMS(BatchMatMulBuffer)) {
  if (is_past_grid(column_tiles, row_tiles, batch_count)) return;
  int id = get_global_id(2);
  // A tile at the lower or right edge begins further up or to the left, where there is room, and
  // writes what is its own, from row `top` and column `begin` on. Few numbers are kept for after
  // the sums, because they take registers meanwhile.
  const int first_row = max(min((int)get_global_id(1) * 4, m - 4), 0);
  const int first_column = max(min((int)get_global_id(0) * COLUMNS, n - COLUMNS), 0);
  const int top = (int)get_global_id(1) * 4 - first_row;
  const int begin = (int)get_global_id(0) * COLUMNS - first_column;
  const int y_at = (id * m + first_row) * n + first_column;
  PLACE_IN(TYPE_0) a_at = FIRST_PLACE(a);
  PLACE_IN(TYPE_1) b_at = FIRST_PLACE(b);
  STEP_TO_PRODUCT(id, a_at, b_at)
  a_at += first_row * a_row;
  b_at += first_column * b_column;
  PLACE_IN(TYPE_0) a_k[4];
  PLACE_IN(TYPE_1) b_k[B_PLACES];
#pragma unroll
  for (int i = 0; i < 4; ++i) a_k[i] = a_at + min(i, m - 1) * a_row;
#pragma unroll
  for (int i = 0; i < B_PLACES; ++i) b_k[i] = b_at + B_STEP(i);
  SUMS(COLUMNS, sums, 4, DEPTHS)

  EACH_RUN(k / DEPTHS, run) {
    for (int i = run; i > 0; --i) {
#if DEPTHS == 4
      ADD_DEPTHS
#else
      ADD_DEPTH
#endif
    }
    END_RUN(COLUMNS, sums, 4, DEPTHS, run)
  }
#if DEPTHS == 4 && !HAS_QUADS_OF_A
  for (int i = k % 4; i > 0; --i) {
    ADD_DEPTH
  }
#endif

#pragma unroll
  for (int r = 0; r < 4; ++r) {
    if (r < top || r >= m) continue;
    const OF_LANES(float, COLUMNS) sum = TOTAL(COLUMNS, sums, r);
    global TYPE_Y* const to = y + y_at + r * n;
#if COLUMNS == 4 && HAS_WHOLE_QUADS
    STORE_QUAD(TYPE_Y, sum, to);
#else
    const int end = min(COLUMNS, n);
#if COLUMNS == 4
    store_between(sum, to, begin, end GRID_OF(TYPE_Y));
#else
    if (end - begin == 8) {
      STORE_8(TYPE_Y, sum, to);
    } else {
      store_between(sum.lo, to, begin, end GRID_OF(TYPE_Y));
      store_between(sum.hi, to + 4, begin - 4, end - 4 GRID_OF(TYPE_Y));
    }
#endif
#endif
  }
}
