#include <cmath>

#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/random/philox.h"
#include "kernels/random/random.h"

namespace codl::kernels {
namespace {

constexpr int kWords = 4;

// Gives two numbers of mean 0 and variance 1 for two words.
void normal_pair(uint32_t a, uint32_t b, double* out) {
  constexpr double kTurn = 6.283185307179586;
  const double radius = std::sqrt(-2.0 * std::log((a + 0.5) * 0x1p-32));
  const double angle = kTurn * 0x1p-32 * b;
  out[0] = radius * std::cos(angle);
  out[1] = radius * std::sin(angle);
}

void numbers_at(const RandomParams& params, uint64_t seed, int64_t block, double (&out)[kWords]) {
  const PhiloxWords words =
      philox({static_cast<uint32_t>(block), 0, static_cast<uint32_t>(params.stream), 0}, seed);
  if (params.kind == kRandomNormal) {
    normal_pair(words[0], words[1], out);
    normal_pair(words[2], words[3], out + 2);
    return;
  }
  for (int i = 0; i < kWords; ++i) out[i] = words[static_cast<size_t>(i)] * 0x1p-32;
}

}  // namespace

void random_ref(const KernelArgs& args) {
  const auto& params = args.params_as<RandomParams>();
  const uint64_t seed =
      params.has_seed != 0 ? static_cast<uint32_t>(params.seed) : args.session_seed;
  auto* y = args.output().as<float>();
  const int64_t count = element_count(args.output().shape);
  for (int64_t begin = 0; begin < count; begin += kWords) {
    double numbers[kWords];
    numbers_at(params, seed, begin / kWords, numbers);
    for (int64_t i = begin; i < count && i < begin + kWords; ++i)
      y[i] = static_cast<float>(params.location + params.scale * numbers[i - begin]);
  }
}

CODL_CPU_KERNEL_PLAIN(random_any_cpu, random_ref);

}  // namespace codl::kernels
