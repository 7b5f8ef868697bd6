// Comes before every OpenCL text of kernels/<op>/. It is OpenCL C 1.2 without extensions.
//
// Buffer kernels work on chunks of 16 channels held in a float16: one panel of packed weights, one
// AVX-512 register where OpenCL runs on a CPU. Image kernels work on texels of 4 channels.
// Work-items with an id past the last piece of work return at once: global sizes are rounded up.

// Sums of products are written a += b * c and may be fused: one instruction on every device in use
// (mad() is a multiplication and an addition in PoCL 3.1).
#pragma OPENCL FP_CONTRACT ON

// ACTIVATE(v, alpha, beta): the Unary member ACTIVATION of each lane of v, a float vector. alpha
// and beta are floats. `v` stands for a variable: it is used more than once.
#ifndef ACTIVATION
#define ACTIVATION 0
#endif
// docs/reference/operators.md, "NaN and infinities", says how kernels treat a NaN, and so why no
// max(), min(), clamp() or sign() of v stands alone: OpenCL leaves the first three undefined for a
// NaN and has 0 as its sign.
#define KEEP_NAN(v, result) select(result, v, isnan(v))
// Gives the larger of the two, a NaN if either is one.
#define LARGER(a, b) select(b, a, ((a) > (b)) | isnan(a))
#define SMALLER(a, b) select(b, a, ((a) < (b)) | isnan(a))
// Zero in v's type, of a v that is infinite or a NaN too: fmin() gives the number.
#define ZERO_OF(v) fmin(fabs(v), 0.0f)
#define SIGMOID(v) (1.0f / (1.0f + exp(-(v))))
#define RAMP(v, alpha, beta) KEEP_NAN(v, min(max((alpha) * (v) + (beta), 0.0f), 1.0f))
#define SOFTPLUS(v) (max(v, 0.0f) + log1p(exp(-fabs(v))))
// ACTIVATE_<number> is the `cl` of schema/activations.def, behind this text.
#define ACTIVATE_AS(number, v, alpha, beta) ACTIVATE_##number(v, alpha, beta)
#define ACTIVATE_BY(number, v, alpha, beta) ACTIVATE_AS(number, v, alpha, beta)
#define ACTIVATE(v, alpha, beta) ACTIVATE_BY(ACTIVATION, v, alpha, beta)

// COMBINE(a, b) is the Binary member KIND, as in schema/ops.def; it is asserted like Unary's.
#ifdef KIND
#if KIND == 1
#define COMBINE(a, b) ((a) + (b))
#elif KIND == 2
#define COMBINE(a, b) ((a) - (b))
#elif KIND == 3
#define COMBINE(a, b) ((a) * (b))
#elif KIND == 4
#define COMBINE(a, b) ((a) / (b))
#elif KIND == 5
#define COMBINE(a, b) pow(a, b)
#elif KIND == 6
#define COMBINE(a, b) SMALLER(a, b)
#elif KIND == 7
#define COMBINE(a, b) LARGER(a, b)
#elif KIND == 8
// The remainder of the division towards zero, and one b more where it has the other sign.
#define COMBINE(a, b) \
  (fmod(a, b) + select(ZERO_OF(b), b, (fmod(a, b) != 0.0f) & ((fmod(a, b) < 0.0f) != ((b) < 0.0f))))
#elif KIND == 9
#define COMBINE(a, b) fmod(a, b)
#elif KIND == 10
#define COMBINE(a, b) select(a, (a) * (b), (a) < 0.0f)
#endif
#endif

