// Finds where values live by what a plan does to them, and asks only once for each use.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "compiler/partition/value_tensors.h"
#include "llvm/ADT/STLExtras.h"

namespace codl::compiler {

class KnownValueTensors {
 public:
  struct Known {
    ValueUse use;
    ValueTensors value_tensors;
    uint32_t id;  // from 1 on; other uses have other ones
  };

  // Borrows it.
  KnownValueTensors(const TensorPlacer& placer, size_t value_count)
      : placer_(placer), known_(value_count) {}

  // The result is valid until the next call.
  const Known& of(ir::ValueId value, ValueUse use) {
    auto& known = known_[value];
    auto at = llvm::find_if(known, [&](const auto& one) { return one->use == use; });
    if (at == known.end()) {
      if (known.size() == kMaxKnown) known.pop_back();
      ValueTensors value_tensors = placer_.place(value, use);
      known.push_back(
          std::make_unique<Known>(Known{std::move(use), std::move(value_tensors), next_id_++}));
      at = known.end() - 1;
    }
    std::rotate(known.begin(), at, at + 1);
    return *known.front();
  }

 private:
  static constexpr size_t kMaxKnown = 8;  // limit per value: more are seldom asked for again

  const TensorPlacer& placer_;
  // Holds the known uses by value; the one that was asked for last comes first.
  std::vector<llvm::SmallVector<std::unique_ptr<Known>, kMaxKnown>> known_;
  uint32_t next_id_ = 1;
};

}  // namespace codl::compiler
