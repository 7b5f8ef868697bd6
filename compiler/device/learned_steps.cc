#include "compiler/device/learned_steps.h"

#include <algorithm>
#include <cmath>

#include "compiler/support/hash.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"

namespace codl::compiler {
namespace {

// If a part's predicted time is four times that of the nearest measured part, or a quarter, all of
// the profile's uncertainty stays (assumed).
constexpr double kFarPart = 4;

using Key = llvm::SmallString<512>;  // without allocation, because searches ask often

template <typename T>
void append(Key& key, const T* values, size_t count) {
  key.append({reinterpret_cast<const char*>(values), count * sizeof(T)});
}

// The key holds the maps' whole dims, because it is the part that says which rows and channels are
// computed. It leaves out weights: a kernel packs only those of its part.
uint64_t node_key(const kernels::StepShape& step) {
  Key key;
  append(key, &step.kernel->id, 1);
  append(key, static_cast<const char*>(step.params), params_bytes_of(step.kernel->op));
  for (uint32_t i = 0; i < step.operand_count; ++i) {
    const kernels::OperandShape& operand = step.operands[i];
    append(key, &operand.layout, 1);
    append(key, &operand.dtype, 1);
    if (operand.layout == Layout::Packed) continue;
    append(key, operand.dims, static_cast<size_t>(operand.rank));
  }
  return hash_of(key);
}

// Uses logarithms, so that a half lies as far from the whole as the whole from twice as much.
double distance(double from_us, double to_us) { return std::log(to_us / from_us); }

}  // namespace

void LearnedSteps::add(const kernels::StepShape& step, double predicted_us, double measured_us) {
  if (predicted_us < kMinUs || measured_us < kMinUs) return;
  std::vector<Parts>& known = nodes_[node_key(step)];
  const auto add_to = [&](Sums& sums) {
    sums.predicted_us += predicted_us;
    sums.measured_us += measured_us;
  };
  auto parts = llvm::partition_point(
      known, [&](const Parts& before) { return before.high_us < predicted_us; });
  if (parts == known.end() || parts->low_us > predicted_us)
    parts = known.insert(parts, {predicted_us, predicted_us, {}});
  add_to(parts->sums);
  add_to(kernels_[step.kernel->id - 1]);
  add_to(processors_[static_cast<size_t>(step.kernel->processor)]);
  // Merges neighbours of which the longer took less, until none is left.
  for (size_t i = 1; i < known.size();) {
    Parts& before = known[i - 1];
    if (before.high_us * before.sums.factor() <= known[i].low_us * known[i].sums.factor()) {
      ++i;
      continue;
    }
    before.high_us = known[i].high_us;
    before.sums.predicted_us += known[i].sums.predicted_us;
    before.sums.measured_us += known[i].sums.measured_us;
    known.erase(known.begin() + static_cast<ptrdiff_t>(i));
    i = std::max<size_t>(i - 1, 1);
  }
  ++step_count_;
}

LearnedSteps::Correction LearnedSteps::correction(const kernels::StepShape& step,
                                                  double predicted_us) const {
  if (empty() || predicted_us <= 0) return {};
  const auto node = nodes_.find(node_key(step));
  if (node == nodes_.end()) {
    const Sums& kernel = kernels_[step.kernel->id - 1];
    return {kernel.empty() ? factor_of(step.kernel->processor) : kernel.factor()};
  }
  const std::vector<Parts>& known = node->second;
  const auto after = llvm::partition_point(
      known, [&](const Parts& before) { return before.high_us < predicted_us; });
  const auto open_by = [](double distance) {
    return std::clamp(distance / std::log(kFarPart), kMinOpen, 1.0);
  };
  if (after == known.end())
    return {known.back().sums.factor(), open_by(distance(known.back().high_us, predicted_us))};
  if (after->low_us <= predicted_us) return {after->sums.factor(), kMinOpen};
  const double to_after = distance(predicted_us, after->low_us);
  if (after == known.begin()) return {after->sums.factor(), open_by(to_after)};
  const Parts& before = *(after - 1);
  const double from_before = distance(before.high_us, predicted_us);
  const double share = from_before / (from_before + to_after);
  // Interpolates between both times as between both predictions, so that it rises with them.
  const double measured_us =
      std::exp(std::log(before.high_us * before.sums.factor()) * (1 - share) +
               std::log(after->low_us * after->sums.factor()) * share);
  return {measured_us / predicted_us, open_by(std::min(from_before, to_after))};
}

}  // namespace codl::compiler
