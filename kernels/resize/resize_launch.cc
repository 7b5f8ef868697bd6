#include "kernels/common/cl_launch.h"
#include "kernels/resize/resize.h"

namespace codl::kernels {
namespace {

// The kernels compare ROUNDING with these differences.
static_assert(kResizeRoundPreferCeil - kResizeRoundPreferFloor == 1 &&
              kResizeFloor - kResizeRoundPreferFloor == 2 &&
              kResizeCeil - kResizeRoundPreferFloor == 3);

void add_long(int64_t value, ClLaunch* out) {
  out->add_int(static_cast<int32_t>(static_cast<uint32_t>(value)));
  out->add_int(static_cast<int32_t>(value >> 32));
}

// Scalars: in_h, in_w, then step, start and divisor along the height and along the width.
void add_map(const ResizeParams& params, const OperandShape& x, const OperandShape& y,
             ClLaunch* out) {
  ResizeMap map;
  resize_is_map(params, x.dims, y.dims, &map);
  out->add_int(x.dims[2]);
  out->add_int(x.dims[3]);
  for (const ResizeLine& line : {map.h, map.w}) {
    add_long(line.step, out);
    add_long(line.start, out);
    add_long(line.divisor, out);
  }
}

}  // namespace

void resize_launch(const StepShape& step, ClLaunch* out_launch) {
  const auto& params = step.params_as<ResizeParams>();
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  out_launch->define("IS_NEAREST", params.kind == kResizeNearest ? 1 : 0);
  out_launch->define("ROUNDING", params.nearest - kResizeRoundPreferFloor);
  if (y.layout == Layout::Image2d) {
    set_texels(step, out_launch);
    add_image_window(step, x, out_launch);
    add_map(params, x, y, out_launch);
    return;
  }
  set_chunks(step, out_launch);
  add_map(params, x, y, out_launch);
  add_nhwc_input(x, out_launch);
  add_nhwc_output(step, out_launch);
}

}  // namespace codl::kernels
