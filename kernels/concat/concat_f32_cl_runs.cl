// Joins inputs along an axis behind which their elements follow each other in memory. Defines:
// INPUTS, 1 to 15; WIDTH, 1 or 4.
//
// One work-item copies WIDTH elements, which are of one input. Per input, and of y: how many such
// pieces belong to one index in front of the axis.
#include "kernels/concat/concat_source.cl"

#define INPUT(i) global const TYPE_##i* restrict x##i,
#define SCALARS(i) PARAM_GROUP(ConcatRunsInput, x##i)
#define NEXT(i)                        \
  if (at >= run) {                     \
    at -= run;                         \
    run = x##i##_run;                  \
    SET_SOURCE(i, outer * run * WIDTH) \
  }
#define QUAD_OF(type, p) LOAD_4(type, p + at * 4)
#define ONE_OF(type, p) LOAD_ONE(type, p, at)

kernel void concat_f32_cl_runs(EACH_INPUT(INPUT) global TYPE_Y* restrict y PARAMS(ConcatRuns)
                                   EACH_INPUT(SCALARS)) {
  const int id = get_global_id(0);
  if (id >= item_count) return;
  const int outer = id / y_run;
  int at = id % y_run;
  int run = 0;  // length of the input's run that `at` is in or behind; 0: no input yet
  START_SOURCE
  EACH_INPUT(NEXT)
#if WIDTH == 4
  STORE_4(TYPE_Y, FROM_SOURCE(QUAD_OF), y + id * 4);
#else
  STORE_ONE(TYPE_Y, FROM_SOURCE(ONE_OF), y, id);
#endif
}
