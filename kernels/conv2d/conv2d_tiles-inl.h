// Finds the inputs of a tile of Conv2d's pixels: through a table of pointers for all taps at once
// or for each tap, or in copies. This is Highway code, compiled once per target.
#if defined(CODL_KERNELS_CONV2D_CONV2D_TILES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CODL_KERNELS_CONV2D_CONV2D_TILES_INL_H
#undef CODL_KERNELS_CONV2D_CONV2D_TILES_INL_H
#else
#define CODL_KERNELS_CONV2D_CONV2D_TILES_INL_H
#endif

#include "hwy/highway.h"
#include "kernels/common/gemm/panel_tile-inl.h"
#include "kernels/conv2d/conv2d_dots-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {

// Holds the arguments that every tile uses. T is what the input and the weights are in memory,
// float, Half or int8_t.
template <class T>
struct Conv2d {
  const Conv2dParams* params;
  const TensorView* x;
  const TensorView* y;
  const TensorView* residual;  // null: none
  WindowAxis vertical;
  WindowAxis horizontal;
  int64_t depth;           // input channels of a group
  int32_t group_channels;  // output channels
  int32_t group_panels;
  int64_t panel_elements;
  const T* weights;
  const float* bias;
  const ByteScales* scales;  // null unless T is int8_t
  int32_t first_panel;       // the part's
  Range rows;
  Activation activation;
  bool skips_padding;
  int64_t pass_panels;
  // Scratch.
  const T** table;      // pointers to inputs
  PanelTap* taps;       // all taps, with their offsets from the first
  PanelTap* tile_taps;  // the tile's taps; all of them without offsets unless padding is skipped
  T* zeros;             // a pixel that reads as zeros
  int64_t copy_stride;  // elements from pixel to pixel of the copies
  T* copies;            // copied inputs of a tile; null if there are none
  // These are for outputs that are dots, of floats.
  const Conv2dDots* dots;  // null: they are not
  float* dot_weights;
  float* dot_zeros;   // a run
  float* dot_copies;  // [pixels][runs][run]
};

// Names a tile: pixels [first, first + count) of one image, flattened over the rows of the part.
struct TilePixels {
  int32_t image;
  int64_t first;
  int32_t row;     // output row of the first pixel
  int32_t column;  // likewise
  int32_t count;
  int64_t number;  // number of the tile in its pass
};

// Holds the inputs that the tile reads.
struct TileInputs {
  int64_t tap_step;
  const PanelTap* taps;
  int64_t tap_count;
};

// Sets table[i] to where pixel i reads tap (down, right), in elements; the tap is inside the map
// for each. Entries past the tile's last pixel repeat it.
template <class T>
void point_at_tap(const Conv2d<T>& conv, const TilePixels& pixels, int size, int32_t down,
                  int32_t right) {
  const TensorView& x = *conv.x;
  const int32_t out_columns = conv.y->shape.dims[3];
  int32_t column = pixels.column;
  const int64_t row = int64_t{pixels.row} * conv.vertical.stride - conv.vertical.pad_begin + down -
                      x.shape.row_begin;
  const T* next =
      x.as<const T>() + pixels.image * x.strides[0] + row * x.strides[2] +
      (int64_t{column} * conv.horizontal.stride - conv.horizontal.pad_begin + right) * x.strides[3];
  const int64_t column_step = conv.horizontal.stride * x.strides[3];
  const int64_t row_step = conv.vertical.stride * x.strides[2] - out_columns * column_step;
  // Most tiles lie in one row, and with one tap rows often follow each other.
  if (row_step == 0 || column + pixels.count <= out_columns) {
    for (int32_t i = 0; i < pixels.count; ++i) conv.table[i] = next + i * column_step;
  } else {
    for (int32_t i = 0; i < pixels.count; ++i) {
      conv.table[i] = next;
      next += column_step;
      if (++column == out_columns) {
        column = 0;
        next += row_step;
      }
    }
  }
  for (int32_t i = pixels.count; i < size; ++i) conv.table[i] = conv.table[pixels.count - 1];
}

