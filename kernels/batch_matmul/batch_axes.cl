// Steps to a product of a batch: the axes of the batch, axis 5 the innermost, each have an extent
// and steps in a and b, in elements.
#define STEP_BATCH(id, i, a, b)               \
  a += id % batch##i##_extent * batch##i##_a; \
  b += id % batch##i##_extent * batch##i##_b; \
  id /= batch##i##_extent;

// Moves a and b, pointers or places, to product `id`, a variable that is used up.
#define STEP_TO_PRODUCT(id, a, b) \
  STEP_BATCH(id, 5, a, b)         \
  STEP_BATCH(id, 4, a, b)         \
  STEP_BATCH(id, 3, a, b)         \
  STEP_BATCH(id, 2, a, b)         \
  STEP_BATCH(id, 1, a, b)         \
  STEP_BATCH(id, 0, a, b)
