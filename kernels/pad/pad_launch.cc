#include "kernels/common/launch/cl_launch.h"
#include "kernels/pad/pad.h"

namespace codl::kernels {
namespace {

// clang-format off
#define CODL_ARGS_PadBuffer(A, G, N)                                                           \
  G(Chunks, chunks) A(int, in_h) A(int, in_w) A(int, channels) A(int, begin_h) A(int, begin_w) \
  A(int, x_row_begin) A(int, x_batch_stride) A(int, x_row_stride) A(int, pixel_stride)         \
  A(int, y_row_begin) A(int, y_batch_stride) A(int, y_row_stride)
// clang-format on
CODL_CL_ARGS(PadBuffer);

}  // namespace

// The kernel compares KIND with these numbers.
static_assert(kPadConstant == 1 && kPadReflect == 2 && kPadEdge == 3 && kPadWrap == 4);

void pad_launch(const StepShape& step, ClLaunch* out_launch) {
  const auto& params = step.params_as<PadParams>();
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  const PadAxes pads = pad_axes(params);
  out_launch->define("KIND", params.kind);
  out_launch->define("HAS_VALUE", params.has_value);
  const ClStrides x_strides = cl_strides(x);
  const ClStrides y_strides = cl_strides(y);
  out_launch->add(PadBufferArgs{.chunks = set_chunks(step, out_launch),
                                .in_h = x.dims[2],
                                .in_w = x.dims[3],
                                .channels = y.dims[1],
                                .begin_h = pads.begin[2],
                                .begin_w = pads.begin[3],
                                .x_row_begin = x.row_begin,
                                .x_batch_stride = x_strides.batch,
                                .x_row_stride = x_strides.row,
                                .pixel_stride = x_strides.pixel,
                                .y_row_begin = y.row_begin,
                                .y_batch_stride = y_strides.batch,
                                .y_row_stride = y_strides.row});
}

}  // namespace codl::kernels