// True if every tap of every pixel of the tile is inside the map.
template <class T>
bool is_inside(const Conv2d<T>& conv, const TilePixels& pixels) {
  const int32_t out_columns = conv.y->shape.dims[3];
  const bool is_one_row = pixels.column + pixels.count <= out_columns;
  const int32_t last_row =
      is_one_row ? pixels.row : pixels.row + (pixels.column + pixels.count - 1) / out_columns;
  const auto holds = [](const WindowAxis& axis, int32_t begin, int32_t end, int32_t input) {
    return int64_t{begin} * axis.stride >= axis.pad_begin &&
           int64_t{end} * axis.stride - axis.pad_begin + int64_t{axis.taps - 1} * axis.dilation <
               input;
  };
  return holds(conv.vertical, pixels.row, last_row, conv.x->shape.dims[2]) &&
         holds(conv.horizontal, is_one_row ? pixels.column : 0,
               is_one_row ? pixels.column + pixels.count - 1 : out_columns - 1,
               conv.x->shape.dims[3]);
}

// Finds the taps inside the map of a tile whose pixels have the same ones.
template <class T>
TileInputs inputs_inside(const Conv2d<T>& conv, const TilePixels& pixels, int size) {
  const int32_t row = pixels.row * conv.vertical.stride - conv.vertical.pad_begin;
  const int32_t column = pixels.column * conv.horizontal.stride - conv.horizontal.pad_begin;
  int64_t count = 0;
  int64_t first_offset = 0;
  for (int32_t i = 0; i < conv.vertical.taps; ++i) {
    const int32_t down = i * conv.vertical.dilation;
    if (static_cast<uint32_t>(row + down) >= static_cast<uint32_t>(conv.x->shape.dims[2])) continue;
    for (int32_t j = 0; j < conv.horizontal.taps; ++j) {
      const int32_t right = j * conv.horizontal.dilation;
      if (static_cast<uint32_t>(column + right) >= static_cast<uint32_t>(conv.x->shape.dims[3]))
        continue;
      PanelTap tap = conv.taps[i * conv.horizontal.taps + j];
      if (count == 0) {
        first_offset = tap.input_offset;
        point_at_tap(conv, pixels, size, down, right);
      }
      tap.input_offset -= first_offset;
      conv.tile_taps[count++] = tap;
    }
  }
  return {0, conv.tile_taps, count};
}

// Makes a set of pointers for each tap, of a tile in one row: the pixels whose tap is inside the
// map follow each other.
template <class T>
HWY_NOINLINE TileInputs inputs_by_tap_of_row(const Conv2d<T>& conv, const TilePixels& pixels,
                                             int size) {
  const TensorView& x = *conv.x;
  const int32_t row = pixels.row * conv.vertical.stride - conv.vertical.pad_begin;
  const int32_t column = pixels.column * conv.horizontal.stride - conv.horizontal.pad_begin;
  const int64_t column_step = conv.horizontal.stride * x.strides[3];
  const T* image = x.as<const T>() + pixels.image * x.strides[0];
  const int64_t first = (row - x.shape.row_begin) * x.strides[2] + column * x.strides[3];
  const auto in_tile = [&](int64_t inputs) {
    const int64_t pixel = inputs > 0 ? ceil_div(inputs, conv.horizontal.stride) : 0;
    return static_cast<int>(pixel < pixels.count ? pixel : pixels.count);
  };
  for (int32_t j = 0; j < conv.horizontal.taps; ++j) {
    const int64_t right = int64_t{column} + int64_t{j} * conv.horizontal.dilation;
    const int begin = in_tile(-right);
    const int end = in_tile(x.shape.dims[3] - right);
    for (int32_t i = 0; i < conv.vertical.taps; ++i) {
      const int64_t tap = int64_t{i} * conv.horizontal.taps + j;
      const T** entry = conv.table + tap * size;
      const bool is_row_inside = static_cast<uint32_t>(row + i * conv.vertical.dilation) <
                                 static_cast<uint32_t>(x.shape.dims[2]);
      for (int pixel = 0; pixel < size; ++pixel) entry[pixel] = conv.zeros;
      if (!is_row_inside) continue;
      const int64_t offset = first + conv.taps[tap].input_offset;
      for (int pixel = begin; pixel < end; ++pixel)
        entry[pixel] = image + (offset + pixel * column_step);
    }
  }
  return {size, conv.tile_taps, int64_t{conv.vertical.taps} * conv.horizontal.taps};
}

