// Products are multiplied and added in ACC, ACC4, ACC8 or ACC16, which are floats, or halves where
// HALF_ARITHMETIC is left: -D, kernels/kernel_table.cc, for steps whose factors are halves, and the
// device computes with them. FACTOR: factor i behind p; FACTOR4: four at p, which is that of a
// first one of four; FACTORS_4, FACTORS_8: so many at any p; FACTOR_LANES: the first `count` of
// sixteen at p, the others are zero.
// HALF_ARITHMETIC 1: all products of a sum are added in halves. BEGIN_SUM and END_SUM are for a sum
// that begins with a bias, which stays in floats.
#if HALF_ARITHMETIC && !defined(cl_khr_fp16)
#undef HALF_ARITHMETIC
#endif
#if HALF_ARITHMETIC
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define ACC half
#define ACC4 half4
#define ACC8 half8
#define ACC16 half16
#define ACC_BYTES 2
#define FACTOR(type, p, i) (p)[i]
#define FACTOR4(type, p) (*(global const half4*)(p))
#define FACTORS_4(type, p) vload4(0, p)
#define FACTORS_8(type, p) vload8(0, p)
#define FACTOR_LANES(type, p, count) \
  ((count) >= 16 ? vload16(0, p) : convert_half16(LOAD_LANES(type, p, count)))
#define BEGIN_SUM(type, bias) (type)(0)
#define END_SUM(sum, bias) (sum + bias)
#else
#define ACC float
#define ACC4 float4
#define ACC8 float8
#define ACC16 float16
#define ACC_BYTES 4
#define FACTOR(type, p, i) LOAD_ONE(type, p, i)
#define FACTOR4(type, p) LOAD_QUAD(type, p)
#define FACTORS_4(type, p) LOAD_4(type, p)
#define FACTORS_8(type, p) LOAD_8(type, p)
#define FACTOR_LANES(type, p, count) LOAD_LANES(type, p, count)
#define BEGIN_SUM(type, bias) bias
#define END_SUM(sum, bias) sum
#endif

// HALF_ARITHMETIC 2: RUN_PRODUCTS at a time are added in halves, in the order of the products, and
// then their sum to one in floats (schema/half.h). SUMS declares `count` sums of `lanes` lanes as
// the array `sum`, to which each step of a loop adds `products` products. EACH_RUN goes through the
// steps of such a loop as many at a time as a run has room for, and END_RUN follows on each;
// IS_LAST says if those are the loop's last. A loop of a step at a time, whose number is `step`,
// has END_STEP, which needs no register. TOTAL is sum i in floats.
#if HALF_ARITHMETIC == 2
#define SUMS(lanes, sum, count, products)               \
  OF_LANES(ACC, lanes) sum[count];                      \
  OF_LANES(float, lanes) sum##_total[count];            \
  _Pragma("unroll") for (int i = 0; i < (count); ++i) { \
    sum[i] = (OF_LANES(ACC, lanes))(0);                 \
    sum##_total[i] = (OF_LANES(float, lanes))(0.0f);    \
  }                                                     \
  int room = RUN_PRODUCTS / (products);
#define EACH_RUN(steps, run) \
  for (int left = steps, run; (run = min(left, room)) > 0; left -= run)
#define IS_LAST(run) (run == left)
#define ADD_TO_TOTALS(lanes, sum, count)                      \
  _Pragma("unroll") for (int i = 0; i < (count); ++i) {       \
    sum##_total[i] += OF_LANES(convert_float, lanes)(sum[i]); \
    sum[i] = (OF_LANES(ACC, lanes))(0);                       \
  }
#define END_RUN(lanes, sum, count, products, run) \
  room -= run;                                    \
  if (room == 0) {                                \
    ADD_TO_TOTALS(lanes, sum, count)              \
    room = RUN_PRODUCTS / (products);             \
  }
#define END_STEP(lanes, sum, count, products, step)      \
  if (((step) + 1) % (RUN_PRODUCTS / (products)) == 0) { \
    ADD_TO_TOTALS(lanes, sum, count)                     \
  }
#define TOTAL(lanes, sum, i) (sum##_total[i] + OF_LANES(convert_float, lanes)(sum[i]))
#else
#define SUMS(lanes, sum, count, products) \
  OF_LANES(ACC, lanes) sum[count];        \
  _Pragma("unroll") for (int i = 0; i < (count); ++i) sum[i] = (OF_LANES(ACC, lanes))(0);
#define EACH_RUN(steps, run) const int run = steps;
#define IS_LAST(run) true
#define END_RUN(lanes, sum, count, products, run)
#define END_STEP(lanes, sum, count, products, step)
#define TOTAL(lanes, sum, i) OF_LANES(convert_float, lanes)(sum[i])
#endif
