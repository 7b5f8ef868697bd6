// 2-D convolution, Nhwc buffers, by Winograd's method in tiles of 2 x 2 outputs (winograd.h), for
// GPUs: a work-group computes GROUP_TILES tiles times GROUP_CHANNELS output channels. CHUNK input
// channels at a time,
//   1  its work-items bring B^T d B of the tiles and the weights to local memory
//   2  each multiplies ITEM_TILES tiles times ITEM_CHANNELS channels of one of the 16 positions
// and after the last channels
//   3  the sums pass through local memory, 4 tiles times 4 channels of a work-item at a time, to
//      the work-items that compute A^T m A of a tile and channel, bias, residual, activation
//
//   x, bias, residual, y  as in conv2d_f32_cl_buffer.cl, each at a multiple of 16 bytes
//   w                     [panel][16][in_c][16]
//
// Defines: GROUP_TILES, GROUP_CHANNELS, CHUNK, ITEM_TILES, ITEM_CHANNELS; kernels/conv2d/winograd_cl.h
// has what must hold for them. HAS_RESIDUAL, ACTIVATION.
// An output is the sum over input channels in their order: results are equal bit by bit whatever
// the part. Of a tile that lies across the edge of a part some inputs may be missing: nothing of
// them gets into the rows that the part stores.
//
// Per input channel: ITEM_TILES * ITEM_CHANNELS multiply-adds for (ITEM_TILES + ITEM_CHANNELS) / 4
// local loads of 16 bytes. From global memory a group loads 16 (GROUP_TILES + GROUP_CHANNELS)
// floats for 16 GROUP_TILES * GROUP_CHANNELS multiply-adds, which stand for 36 of the direct sum.
// Registers of 8 x 8: 64 sums, 16 factors and, of {32, 32, 8, 8, 8}, 16 inputs and 16 weights on
// their way.
#define OUTPUTS 2
#include "kernels/common/launch/local_item.cl"
#include "kernels/conv2d/winograd_place.cl"

// Work-items of a position: each computes tiles 4 * THREADS_M * i + m + (0..3), channels 4 *
// THREADS_N * j + n + (0..3) of the group.
#define THREADS_M (GROUP_TILES / ITEM_TILES)
#define THREADS_N (GROUP_CHANNELS / ITEM_CHANNELS)
#define POSITION_ITEMS (THREADS_M * THREADS_N)
#define ITEMS (POSITIONS * POSITION_ITEMS)
// Loads of a work-item: channels of tiles (the last load is not every item's), and quads of weights
// of every WEIGHT_POSITIONS-th position.
#define INPUT_LOADS ((GROUP_TILES * CHUNK + ITEMS - 1) / ITEMS)
#define POSITION_QUADS (GROUP_CHANNELS * CHUNK / 4)
#define WEIGHT_POSITIONS (ITEMS / POSITION_QUADS)
#define WEIGHT_LOADS (POSITIONS / WEIGHT_POSITIONS)
// Local memory has, in floats, inputs: [POSITIONS][CHUNK][GROUP_TILES], a row longer by a quad;
// weights: [POSITIONS][GROUP_CHANNELS / 16][CHUNK][16], a panel longer by 16; positions an odd
// multiple of 16 apart: neighbours of a warp then meet different banks.
#define ODD_STRIDE(floats) (((floats) + 31) / 32 * 32 + 16)
#define INPUT_PITCH (GROUP_TILES + 4)
#define INPUT_STRIDE ODD_STRIDE(CHUNK* INPUT_PITCH)
#define PANEL_PITCH (CHUNK * 16 + 16)
#define WEIGHT_STRIDE ODD_STRIDE(GROUP_CHANNELS / 16 * PANEL_PITCH)
#define ITEM_M ITEM_TILES
#define ITEM_N ITEM_CHANNELS
#define ITEM_K CHUNK
#define A_PITCH INPUT_PITCH
#define B_PITCH PANEL_PITCH
#include "kernels/common/gemm/item_products.cl"

#define STAGE_FLOATS (POSITIONS * (INPUT_STRIDE + WEIGHT_STRIDE))
// A pass has sums [POSITIONS][4 * THREADS_M][4 * THREADS_N], as many of a position as there are
// work-items.
#define SUM_COLUMNS (4 * THREADS_N)
#define SUM_PITCH (SUM_COLUMNS + 4)
#define SUM_STRIDE (4 * THREADS_M * SUM_PITCH)
#define SUM_FLOATS (POSITIONS * SUM_STRIDE)
#define LOCAL_FLOATS (STAGE_FLOATS > SUM_FLOATS ? STAGE_FLOATS : SUM_FLOATS)

// The inputs of a tile: where the first of them lies or would lie, modulo 2^32, and which there
// are, a bit each.
typedef struct {
  uint offset;
  int inside;
} TileInputs;

