#include "profiler/fit/map_layout.h"

#include <string_view>

#include "profiler/measure/shapes.h"
#include "test/profiler/kernel_of.h"
#include "test/support/catch.h"

namespace codl::profiler {
namespace {

// Fits a kernel at so many microseconds a step.
KernelFit fit_of(const char* symbol, double us) {
  KernelFit kernel = {&kernel_of(symbol), {}};
  kernel.fit.shares[compiler::Term::Step] = us;
  return kernel;
}

// Makes convolutions, some measured with buffers and some with images.
std::vector<Sample> convolutions() {
  std::mt19937_64 random(3);
  std::vector<Sample> samples;
  for (const char* symbol : {"conv2d_f32_cl_buffer", "conv2d_f32_cl_image"})
    for (int i = 0; i < 20; ++i) {
      Sample sample;
      sample.kernel = &kernel_of(symbol);
      sample.item = *draw_step(*sample.kernel, {}, random);
      samples.push_back(sample);
    }
  return samples;
}

TEST_CASE("the layout of maps is that of the fastest rows, not of the first ones") {
  const std::vector<Sample> samples = convolutions();
  const KernelFit buffer = fit_of("conv2d_f32_cl_buffer", 30);
  const KernelFit image = fit_of("conv2d_f32_cl_image", 20);
  CHECK(images_are_faster(samples, {buffer, image}, {}));
  CHECK_FALSE(images_are_faster(samples, {buffer, image, fit_of("conv2d_f32_cl_tiled", 10)}, {}));
}

TEST_CASE("steps that one layout has no fit for say nothing of the layout") {
  const std::vector<Sample> samples = convolutions();
  CHECK_FALSE(images_are_faster(samples, {fit_of("conv2d_f32_cl_image", 1)}, {}));
  CHECK_FALSE(images_are_faster(samples, {fit_of("conv2d_f32_cl_buffer", 1)}, {}));
}

}  // namespace
}  // namespace codl::profiler
