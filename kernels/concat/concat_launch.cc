#include "kernels/common/contract/move_elements.h"
#include "kernels/common/launch/cl_launch.h"
#include "kernels/concat/concat.h"

namespace codl::kernels {
namespace {

// Elements in memory that belong to one index along the axis and one in front of it.
int64_t elements_behind(const OperandShape& shape, int32_t axis) {
  if (has_pixels(shape)) {
    int64_t count = padded_channels(shape);
    if (axis != 3) count *= shape.dims[3];
    if (axis == 0) count *= shape.dims[2];
    return count;
  }
  return element_count(shape, axis + 1, shape.rank);
}

void launch_runs(const StepShape& step, ClLaunch* out_launch) {
  constexpr int64_t kWidth = 4;
  const int32_t axis = step.params_as<ConcatParams>().axis;
  const OperandShape& y = step.output();
  const int64_t behind = elements_behind(y, axis);
  bool is_wide = true;  // every run is whole vectors
  for (uint32_t i = 0; i + 1 < step.operand_count; ++i)
    is_wide = is_wide && behind * step.operands[i].dims[axis] % kWidth == 0;
  const int64_t width = is_wide ? kWidth : 1;
  out_launch->define("INPUTS", static_cast<int32_t>(step.operand_count - 1));
  out_launch->define("WIDTH", static_cast<int32_t>(width));
  set_line(step, stored_elements(y) / width, out_launch);
  for (uint32_t i = 0; i < step.operand_count; ++i)
    out_launch->add_int(static_cast<int32_t>(behind * step.operands[i].dims[axis] / width));
}

}  // namespace

void concat_launch(const StepShape& step, ClLaunch* out_launch) {
  if (step.kernel->algorithm == Algorithm::Runs) return launch_runs(step, out_launch);
  const OperandShape& y = step.output();
  const Range rows = rows_of_part(step.part_dim, step.part, y);
  const bool is_image = y.layout == Layout::Image2d;
  Range copied = {y.dims[1], 0};  // from the first channel that is, to the last
  int32_t inputs = 0;
  int64_t chunks = 0;
  int32_t channels = 0;  // of the inputs before
  for (uint32_t i = 0; i + 1 < step.operand_count; ++i) {
    const int32_t first = channels;
    channels += step.operands[i].dims[1];
    if (!is_cl_argument(step, i)) continue;
    ++inputs;
    chunks += ceil_div(channels - first, kClLanes);
    copied = {first < copied.begin ? first : copied.begin, channels};
  }
  if (inputs == 0) return;  // nothing to launch
  out_launch->define("INPUTS", inputs);
  if (is_image) {
    const int32_t first_texel = copied.begin / kChannelPad;
    set_grid(step, ceil_div(copied.end, kChannelPad) - first_texel, y.dims[3],
             int64_t{y.dims[0]} * rows.count(), out_launch);
    out_launch->add_int(first_texel);
    out_launch->add_int(rows.count());
    add_image_rows(step, y, out_launch);
    add_pixel_texels(y, out_launch);
  } else {
    const int64_t pixels = int64_t{rows.count()} * y.dims[3];
    set_line(step, chunks * pixels * y.dims[0], out_launch);
    out_launch->add_int(static_cast<int32_t>(chunks));
    out_launch->add_int(static_cast<int32_t>(pixels));
    out_launch->add_int(y.dims[1]);
    add_nhwc_rows(step, y, out_launch);
    out_launch->add_int(cl_strides(y).pixel);
  }
  channels = 0;
  for (uint32_t i = 0; i + 1 < step.operand_count; ++i) {
    const OperandShape& x = step.operands[i];
    const int32_t first = channels;
    channels += x.dims[1];
    if (!is_cl_argument(step, i)) continue;
    out_launch->add_int(first);
    out_launch->add_int(x.dims[1]);
    if (is_image)
      add_image_rows(step, x, out_launch);
    else
      add_nhwc_rows(step, x, out_launch);
  }
}

}  // namespace codl::kernels
