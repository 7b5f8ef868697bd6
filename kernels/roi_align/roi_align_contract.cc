#include "kernels/roi_align/roi_align.h"

namespace codl::kernels::roi_align {
namespace {

const char* check(const StepShape& step, StepNeeds*) {
  if (const char* expected = check_operands(step, 4, 4)) return expected;
  const auto& params = step.params_as<RoiAlignParams>();
  const OperandShape& x = step.operands[0];
  const OperandShape& rois = step.operands[1];
  const OperandShape& indices = step.operands[2];
  const OperandShape& y = step.output();
  if (x.dtype != DType::F32 || rois.dtype != DType::F32 || y.dtype != DType::F32 ||
      indices.dtype != DType::I64)
    return "operands of f32 and indices of i64";
  for (uint32_t i = 0; i < 3; ++i)
    if (step.operands[i].layout != Layout::Plain) return "plain operands";
  if (x.rank != 4 || rois.rank != 2 || indices.rank != 1 || y.rank != 4)
    return "a map, regions and their indices";
  if (rois.dims[1] != 4 || indices.dims[0] != rois.dims[0]) return "four numbers for every region";
  if (y.dims[0] != rois.dims[0] || y.dims[1] != x.dims[1] || y.dims[2] != params.output_h ||
      y.dims[3] != params.output_w)
    return "an output of every region's bins";
  return params.sampling_ratio >= 0 && params.sampling_ratio <= kRoiAlignMaxRatio
             ? nullptr
             : "a sampling ratio of 0 to 1024";
}

}  // namespace

extern const Contract kContract;
const Contract kContract = {check, nullptr};

}  // namespace codl::kernels::roi_align
