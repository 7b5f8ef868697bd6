// Compares what plans in floats and in halves take, and what halves lose.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/accuracy/calibration.h"
#include "compiler/accuracy/deviation.h"
#include "compiler/accuracy/seen.h"
#include "compiler/ir/graph.h"
#include "compiler/partition/options.h"
#include "compiler/passes/allow_forms.h"
#include "compiler/variants/candidate.h"

namespace codl::compiler {

// Lists what a user can ask for, in the order that codlc prints; each is a value of --precision.
inline constexpr Precision kPrecisions[] = {Precision::Fp32, Precision::Fp16, Precision::Auto};

// Knows what the values of a network are on inputs and, with calibration data, what its outputs
// lose if some of them are rounded.
class HalvesJudge {
 public:
  // Runs the graph, whose values are still floats: on the calibration data in the folder or, if
  // `calibration` is empty, on random inputs. Errors: those of CalibrationData::open().
  static llvm::Expected<HalvesJudge> make(const ir::Graph& graph, const std::string& calibration,
                                          double budget);

  // Runs allow_forms(). With Auto and calibration data, runs of nodes that lose most stay in float
  // as far as they must, so that the loss is within the budget.
  llvm::Expected<AllowedForms> allow(ir::Graph& graph, Precision precision) const;

  // Returns what the graph with its precisions loses; nothing without calibration data.
  llvm::Expected<std::optional<Deviation>> loss_of(const ir::Graph& graph) const;

 private:
  llvm::Error keep_budget(ir::Graph& graph, AllowedForms& allowed) const;

  SeenMagnitudes seen_;
  std::unique_ptr<CalibrationData> calibration_;  // in place, because the meter borrows it
  std::optional<DeviationMeter> meter_;
  double budget_ = 0;
};

struct PrecisionChoice {
  Precision precision = Precision::Fp32;
  bool is_chosen = false;  // else the figures are estimated from few plans
  double predicted_us = 0;
  uint64_t weight_bytes = 0;           // in the first variant
  std::optional<Deviation> deviation;  // from Fp32, on calibration data
};

// Returns a choice for each of kPrecisions. `graph` has the precisions of `chosen`, and `figures`
// are those of its first variant.
llvm::Expected<std::vector<PrecisionChoice>> compare_precisions(
    const ir::Graph& graph, const LatencyPredictor& predictor, const PartitionOptions& partition,
    const HalvesJudge& judge, Precision chosen, const PlanFigures& figures);

}  // namespace codl::compiler