// Makes a set of pointers for each tap.
template <class T>
TileInputs inputs_by_tap(const Conv2d<T>& conv, const TilePixels& pixels, int size) {
  const TensorView& x = *conv.x;
  const int32_t out_columns = conv.y->shape.dims[3];
  if (pixels.column + pixels.count <= out_columns) return inputs_by_tap_of_row(conv, pixels, size);
  int32_t row[kMaxTilePixels];  // row of tap 0 in the map; negative in the padding
  int32_t column[kMaxTilePixels];
  // Holds the offset of tap 0 in elements, which means something if a tap is inside the map.
  int64_t offset[kMaxTilePixels];
  int32_t out_row = pixels.row;
  int32_t out_column = pixels.column;
  for (int i = 0; i < size; ++i) {
    row[i] = out_row * conv.vertical.stride - conv.vertical.pad_begin;
    column[i] = out_column * conv.horizontal.stride - conv.horizontal.pad_begin;
    offset[i] = (row[i] - x.shape.row_begin) * x.strides[2] + column[i] * x.strides[3];
    if (i + 1 < pixels.count && ++out_column == out_columns) {
      out_column = 0;
      ++out_row;
    }
  }
  const T* image = x.as<const T>() + pixels.image * x.strides[0];
  const uint32_t in_rows = static_cast<uint32_t>(x.shape.dims[2]);
  const uint32_t in_columns = static_cast<uint32_t>(x.shape.dims[3]);
  const T** entry = conv.table;
  const PanelTap* tap = conv.taps;
  for (int32_t i = 0; i < conv.vertical.taps; ++i) {
    const int32_t down = i * conv.vertical.dilation;
    for (int32_t j = 0; j < conv.horizontal.taps; ++j, ++tap, entry += size) {
      const int32_t right = j * conv.horizontal.dilation;
      for (int pixel = 0; pixel < size; ++pixel) {
        // One comparison per axis suffices: a negative position is a large unsigned one.
        const bool is_tap_inside = static_cast<uint32_t>(row[pixel] + down) < in_rows &&
                                   static_cast<uint32_t>(column[pixel] + right) < in_columns;
        entry[pixel] = is_tap_inside ? image + (offset[pixel] + tap->input_offset) : conv.zeros;
      }
    }
  }
  return {size, conv.tile_taps, tap - conv.taps};
}

// Serves filters of one tap, which lies inside the map.
template <class T>
TileInputs inputs_of_copied_pixels(const Conv2d<T>& conv, const TilePixels& pixels, int size) {
  point_at_tap(conv, pixels, size, 0, 0);
  const size_t bytes = static_cast<size_t>(padded_channels(conv.x->shape)) * sizeof(T);
  for (int i = 0; i < size; ++i)
    __builtin_memcpy(conv.copies + i * conv.copy_stride, conv.table[i], bytes);
  for (int i = 0; i < size; ++i) conv.table[i] = conv.copies + i * conv.copy_stride;
  return {0, &kOneTap, 1};
}

// Fills the table for a tile of `size` pixels, surplus ones with the last.
template <class T>
TileInputs inputs_of(const Conv2d<T>& conv, const TilePixels& pixels, int size) {
  if (conv.skips_padding) return inputs_inside(conv, pixels, size);
  if (!is_inside(conv, pixels)) return inputs_by_tap(conv, pixels, size);
  if (conv.copies != nullptr) return inputs_of_copied_pixels(conv, pixels, size);
  point_at_tap(conv, pixels, size, 0, 0);
  return {0, conv.taps, int64_t{conv.vertical.taps} * conv.horizontal.taps};
}

}  // namespace
}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // CODL_KERNELS_CONV2D_CONV2D_TILES_INL_H