// Returns the bits of a tile whose first input is at `row` and `column` of `rows` times `columns`.
static inline int bits_inside(int row, int rows, int column, int columns) {
  int bits = 0;
#pragma unroll
  for (int i = 0; i < POSITIONS; ++i) {
    const int at_row = row + i / INPUTS;
    const int at_column = column + i % INPUTS;
    if (at_row >= 0 && at_row < rows && at_column >= 0 && at_column < columns) bits |= 1 << i;
  }
  return bits;
}

// Load l of this work-item brings a tile and channel of the chunk, and 4 lanes of a row of a panel
// of weights at a position.
static inline int input_tile(int l) { return (local_item() + l * ITEMS) / CHUNK; }
static inline int input_channel(void) { return local_item() % CHUNK; }
static inline int weight_lane(void) { return local_item() % 4 * 4; }
static inline int weight_row(void) { return local_item() / 4 % CHUNK; }
static inline int weight_panel(void) {
  return local_item() / (4 * CHUNK) % (GROUP_CHANNELS / 16);
}
static inline int weight_position(int l) {
  return local_item() / POSITION_QUADS + l * WEIGHT_POSITIONS;
}

// Loads the channel `channel_offset` after that of `from`, if there is one: `has_channel`.
static inline void load_inputs(global const TYPE_0* x, const TileInputs* from, uint channel_offset,
                               bool has_channel, uint row_stride, uint pixel_stride,
                               float inputs[INPUT_LOADS][POSITIONS]) {
#pragma unroll
  for (int l = 0; l < INPUT_LOADS; ++l) {
    const int inside = has_channel ? from[l].inside : 0;
#pragma unroll
    for (uint i = 0; i < POSITIONS; ++i) {
      const uint pixel = i / INPUTS * row_stride + i % INPUTS * pixel_stride;
      inputs[l][i] = 0.0f;
      if ((inside & 1 << i) != 0)
        inputs[l][i] = LOAD_ONE(TYPE_0, x, from[l].offset + channel_offset + pixel);
    }
  }
}

// `w` points at this work-item's panel, row and lane.
static inline void load_weights(global const TYPE_1* w, bool has_row, int in_c,
                                float4 weights[WEIGHT_LOADS]) {
#pragma unroll
  for (int l = 0; l < WEIGHT_LOADS; ++l) {
    weights[l] = (float4)(0.0f);
    if (has_row) weights[l] = LOAD_QUAD(TYPE_1, w + weight_position(l) * in_c * 16);
  }
}

// v = B^T d on one axis.
static inline void transform_input_line(float d0, float d1, float d2, float d3, float* v) {
  v[0] = d2 - d0;
  v[1] = d2 + d1;
  v[2] = d2 - d1;
  v[3] = d3 - d1;
}

// Writes B^T d B of one channel of a tile to local memory.
static inline void store_transformed(local float* to, const float* d) {
  float half_done[INPUTS][INPUTS];  // [column][row of B^T d]
#pragma unroll
  for (int j = 0; j < INPUTS; ++j)
    transform_input_line(d[j], d[INPUTS + j], d[2 * INPUTS + j], d[3 * INPUTS + j], half_done[j]);
#pragma unroll
  for (int i = 0; i < INPUTS; ++i) {
    float v[INPUTS];
    transform_input_line(half_done[0][i], half_done[1][i], half_done[2][i], half_done[3][i], v);
#pragma unroll
    for (int j = 0; j < INPUTS; ++j) to[(i * INPUTS + j) * INPUT_STRIDE] = v[j];
  }
}

static inline void store_stage(local float* inputs_to, local float* weights_to,
                               float inputs[INPUT_LOADS][POSITIONS], const float4* weights) {
#pragma unroll
  for (int l = 0; l < INPUT_LOADS; ++l)
    if (input_tile(l) < GROUP_TILES)
      store_transformed(inputs_to + input_channel() * INPUT_PITCH + input_tile(l), inputs[l]);
  weights_to += weight_panel() * PANEL_PITCH + weight_row() * 16 + weight_lane();
#pragma unroll
  for (int l = 0; l < WEIGHT_LOADS; ++l)
    *(local float4*)(weights_to + weight_position(l) * WEIGHT_STRIDE) = weights[l];
}

// Computes A^T m A of one channel of a tile; `m` is its sum at the first position.
static inline void transform_sums(local const float* m, float y[OUTPUTS][OUTPUTS]) {
  float half_done[OUTPUTS][INPUTS];  // A^T m
#pragma unroll
  for (int j = 0; j < INPUTS; ++j) {
    const float m1 = m[(INPUTS + j) * SUM_STRIDE];
    const float m2 = m[(2 * INPUTS + j) * SUM_STRIDE];
    half_done[0][j] = m[j * SUM_STRIDE] + (m1 + m2);
    half_done[1][j] = m[(3 * INPUTS + j) * SUM_STRIDE] + (m1 - m2);
  }
#pragma unroll
  for (int i = 0; i < OUTPUTS; ++i) {
    y[i][0] = half_done[i][0] + (half_done[i][1] + half_done[i][2]);
    y[i][1] = half_done[i][3] + (half_done[i][1] - half_done[i][2]);
  }
}

kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void conv2d_winograd2_f32_cl_tiled(
    global const TYPE_0* restrict x, global const TYPE_1* restrict w,
    global const float* restrict bias,
#if HAS_RESIDUAL
    global const TYPE_3* residual,
#endif
    global TYPE_Y* y PARAMS(WinogradGroup)) {
  local float memory[LOCAL_FLOATS] __attribute__((aligned(16)));
  const int id = local_item();
  const int position = id / POSITION_ITEMS;
  const int m = id % POSITION_ITEMS / THREADS_N * 4;
  const int n = id % THREADS_N * 4;
  const int first_panel =
      panel_begin + (int)get_group_id(0) % channel_blocks * (GROUP_CHANNELS / 16);
  const int first_tile = (int)get_group_id(0) / channel_blocks * GROUP_TILES;

  TileInputs from[INPUT_LOADS];
#pragma unroll
  for (int l = 0; l < INPUT_LOADS; ++l) {
    const int tile = first_tile + input_tile(l);
    const TilePlace place = tile_place(tile, tile_rows, tile_columns, first_tile_row);
    const int row = place.row - pad_top - x_row_begin;
    const int column = place.column - pad_left;
    from[l].offset = (uint)place.image * x_batch_stride + (uint)row * x_row_stride +
                     (uint)column * x_pixel_stride + x_offset + input_channel();
    from[l].inside = bits_inside(row, tile < tiles ? x_row_end - x_row_begin : 0, column, in_w);
  }

  SUMS(4, sums, ITEM_TILES * QUADS_N, ITEM_K)
  float inputs[INPUT_LOADS][POSITIONS];
  float4 weights[WEIGHT_LOADS];

  // Weights of panels past the last are those of the last; nobody stores what comes of them.
  const int load_panel = min(first_panel + weight_panel(), panel_end - 1);
  global const TYPE_1* const load_w =
      w + (load_panel * POSITIONS * in_c + weight_row()) * 16 + weight_lane();
#define LOAD(chunk)                                                                           \
  load_inputs(x, from, chunk, (chunk) + input_channel() < in_c, x_row_stride, x_pixel_stride, \
              inputs);                                                                        \
  load_weights(load_w + (chunk)*16, (chunk) + weight_row() < in_c, in_c, weights);

  // A chunk is on its way from global memory while the one before is multiplied.
  local float* const weight_memory = memory + POSITIONS * INPUT_STRIDE;
  LOAD(0)
  for (int chunk = 0; chunk < in_c; chunk += CHUNK) {
    barrier(CLK_LOCAL_MEM_FENCE);
    store_stage(memory, weight_memory, inputs, weights);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (chunk + CHUNK < in_c) {
      LOAD(chunk + CHUNK)
    }
    add_products(memory + position * INPUT_STRIDE + m,
                 weight_memory + position * WEIGHT_STRIDE + n / 16 * PANEL_PITCH + n % 16, sums);
  }

  // This work-item makes outputs of this sum of a pass.
  const int sum_row = id / SUM_COLUMNS;
  const int sum_column = id % SUM_COLUMNS;
#pragma unroll
  for (int i = 0; i < ITEM_TILES; i += 4) {
    const int tile = first_tile + i * THREADS_M + sum_row;
    const TilePlace place = tile_place(tile, tile_rows, tile_columns, first_tile_row);
#pragma unroll
    for (int j = 0; j < QUADS_N; ++j) {
      barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
      for (int t = 0; t < 4; ++t)
        *(local float4*)(memory + position * SUM_STRIDE + (m + t) * SUM_PITCH + n) =
            sums[(i + t) * QUADS_N + j];
      barrier(CLK_LOCAL_MEM_FENCE);
      const int channel = first_panel * 16 + 4 * THREADS_N * j + sum_column;
      if (tile < tiles && channel < channel_end) {
        float block[OUTPUTS][OUTPUTS];
        transform_sums(memory + sum_row * SUM_PITCH + sum_column, block);
        const float start = bias[channel];
#pragma unroll
        for (int p = 0; p < OUTPUTS * OUTPUTS; ++p) {
          const int row = place.row + p / OUTPUTS;
          const int column = place.column + p % OUTPUTS;
          if (row < row_begin || row >= row_end || column >= out_w) continue;
          const int at = (row - row_begin) * y_row_stride + column * y_pixel_stride + channel;
          float v = block[p / OUTPUTS][p % OUTPUTS] + start;
#if HAS_RESIDUAL
          v += LOAD_ONE(TYPE_3, residual,
                        residual_offset + place.image * residual_batch_stride + at);
#endif
          v = ACTIVATE(v, alpha, beta);
          v = channel < out_c ? v : 0.0f;
          STORE_ONE(TYPE_Y, v, y, y_offset + place.image * y_batch_stride + at);
        }
      }
    }
  }
}
