#include "profiler/map_layout.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "kernels/kernel_table.h"

namespace codl::profiler {
namespace {

constexpr double kNoRow = std::numeric_limits<double>::infinity();

bool is_map(const OperandShape& operand) {
  return operand.layout == Layout::Nhwc || operand.layout == Layout::Image2d;
}

// The step with all its maps in `layout`. Rows of either layout take weights packed alike.
StepCase with_maps_in(Layout layout, StepCase item) {
  for (OperandShape& operand : item.operands) {
    if (!is_map(operand)) continue;
    operand.layout = layout;
    operand.bytes = memory_bytes(operand);
  }
  return item;
}

struct RowModel {
  const KernelRow* row;
  const StepModel* model;
};

std::vector<RowModel> gpu_row_models(const std::vector<FittedModel>& models) {
  std::vector<RowModel> found;
  for (const FittedModel& fitted : models)
    for (const KernelRow& row : kKernelRows)
      if (row.processor == Processor::Gpu && fitted.symbol == row.symbol)
        found.push_back({&row, &fitted.model});
  return found;
}

// Of the rows that may run the step, the fastest one's time; kNoRow if there is none.
double fastest_us(const std::vector<RowModel>& models, const StepCase& item,
                  const kernels::LaneFacts& lane) {
  double fastest = kNoRow;
  for (const auto& [row, model] : models) {
    kernels::StepNeeds needs;
    if (row->op != item.op || kernels::check_step(step_of(*row, item), &needs) != nullptr) continue;
    fastest = std::min(fastest, model->predict_us(features_of(*row, item, lane)));
  }
  return fastest;
}

}  // namespace

bool images_are_faster(const std::vector<Sample>& samples, const std::vector<FittedModel>& models,
                       const kernels::LaneFacts& lane) {
  const std::vector<RowModel> rows = gpu_row_models(models);
  double buffer_sum_us = 0;
  double image_sum_us = 0;
  for (const Sample& sample : samples) {
    const StepCase& item = sample.item;
    if (sample.row->processor != Processor::Gpu || sample.role == SampleRole::Repeat ||
        item.op == OpKind::Convert || !is_map(item.operands.back()))
      continue;
    const double buffer_us = fastest_us(rows, with_maps_in(Layout::Nhwc, item), lane);
    const double image_us = fastest_us(rows, with_maps_in(Layout::Image2d, item), lane);
    if (buffer_us == kNoRow || image_us == kNoRow) continue;
    buffer_sum_us += buffer_us;
    image_sum_us += image_us;
  }
  return image_sum_us < buffer_sum_us;
}

}  // namespace codl::profiler
