#include "kernels/random/random.h"

namespace codl::kernels::random {
namespace {

const char* check(const StepShape& step, StepNeeds*) {
  if (const char* expected = check_plain_operands(step, 2, 2)) return expected;
  const auto& params = step.params_as<RandomParams>();
  if (member_name(OpKind::Random, params.kind).empty()) return "a member of Random";
  if (step.output().dtype != DType::F32) return "a result of f32";
  return nullptr;
}

}  // namespace

extern const Contract kContract;
const Contract kContract = {check, nullptr};

}  // namespace codl::kernels::random
