#include "kernels/conv2d/conv2d.h"
#include "kernels/conv2d/winograd_cl.h"

namespace codl::kernels::conv2d {

namespace {

const char* check(const StepShape& step, StepNeeds* out_needs) {
  if (const char* expected = check_conv_operands<Conv2dParams>(step)) return expected;
  const auto& params = step.params_as<Conv2dParams>();
  const OperandShape& x = step.operands[0];
  const OperandShape& w = step.operands[1];
  const OperandShape& y = step.output();

  if (params.groups < 1 || x.dims[1] % params.groups != 0 || y.dims[1] % params.groups != 0)
    return "groups that divide the input and output channels";
  if (w.dims[0] != y.dims[1] || w.dims[1] != x.dims[1] / params.groups)
    return "weights of the output channels and the input channels of a group";
  const int32_t winograd = winograd_outputs(step.kernel->packing);
  if (winograd != 0) {
    if (const char* expected = check_winograd(params, w)) return expected;
    const Range rows = winograd_rows(winograd, rows_of_part(step.part_dim, step.part, y), y);
    if (step.kernel->algorithm != Algorithm::WinogradGroup &&
        !holds_rows_of(x, input_rows_of(vertical_axis(params, w.dims), x.dims[2], rows)))
      return "input rows of the part's tiles inside the operand";
  }
  const uint64_t weights = winograd != 0 ? winograd_packed_elements(step.kernel->packing, w.dims)
                           : w.dtype == DType::I8 ? conv2d_packed_bytes(w.dims, params.groups)
                                                  : conv2d_packed_elements(w.dims, params.groups);
  if (const char* expected = check_packed_weights(w, weights)) return expected;
  if (step.part_dim == SplitDim::OutputChannel && params.groups > 1 &&
      y.dims[1] / params.groups % kChannelPanel != 0)
    return "groups of whole panels of 16 channels for a part of channels";

  if (step.kernel->algorithm == Algorithm::Texels && params.groups > 1 &&
      (w.dims[1] % kChannelPad != 0 || y.dims[1] / params.groups % kChannelPad != 0))
    return "groups of whole texels of 4 channels for kernels on texels";

  if (step.kernel->algorithm == Algorithm::WinogradItem) {
    if (step.tile_count != 0 && step.tile_count != kWinogradItemInts)
      return "no tile, or its five numbers";
    return check_winograd_item(winograd_item_of(step),
                               conv2d_panels(params, y, step.part_dim, step.part).count());
  }
  if (step.kernel->algorithm == Algorithm::WinogradGroup) {
    if (step.tile_count != 0 && step.tile_count != kWinogradGroupInts)
      return "no tile, or its five numbers";
    return check_winograd_group(winograd_group_of(step));
  }
  if (step.kernel->algorithm == Algorithm::Tiled) {
    if (params.groups != 1) return "one group for tiles in local memory";
    return check_gemm_tile(step);
  }
  if (step.kernel->algorithm == Algorithm::Texels && step.tile_count == kConv2dItemInts) {
    if (step.tile[3] < 1 || step.tile[3] > 4) return "1 to 4 pixels in a work-item";
    if (!conv2d_takes_texels(params, y, step.tile[4]))
      return "1 texel in a work-item, or 2 of a group";
    return check_cl_local_sizes(step.tile);
  }
  if (step.kernel->algorithm == Algorithm::Direct && step.tile_count == kConv2dItemInts) {
    if ((step.tile[3] < 1 || step.tile[3] > kConv2dBufferPixels) &&
        step.tile[3] != 2 * kConv2dBufferPixels)
      return "1 to 7 or 14 pixels in a work-item";
    if (!conv2d_takes_panels(params, y, step.part_dim, step.part, step.tile[4]))
      return "1 panel in a work-item, or 2 of one group that has an even number of them";
    return check_cl_local_sizes(step.tile);
  }
  if (step.kernel->processor == Processor::Gpu) return check_cl_tile(step);
  const auto need = [&](const auto& work) -> const char* {
    if (work.task_count > INT32_MAX) return "at most 2^31 tasks";
    out_needs->task_count = static_cast<int32_t>(work.task_count);
    out_needs->scratch_bytes = work.scratch_bytes;
    return nullptr;
  };
  if (winograd != 0) return need(winograd_work(winograd, x, y, step.part_dim, step.part));
  const Conv2dWork work = conv2d_work(params, x, w, y, step.part_dim, step.part);
  if (x.pixel_stride != 0 && work.dots.run > work.dots.depth)
    return "pixels that follow each other, for windows that are read in runs";
  return need(work);
}

}  // namespace

extern const Contract kContract;
const Contract kContract = {check, conv2d_launch};

}  // namespace codl::kernels::conv2d
