// Which product of a batch: the axes of the batch, axis 5 the innermost, each with an extent and
// steps in a and b, in elements.
#define BATCH_PARAMS                                                                           \
  int batch0, int a_step0, int b_step0, int batch1, int a_step1, int b_step1, int batch2,      \
      int a_step2, int b_step2, int batch3, int a_step3, int b_step3, int batch4, int a_step4, \
      int b_step4, int batch5, int a_step5, int b_step5

#define STEP_BATCH(id, i)         \
  a += id % batch##i * a_step##i; \
  b += id % batch##i * b_step##i; \
  id /= batch##i;

// Moves a and b to product `id`, a variable that is used up.
#define STEP_TO_PRODUCT(id) \
  STEP_BATCH(id, 5)         \
  STEP_BATCH(id, 4)         \
  STEP_BATCH(id, 3)         \
  STEP_BATCH(id, 2)         \
  STEP_BATCH(id, 1)         \
  STEP_BATCH(id, 0)
