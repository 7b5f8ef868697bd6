#include "kernels/common/launch/cl_launch.h"
#include "kernels/resize/resize.h"

namespace codl::kernels {
namespace {

// The kernels compare ROUNDING_H and ROUNDING_W with these differences.
static_assert(kResizeRoundPreferCeil - kResizeRoundPreferFloor == 1 &&
              kResizeFloor - kResizeRoundPreferFloor == 2 &&
              kResizeCeil - kResizeRoundPreferFloor == 3);

void add_long(int64_t value, ClLaunch* out) {
  out->add_int(static_cast<int32_t>(static_cast<uint32_t>(value)));
  out->add_int(static_cast<int32_t>(value >> 32));
}

// Scalars: in_h, in_w, then along the height and along the width step, start, divisor, fraction,
// and 1 if the position is rounded, 2 more if 1 / 2 is subtracted then.
void add_map(const StepShape& step, ClLaunch* out) {
  const auto& params = step.params_as<ResizeParams>();
  const OperandShape& x = step.operands[0];
  ResizeMap map;
  resize_is_map(params, x.dims, step.output().dims, &map);
  out->define("IS_NEAREST", params.kind == kResizeNearest ? 1 : 0);
  out->define("ROUNDING_H", map.rounding_h - kResizeRoundPreferFloor);
  out->define("ROUNDING_W", map.rounding_w - kResizeRoundPreferFloor);
  out->define("IS_ROUNDED", map.h.is_rounded || map.w.is_rounded ? 1 : 0);
  out->add_int(x.dims[2]);
  out->add_int(x.dims[3]);
  for (const ResizeLine& line : {map.h, map.w}) {
    add_long(line.step, out);
    add_long(line.start, out);
    add_long(line.divisor, out);
    out->add_int(line.fraction);
    out->add_int((line.is_rounded ? 1 : 0) + (line.is_half_less ? 2 : 0));
  }
}

}  // namespace

void resize_launch(const StepShape& step, ClLaunch* out_launch) {
  const OperandShape& x = step.operands[0];
  if (step.output().layout == Layout::Image2d) {
    set_texels(step, out_launch);
    add_image_window(step, x, out_launch);
    add_map(step, out_launch);
    return;
  }
  set_chunks(step, out_launch);
  add_map(step, out_launch);
  out_launch->add_int(x.dims[1]);
  add_nhwc_input(x, out_launch);
  add_nhwc_output(step, out_launch);
  out_launch->add_int(cl_strides(step.output()).pixel);
}

}  // namespace codl::kernels
