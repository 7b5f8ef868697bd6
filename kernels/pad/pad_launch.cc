#include "kernels/common/launch/cl_launch.h"
#include "kernels/pad/pad.h"

namespace codl::kernels {

// The kernel compares KIND with these numbers.
static_assert(kPadConstant == 1 && kPadReflect == 2 && kPadEdge == 3 && kPadWrap == 4);

void pad_launch(const StepShape& step, ClLaunch* out_launch) {
  const auto& params = step.params_as<PadParams>();
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  const PadAxes pads = pad_axes(params);
  out_launch->define("KIND", params.kind);
  out_launch->define("HAS_VALUE", params.has_value);
  set_chunks(step, out_launch);
  out_launch->add_int(x.dims[2]);
  out_launch->add_int(x.dims[3]);
  out_launch->add_int(y.dims[1]);
  out_launch->add_int(pads.begin[2]);
  out_launch->add_int(pads.begin[3]);
  out_launch->add_int(x.row_begin);
  out_launch->add_int(cl_strides(x).batch);
  out_launch->add_int(cl_strides(x).row);
  out_launch->add_int(cl_strides(x).pixel);
  out_launch->add_int(y.row_begin);
  out_launch->add_int(cl_strides(y).batch);
  out_launch->add_int(cl_strides(y).row);
}

}  // namespace codl::kernels
