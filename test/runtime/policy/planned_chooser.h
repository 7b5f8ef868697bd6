// Makes the adaptive policy's chooser of variants that are nothing but their predicted times.
#pragma once

#include <vector>

#include "runtime/policy/variant_chooser.h"
#include "test/support/catch.h"

namespace codl::test {

class PlannedChooser {
 public:
  // Microseconds by variant; 0: nothing is predicted of it.
  explicit PlannedChooser(const std::vector<float>& predicted_us) {
    REQUIRE(chooser_.create(predicted_us.size()));
    for (size_t i = 0; i < predicted_us.size(); ++i) chooser_.predict(i, predicted_us[i]);
  }

  policy::VariantChooser* operator->() { return &chooser_; }
  const policy::VariantChooser& operator*() const { return chooser_; }

 private:
  policy::VariantChooser chooser_;
};

}  // namespace codl::test
