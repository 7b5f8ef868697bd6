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
// erf(v) as activation_f32_cpu.cc has it. The built-in function keeps some 30 numbers for a float,
// and a Mali's work-item has no registers for a quad of them beside its sums.
#define ERF_OF(x)                                                                             \
  clamp((x)*HORNER5((x) * (x), 1.1283791478e+00f, 1.8965794902e-01f, 5.2666754380e-02f,       \
                    3.7379262637e-03f, 2.8504635490e-04f, 2.0664562064e-06f) /                \
            HORNER5((x) * (x), 1.0f, 5.0141276495e-01f, 1.1381515079e-01f, 1.4913437008e-02f, \
                    1.1572626650e-03f, 3.8269018199e-05f),                                    \
        -1.0f, 1.0f)
#define HORNER5(u, c0, c1, c2, c3, c4, c5) \
  (c0 + (u) * (c1 + (u) * (c2 + (u) * (c3 + (u) * (c4 + (u)*c5)))))
#define ERF(v) ERF_OF(clamp(v, -3.9f, 3.9f))
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

#include "kernels/common/launch/stored_numbers.cl"

// Kernels on chunks of LANES channels of Nhwc buffers (cl_launch.h, set_chunks()). Of 16 the first
// `count` are in memory; 4 always are. LOAD_RUN and STORE_RUN are for runs, which may begin at any
// element and end within 4.
#if LANES == 4
#define CHUNK_FLOATS float4
#define LOAD_CHUNK(type, p, count) LOAD_QUAD(type, p)
#define STORE_CHUNK(type, v, p, count) STORE_QUAD(type, v, p)
#define KEEP_CHUNK(v, count) keep_lanes4(v, count)
#define LOAD_LANES4_OF(type)                                                                     \
  static inline float4 load_lanes4_of_##type(global const type* p, int count) {                  \
    if (count >= 4) return LOAD_4_##type(type, p);                                               \
    return (float4)(LOAD_ONE_##type(type, p, 0), count > 1 ? LOAD_ONE_##type(type, p, 1) : 0.0f, \
                    count > 2 ? LOAD_ONE_##type(type, p, 2) : 0.0f, 0.0f);                       \
  }
LOAD_LANES4_OF(float)
LOAD_LANES4_OF(half)
#define LOAD_RUN_float(type, p, count) load_lanes4_of_float(p, count)
#define LOAD_RUN_half(type, p, count) load_lanes4_of_half(p, count)
#define LOAD_RUN_byte(type, p, count) NUMBERS(type, float4, load_bytes4(p, count, NO_BYTE(type)))
#define LOAD_RUN(type, p, count) PASTE(LOAD_RUN, STORED(type))(type, p, count)
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

// For kernels with three ids: returns whether the work-item exists only because the global size was
// rounded up.
static inline bool is_past_grid(int extent0, int extent1, int extent2) {
  return (int)get_global_id(0) >= extent0 || (int)get_global_id(1) >= extent1 ||
         (int)get_global_id(2) >= extent2;
}

// PARAMS(Kernel) lists the parameters of the kernel's arguments, after those of its operands: the
// grids of operands that are bytes come first.
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
#define PARAMS(Kernel) ALL_GRIDS CODL_ARGS_##Kernel(PARAM, PARAM_GROUP, PARAM_GROUPS)
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
// A texel of bytes has four of the 256 numbers k / 255, and its operand's zero counts from k = 0.
// The k are made whole, so that zero is zero in each lane, whatever a texture unit's last digits
// are. MAP_OR_ZERO is for places that may be outside in the first coordinate.
#define TEXEL_NUMBERS_float(type, texel) (texel)
#define TEXEL_NUMBERS_half(type, texel) (texel)
#define TEXEL_NUMBERS_byte(type, texel) \
  ((rint((texel)*255.0f) - PASTE(type, zero)) * PASTE(type, scale))
#define TEXEL_NUMBERS(type, texel) PASTE(TEXEL_NUMBERS, STORED(type))(type, texel)
#define TEXEL_FOR_float(type, v) (v)
#define TEXEL_FOR_half(type, v) (v)
#define TEXEL_FOR_byte(type, v) \
  ((rint((v)*PASTE(type, scale)) + PASTE(type, zero)) * (1.0f / 255.0f))
#define TEXEL_FOR(type, v) PASTE(TEXEL_FOR, STORED(type))(type, v)
#define READ_MAP(type, image, place) TEXEL_NUMBERS(type, read_imagef(image, kTexel, place))
#define WRITE_MAP(type, image, place, v) write_imagef(image, place, TEXEL_FOR(type, v))
#define MAP_OR_ZERO_float(type, image, place) read_imagef(image, kTexel, place)
#define MAP_OR_ZERO_half(type, image, place) read_imagef(image, kTexel, place)
#define MAP_OR_ZERO_byte(type, image, place) \
  select(READ_MAP(type, image, place), (float4)(0.0f), (int4)((place).x))
#define MAP_OR_ZERO(type, image, place) PASTE(MAP_OR_ZERO, STORED(type))(type, image, place)
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
