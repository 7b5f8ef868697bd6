// Loads the weights of MatMul: floats or halves, [panel][k][16], or integers in blocks
// (kernels/common/gemm/block_panels.h), of which a step computes floats where it needs them.
//
// WEIGHTS_4: four columns from `lane` on, at a depth of a panel; WEIGHTS_16: a panel's columns at a
// depth; WEIGHTS_4X4: WEIGHTS_4 at four depths from a multiple of 4 on.
//
// Defines: BLOCK_BITS, BLOCK_SIZE; none: there are no blocks.
#if BLOCK_BITS
#define WEIGHT_TYPE uchar
#define BLOCK_HEADER (64 + 2 * BLOCK_BITS)
#if BLOCK_BITS == 4
#define BLOCK_DEPTHS(depths) (((depths) + 1) / 2)
#define DEPTH_OF(integers, at, lanes) \
  (vload##lanes(0, integers + (at) / 2 * 16) >> (uchar)((at) % 2 * 4) & (uchar)15)
#define ZEROS_4(zeros, lane) (vload4(0, zeros + (lane) % 8) >> (uchar)((lane) / 8 * 4) & (uchar)15)
#define ZEROS_16(zeros) (uchar16)(vload8(0, zeros) & (uchar)15, vload8(0, zeros) >> (uchar)4)
#else
#define BLOCK_DEPTHS(depths) (depths)
#define DEPTH_OF(integers, at, lanes) vload##lanes(0, integers + (at)*16)
#define ZEROS_4(zeros, lane) vload4(0, zeros + (lane))
#define ZEROS_16(zeros) vload16(0, zeros)
#endif
#define BLOCK_BYTES (BLOCK_HEADER + BLOCK_DEPTHS(BLOCK_SIZE) * 16)

static inline int block_panel_bytes(int k) {
  const int rest = k % BLOCK_SIZE;
  return k / BLOCK_SIZE * BLOCK_BYTES + (rest > 0 ? BLOCK_HEADER + BLOCK_DEPTHS(rest) * 16 : 0);
}
#define BLOCK_AT(panel, at) (panel + (at) / BLOCK_SIZE * BLOCK_BYTES)

static inline void load_weights_4x4(global const uchar* panel, int at, int lane, int depths,
                                    ACC4* weights) {
  global const uchar* const block = BLOCK_AT(panel, at);
  const float4 scales = vload4(0, (global const float*)block + lane);
  const float4 zeros = convert_float4(ZEROS_4(block + 64, lane));
  global const uchar* const integers = block + BLOCK_HEADER + lane;
  at %= BLOCK_SIZE;
#pragma unroll
  for (int i = 0; i < depths; ++i)
    weights[i] =
        PASTE(convert, ACC4)((convert_float4(DEPTH_OF(integers, at + i, 4)) - zeros) * scales);
}
static inline ACC4 weights_4(global const uchar* panel, int at, int lane) {
  ACC4 weights[1];
  load_weights_4x4(panel, at, lane, 1, weights);
  return weights[0];
}
static inline ACC16 weights_16(global const uchar* panel, int at) {
  global const uchar* const block = BLOCK_AT(panel, at);
  const float16 scales = vload16(0, (global const float*)block);
  const float16 zeros = convert_float16(ZEROS_16(block + 64));
  global const uchar* const integers = block + BLOCK_HEADER;
  return PASTE(convert,
               ACC16)((convert_float16(DEPTH_OF(integers, at % BLOCK_SIZE, 16)) - zeros) * scales);
}
#define PANEL_OF(w, panel, k) (w + (panel)*block_panel_bytes(k))
#define WEIGHTS_4(panel, at, lane) weights_4(panel, at, lane)
#define WEIGHTS_16(panel, at) weights_16(panel, at)
#define WEIGHTS_4X4(panel, at, lane, weights) load_weights_4x4(panel, at, lane, 4, weights);
#else
#define WEIGHT_TYPE TYPE_1
#define PANEL_OF(w, panel, k) (w + (panel) * (k)*16)
#define WEIGHTS_4(panel, at, lane) FACTOR4(TYPE_1, panel + (at)*16 + lane)
#define WEIGHTS_16(panel, at) FACTOR_LANES(TYPE_1, panel + (at)*16, 16)
#define WEIGHTS_4X4(panel, at, lane, weights)                                \
  _Pragma("unroll") for (int depth = 0; depth < 4; ++depth) weights[depth] = \
      WEIGHTS_4(panel, (at) + depth, lane);
#endif
