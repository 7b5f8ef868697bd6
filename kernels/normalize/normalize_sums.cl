// The type in memory of the bias, which is the argument behind scale, if there is one, and x.
#if HAS_SCALE
#define TYPE_BIAS TYPE_2
#else
#define TYPE_BIAS TYPE_1
#endif

// Adds up v over the items of a group that share a mean, in an order of its own whatever the
// timing. Every item of the group calls it, with its own place in local memory. Defines: SUM, the
// type; ROW_STEP, from an item of a mean to the next. `rows`: items of a mean, a power of two.
static inline SUM sum_of_rows(SUM v, local SUM* own, int row, int rows) {
  *own = v;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (rows /= 2; rows > 0; rows /= 2) {
    if (row < rows) *own += own[rows * ROW_STEP];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const SUM sum = own[-row * ROW_STEP];
  barrier(CLK_LOCAL_MEM_FENCE);
  return sum;
}
