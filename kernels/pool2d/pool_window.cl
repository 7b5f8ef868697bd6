// Goes through the window of an output of Pool2d, and says what is done with its elements. Defines:
// IS_MAX; COUNT_INCLUDE_PAD, taps in the padding count in the divisor; ADDS_CHANNELS, of an output
// that is_added no row is read; IS_DILATED, else nothing is divided by the dilations, which are 1.
#if IS_DILATED
#define DILATION_H dilation_h
#define DILATION_W dilation_w
#else
#define DILATION_H 1
#define DILATION_W 1
#endif

#if IS_MAX
#define JOIN(a, b) LARGER(a, b)
#define NOTHING (-INFINITY)
#else
#define JOIN(a, b) ((a) + (b))
#define NOTHING 0.0f
#endif

#if ADDS_CHANNELS
#define TAP_ROWS(rows) (is_added ? 0 : (rows))
#else
#define TAP_ROWS(rows) (rows)
#endif

// Taps [i0, i1) x [j0, j1) of the window of row first_row + row and of the column are inside the
// map.
#define START_WINDOW                                                              \
  const int in_row0 = (first_row + row) * stride_h - pad_top;                     \
  const int in_column0 = column * stride_w - pad_left;                            \
  const int i0 = in_row0 < 0 ? (DILATION_H - 1 - in_row0) / DILATION_H : 0;       \
  const int j0 = in_column0 < 0 ? (DILATION_W - 1 - in_column0) / DILATION_W : 0; \
  const int i1 = min(kernel_h, (in_h - in_row0 + DILATION_H - 1) / DILATION_H);   \
  const int j1 = min(kernel_w, (in_w - in_column0 + DILATION_W - 1) / DILATION_W);

#if IS_MAX
#define DIVIDE(result)
#elif COUNT_INCLUDE_PAD
#define DIVIDE(result)                                                                           \
  result /= (float)(min(kernel_h, (in_h + pad_bottom - in_row0 + DILATION_H - 1) / DILATION_H) * \
                    min(kernel_w, (in_w + pad_right - in_column0 + DILATION_W - 1) / DILATION_W));
#else
#define DIVIDE(result) result /= (float)((i1 - i0) * (j1 - j0));
#endif
