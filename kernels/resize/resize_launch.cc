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
  const Range rows = rows_of_part(step.part_dim, step.part, y);
  out_launch->define("IS_NEAREST", params.kind == kResizeNearest ? 1 : 0);
  out_launch->define("ROUNDING", params.nearest - kResizeRoundPreferFloor);
  if (y.layout == Layout::Image2d) {
    set_texels(step, out_launch);
    add_image_rows(step, y, out_launch);
    out_launch->add_int(rows.begin);
    out_launch->add_int(x.row_begin);
    out_launch->add_int(rows_held(x));
    add_map(params, x, y, out_launch);
    return;
  }
  const ClChannels channels = cl_channels(step);
  const int64_t chunks = ceil_div(channels.stored_count, kClLanes);
  set_line(step, chunks * y.dims[3] * rows.count() * y.dims[0], out_launch);
  out_launch->add_int(static_cast<int32_t>(chunks));
  out_launch->add_int(channels.begin);
  out_launch->add_int(rows.count());
  out_launch->add_int(rows.begin);
  out_launch->add_int(y.dims[3]);
  add_map(params, x, y, out_launch);
  out_launch->add_int(x.row_begin);
  out_launch->add_int(cl_strides(x).batch);
  out_launch->add_int(cl_strides(x).row);
  out_launch->add_int(cl_strides(x).pixel);
  out_launch->add_int(cl_row_offset(y, rows.begin));
  out_launch->add_int(cl_strides(y).batch);
  out_launch->add_int(cl_strides(y).row);
}

}  // namespace codl::kernels
