#include "kernels/model_features.h"

#include <string_view>

#include "kernels/cl_processor_features.h"
#include "kernels/common/check_step_shape.h"
#include "kernels/cpu_features.h"
#include "kernels/gpu_features.h"
#include "kernels/work_table.h"

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
    case kUnaryTanh:
      return "melements_tanh";
    case kUnarySigmoid:
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

double weight_mbytes(const StepShape& step) {
  double bytes = 0;
  for (uint32_t i = 0; i < step.operand_count; ++i)
    if (step.operands[i].layout == Layout::Packed)
      bytes += static_cast<double>(step.operands[i].bytes);
  if (step.part_dim == SplitDim::OutputChannel)
    bytes *= static_cast<double>(step.part.count()) / step.output().dims[1];
  return bytes * 1e-6;
}

// What steps count of their weights, for which those from memory take longer.
struct ColdName {
  std::string_view name;
  const char* cold_name;
};
#define COLD(name) \
  { #name, "cold_" #name }
constexpr ColdName kColdNames[] = {
    COLD(stream_weight_mbytes),      COLD(shown_weight_mbytes), COLD(late_weight_mbytes),
    COLD(stream_begun_mbytes),       COLD(shown_begun_mbytes),  COLD(read_begun_mbytes),
    COLD(unseen_weight_klines),      COLD(begun_weight_mbytes), COLD(single_weight_mbytes),
    COLD(long_weight_mbytes),        COLD(pair_weight_mbytes),  COLD(four_panels_weight_mbytes),
    COLD(single_long_weight_mbytes),
};
#undef COLD

void add_cold_weights(double mbytes, Features* features) {
  for (uint32_t i = 0, count = features->count; i < count; ++i)
    for (const ColdName& names : kColdNames)
      if (names.name == features->items[i].name)
        features->add(names.cold_name, features->items[i].value);
  features->add(kColdWeights, mbytes);
}

void add_processor_features(const StepShape& step, const LaneFacts& lane, Features* features) {
  if (step.row->processor == Processor::Cpu)
    return add_cpu_features(step, lane.thread_count, lane.vector_lanes, features);
  if (const char* name = arithmetic_of(member_applied(step)))
    features->add(name, static_cast<double>(part_elements(step)) * 1e-6);
  if (lane.gpu.is_processor() && lane.gpu.units != 0 &&
      add_cl_processor_features(step, lane.gpu, features))
    return;
  add_gpu_features(step, lane.gpu, features);
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
  add_processor_features(step, lane, out_features);
  if (const double mbytes = weight_mbytes(step); mbytes > 0 && !lane.has_warm_weights)
    add_cold_weights(mbytes, out_features);
}

}  // namespace codl::kernels
