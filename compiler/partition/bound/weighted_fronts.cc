#include "compiler/partition/bound/weighted_fronts.h"

#include <algorithm>
#include <cmath>

namespace codl::compiler {
namespace {

void lower(ByWeight& us, const ByWeight& to) {
  for (size_t i = 0; i <= kWeightSteps; ++i) us[i] = std::min(us[i], to[i]);
}

}  // namespace

size_t index_of_weight(double weight) {
  return static_cast<size_t>(std::clamp(weight, 0.0, 1.0) * kWeightSteps + 0.5);
}

ByWeight unreached() {
  ByWeight us;
  us.fill(kUnreachedUs);
  return us;
}

void Front::finish() {
  rows_up_to = rows_from = rows;
  for (size_t i = 1; i < rows.size(); ++i) lower(rows_up_to[i], rows_up_to[i - 1]);
  for (size_t i = rows.size(); i-- > 1;) lower(rows_from[i - 1], rows_from[i]);
  if (!rows.empty()) any_rows = rows_up_to.back();
  any = any_rows;
  for (const ByWeight* us : {&cpu, &gpu, &channels}) lower(any, *us);
  for (size_t i = 0; i <= kWeightSteps; ++i)
    if (any[i] < kUnreachedUs) weights.push_back(static_cast<uint8_t>(i));
}

void add_segment(const Front& front, const ByWeight& from, const Crossing& crossing,
                 const Addition& addition, double sync_us, ByWeight& into) {
  const bool may_rise = crossing.to_cpu || crossing.is_free;
  const bool may_fall = crossing.to_gpu || crossing.is_free;
  for (const uint8_t before : front.weights) {
    if (from[before] == kUnreachedUs) continue;
    size_t behind = before;
    if (addition.target > before ? may_rise : may_fall) behind = addition.target;
    const double w = weight_at(before);
    const double v = weight_at(behind);
    double waits = 0;
    if (crossing.hands_over)
      waits = std::abs(v - w);
    else if (crossing.to_gpu && crossing.to_cpu)
      waits = 2 * std::min(w, 1 - v) + v - w;
    else if (crossing.to_gpu)
      waits = std::max(w - v, 0.0);
    else if (crossing.to_cpu)
      waits = std::max(v - w, 0.0);
    const double left_out_us =
        std::max(v - w, 0.0) * crossing.gpu_part_us + std::max(w - v, 0.0) * crossing.cpu_part_us;
    const double us = from[before] + addition.us(behind) + waits * sync_us +
                      (1 - w) * crossing.map_us - left_out_us;
    into[behind] = std::min(into[behind], us);
  }
}

}  // namespace codl::compiler
