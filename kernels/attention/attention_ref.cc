// Computes a row's scores, their maximum, the powers and the sum, each in double and in the order
// of the keys.
#include <cmath>
#include <limits>

#include "kernels/attention/attention.h"
#include "kernels/common/cpu/cpu_dispatch.h"

namespace codl::kernels {
namespace {

constexpr int64_t kSums = 256;  // columns of y that are made at once

double score_of(const float* q, const float* k, const float* bias, int64_t depth, float scale) {
  double product = 0;
  for (int64_t i = 0; i < depth; ++i) product += double{q[i]} * double{k[i]};
  return product * double{scale} + (bias != nullptr ? double{*bias} : 0.0);
}

// Holds what a row of y is made of. `bias` is null if there is none.
struct Row {
  const float* q;
  const float* k;
  const float* v;
  const float* bias;
  int64_t bias_step;
};

void attend(const AttentionWork& work, const AttentionParams& params, const Row& row, float* y) {
  const auto score = [&](int64_t key) {
    return score_of(row.q, row.k + key * work.depth,
                    row.bias != nullptr ? row.bias + key * row.bias_step : nullptr, work.depth,
                    params.scale);
  };
  double maximum = -std::numeric_limits<double>::infinity();
  bool is_hidden = true;
  for (int64_t key = 0; key < work.keys; ++key) {
    const double s = score(key);
    if (s > maximum) maximum = s;
    is_hidden = is_hidden && s == -std::numeric_limits<double>::infinity();
  }
  for (int64_t first = 0; first < work.columns; first += kSums) {
    const int64_t count = work.columns - first < kSums ? work.columns - first : kSums;
    double sums[kSums] = {};
    double divisor = 0;
    for (int64_t key = 0; key < work.keys; ++key) {
      const double power = std::exp(score(key) - maximum);
      divisor += power;
      for (int64_t i = 0; i < count; ++i)
        sums[i] += power * double{row.v[key * work.columns + first + i]};
    }
    for (int64_t i = 0; i < count; ++i)
      y[first + i] =
          is_hidden && params.zero_if_hidden != 0 ? 0.0f : static_cast<float>(sums[i] / divisor);
  }
}

}  // namespace

void attention_ref(const KernelArgs& args) {
  const auto& params = args.params_as<AttentionParams>();
  const TensorView* operands = args.operands;
  const AttentionWork work = attention_work(operands[0].shape, operands[1].shape,
                                            args.output().shape, args.part_dim, args.part);
  const AttentionBias bias =
      params.has_bias != 0 ? attention_bias(operands[3].shape, operands[0].shape, operands[1].shape)
                           : AttentionBias{};
  for (int64_t head = 0; head < work.key_heads; ++head)
    for (int64_t line = 0; line < work.lines(); ++line) {
      const int64_t row = work.row_of(head, line);
      const Row of_row = {
          operands[0].as<const float>() + row * work.depth,
          operands[1].as<const float>() + head * work.keys * work.depth,
          operands[2].as<const float>() + head * work.keys * work.columns,
          params.has_bias != 0 ? operands[3].as<const float>() + bias.at(row, work.all_rows)
                               : nullptr,
          bias.key,
      };
      attend(work, params, of_row, args.output().as<float>() + row * work.columns);
    }
}

CODL_CPU_KERNEL_PLAIN(attention_any_cpu, attention_ref);

}  // namespace codl::kernels
