#include "kernels/model_features.h"

#include <string_view>

#include "kernels/common/check_step_shape.h"
#include "kernels/kernel_table.h"

namespace codl::kernels {
namespace {

// The name under which the arithmetic of a Unary member counts; null for one of a few instructions.
const char* arithmetic_of(int32_t kind) {
  switch (kind) {
    case kUnaryIdentity:
    case kUnaryRelu:
    case kUnaryLeakyRelu:
    case kUnaryClip:
    case kUnaryThresholdedRelu:
    case kUnaryAbs:
    case kUnaryNeg:
    case kUnarySqrt:
    case kUnarySign:
    case kUnaryNot:
    case kUnaryBitwiseNot:
      return nullptr;
    case kUnaryHardSigmoid:
    case kUnaryHardSwish:
      return "melements_hard";
    case kUnarySigmoid:
    case kUnaryTanh:
    case kUnarySwish:
    case kUnaryExp:
    case kUnaryElu:
    case kUnarySelu:
    case kUnaryCelu:
      return "melements_exp";
    case kUnaryGelu:
    case kUnaryErf:
      return "melements_erf";
    default:
      return "melements_other";
  }
}

// The member that a step applies to every element it writes: its kind if it is a Unary, else its
// activation, if it has one.
int32_t member_applied(const StepShape& step) {
  const OpKind op = step.row->op;
  for (const OpParamField& field : kOpParamFields)
    if (field.op == op && field.name == (op == OpKind::Unary ? "kind" : "activation"))
      return *reinterpret_cast<const int32_t*>(static_cast<const uint8_t*>(step.params) +
                                               field.offset_bytes);
  return kUnaryIdentity;
}

// What the part touches, as the contract counts it.
double touched_mbytes(const Features& features) {
  double mbytes = 0;
  for (uint32_t i = 0; i < features.count; ++i) {
    const std::string_view name = features.items[i].name;
    if (name == "mbytes" || name == "weight_mbytes") mbytes += features.items[i].value;
  }
  return mbytes;
}

void add_cpu_features(const StepShape& step, int32_t thread_count, Features* features) {
  StepNeeds needs;
  check_step(step, &needs);
  const double tasks = needs.task_count;
  const double most = static_cast<double>(ceil_div(needs.task_count, thread_count));
  const double factor = most * thread_count / tasks;
  const double mbytes = touched_mbytes(*features);
  const OperandShape& y = step.output();
  const double elements = static_cast<double>(part_elements(step));
  const double innermost =
      y.layout == Layout::Plain ? (y.rank == 0 ? 1 : y.dims[y.rank - 1]) : padded_channels(y);
  features->add("melements", elements * 1e-6);
  features->add("kpixels", elements / innermost * 1e-3);
  const bool is_ragged = static_cast<int64_t>(innermost) % kChannelPanel != 0;
  features->add("ragged_kpixels", is_ragged ? elements / innermost * 1e-3 : 0);
  features->add("cached_mbytes", mbytes > 1 ? mbytes - 1 : 0);
  features->add("far_mbytes", mbytes > 8 ? mbytes - 8 : 0);
  for (uint32_t i = 0; i < features->count; ++i)
    if (std::string_view(features->items[i].name) != "steps") features->items[i].value *= factor;
  features->add("shares", needs.task_count > 1 && thread_count > 1 ? 1 : 0);
}

void add_gpu_features(const StepShape& step, const GpuFacts& gpu, Features* features) {
  ClLaunch launch;
  launch_of(step, &launch);
  double items = 1;
  double group_items = 1;
  for (int i = 0; i < 3; ++i) {
    items *= static_cast<double>(launch.global[i]);
    group_items *= static_cast<double>(launch.local[i] == 0 ? 1 : launch.local[i]);
  }
  double mmacs = 0;
  double mbytes = 0;
  for (uint32_t i = 0; i < features->count; ++i) {
    const std::string_view name = features->items[i].name;
    if (name.starts_with("mmacs") || name == "mops") mmacs += features->items[i].value;
    if (name == "mbytes") mbytes += features->items[i].value;
  }
  features->add("kitems", items * 1e-3);
  if (mmacs > 0) features->add("item_kmacs", 1e3 * mmacs / items);
  features->add("item_kbytes", 1e3 * mbytes / items);
  if (gpu.units == 0) return;
  // Groups of the unit that has most, of any and of so many at a time as it may hold.
  const auto groups = static_cast<int64_t>(items / group_items);
  const auto waves = [&](int64_t held) {
    return static_cast<double>(ceil_div(groups, held * gpu.units));
  };
  const double unit_items = waves(1) * group_items;
  const double item_kmacs = 1e3 * mmacs / items;
  features->add("unit_kitems", unit_items * 1e-3);
  features->add("unit_kmacs", unit_items * item_kmacs);
  features->add("unit_kbytes", unit_items * 1e3 * mbytes / items);
  features->add("wave8_kmacs", waves(8) * item_kmacs);
  features->add("wave32_kmacs", waves(32) * item_kmacs);
}

}  // namespace

void model_features_of(const StepShape& given, const LaneFacts& lane, Features* out_features) {
  StepShape step = given;
  int32_t tile[kMaxTileInts] = {};
  if (step.tile_count == 0 && step.row->processor == Processor::Gpu) {
    step.tile_count = choose_tile(step, lane.gpu, tile);
    step.tile = tile;
  }
  features_of(step, out_features);
  if (const char* name = arithmetic_of(member_applied(step)))
    out_features->add(name, static_cast<double>(part_elements(step)) * 1e-6);
  if (step.row->processor == Processor::Cpu)
    add_cpu_features(step, lane.thread_count, out_features);
  else
    add_gpu_features(step, lane.gpu, out_features);
}

}  // namespace codl::kernels
