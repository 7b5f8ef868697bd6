// Lets nodes of a float network multiply bytes: what they read and their weights are rounded to
// grids of 256 numbers, as a network that came quantised has them.
#pragma once

#include <vector>

#include "compiler/accuracy/calibration.h"
#include "compiler/ir/graph.h"

namespace codl::compiler {

// Values whose elements only move from one to the other have one grid. Values are on grids as far
// as a node that multiplies bytes reads them, or reads what sums, averages and activations make of
// them. Weights have a grid for each output channel, around zero.
class Quantizer {
 public:
  // Takes each grid from the calibration data: that of least squared error. The bias of each node
  // makes up for the mean by which rounding moves its results. Without calibration data the
  // grids are arbitrary: good for predicting times only. Borrows the graph, which has no layouts.
  static llvm::Expected<Quantizer> make(const ir::Graph& graph, CalibrationData* calibration,
                                        llvm::ArrayRef<size_t> samples);

  // The nodes that may multiply bytes: convolutions and products with constant weights whose
  // operand is on no grid yet.
  llvm::ArrayRef<ir::NodeId> nodes() const { return nodes_; }
  // Returns the network in which those of nodes() that are marked multiply bytes.
  llvm::Expected<ir::Graph> quantized(const std::vector<bool>& is_in_bytes) const;

 private:
  explicit Quantizer(const ir::Graph& graph);

  ir::ValueId root_of(ir::ValueId value);
  ir::ValueId set_of(ir::ValueId value) const { return set_[value]; }
  bool may_be_on_grid(ir::ValueId value) const;
  std::vector<bool> sets_read_in_bytes(const std::vector<bool>& is_in_bytes) const;
  llvm::Error see(CalibrationData& calibration, llvm::ArrayRef<size_t> samples);
  void round_weights(bool tries_scales);
  llvm::Error correct_biases(CalibrationData& calibration, llvm::ArrayRef<size_t> samples);

  const ir::Graph& graph_;
  std::vector<ir::NodeId> nodes_;
  std::vector<bool> has_own_grid_;          // indexed by value
  std::vector<ir::ValueId> set_;            // indexed by value: the one that names its set
  std::vector<ir::Grid> grids_;             // indexed by the value that names a set
  std::vector<SharedBytes> weights_;        // indexed as nodes_; rounded floats
  std::vector<std::vector<float>> biases_;  // indexed as nodes_; corrected
};

}  // namespace codl::compiler
