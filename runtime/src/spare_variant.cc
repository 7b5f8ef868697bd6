#include "runtime/src/spare_variant.h"

#include "runtime/src/diag.h"
#include "schema/plan_layout.h"

namespace codl::rt {

const plan::VariantDef* find_cpu_variant(const codl_plan& plan) {
  for (const plan::VariantDef* variant : *plan.def->variants())
    if (!needs_gpu(*variant)) return variant;
  return nullptr;
}

codl_status_t SpareVariant::create(const codl_allocator_t& allocator, const codl_plan& plan,
                                   const plan::VariantDef& variant, CpuPool& pool,
                                   bool record_timeline, codl_diag_t* diag) {
  variant_ = &variant;
  if (!host_arena_.allocate(allocator, variant.host_bytes(), kBlobAlignment)) {
    set_diag(diag, "no memory for a host arena of %llu bytes to fall back to",
             static_cast<unsigned long long>(variant.host_bytes()));
    return CODL_OUT_OF_MEMORY;
  }
  StepListInputs inputs;
  inputs.plan = &plan;
  inputs.variant = &variant;
  inputs.host_arena = host_arena_.data();
  inputs.record_timeline = record_timeline;
  const codl_status_t status = steps_.create(allocator, inputs, diag);
  return status == CODL_OK ? executor_.create(allocator, Gate::HostEnqueue, steps_, pool, nullptr,
                                              record_timeline, diag)
                           : status;
}

}  // namespace codl::rt