// Lanes at or past `count` become zero: sigmoid(0) is not, and pad lanes must be.
static inline float16 keep_lanes(float16 v, int count) {
  const int16 lane = (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  return select((float16)(0.0f), v, lane < (int16)(count));
}

static inline float4 keep_lanes4(float4 v, int count) {
  return select((float4)(0.0f), v, (int4)(0, 1, 2, 3) < (int4)(count));
}

// load(p, count) gives the first `count` elements at p, 1 <= count; the other lanes are zero.
// Nothing else is read: lanes go from last to first, so that each step moves what is there up by a
// fixed amount. store(v, p, count) writes the first `count` lanes to p, and nothing else.
#define LANE_FUNCTIONS(type, load, store)                           \
  static inline type##16 load(global const type* p, int count) {    \
    if (count >= 16) return vload16(0, p);                          \
    type##16 v = (type##16)(0);                                     \
    if (count & 1) v.s0 = p[count & ~1];                            \
    if (count & 2) {                                                \
      v.s23 = v.s01;                                                \
      v.s01 = vload2(0, p + (count & ~3));                          \
    }                                                               \
    if (count & 4) {                                                \
      v.s4567 = v.s0123;                                            \
      v.s0123 = vload4(0, p + (count & ~7));                        \
    }                                                               \
    if (count & 8) {                                                \
      v.hi = v.lo;                                                  \
      v.lo = vload8(0, p);                                          \
    }                                                               \
    return v;                                                       \
  }                                                                 \
  static inline void store(type##16 v, global type* p, int count) { \
    if (count >= 16) {                                              \
      vstore16(v, 0, p);                                            \
      return;                                                       \
    }                                                               \
    if (count & 8) {                                                \
      vstore8(v.lo, 0, p);                                          \
      p += 8;                                                       \
      v.lo = v.hi;                                                  \
    }                                                               \
    if (count & 4) {                                                \
      vstore4(v.s0123, 0, p);                                       \
      p += 4;                                                       \
      v.s0123 = v.s4567;                                            \
    }                                                               \
    if (count & 2) {                                                \
      vstore2(v.s01, 0, p);                                         \
      p += 2;                                                       \
      v.s01 = v.s23;                                                \
    }                                                               \
    if (count & 1) p[0] = v.s0;                                     \
  }
LANE_FUNCTIONS(float, load_lanes, store_lanes)

// Operands in memory as floats or as halves: vload_half and vstore_half are core OpenCL C 1.2. All
// arithmetic is in float: what is loaded is exact, what is stored is rounded to nearest even, and
// infinite beyond 65504. HALVES (-D, kernels/kernel_table.cc): bit i: the input that is argument i
// is stored as halves; bit 15: the output is. TYPE_0, TYPE_1 ... TYPE_Y: the types in memory of
// inputs and output; half is a type of pointers only, so a kernel takes them to the macros below.
#ifndef HALVES
#define HALVES 0
#endif
#define PASTE_TOKENS(name, type) name##_##type
#define PASTE(name, type) PASTE_TOKENS(name, type)
#define OF_LANES_TOKENS(type, lanes) type##lanes
#define OF_LANES(type, lanes) OF_LANES_TOKENS(type, lanes)
#if HALVES >> 0 & 1
#define TYPE_0 half
#else
#define TYPE_0 float
#endif
#if HALVES >> 1 & 1
#define TYPE_1 half
#else
#define TYPE_1 float
#endif
#if HALVES >> 2 & 1
#define TYPE_2 half
#else
#define TYPE_2 float
#endif
#if HALVES >> 3 & 1
#define TYPE_3 half
#else
#define TYPE_3 float
#endif
#if HALVES >> 4 & 1
#define TYPE_4 half
#else
#define TYPE_4 float
#endif
#if HALVES >> 5 & 1
#define TYPE_5 half
#else
#define TYPE_5 float
#endif
#if HALVES >> 6 & 1
#define TYPE_6 half
#else
#define TYPE_6 float
#endif
#if HALVES >> 7 & 1
#define TYPE_7 half
#else
#define TYPE_7 float
#endif
#if HALVES >> 8 & 1
#define TYPE_8 half
#else
#define TYPE_8 float
#endif
#if HALVES >> 9 & 1
#define TYPE_9 half
#else
#define TYPE_9 float
#endif
#if HALVES >> 10 & 1
#define TYPE_10 half
#else
#define TYPE_10 float
#endif
#if HALVES >> 11 & 1
#define TYPE_11 half
#else
#define TYPE_11 float
#endif
#if HALVES >> 12 & 1
#define TYPE_12 half
#else
#define TYPE_12 float
#endif
#if HALVES >> 13 & 1
#define TYPE_13 half
#else
#define TYPE_13 float
#endif
#if HALVES >> 14 & 1
#define TYPE_14 half
#else
#define TYPE_14 float
#endif
#if HALVES >> 15 & 1
#define TYPE_Y half
#else
#define TYPE_Y float
#endif
// These choose load_lanes() and store_lanes() by an operand's type.
#define load_lanes_float load_lanes
#define store_lanes_float store_lanes
#define LOAD_LANES(type, p, count) PASTE(load_lanes, type)(p, count)
#define STORE_LANES(type, v, p, count) PASTE(store_lanes, type)(v, p, count)
// Element i behind p.
#define LOAD_ONE_float(p, i) (p)[i]
#define LOAD_ONE_half(p, i) vload_half(i, p)
#define LOAD_ONE(type, p, i) PASTE(LOAD_ONE, type)(p, i)
#define STORE_ONE_float(v, p, i) (p)[i] = v
#define STORE_ONE_half(v, p, i) vstore_half(v, i, p)
#define STORE_ONE(type, v, p, i) PASTE(STORE_ONE, type)(v, p, i)
// Loads four elements at p, which is that of a first one of four: 16 bytes, or 8 of halves.
#define LOAD_QUAD_float(p) (*(global const float4*)(p))
#define LOAD_QUAD_half(p) vloada_half4(0, p)
#define LOAD_QUAD(type, p) PASTE(LOAD_QUAD, type)(p)
#define STORE_QUAD_float(v, p) *(global float4*)(p) = v
#define STORE_QUAD_half(v, p) vstorea_half4(v, 0, p)
#define STORE_QUAD(type, v, p) PASTE(STORE_QUAD, type)(v, p)
// Does the same at any element.
#define LOAD_4_float(p) vload4(0, p)
#define LOAD_4_half(p) vload_half4(0, p)
#define LOAD_4(type, p) PASTE(LOAD_4, type)(p)
#define STORE_4_float(v, p) vstore4(v, 0, p)
#define STORE_4_half(v, p) vstore_half4(v, 0, p)
#define STORE_4(type, v, p) PASTE(STORE_4, type)(v, p)
#define LOAD_8_float(p) vload8(0, p)
#define LOAD_8_half(p) vload_half8(0, p)
#define LOAD_8(type, p) PASTE(LOAD_8, type)(p)
#define STORE_8_float(v, p) vstore8(v, 0, p)
#define STORE_8_half(v, p) vstore_half8(v, 0, p)
#define STORE_8(type, v, p) PASTE(STORE_8, type)(v, p)
// Writes the first `count` of four lanes to p, 1 <= count; nothing else is written.
#define STORE_LANES4_OF(type)                                                   \
  static inline void store_lanes4_##type(float4 v, global type* p, int count) { \
    if (count >= 4) {                                                           \
      STORE_4_##type(v, p);                                                     \
      return;                                                                   \
    }                                                                           \
    STORE_ONE_##type(v.x, p, 0);                                                \
    if (count > 1) STORE_ONE_##type(v.y, p, 1);                                 \
    if (count > 2) STORE_ONE_##type(v.z, p, 2);                                 \
  }
