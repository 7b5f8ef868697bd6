#include "profiler/contention.h"

#include <memory>
#include <vector>

#include "test/profiler/row_of.h"
#include "test/support/catch.h"

namespace codl::profiler {
namespace {

// A lane whose steps take what the test says, longer while the other lane has work that is not
// finished. Started work of the GPU goes on; that of the CPU is over when start() returns.
class FakeLane : public Lane {
 public:
  FakeLane(Processor processor, double alone_us) : processor_(processor), alone_us_(alone_us) {}
  void set_other(FakeLane* other) { other_ = other; }

  Processor processor() const override { return processor_; }
  std::unique_ptr<PreparedStep> prepare(const KernelRow&, const StepCase&) override {
    return std::make_unique<Step>(this);
  }
  double probe_us() override { return 1; }
  void finish() override { unfinished_ = 0; }

 private:
  class Step : public PreparedStep {
   public:
    explicit Step(FakeLane* lane) : lane_(lane) {}
    double run_us() override {
      return lane_->other_->unfinished_ > 0 ? 1.5 * lane_->alone_us_ : lane_->alone_us_;
    }
    void start() override {
      if (lane_->processor_ == Processor::Gpu) ++lane_->unfinished_;
    }

   private:
    FakeLane* lane_;
  };

  Processor processor_;
  double alone_us_;
  FakeLane* other_ = nullptr;
  int unfinished_ = 0;
};

Sample sample_of(const char* symbol, double us) {
  Sample sample;
  sample.row = &row_of(symbol);
  sample.add_visit(us);
  return sample;
}

TEST_CASE("contention is what steps take longer while the other lane computes") {
  FakeLane cpu(Processor::Cpu, 400);
  FakeLane gpu(Processor::Gpu, 300);
  cpu.set_other(&gpu);
  gpu.set_other(&cpu);
  const std::vector<Sample> samples = {sample_of("conv2d_f32_cpu", 400),
                                       sample_of("conv2d_f32_cl_buffer", 300)};
  const std::optional<Contention> contention = measure_contention(cpu, gpu, samples);
  REQUIRE(contention);
  CHECK(contention->cpu_percent == Approx(50));
  CHECK(contention->gpu_percent == 0);
}

TEST_CASE("without steps of a fitting length nothing is said of contention") {
  FakeLane cpu(Processor::Cpu, 400);
  FakeLane gpu(Processor::Gpu, 300);
  const std::vector<Sample> samples = {sample_of("conv2d_f32_cpu", 400),
                                       sample_of("conv2d_f32_cl_buffer", 3)};
  CHECK_FALSE(measure_contention(cpu, gpu, samples));
}

}  // namespace
}  // namespace codl::profiler
