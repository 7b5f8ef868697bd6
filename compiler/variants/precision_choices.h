// Compares what plans in floats, halves and bytes take, and what halves and bytes lose.
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
#include "compiler/shrink/shrink.h"
#include "compiler/variants/candidate.h"

namespace codl::compiler {

// Describes what a user can ask for: how real numbers may be held, and whether convolutions and
// products multiply bytes.
struct AskedPrecision {
  const char* name;  // as a value of --precision
  Precision reals;
  Bytes8 bytes;
};
// They are in the order that codlc prints.
inline constexpr AskedPrecision kAskedPrecisions[] = {{"fp32", Precision::Fp32, Bytes8::None},
                                                      {"fp16", Precision::Fp16, Bytes8::None},
                                                      {"int8", Precision::Auto, Bytes8::Always},
                                                      {"auto", Precision::Auto, Bytes8::IfFaster}};
// Returns the one that options ask for. Bytes are always beside Auto.
const AskedPrecision& asked_precision(Precision reals, Bytes8 bytes);

// Knows what the values of a network are on inputs and, with calibration data, what its outputs
// lose if some of them are rounded.
class HalvesJudge {
 public:
  // Runs the graph, none of whose values is a half yet: on the calibration data in the folder or,
  // if `calibration` is empty, on random inputs. Losses are from `untouched`, the same network as
  // it was before nodes multiplied bytes, or the graph. Errors: those of CalibrationData::open().
  static llvm::Expected<HalvesJudge> make(const ir::Graph& graph, const ir::Graph& untouched,
                                          const std::string& calibration, double budget);

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
  const char* name = "";   // as a value of --precision
  bool is_chosen = false;  // else the figures are estimated from few plans
  double predicted_us = 0;
  uint64_t weight_bytes = 0;           // in the first variant
  std::optional<Deviation> deviation;  // from Fp32, on calibration data
};

// Returns a choice for each of kAskedPrecisions. `graph`, of which the plan is, has the precisions
// of `chosen`, and `figures` are those of its first variant. `other` is the same network without
// layouts: with its nodes multiplying bytes or, if they do in the plan (`is_in_bytes`), without.
llvm::Expected<std::vector<PrecisionChoice>> compare_precisions(
    const ir::Graph& graph, const HalvesJudge& judge, bool is_in_bytes, const ir::Graph& other,
    const LatencyPredictor& predictor, const PartitionOptions& partition,
    const ShrinkOptions& options, const AskedPrecision& chosen, const PlanFigures& figures);

}  // namespace codl::compiler