STORE_LANES4_OF(float)
STORE_LANES4_OF(half)
#define STORE_LANES4(type, v, p, count) PASTE(store_lanes4, type)(v, p, count)
// Loads elements i to i + 3 of those that are `step` apart; element `last` stands for what would be
// behind it.
#define LOAD_STRIDED4(type, p, i, last, step)                                               \
  (float4)(LOAD_ONE(type, p, (i) * (step)), LOAD_ONE(type, p, min((i) + 1, last) * (step)), \
           LOAD_ONE(type, p, min((i) + 2, last) * (step)),                                  \
           LOAD_ONE(type, p, min((i) + 3, last) * (step)))

// Points to element i of p, which is not negative. The offset has 32 bits, in bytes: where pointers
// are pairs of registers, an int takes twice as many instructions.
#define BYTES_float 4u
#define BYTES_half 2u
#define ELEMENT_AT(type, p, i) ((global type*)((global char*)(p) + (uint)(i)*PASTE(BYTES, type)))

// Kernels on chunks of LANES channels of Nhwc buffers (cl_launch.h, set_chunks()). Of 16 the first
// `count` are in memory; 4 always are. LOAD_RUN and STORE_RUN are for runs, which may begin at any
// element and end within 4.
#if LANES == 4
#define CHUNK_FLOATS float4
#define LOAD_CHUNK(type, p, count) LOAD_QUAD(type, p)
#define STORE_CHUNK(type, v, p, count) STORE_QUAD(type, v, p)
#define KEEP_CHUNK(v, count) keep_lanes4(v, count)
#define LOAD_LANES4_OF(type)                                                         \
  static inline float4 load_lanes4_##type(global const type* p, int count) {         \
    if (count >= 4) return LOAD_4_##type(p);                                         \
    return (float4)(LOAD_ONE_##type(p, 0), count > 1 ? LOAD_ONE_##type(p, 1) : 0.0f, \
                    count > 2 ? LOAD_ONE_##type(p, 2) : 0.0f, 0.0f);                 \
  }
