#include "test/support/random_profile.h"

#include <cmath>

#include "llvm/Support/xxhash.h"
#include "test/support/graphs.h"

namespace codl::test {

compiler::DeviceProfile random_profile(std::mt19937& random, Layout layout) {
  const Sharing sharing[] = {Sharing::FineSvm, Sharing::SubBuffer, Sharing::Separate};
  compiler::DeviceProfile profile = test_profile(sharing[random() % 3], layout);
  const auto draw = [](std::mt19937& from, double low, double high) {
    return low * std::pow(high / low, std::uniform_real_distribution<double>(0, 1)(from));
  };
  // Indexed by processor: us for a million multiply-adds.
  const double speed[2] = {draw(random, 20, 500), draw(random, 20, 500)};
  const auto seed = static_cast<uint32_t>(random());
  for (const KernelInfo& kernel : kKernelInfos) {
    std::mt19937 own(seed ^ static_cast<uint32_t>(llvm::xxHash64(kernel.symbol)));
    compiler::Shares& shares = profile.kernels[kernel.id - 1].shares;
    shares[compiler::Term::Compute] = speed[static_cast<size_t>(kernel.processor)];
    shares[compiler::Term::Step] = draw(own, 0.1, 2);
    if (layout == Layout::Image2d && kernel.processor == Processor::Gpu)
      shares[compiler::Term::Compute] *= draw(own, 0.3, 3);
  }
  compiler::TransferCosts& transfer = profile.transfer;
  transfer.sync_us.value = draw(random, 0.1, 20);
  transfer.map_us.value = draw(random, 0.1, 5);
  transfer.copy_us_per_mb.value = draw(random, 10, 1000);
  for (compiler::Quantity& contention : transfer.contention_percent)
    contention.value = draw(random, 1, 40);
  for (compiler::Quantity& interference : profile.interference_percent)
    interference.value = draw(random, 0.1, 5);
  transfer.memory_gb_per_s.value = draw(random, 1, 40);
  return profile;
}

}  // namespace codl::test
