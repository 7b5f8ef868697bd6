// 2-D convolution, Nhwc buffers, by Winograd's method in tiles of 4 x 4 outputs (winograd.h), for
// processors: what a work-item keeps in private memory lies in a cache. It computes some tiles
// times ITEM_PANELS panels of 16 output channels:
//   1  B^T d B of its tiles, CHUNK input channels at a time
//   2  per position: adds the products of these channels, TILES tiles times PANELS panels at once
//   3  after the last channels A^T m A, bias, residual, activation, store
//
//   x, bias, residual, y  as in conv2d_f32_cl_buffer.cl
//   w                     [panel][36][in_c][16]
//
// Defines: TILES, PANELS; ITEM_TILES, a multiple of TILES, the most tiles of a work-item;
// ITEM_PANELS, a multiple of PANELS that divides the panels of the part; CHUNK, a multiple of 16;
// HAS_RESIDUAL, ACTIVATION.
// Order of the work: all tiles, then the next panels, so that the weights in use stay in a cache
// while x passes by. An output is the sum over input channels in their order, whatever the blocks:
// results are equal bit by bit.
//
// Per input channel and position: TILES * PANELS * 16 multiply-adds for PANELS loads of 64 bytes
// and TILES of 4: 32 a load with 4 tiles and 4 panels. Registers: TILES * PANELS sums and PANELS
// rows of weights of 16 floats each, and a float of the inputs: 321. Inputs are transformed once
// for ITEM_PANELS panels: with 4 of them 4 % of the instructions.
#define OUTPUTS 4
#include "kernels/conv2d/winograd_place.cl"

// So much lies from position to position of what a work-item keeps: a cache line more than a
// multiple of 4096 bytes, which share a set.
#define INPUT_STRIDE (ITEM_TILES * CHUNK + 16)
#define SUM_STRIDE (ITEM_TILES * ITEM_PANELS * 16 + 16)

// The points of the transform; conv2d_launch.cc asserts that they are those of the weights.
#define POINT0 0.625f
#define POINT1 1.5f
#define SQUARE0 (POINT0 * POINT0)
#define SQUARE1 (POINT1 * POINT1)

// Computes v = B^T d on one axis.
static inline void transform_input_line(const float16* d, float16* v) {
  v[0] = SQUARE0 * SQUARE1 * d[0] - (SQUARE0 + SQUARE1) * d[2] + d[4];
  v[5] = SQUARE0 * SQUARE1 * d[1] - (SQUARE0 + SQUARE1) * d[3] + d[5];
  const float16 even0 = d[4] - SQUARE1 * d[2];
  const float16 odd0 = d[3] - SQUARE1 * d[1];
  v[1] = even0 + POINT0 * odd0;
  v[2] = even0 - POINT0 * odd0;
  const float16 even1 = d[4] - SQUARE0 * d[2];
  const float16 odd1 = d[3] - SQUARE0 * d[1];
  v[3] = even1 + POINT1 * odd1;
  v[4] = even1 - POINT1 * odd1;
}

// Computes y = A^T m on one axis.
static inline void transform_output_line(const float16* m, float16* y) {
  const float16 even0 = m[1] + m[2];
  const float16 odd0 = m[1] - m[2];
  const float16 even1 = m[3] + m[4];
  const float16 odd1 = m[3] - m[4];
  y[0] = m[0] + even0 + even1;
  y[1] = POINT0 * odd0 + POINT1 * odd1;
  y[2] = SQUARE0 * even0 + SQUARE1 * even1;
  y[3] = m[5] + POINT0 * SQUARE0 * odd0 + POINT1 * SQUARE1 * odd1;
}

// B^T d B of 16 channels of a tile, to `inputs` of its first position. `x`: those channels of the
// first pixel held, of which `channels` are in memory; the tile begins at `row` and `column` of
// `rows` times `columns` pixels.
static inline void transform_inputs(global const TYPE_0* x, int row_stride, int pixel_stride,
                                    int channels, int row, int rows, int column, int columns,
                                    float* inputs) {
  float16 half_done[INPUTS][INPUTS];  // holds B^T d
  for (int j = 0; j < INPUTS; ++j, ++column) {
    float16 d[INPUTS];
    float16 v[INPUTS];
#pragma unroll
    for (int i = 0; i < INPUTS; ++i) {
      d[i] = (float16)(0.0f);
      if (row + i >= 0 && row + i < rows && column >= 0 && column < columns)
        d[i] = LOAD_LANES(TYPE_0, x + (row + i) * row_stride + column * pixel_stride, channels);
    }
    transform_input_line(d, v);
#pragma unroll
    for (int i = 0; i < INPUTS; ++i) half_done[i][j] = v[i];
  }
  for (int i = 0; i < INPUTS; ++i) {
    float16 v[INPUTS];
    transform_input_line(half_done[i], v);
#pragma unroll
    for (int j = 0; j < INPUTS; ++j) vstore16(v[j], 0, inputs + (i * INPUTS + j) * INPUT_STRIDE);
  }
}

