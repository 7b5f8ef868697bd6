// Runs the adaptive policy on a plan whose variants have nothing but predicted times.
#pragma once

#include <cstring>
#include <vector>

#include "runtime/src/variant_chooser.h"
#include "test/support/catch.h"
#include "test/support/plan_builder_for_tests.h"

namespace codl::test {

class PlannedChooser {
 public:
  // Microseconds per variant; 0: there is no prediction.
  explicit PlannedChooser(const std::vector<float>& predicted_us) {
    TestPlan plan;
    plan.variants.clear();
    for (const float us : predicted_us) plan.variants.emplace_back().predicted_us = us;
    bytes_ = to_bytes(plan);
    PlanHead head;
    std::memcpy(&head, bytes_.data(), sizeof(head));
    for (const plan::VariantDef* variant :
         *plan::GetPlanDef(bytes_.data() + head.table_offset)->variants())
      variants_.push_back(variant);
    codl_diag_t diag;
    REQUIRE(chooser_.create(rt::default_allocator(), {variants_.data(), variants_.size()}, &diag) ==
            CODL_OK);
  }

  rt::VariantChooser* operator->() { return &chooser_; }
  const rt::VariantChooser& operator*() const { return chooser_; }

 private:
  std::vector<uint8_t> bytes_;
  std::vector<const plan::VariantDef*> variants_;
  rt::VariantChooser chooser_;
};

}  // namespace codl::test
