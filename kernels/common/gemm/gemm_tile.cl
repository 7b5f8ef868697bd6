// Computes a tile of a matrix product C = A B in local memory for the kernels *_cl_tiled. It suits
// GPUs; on a processor without local memory of its own the copies are in vain.
//
// A work-group computes TILE_M rows (pixels) x TILE_N columns (output channels) of C, over the
// depth in steps of TILE_K. In each step its work-items bring TILE_K x TILE_M of A and TILE_K x
// TILE_N of B to local memory, the next step's while this one's are multiplied. A work-item
// multiplies ITEM_M x ITEM_N of C. With SLICES > 1 the depth of a step is divided among that many
// times the work-items, whose sums are added at the end, always in the same order: for C with too
// few elements to fill a GPU.
//
// Defines: TILE_M, TILE_N, TILE_K, ITEM_M, ITEM_N, SLICES; gemm_tile.h has what must hold for them.
// HAS_WHOLE_QUADS for STORE_COLUMNS().
//
// Per depth: ITEM_M * ITEM_N multiply-adds for (ITEM_M + ITEM_N) / 4 local loads of 16 bytes.
// Registers: ITEM_M * ITEM_N sums, ITEM_M + ITEM_N factors and 4 * (A_LOADS + B_LOADS) numbers on
// their way to local memory. In half arithmetic they are halves, and with runs there are as many
// totals in floats.

#include "kernels/common/launch/local_item.cl"
#define THREADS_M (TILE_M / ITEM_M)
#define THREADS_N (TILE_N / ITEM_N)
#define SLICE_ITEMS (THREADS_M * THREADS_N)
#define ITEMS (SLICE_ITEMS * SLICES)
#define SLICE_K (TILE_K / SLICES)
// A work-item loads so many times 4 floats in a step.
#define A_LOADS (TILE_M * TILE_K / 4 / ITEMS)
#define B_LOADS (TILE_N * TILE_K / 4 / ITEMS)
// Local memory has, in ACC, A: [TILE_K][TILE_M], a row longer by a quad; B: panels of
// [TILE_K][16], longer by 16: neighbours of a warp then meet different banks. Then it has sums of
// slices, in floats.
#define A_PITCH (TILE_M + 4)
#define B_PITCH (TILE_K * 16 + 16)
#define ITEM_K SLICE_K
#include "kernels/common/gemm/item_products.cl"
#define A_NUMBERS (TILE_K * A_PITCH)
#define STAGE_NUMBERS (A_NUMBERS + TILE_N / 16 * B_PITCH)
#define STAGES_FLOATS (2 * STAGE_NUMBERS * ACC_BYTES / 4)
#define SUMS_FLOATS (SLICES / 2 * TILE_M * TILE_N)
#define LOCAL_FLOATS (STAGES_FLOATS > SUMS_FLOATS ? STAGES_FLOATS : SUMS_FLOATS)
// A work-item's quads of sums.
#define ITEM_SUMS (ITEM_M * QUADS_N)

// A work-item computes these elements: rows m + 4 * THREADS_M * i + (0..3), columns n + 4 *
// THREADS_N * j + (0..3) of the tile, in its slice of each step.
typedef struct {
  int slice;
  int m;
  int n;
} TilePlace;

static inline TilePlace tile_place(void) {
  const int id = local_item();
  const int in_slice = id % SLICE_ITEMS;
  const TilePlace place = {id / SLICE_ITEMS, in_slice / THREADS_N * 4, in_slice % THREADS_N * 4};
  return place;
}

// Load `i` of this work-item brings, of A, 4 neighbours in depth, from a_load_k(), of row
// a_load_m(i); of B, 4 neighbouring columns, of depth b_load_k(i), panel b_load_panel(i), lane
// b_load_lane().
static inline int a_load_k(void) { return local_item() % (TILE_K / 4) * 4; }
static inline int a_load_m(int i) { return (local_item() + i * ITEMS) / (TILE_K / 4); }
static inline int b_load_k(int i) { return (local_item() + i * ITEMS) / 4 % TILE_K; }
static inline int b_load_panel(int i) { return (local_item() + i * ITEMS) / (4 * TILE_K); }
static inline int b_load_lane(void) { return local_item() % 4 * 4; }