// Adds to the sums of TILES times PANELS at one position the products of `depth` channels.
static inline void multiply(const float* inputs, global const TYPE_1* w, int panel_elements,
                            int depth, bool is_first, float* sums) {
  float16 sum[TILES][PANELS];
#pragma unroll
  for (int t = 0; t < TILES; ++t)
#pragma unroll
    for (int b = 0; b < PANELS; ++b)
      sum[t][b] = is_first ? (float16)(0.0f) : vload16(t * ITEM_PANELS + b, sums);
  for (int c = 0; c < depth; ++c) {
    float16 weights[PANELS];
#pragma unroll
    for (int b = 0; b < PANELS; ++b)
      weights[b] = LOAD_LANES(TYPE_1, w + b * panel_elements + c * 16, 16);
#pragma unroll
    for (int t = 0; t < TILES; ++t)
#pragma unroll
      for (int b = 0; b < PANELS; ++b) sum[t][b] += (float16)(inputs[t * CHUNK + c]) * weights[b];
  }
#pragma unroll
  for (int t = 0; t < TILES; ++t)
#pragma unroll
    for (int b = 0; b < PANELS; ++b) vstore16(sum[t][b], t * ITEM_PANELS + b, sums);
}

// Computes A^T m of a panel of a tile; `sums` points to its first position.
static inline void transform_sums(const float* sums, float16 half_done[OUTPUTS][INPUTS]) {
  for (int j = 0; j < INPUTS; ++j) {
    float16 m[INPUTS];
    float16 v[OUTPUTS];
#pragma unroll
    for (int i = 0; i < INPUTS; ++i) m[i] = vload16(0, sums + (i * INPUTS + j) * SUM_STRIDE);
    transform_output_line(m, v);
#pragma unroll
    for (int i = 0; i < OUTPUTS; ++i) half_done[i][j] = v[i];
  }
}

kernel void conv2d_winograd4_f32_cl_buffer(
    global const TYPE_0* restrict x, global const TYPE_1* restrict w,
    global const float* restrict bias,
#if HAS_RESIDUAL
    global const TYPE_3* residual,
#endif
    global TYPE_Y* y PARAMS(WinogradItem)) {
  const int id = get_global_id(0);
  if (id >= item_count) return;
  const int first_tile = id % tile_blocks * block_tiles;
  const int tile_count = min(block_tiles, tiles - first_tile);
  const int panel = panel_begin + id / tile_blocks * ITEM_PANELS;
  const int panel_elements = POSITIONS * in_c * 16;
  float inputs[POSITIONS * INPUT_STRIDE] __attribute__((aligned(64)));
  float sums[POSITIONS * SUM_STRIDE] __attribute__((aligned(64)));

  // multiply() takes TILES tiles, be they there or not: of what lies there a number too small to be
  // normal would make its products ten times as slow.
  for (int position = 0; position < POSITIONS; ++position)
    for (int t = tile_count; t % TILES != 0; ++t)
      for (int c = 0; c < CHUNK; c += 16)
        vstore16((float16)(0.0f), 0, inputs + position * INPUT_STRIDE + t * CHUNK + c);

  for (int chunk = 0; chunk < in_c; chunk += CHUNK) {
    for (int t = 0; t < tile_count; ++t) {
      const TilePlace place = tile_place(first_tile + t, tile_rows, tile_columns, first_tile_row);
      for (int c = chunk; c < min(chunk + CHUNK, in_c); c += 16)
        transform_inputs(x + x_offset + place.image * x_batch_stride + c, x_row_stride,
                         x_pixel_stride, (in_c + 3) / 4 * 4 - c, place.row - pad_top - x_row_begin,
                         x_row_end - x_row_begin, place.column - pad_left, in_w,
                         inputs + t * CHUNK + c - chunk);
    }
    for (int position = 0; position < POSITIONS; ++position)
      for (int b = 0; b < ITEM_PANELS; b += PANELS)
        for (int t = 0; t < tile_count; t += TILES)
          multiply(inputs + position * INPUT_STRIDE + t * CHUNK,
                   w + (panel + b) * panel_elements + (position * in_c + chunk) * 16,
                   panel_elements, min(CHUNK, in_c - chunk), chunk == 0,
                   sums + position * SUM_STRIDE + (t * ITEM_PANELS + b) * 16);
  }

  for (int t = 0; t < tile_count; ++t) {
    const TilePlace place = tile_place(first_tile + t, tile_rows, tile_columns, first_tile_row);
    for (int b = 0; b < ITEM_PANELS; ++b) {
      const int channel = (panel + b) * 16;
      const int stored = (out_c + 3) / 4 * 4 - channel;
      const float16 start = vload16(panel + b, bias);
      float16 half_done[OUTPUTS][INPUTS];
      transform_sums(sums + (t * ITEM_PANELS + b) * 16, half_done);
      for (int i = 0; i < OUTPUTS; ++i) {
        const int row = place.row + i;
        if (row < row_begin || row >= row_end) continue;
        float16 line[OUTPUTS];
        transform_output_line(half_done[i], line);
        const int at = (row - row_begin) * y_row_stride + place.column * y_pixel_stride + channel;
        global TYPE_Y* const to = y + y_offset + place.image * y_batch_stride + at;
#if HAS_RESIDUAL
        global const TYPE_3* const other =
            residual + residual_offset + place.image * residual_batch_stride + at;
#endif
#pragma unroll
        for (int j = 0; j < OUTPUTS; ++j) {
          if (place.column + j >= out_w) break;
          float16 v = line[j] + start;
#if HAS_RESIDUAL
          v += LOAD_LANES(TYPE_3, other + j * y_pixel_stride, stored);
#endif
          v = ACTIVATE(v, alpha, beta);
          if (channel + 16 > out_c) v = keep_lanes(v, out_c - channel);
          STORE_LANES(TYPE_Y, v, to + j * y_pixel_stride, stored);
        }
      }
    }
  }
}
