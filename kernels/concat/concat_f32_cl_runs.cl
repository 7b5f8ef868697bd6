// Joins inputs along an axis behind which their elements follow each other in memory. Defines:
// INPUTS, 1 to 15; WIDTH, 1 or 4.
//
// One work-item copies WIDTH elements, which are of one input. Per input, and of y: how many such
// pieces belong to one index in front of the axis.
#define INPUT(i) global const float* restrict x##i,
#define SCALARS(i) PARAM_GROUP(ConcatRunsInput, x##i)
#define NEXT(i)                        \
  if (at >= run) {                     \
    at -= run;                         \
    run = x##i##_run;                  \
    from = x##i + outer * run * WIDTH; \
  }

kernel void concat_f32_cl_runs(EACH_INPUT(INPUT) global float* restrict y PARAMS(ConcatRuns)
                                   EACH_INPUT(SCALARS)) {
  const int id = get_global_id(0);
  if (id >= item_count) return;
  const int outer = id / y_run;
  int at = id % y_run;
  int run = 0;  // length of the input's run that `at` is in or behind; 0: no input yet
  global const float* from = x0;
  EACH_INPUT(NEXT)
#if WIDTH == 4
  vstore4(vload4(at, from), id, y);
#else
  y[id] = from[at];
#endif
}