static inline void store_stage(local ACC* stage, const ACC4* a, const ACC4* b) {
#pragma unroll
  for (int i = 0; i < A_LOADS; ++i) {
    local ACC* const to = stage + a_load_k() * A_PITCH + a_load_m(i);
    to[0] = a[i].x;
    to[A_PITCH] = a[i].y;
    to[2 * A_PITCH] = a[i].z;
    to[3 * A_PITCH] = a[i].w;
  }
#pragma unroll
  for (int i = 0; i < B_LOADS; ++i)
    *(local ACC4*)(stage + A_NUMBERS + b_load_panel(i) * B_PITCH + b_load_k(i) * 16 +
                   b_load_lane()) = b[i];
}

static inline void multiply_stage(local const ACC* stage, TilePlace place, ACC4* sums) {
  add_products(stage + place.slice * SLICE_K * A_PITCH + place.m,
               stage + A_NUMBERS + place.n / 16 * B_PITCH + place.slice * SLICE_K * 16 +
                   place.n % 16,
               sums);
}

// Adds the slices' sums in pairs; slice 0 has the result. All work-items call it, after a barrier.
static inline void add_slices(local float* memory, TilePlace place, float4* sums) {
  const int in_slice = local_item() % SLICE_ITEMS;
  for (int half_count = SLICES / 2; half_count > 0; half_count /= 2) {
    const int slot = place.slice % half_count * ITEM_SUMS * SLICE_ITEMS + in_slice;
    local float4* const shared_sums = (local float4*)memory + slot;
    if (place.slice >= half_count && place.slice < 2 * half_count) {
#pragma unroll
      for (int i = 0; i < ITEM_SUMS; ++i) shared_sums[i * SLICE_ITEMS] = sums[i];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (place.slice < half_count) {
#pragma unroll
      for (int i = 0; i < ITEM_SUMS; ++i) sums[i] += shared_sums[i * SLICE_ITEMS];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

// Row and column in the tile of sums[i * QUADS_N + j]; lane l of it is l columns further.
static inline int sum_row(TilePlace place, int i) {
  return i / 4 * 4 * THREADS_M + place.m + i % 4;
}
static inline int sum_column(TilePlace place, int j) { return j * 4 * THREADS_N + place.n; }

// Writes the first `count` lanes of a quad of C; with HAS_WHOLE_QUADS all are whole and aligned.
#if HAS_WHOLE_QUADS
#define STORE_COLUMNS(type, v, p, count) STORE_QUAD(type, v, p)
#else
#define STORE_COLUMNS(type, v, p, count) STORE_LANES4(type, v, p, count)
#endif

// Declares sums, floats, and computes them by a loop over the depth; the work-items of all slices
// but the first, which has the result, leave the kernel. LOAD(step) brings the factors of depths
// from step * TILE_K to (step + 1) * TILE_K to the work-item's a_quads and b_quads, zero past the
// depth.
#define MULTIPLY_TILES(memory, depth, place, sums, LOAD)                                    \
  float4 sums[ITEM_SUMS];                                                                   \
  {                                                                                         \
    SUMS(4, sum, ITEM_SUMS, ITEM_K)                                                         \
    const int step_count = ((depth) + TILE_K - 1) / TILE_K;                                 \
    local ACC* const stages = (local ACC*)(memory);                                         \
    ACC4 a_quads[A_LOADS];                                                                  \
    ACC4 b_quads[B_LOADS];                                                                  \
    LOAD(0)                                                                                 \
    store_stage(stages, a_quads, b_quads);                                                  \
    barrier(CLK_LOCAL_MEM_FENCE);                                                           \
    for (int step = 0; step < step_count; ++step) {                                         \
      const bool has_next = step + 1 < step_count;                                          \
      if (has_next) {                                                                       \
        LOAD(step + 1)                                                                      \
      }                                                                                     \
      multiply_stage(stages + step % 2 * STAGE_NUMBERS, place, sum);                        \
      END_STEP(4, sum, ITEM_SUMS, ITEM_K, step)                                             \
      if (has_next) store_stage(stages + (step + 1) % 2 * STAGE_NUMBERS, a_quads, b_quads); \
      barrier(CLK_LOCAL_MEM_FENCE);                                                         \
    }                                                                                       \
    _Pragma("unroll") for (int i = 0; i < ITEM_SUMS; ++i) sums[i] = TOTAL(4, sum, i);       \
    if (SLICES > 1) add_slices(memory, place, sums);                                        \
  }                                                                                         \
  if (place.slice != 0) return;
