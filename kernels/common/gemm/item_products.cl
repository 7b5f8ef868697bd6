// A work-item computes these products between two barriers: ITEM_K steps of depth of ITEM_M rows
// times ITEM_N columns. The file that includes this one defines THREADS_M and THREADS_N, the
// work-items along the rows and columns of a tile; A_PITCH, the numbers between rows of A of
// neighbouring depths; and B_PITCH, those between panels of 16 columns of B.
#define QUADS_N (ITEM_N / 4)

// Adds to sums[i * QUADS_N + j], row 4 * THREADS_M * (i / 4) + i % 4 and columns 4 * THREADS_N * j +
// (0..3)
// from the first row of `a` and the first column of `b`.
static inline void add_products(local const ACC* a, local const ACC* b, ACC4* sums) {
#pragma unroll
  for (int k = 0; k < ITEM_K; ++k) {
    ACC4 columns[QUADS_N];
#pragma unroll
    for (int j = 0; j < QUADS_N; ++j)
      columns[j] = *(local const ACC4*)(b + j * (THREADS_N / 4) * B_PITCH + k * 16);
#pragma unroll
    for (int i = 0; i < ITEM_M; i += 4) {
      const ACC4 rows = *(local const ACC4*)(a + i * THREADS_M + k * A_PITCH);
#pragma unroll
      for (int j = 0; j < QUADS_N; ++j) {
        sums[i * QUADS_N + j] += (ACC4)(rows.x) * columns[j];
        sums[(i + 1) * QUADS_N + j] += (ACC4)(rows.y) * columns[j];
        sums[(i + 2) * QUADS_N + j] += (ACC4)(rows.z) * columns[j];
        sums[(i + 3) * QUADS_N + j] += (ACC4)(rows.w) * columns[j];
      }
    }
  }
}
