#include "compiler/accuracy/seen.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "compiler/accuracy/calibration.h"
#include "compiler/interp/fast_node.h"
#include "compiler/ops/multiply_adds.h"
#include "compiler/support/error.h"
#include "compiler/support/parallel.h"
#include "schema/half.h"
#include "schema/mix_bits.h"

namespace codl::compiler {
namespace {

// So many samples say what many more would, but for a factor that allow_forms allows for.
constexpr size_t kMaxSeenSamples = 16;
constexpr size_t kRandomInputs = 2;

// Bounds what is run on random inputs: kernels of the CPU take a second for 1e10 multiply-adds, and
// plain loops for 1e8 elements. All elements together are at most 4 GB.
constexpr double kMaxWork = 1e11;
constexpr double kElementWork = 100;

double work_of(const ir::Graph& graph) {
  double work = 0;
  for (const ir::Node& node : graph.nodes()) {
    const ir::NodeView view{graph, node};
    work += multiply_adds(view) + kElementWork * static_cast<double>(view.output().element_count());
  }
  return work;
}

class Random {
 public:
  // Returns a number in [0, 1).
  double uniform() { return static_cast<double>(bits_.next() >> 11) * 0x1p-53; }
  // A sum of twelve has mean 6 and variance 1, is nearly normal, and the same on every machine.
  double normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sum;
  }

 private:
  SplitMix64 bits_{0};
};

// Writes little-endian elements.
Bytes random_elements(const ir::TensorType& type, Random& random) {
  const size_t bytes = dtype_bytes(type.dtype);
  Bytes result(static_cast<size_t>(type.element_count()) * bytes);
  const auto write = [&](size_t at, const auto& element) {
    std::memcpy(result.data() + at, &element, sizeof element);
  };
  for (size_t at = 0; at < result.size(); at += bytes) switch (type.dtype) {
      case DType::F32:
        write(at, static_cast<float>(random.normal()));
        break;
      case DType::F64:
        write(at, random.normal());
        break;
      case DType::F16:
        write(at, half_of(random.normal()));
        break;
      default:
        result[at] = random.uniform() < 0.5 ? 0 : 1;
    }
  return result;
}

llvm::Expected<std::vector<std::vector<Bytes>>> samples_of(CalibrationData& calibration) {
  std::vector<std::vector<Bytes>> inputs;
  for (size_t i : calibration.some_of(0, kMaxSeenSamples)) {
    CODL_ASSIGN_OR_RETURN(sample, calibration.inputs(i));
    inputs.push_back(std::move(sample));
  }
  return inputs;
}

std::vector<std::vector<Bytes>> random_inputs(const ir::Graph& graph) {
  Random random;
  std::vector<std::vector<Bytes>> inputs(kRandomInputs);
  for (std::vector<Bytes>& sample : inputs)
    for (ir::ValueId input : graph.inputs())
      sample.push_back(random_elements(graph.value(input).type, random));
  return inputs;
}

float magnitude_of(llvm::ArrayRef<uint8_t> bytes) {
  float largest = 0;
  for (size_t i = 0; i < bytes.size() / sizeof(float); ++i) {
    const float magnitude = std::fabs(floats(bytes)[i]);
    if (!(magnitude <= largest)) largest = magnitude;
    if (std::isnan(largest)) return std::numeric_limits<float>::infinity();
  }
  return largest;
}

}  // namespace

llvm::Expected<SeenMagnitudes> see_magnitudes(const ir::Graph& graph,
                                              CalibrationData* calibration) {
  SeenMagnitudes seen;
  seen.is_of_data = calibration != nullptr;
  if (calibration == nullptr && work_of(graph) > kMaxWork) return seen;
  std::vector<std::vector<Bytes>> inputs;
  if (calibration == nullptr) {
    inputs = random_inputs(graph);
  } else {
    CODL_ASSIGN_OR_RETURN(samples, samples_of(*calibration));
    inputs = std::move(samples);
  }
  const FastGraph fast(graph);
  std::vector<std::vector<float>> largest(inputs.size(), std::vector<float>(graph.values().size()));
  const auto run = [&](size_t i) -> llvm::Error {
    for (size_t k = 0; k < graph.inputs().size(); ++k)
      if (graph.value(graph.inputs()[k]).type.dtype == DType::F32)
        largest[i][graph.inputs()[k]] = magnitude_of(inputs[i][k]);
    const auto evaluate =
        [&](const ir::NodeView& node,
            llvm::ArrayRef<llvm::ArrayRef<uint8_t>> operands) -> llvm::Expected<LargeBytes> {
      CODL_ASSIGN_OR_RETURN(output, fast.evaluate(node, operands));
      if (node.output().dtype == DType::F32) largest[i][node.node.output] = magnitude_of(output);
      return output;
    };
    return interpret(graph, inputs[i], evaluate).takeError();
  };
  if (llvm::Error error = for_each_at_once(inputs.size(), run)) return error;
  seen.largest = std::move(largest[0]);
  for (const std::vector<float>& others : llvm::drop_begin(largest))
    for (size_t value = 0; value < others.size(); ++value)
      seen.largest[value] = std::max(seen.largest[value], others[value]);
  return seen;
}

}  // namespace codl::compiler
