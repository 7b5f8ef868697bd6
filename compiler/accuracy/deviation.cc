#include "compiler/accuracy/deviation.h"

#include <cmath>

#include "compiler/accuracy/calibration.h"
#include "compiler/interp/fast_node.h"
#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

double element(const Bytes& bytes, DType dtype, size_t i) {
  if (dtype == DType::F32) return floats(bytes)[i];  // nearly all there are
  return tools::read_element(dtype_in_file(dtype), bytes.data() + i * dtype_bytes(dtype));
}

size_t largest(const Bytes& bytes, DType dtype) {
  const size_t count = bytes.size() / dtype_bytes(dtype);
  size_t best = 0;
  for (size_t i = 1; i < count; ++i)
    if (element(bytes, dtype, i) > element(bytes, dtype, best)) best = i;
  return best;
}

// Outputs of this many samples are in memory at a time.
constexpr size_t kOutputsAtOnce = 16;

// Calls `take` with each sample's place in `samples` and the graph's outputs on it, in order.
llvm::Error run_samples(const ir::Graph& graph, CalibrationData& calibration,
                        llvm::ArrayRef<size_t> samples,
                        llvm::function_ref<void(size_t place, std::vector<Bytes> outputs)> take) {
  const FastGraph fast(graph);
  for (size_t first = 0; first < samples.size(); first += kOutputsAtOnce) {
    const auto some = samples.drop_front(first).take_front(kOutputsAtOnce);
    std::vector<std::vector<Bytes>> outputs(some.size());
    const auto run = [&](size_t i, llvm::ArrayRef<Bytes> inputs) -> llvm::Error {
      CODL_ASSIGN_OR_RETURN(found, fast.run(inputs));
      outputs[i] = std::move(found);
      return llvm::Error::success();
    };
    if (llvm::Error error = calibration.for_each(some, run)) return error;
    for (size_t i = 0; i < some.size(); ++i) take(first + i, std::move(outputs[i]));
  }
  return llvm::Error::success();
}

}  // namespace

llvm::Expected<DeviationMeter> DeviationMeter::make(const ir::Graph& untouched,
                                                    CalibrationData& calibration,
                                                    std::vector<size_t> samples) {
  DeviationMeter meter(calibration, std::move(samples));
  for (ir::ValueId output : untouched.outputs())
    meter.dtypes_.push_back(untouched.value(output).type.dtype);
  if (llvm::Error error = run_samples(untouched, calibration, meter.samples_,
                                      [&](size_t, std::vector<Bytes> outputs) {
                                        meter.outputs_.push_back(std::move(outputs));
                                      }))
    return error;
  return meter;
}

llvm::Expected<Deviation> DeviationMeter::measure(const ir::Graph& changed) const {
  double difference = 0, norm = 0, cosines = 0;
  size_t same = 0, right = 0, right_before = 0;
  const auto add = [&](size_t s, const std::vector<Bytes>& outputs) {
    double product = 0, norm_new = 0, norm_old = 0;
    for (size_t o = 0; o < outputs.size(); ++o)
      for (size_t i = 0; i < outputs[o].size() / dtype_bytes(dtypes_[o]); ++i) {
        const double is = element(outputs[o], dtypes_[o], i);
        const double was = element(outputs_[s][o], dtypes_[o], i);
        difference += (is - was) * (is - was);
        product += is * was;
        norm_new += is * is;
        norm_old += was * was;
      }
    norm += norm_old;
    cosines += norm_new > 0 && norm_old > 0 ? product / std::sqrt(norm_new * norm_old)
                                            : (norm_new == norm_old ? 1.0 : 0.0);
    const size_t is = largest(outputs[0], dtypes_[0]);
    const size_t was = largest(outputs_[s][0], dtypes_[0]);
    same += is == was;
    if (!calibration_->has_labels()) return;
    right += static_cast<int64_t>(is) == calibration_->label(samples_[s]);
    right_before += static_cast<int64_t>(was) == calibration_->label(samples_[s]);
  };
  if (llvm::Error error = run_samples(changed, *calibration_, samples_, add)) return error;
  const auto count = static_cast<double>(samples_.size());
  Deviation deviation;
  deviation.samples = samples_.size();
  deviation.relative = std::sqrt(difference / std::max(norm, 1e-30));
  deviation.cosine = cosines / count;
  deviation.agreement = static_cast<double>(same) / count;
  if (calibration_->has_labels()) {
    deviation.accuracy = static_cast<double>(right) / count;
    deviation.accuracy_before = static_cast<double>(right_before) / count;
  }
  return deviation;
}

}  // namespace codl::compiler