LOAD_LANES4_OF(float)
LOAD_LANES4_OF(half)
#define LOAD_RUN(type, p, count) PASTE(load_lanes4, type)(p, count)
#define STORE_RUN(type, v, p, count) STORE_LANES4(type, v, p, count)
#else
#define CHUNK_FLOATS float16
#define LOAD_CHUNK(type, p, count) LOAD_LANES(type, p, count)
#define STORE_CHUNK(type, v, p, count) STORE_LANES(type, v, p, count)
#define KEEP_CHUNK(v, count) keep_lanes(v, count)
#define LOAD_RUN(type, p, count) LOAD_LANES(type, p, count)
#define STORE_RUN(type, v, p, count) STORE_LANES(type, v, p, count)
#endif

#include "kernels/common/launch/products.cl"

static inline float16 load_lanes_half(global const half* p, int count) {
  if (count >= 16) return vload_half16(0, p);
  float16 v = (float16)(0.0f);
  if (count & 1) v.s0 = vload_half(count & ~1, p);
  if (count & 2) {
    v.s23 = v.s01;
    v.s01 = vload_half2(0, p + (count & ~3));
  }
  if (count & 4) {
    v.s4567 = v.s0123;
    v.s0123 = vload_half4(0, p + (count & ~7));
  }
  if (count & 8) {
    v.hi = v.lo;
    v.lo = vload_half8(0, p);
  }
  return v;
}

static inline void store_lanes_half(float16 v, global half* p, int count) {
  if (count >= 16) {
    vstore_half16(v, 0, p);
    return;
  }
  if (count & 8) {
    vstore_half8(v.lo, 0, p);
    p += 8;
    v.lo = v.hi;
  }
  if (count & 4) {
    vstore_half4(v.s0123, 0, p);
    p += 4;
    v.s0123 = v.s4567;
  }
  if (count & 2) {
    vstore_half2(v.s01, 0, p);
    p += 2;
    v.s01 = v.s23;
  }
  if (count & 1) vstore_half(v.s0, 0, p);
}

// For kernels with three ids: returns whether the work-item exists only because the global size was
// rounded up.
static inline bool is_past_grid(int extent0, int extent1, int extent2) {
  return (int)get_global_id(0) >= extent0 || (int)get_global_id(1) >= extent1 ||
         (int)get_global_id(2) >= extent2;
}

