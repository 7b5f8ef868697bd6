#include "profiler/measure/session.h"

#include <chrono>
#include <set>
#include <string>
#include <thread>

#include "test/support/catch.h"

namespace codl::profiler {
namespace {

// Its microseconds do not matter.
class Step : public PreparedStep {
 public:
  double run_us() override { return 10; }
  void start() override {}
};

// Describes a processor on which a step is slow the first time, as if its program had to be
// compiled, and free afterwards.
class SlowToPrepare : public MeasuredProcessor {
 public:
  Processor processor() const override { return Processor::Cpu; }
  std::unique_ptr<PreparedStep> prepare(const KernelInfo& kernel, const StepCase& item) override {
    std::string key = kernel.symbol;
    for (const OperandShape& operand : item.operands)
      for (int32_t dim : operand.dims) key += ' ' + std::to_string(dim);
    if (known_.insert(key).second) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return std::make_unique<Step>();
  }
  // A session probes for a second when it begins, and keeps the results, so the probe must take
  // some time.
  double probe_us() override {
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(5);
    while (std::chrono::steady_clock::now() < end) {
    }
    return 5;
  }
  void finish() override {}

 private:
  std::set<std::string> known_;
};

TEST_CASE("a session that lacks samples uses its time for more") {
  constexpr double kBudgetS = 3;
  constexpr size_t kWanted = 100'000;
  SlowToPrepare processor;
  SessionOptions options;
  options.kernels = "conv2d_f32_cpu";
  options.samples_per_kernel = kWanted;
  Session session({&processor}, options, {}, {0, 0}, [](const std::string&) {});
  const auto start = std::chrono::steady_clock::now();
  CHECK(session.run(kBudgetS, [] { return false; }));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  // Its last tenths may be too short for another batch.
  CHECK(took.count() >= 0.8 * kBudgetS);
  REQUIRE(!session.samples().empty());
  CHECK(session.samples().size() < kWanted);
}

TEST_CASE("a session without time ends at once") {
  SlowToPrepare processor;
  SessionOptions options;
  options.kernels = "conv2d_f32_cpu";
  Session session({&processor}, options, {}, {0, 0}, [](const std::string&) {});
  for (const double budget_s : {0.0, -1.0}) CHECK(session.run(budget_s, [] { return false; }));
  CHECK(session.samples().empty());
}

}  // namespace
}  // namespace codl::profiler
