#include "test/support/zero_queue.h"

#include <cstring>

#include "schema/plan_fields.h"
#include "schema/plan_layout.h"
#include "schema/tables.h"
#include "schema/verify_plan.h"

namespace codl::test {
namespace {

template <typename Params>
void make_zero(uint8_t* params) {
  Params changed;
  std::memcpy(static_cast<void*>(&changed), params, sizeof(changed));
  changed.activation = kUnaryClip;
  changed.activation_alpha = changed.activation_beta = 0;
  std::memcpy(params, static_cast<const void*>(&changed), sizeof(changed));
}

}  // namespace

int zero_queue(std::vector<uint8_t>& plan, FaultQueue queue) {
  PlanHead head;
  std::memcpy(&head, plan.data(), sizeof(head));
  const auto& variants =
      *first_entry_of(*flatbuffers::GetRoot<plan::PlanDef>(plan.data() + head.table_offset))
           .variants();
  int changed = 0;
  for (const plan::VariantDef* variant : variants) {
    for (const plan::StepDef* step : *variant->steps()) {
      const KernelInfo* kernel = find_kernel(step->kernel());
      if (kernel == nullptr || (kernel->processor == Processor::Gpu) != (queue == FaultQueue::Gpu))
        continue;
      auto* params = const_cast<uint8_t*>(step->params()->data());
      if (kernel->op == OpKind::Conv2d) {
        make_zero<Conv2dParams>(params);
      } else if (kernel->op == OpKind::DepthwiseConv2d) {
        make_zero<DepthwiseConv2dParams>(params);
      } else {
        continue;
      }
      ++changed;
    }
  }
  head.checksum = plan_checksum(plan.data(), plan.size());
  std::memcpy(plan.data(), &head, sizeof(head));
  return changed;
}

}  // namespace codl::test