// PARAMS(Kernel) lists the parameters of the kernel's arguments, after those of its operands.
#define PARAM(type, name) , type name
#define PARAM_GROUP(Group, name) CODL_ARGS_##Group(PARAM, name##_)
#define PARAM_GROUPS(count, Group, name) PARAM_GROUPS_##count(Group, name)
#define PARAM_GROUPS_3(Group, name) \
  PARAM_GROUP(Group, name##0) PARAM_GROUP(Group, name##1) PARAM_GROUP(Group, name##2)
#define PARAM_GROUPS_6(Group, name) \
  PARAM_GROUPS_3(Group, name)       \
  PARAM_GROUP(Group, name##3) PARAM_GROUP(Group, name##4) PARAM_GROUP(Group, name##5)
#define PARAM_GROUPS_8(Group, name) \
  PARAM_GROUPS_6(Group, name) PARAM_GROUP(Group, name##6) PARAM_GROUP(Group, name##7)
#define PARAMS(Kernel) CODL_ARGS_##Kernel(PARAM, PARAM_GROUP, PARAM_GROUPS)
#include "kernels/common/launch/cl_args.def"

// Kernels on runs of lanes (kernels/common/launch/cl_launch.h, set_runs()): one work-item per chunk
// of LANES; `batch` times `pixels` runs of stored_count lanes, of which those from valid_count on
// are pad lanes and become zero. START_RUN: the work-item's batch n, pixel and lane, and how many
// of its lanes are in memory and how many valid, which may be more than LANES. RUN_AT: where the
// work-item's lane is in operand x. Define: IS_ONE_RUN, which takes no division.
#if IS_ONE_RUN
#define SPLIT_RUN(id)          \
  const int lane = id * LANES; \
  const int pixel = 0;         \
  const int n = 0;
#else
#define SPLIT_RUN(id)                   \
  const int lane = id % chunks * LANES; \
  const int run = id / chunks;          \
  const int pixel = run % pixels;       \
  const int n = run / pixels;
#endif
#define START_RUN                                     \
  const int id = get_global_id(0);                    \
  if (id >= item_count) return;                       \
  SPLIT_RUN(id)                                       \
  const int stored = min(LANES, stored_count - lane); \
  const int valid = valid_count - lane;
#define RUN_AT(x) (x##_offset + n * x##_batch_stride + pixel * x##_pixel_stride + lane)

// BATCH_OF, ROW_OF: batch and row of an id that counts the rows of all batches. Define:
// IS_ONE_BATCH, which takes no division.
#if IS_ONE_BATCH
#define BATCH_OF(id) 0
#define ROW_OF(id) (int)(id)
#else
#define BATCH_OF(id) ((int)(id) / rows)
#define ROW_OF(id) ((int)(id) % rows)
#endif

// Kernels on texels of an image (set_texels()) have the ids texel of channels, column, batch and
// row. START_TEXEL sets the work-item's, and the place of its texel in a row of an image with y's
// columns.
#define START_TEXEL                                      \
  if (is_past_grid(texels, columns, batch_rows)) return; \
  const int texel = first_texel + (int)get_global_id(0); \
  const int column = (int)get_global_id(1);              \
  const int n = BATCH_OF(get_global_id(2));              \
  const int row = ROW_OF(get_global_id(2));              \
  const int pixel_texels = (channels + 3) / 4;           \
  const int image_x = column * pixel_texels + texel;

// Finds the work-item's texel in an image of y's columns, which may hold a wider map.
#define TEXEL_OF(x) \
  (int2)(column * x##_texels + x##_first_texel + texel, n * x##_rows_held + x##_first_row + row)

// For image kernels: reads whole texels by integer coordinates; outside the image everything is
// zero.
constant sampler_t kTexel = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
// This x coordinate is so far outside that adding a texel index keeps it there: padding columns.
#define OUTSIDE (-(1 << 28))

// Kernels read elements in nested loops: up to 8 axes have extents e and steps s in elements, the
// innermost last, unused ones 1 and 0 (kernels/common/launch/cl_axes.h). axes_offset finds element
// `element` of the first `axes`, a constant; AXES_OF makes its other arguments from a kernel's
// groups axis0, axis1 ... It divides for each axis but the outermost.
#define AXES_PARAMS                                                                               \
  int e0, int s0, int e1, int s1, int e2, int s2, int e3, int s3, int e4, int s4, int e5, int s5, \
      int e6, int s6, int e7, int s7
#define AXES_OF(axis, step)                                                                       \
  axis##0_extent, axis##0_##step, axis##1_extent, axis##1_##step, axis##2_extent, axis##2_##step, \
      axis##3_extent, axis##3_##step, axis##4_extent, axis##4_##step, axis##5_extent,             \
      axis##5_##step, axis##6_extent, axis##6_##step, axis##7_extent, axis##7_##step
#define AXES_STEP(i)                                       \
  if (axes > i) {                                          \
    const uint around = element / (uint)e##i;              \
    offset += (int)(element - around * (uint)e##i) * s##i; \
    element = around;                                      \
  }
static inline int axes_offset(uint element, const int axes, AXES_PARAMS) {
  int offset = 0;
  AXES_STEP(7)
  AXES_STEP(6)
  AXES_STEP(5)
  AXES_STEP(4)
  AXES_STEP(3)
  AXES_STEP(2)
  AXES_STEP(1)
  return offset + (int)element * s0;
}

// EACH_INPUT(F) is F(0) F(1) ... F(INPUTS - 1), for kernels with -D INPUTS=1..15 operands to read.
#define EACH_1(F) F(0)
#define EACH_2(F) EACH_1(F) F(1)
#define EACH_3(F) EACH_2(F) F(2)
#define EACH_4(F) EACH_3(F) F(3)
#define EACH_5(F) EACH_4(F) F(4)
#define EACH_6(F) EACH_5(F) F(5)
#define EACH_7(F) EACH_6(F) F(6)
#define EACH_8(F) EACH_7(F) F(7)
#define EACH_9(F) EACH_8(F) F(8)
#define EACH_10(F) EACH_9(F) F(9)
#define EACH_11(F) EACH_10(F) F(10)
#define EACH_12(F) EACH_11(F) F(11)
#define EACH_13(F) EACH_12(F) F(12)
#define EACH_14(F) EACH_13(F) F(13)
#define EACH_15(F) EACH_14(F) F(14)
#define EACH_PASTE(inputs) EACH_##inputs
#define EACH_OF(inputs) EACH_PASTE(inputs)
#define EACH_INPUT(F) EACH_OF(INPUTS)(F)
