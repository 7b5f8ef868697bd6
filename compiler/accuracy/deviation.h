// Measures how the outputs of a changed network deviate from those of the untouched one.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "compiler/interp/interpreter.h"
#include "llvm/Support/Error.h"

namespace codl::compiler {

class CalibrationData;

// Says how far a network's outputs on samples are from those of the untouched one.
struct Deviation {
  double relative = 0;   // L2 norm of the difference, divided by the untouched outputs'
  double cosine = 1;     // angle between the two, mean of samples
  double agreement = 1;  // share of samples with the same largest element of the first output
  std::optional<double> accuracy, accuracy_before;  // with labels
  size_t samples = 0;

  // Returns the loss: of accuracy, in [0, 1]; without labels `relative`.
  double loss() const { return accuracy ? std::max(*accuracy_before - *accuracy, 0.0) : relative; }
  const char* loss_name() const {
    return accuracy ? "top-1 predictions" : "relative error of the outputs";
  }
};

// Measures on fixed samples. Holds the untouched network's outputs on them.
class DeviationMeter {
 public:
  // Runs the graph on every sample of `samples`. Borrows the calibration.
  static llvm::Expected<DeviationMeter> make(const ir::Graph& untouched,
                                             CalibrationData& calibration,
                                             std::vector<size_t> samples);
  llvm::Expected<Deviation> measure(const ir::Graph& changed) const;

 private:
  DeviationMeter(CalibrationData& calibration, std::vector<size_t> samples)
      : calibration_(&calibration), samples_(std::move(samples)) {}
  CalibrationData* calibration_;
  std::vector<size_t> samples_;
  std::vector<std::vector<Bytes>> outputs_;  // indexed by sample and output
  std::vector<DType> dtypes_;                // indexed by output
};

}  // namespace codl::compiler
