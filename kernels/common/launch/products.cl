// Products are multiplied and added in ACC, ACC4, ACC8 or ACC16, which are floats, or halves where
// HALF_ARITHMETIC is left: -D, kernels/kernel_table.cc, for steps whose factors are halves, and the
// device computes with them. FACTOR: factor i behind p; FACTOR4: four at p, which is that of a
// first one of four; FACTORS_4, FACTORS_8: so many at any p; FACTOR_LANES: the first `count` of
// sixteen at p, the others are zero.
// HALF_ARITHMETIC 1: all products of a sum are added in halves. BEGIN_SUM and END_SUM are for a sum
// with a bias, which stays in floats.
#if HALF_ARITHMETIC && !defined(cl_khr_fp16)
#undef HALF_ARITHMETIC
#endif
// A byte's factor is its distance from zero over FACTOR_STEPS, because this takes one operation,
// and halves hold it and its sums. IN_NUMBERS makes a sum of products of such factors of inputs 0
// and 1 a number.
#define FACTOR(type, p, i) PASTE(FACTOR, STORED(type))(type, p, i)
#define FACTOR4(type, p) PASTE(FACTOR4, STORED(type))(type, p)
#define FACTORS_4(type, p) PASTE(FACTORS_4, STORED(type))(type, p)
#define FACTORS_8(type, p) PASTE(FACTORS_8, STORED(type))(type, p)
#define FACTOR_LANES(type, p, count) PASTE(FACTOR_LANES, STORED(type))(type, p, count)
#if HALF_ARITHMETIC
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define ACC half
#define ACC4 half4
#define ACC8 half8
#define ACC16 half16
#define ACC_BYTES 2
#define FACTOR_half(type, p, i) (p)[i]
#define FACTOR4_half(type, p) (*(global const half4*)(p))
#define FACTORS_4_half(type, p) vload4(0, p)
#define FACTORS_8_half(type, p) vload8(0, p)
#define FACTOR_LANES_half(type, p, count) \
  ((count) >= 16 ? vload16(0, p) : convert_half16(LOAD_LANES(type, p, count)))
// select() takes the sign of a number as wide as a factor.
#define SIGN4(at) (short4)((at) >> 16)
#else
#define ACC float
#define ACC4 float4
#define ACC8 float8
#define ACC16 float16
#define ACC_BYTES 4
#define FACTOR_float LOAD_ONE
#define FACTOR_half LOAD_ONE
#define FACTOR4_float LOAD_QUAD
#define FACTOR4_half LOAD_QUAD
#define FACTORS_4_float LOAD_4
#define FACTORS_4_half LOAD_4
#define FACTORS_8_float LOAD_8
#define FACTORS_8_half LOAD_8
#define FACTOR_LANES_float LOAD_LANES
#define FACTOR_LANES_half LOAD_LANES
#define SIGN4(at) (int4)(at)
#endif
#define FACTOR_STEPS 256.0f
#define STEPS_OF(type, to, bytes)                           \
  (PASTE(convert, to)(bytes) * (ACC)(1.0f / FACTOR_STEPS) - \
   (ACC)(PASTE(type, zero) * (1.0f / FACTOR_STEPS)))
#define FACTOR_byte(type, p, i) STEPS_OF(type, ACC, (p)[i])
#define FACTOR4_byte(type, p) STEPS_OF(type, ACC4, *(global const char4*)(p))
#define FACTORS_4_byte(type, p) STEPS_OF(type, ACC4, vload4(0, p))
#define FACTORS_8_byte(type, p) STEPS_OF(type, ACC8, vload8(0, p))
#define FACTOR_LANES_byte(type, p, count) STEPS_OF(type, ACC16, load_bytes(p, count, NO_BYTE(type)))
#if (GRIDS & 3) == 3
#define IN_NUMBERS(v) \
  ((v) * (PASTE(TYPE_0, scale) * PASTE(TYPE_1, scale) * (FACTOR_STEPS * FACTOR_STEPS)))
#elif GRIDS & 1
#define IN_NUMBERS(v) ((v) * (PASTE(TYPE_0, scale) * FACTOR_STEPS))
#elif GRIDS & 2
#define IN_NUMBERS(v) ((v) * (PASTE(TYPE_1, scale) * FACTOR_STEPS))
#else
#define IN_NUMBERS(v) (v)
#endif
// A sum begins with its bias, or takes it at its end where it is no sum of floats.
#if HALF_ARITHMETIC || GRIDS & 3
#define BEGIN_SUM(type, bias) (type)(0)
#define END_SUM(sum, bias) (IN_NUMBERS(sum) + bias)
#else
#define BEGIN_SUM(type, bias) bias
#define END_SUM(sum, bias) sum
#endif

// HALF_ARITHMETIC 2: RUN_PRODUCTS at a time are added in halves, in the order of the products, and
// then their sum to one in floats (schema/half.h). SUMS declares `count` sums of `lanes` lanes as
// the array `sum`, to which each step of a loop adds `products` products. EACH_RUN goes through the
// steps of such a loop as many at a time as a run has room for, and END_RUN follows on each, and on
// a step behind the loop. A loop of a step at a time, whose number is `step`, has END_STEP, which
// needs no register. TOTAL is sum i in floats. HAS_RUNS says whether there are runs.
#if HALF_ARITHMETIC == 2
#define HAS_RUNS 1
#define SUMS(lanes, sum, count, products)               \
  OF_LANES(ACC, lanes) sum[count];                      \
  OF_LANES(float, lanes) sum##_total[count];            \
  _Pragma("unroll") for (int i = 0; i < (count); ++i) { \
    sum[i] = (OF_LANES(ACC, lanes))(0);                 \
    sum##_total[i] = (OF_LANES(float, lanes))(0.0f);    \
  }                                                     \
  int room = RUN_PRODUCTS / (products);
#define EACH_RUN(steps, run) for (int left = steps, run; (run = min(left, room)) > 0; left -= run)
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
#define TOTAL(lanes, sum, i) IN_NUMBERS(sum##_total[i] + OF_LANES(convert_float, lanes)(sum[i]))
#else
#define HAS_RUNS 0
#define SUMS(lanes, sum, count, products) \
  OF_LANES(ACC, lanes) sum[count];        \
  _Pragma("unroll") for (int i = 0; i < (count); ++i) sum[i] = (OF_LANES(ACC, lanes))(0);
#define EACH_RUN(steps, run) const int run = steps;
#define END_RUN(lanes, sum, count, products, run)
#define END_STEP(lanes, sum, count, products, step)
#define TOTAL(lanes, sum, i) IN_NUMBERS(OF_LANES(convert_float, lanes)(sum[i]))
#endif
