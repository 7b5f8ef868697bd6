#include "kernels/depth_to_space/depth_to_space.h"
#include "schema/plan_layout.h"

namespace codl::kernels::depth_to_space {
namespace {

const char* check(const StepShape& step, StepNeeds* out_needs) {
  if (const char* expected = check_operands(step, 2, 2)) return expected;
  const auto& params = step.params_as<DepthToSpaceParams>();
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  if (x.dtype != y.dtype) return "input and output of one dtype";
  if (x.layout != y.layout || x.layout == Layout::Image2d) return "input and output of one layout";
  if (x.rank != 4 || y.rank != 4) return "operands of rank 4";
  if (params.block_h < 1 || params.block_h > kMaxDim || params.block_w < 1 ||
      params.block_w > kMaxDim)
    return "blocks of 1 to 2^24 pixels";
  if (params.crop_top < 0 || params.crop_top > kMaxDim || params.crop_left < 0 ||
      params.crop_left > kMaxDim)
    return "crops of 0 to 2^24 pixels";
  const int64_t block = int64_t{params.block_h} * params.block_w;
  if (x.dims[0] != y.dims[0] || block > kMaxDim || block * y.dims[1] != x.dims[1])
    return "a block of input channels for every output channel";
  if (!depth_to_space_is_inside(params, x.dims, y.dims)) return "output pixels of the input's";
  const Range rows = rows_of_part(step.part_dim, step.part, y);
  if (!holds_rows(x, depth_to_space_input_range(params, rows)))
    return "input rows of the part inside the operand";
  if (!step.kernel->is_reference())
    out_needs->task_count = depth_to_space_work(step.part_dim, step.part, y).task_count;
  return nullptr;
}

}  // namespace

extern const Contract kContract;
const Contract kContract = {check, depth_to_space_launch};

}  // namespace codl::kernels::depth_to_space
