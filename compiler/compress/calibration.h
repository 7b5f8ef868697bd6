// CalibrationData data: inputs of a network from .npy files, and what a changed network makes of
// them that the untouched one does not.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/interp/interpreter.h"

namespace codl::compiler {

// Fewer tell nothing: every other sample is for measuring only.
inline constexpr size_t kMinSamples = 16;

// A folder with a file INPUT.npy for each input of the network (or any .npy files, in the order of
// their names, where it has one input), of dims [samples, dims of the input], where a leading dim
// of 1 of the input is that of the samples. labels.npy: an integer a sample, optional.
//
// All of it is checked when it is opened. Samples are read when they are asked for; one file at a
// time is in memory.
class CalibrationData {
 public:
  // Input error that names the file: no such folder, another dtype or dims than the network's
  // input, NaN or infinity, inputs or labels of other numbers of samples, labels that are no index
  // of the first output's elements, fewer samples than kMinSamples.
  static llvm::Expected<CalibrationData> open(const std::string& folder, const ir::Graph& graph);

  size_t count() const { return count_; }
  uint64_t hash() const { return hash_; }  // of the files, in order
  bool has_labels() const { return !labels_.empty(); }
  int64_t label(size_t sample) const { return labels_[sample]; }
  // In the graph's order of inputs.
  llvm::Expected<std::vector<Bytes>> inputs(size_t sample);

 private:
  struct File {
    std::string path;
    size_t samples = 0;
    std::string data;  // of the last that was asked for, else empty
  };
  struct Input {
    size_t sample_bytes = 0;
    std::vector<File> files;
  };
  std::vector<Input> inputs_;
  std::vector<int64_t> labels_;
  size_t count_ = 0;
  uint64_t hash_ = 0;
};

enum class Metric { Top1, Relative, Cosine };

// Of a network's outputs on samples, against those of the untouched one.
struct Deviation {
  double relative = 0;   // L2 norm of the difference by that of the untouched outputs
  double cosine = 1;     // of the angle between the two, mean of samples
  double agreement = 1;  // share of samples with the same largest element of the first output
  std::optional<double> accuracy, accuracy_before;  // with labels
  size_t samples = 0;

  // By the metric, in [0, 1]: what is lost. Top1: accuracy, without labels agreement.
  double loss(Metric metric) const;
};

// Measures on fixed samples. Holds the untouched network's outputs on them.
class DeviationMeter {
 public:
  // Borrows the calibration. Runs the graph on every sample of `samples`.
  static llvm::Expected<DeviationMeter> make(const ir::Graph& untouched,
                                             CalibrationData& calibration,
                                             std::vector<size_t> samples);
  llvm::Expected<Deviation> measure(const ir::Graph& changed) const;

 private:
  DeviationMeter(CalibrationData& calibration, std::vector<size_t> samples)
      : calibration_(&calibration), samples_(std::move(samples)) {}
  CalibrationData* calibration_;
  std::vector<size_t> samples_;
  std::vector<std::vector<Bytes>> outputs_;  // by sample and output
  std::vector<DType> dtypes_;                // by output
};

}  // namespace codl::compiler
