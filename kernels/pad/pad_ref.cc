#include "kernels/common/contract/move_elements.h"
#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/common/reference/ref_index.h"
#include "kernels/pad/pad.h"

namespace codl::kernels {
namespace {

void pad_constant(const KernelArgs& args, const PadAxes& pads) {
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  const DType dtype = y.shape.dtype;
  char zero[8];
  std::memset(zero, y.shape.zero_point, sizeof zero);
  const bool has_value = args.params_as<PadParams>().has_value == 1;
  fill_elements(dtype, y.as<char>(), has_value ? args.operands[1].as<const char>() : zero,
                element_count(y.shape));
  LoopAxes axes;
  int64_t first = 0;
  for (int32_t i = 0; i < y.shape.rank; ++i) {
    first += pads.begin[i] * y.strides[i];
    axes.append(x.shape.dims[i], x.strides[i], y.strides[i]);
  }
  const int64_t bytes = static_cast<int64_t>(dtype_bytes(dtype));
  move_elements(axes, dtype, y.as<char>() + first * bytes, x.as<const char>());
}

// Goes row by row along the last axis: the row of x in the middle, elements of it at the sides.
void pad_with_x(const KernelArgs& args, const PadAxes& pads) {
  const int32_t kind = args.params_as<PadParams>().kind;
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  const int64_t bytes = static_cast<int64_t>(dtype_bytes(y.shape.dtype));
  const int32_t last = y.shape.rank - 1;
  const int64_t columns = y.shape.dims[last];
  const int64_t begin = pads.begin[last];
  const int64_t x_columns = x.shape.dims[last];
  const int64_t rows = element_count(y.shape, 0, last);
  for (int64_t row = 0; row < rows; ++row) {
    int64_t offset = 0;
    int64_t rest = row;
    for (int32_t i = last - 1; i >= 0; --i) {
      const int64_t place = rest % y.shape.dims[i] - pads.begin[i];
      offset += pad_place_in_x(kind, place, x.shape.dims[i]) * x.strides[i];
      rest /= y.shape.dims[i];
    }
    const char* from = x.as<const char>() + offset * bytes;
    char* to = y.as<char>() + row * columns * bytes;
    for (int64_t i = 0; i < begin; ++i)
      move_few(to + i * bytes, from + pad_place_in_x(kind, i - begin, x_columns) * bytes, bytes);
    std::memcpy(to + begin * bytes, from, static_cast<size_t>(x_columns * bytes));
    for (int64_t i = begin + x_columns; i < columns; ++i)
      move_few(to + i * bytes, from + pad_place_in_x(kind, i - begin, x_columns) * bytes, bytes);
  }
}

// Goes element by element, in any layout.
void pad_map(const KernelArgs& args, const PadAxes& pads) {
  const auto& params = args.params_as<PadParams>();
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  const float value = params.has_value == 1 ? *args.operands[1].as<const float>() : 0.0f;
  for_each_output(args, [&](const int32_t* index) {
    int32_t from[4];
    bool is_inside = true;
    for (int32_t i = 0; i < 4; ++i) {
      const int32_t place = index[i] - pads.begin[i];
      is_inside = is_inside && place >= 0 && place < x.shape.dims[i];
      from[i] = static_cast<int32_t>(pad_place_in_x(params.kind, place, x.shape.dims[i]));
    }
    y.as<float>()[offset_of(y, index)] =
        params.kind == kPadConstant && !is_inside ? value : x.as<const float>()[offset_of(x, from)];
  });
  zero_pad_lanes(args);
}

}  // namespace

void pad_ref(const KernelArgs& args) {
  const PadAxes pads = pad_axes(args.params_as<PadParams>());
  if (args.output().shape.layout == Layout::Nhwc)
    pad_map(args, pads);
  else if (args.params_as<PadParams>().kind == kPadConstant || args.output().shape.rank == 0)
    pad_constant(args, pads);
  else
    pad_with_x(args, pads);
}

CODL_CPU_KERNEL_PLAIN(pad_any_cpu, pad_ref);

}  // namespace codl::kernels
