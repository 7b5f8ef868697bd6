// Adds up v over the rows of a group's items, in an order of its own whatever the timing. Every
// item calls it. Defines: SUM, the type; COLUMNS, sums of a group, neighbours among its items;
// ROWS, items of each, a power of two. `partial` has ROWS * COLUMNS elements.
static inline SUM sum_of_rows(SUM v, local SUM* partial) {
  const int item = get_local_id(0);
  partial[item] = v;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int rows = ROWS / 2; rows > 0; rows /= 2) {
    if (item < rows * COLUMNS) partial[item] += partial[item + rows * COLUMNS];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const SUM sum = partial[item % COLUMNS];
  barrier(CLK_LOCAL_MEM_FENCE);
  return sum;
}
