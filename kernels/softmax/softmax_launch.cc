#include "kernels/common/launch/cl_launch.h"
#include "kernels/softmax/softmax.h"

namespace codl::kernels {
namespace {

// clang-format off
#define CODL_ARGS_SoftmaxBuffer(A, G, N)                                                 \
  A(int, item_count) A(int, inner) A(int, outer_stride) A(int, axis) A(int, axis_stride) \
  A(int, pad) A(int, pixel) A(int, channels)
// clang-format on
CODL_CL_ARGS(SoftmaxBuffer);

}  // namespace

void softmax_launch(const StepShape& step, ClLaunch* out_launch) {
  const auto& params = step.params_as<SoftmaxParams>();
  const OperandShape& y = step.output();
  const SoftmaxWork work = softmax_work(params.axis, y);
  const SoftmaxItems items = softmax_items(work);
  out_launch->define("IS_LOG", params.is_log != 0 ? 1 : 0);
  out_launch->define("ITEMS", items.items);
  out_launch->define("GROUP_ITEMS", kSoftmaxGroupItems);
  out_launch->define("HELD", items.held);
  const int64_t runs = work.outer * work.inner;
  const int32_t item_count = set_line(step, runs, out_launch);
  if (items.items > 1) {
    out_launch->local[0] = kSoftmaxGroupItems;
    out_launch->global[0] = round_up(static_cast<uint64_t>(runs * items.items), kSoftmaxGroupItems);
    out_launch->local_bytes = static_cast<uint32_t>(kSoftmaxGroupItems) * kClLocalNumberBytes;
  }
  const bool is_nhwc = y.layout == Layout::Nhwc;
  const bool is_channels = is_nhwc && params.axis == 1;
  // The kernel zeroes the elements after a run of channels, and the lanes of a pixel beside its
  // channels.
  out_launch->add(SoftmaxBufferArgs{.item_count = item_count,
                                    .inner = static_cast<int32_t>(work.inner),
                                    .outer_stride = static_cast<int32_t>(work.outer_stride),
                                    .axis = static_cast<int32_t>(work.axis),
                                    .axis_stride = static_cast<int32_t>(work.axis_stride),
                                    .pad = is_channels ? padded_channels(y) - y.dims[1] : 0,
                                    .pixel = is_nhwc && !is_channels ? padded_channels(y) : 1,
                                    .channels = is_nhwc && !is_channels ? y.dims[1] : 1});
}

}  // namespace codl::kernels
