// Reports what a device can do for a network, operator by operator: where each can run, its share
// of the time, and the cost of those that fall back to the CPU.
#pragma once

#include <string>
#include <vector>

#include "compiler/frontend/onnx_import.h"
#include "compiler/partition/limits.h"
#include "compiler/report/plain_loops.h"
#include "compiler/report/printouts.h"
#include "compiler/variants/variants.h"
#include "llvm/Support/raw_ostream.h"
#include "tools/json_writer.h"

namespace codl::compiler {

// Counts all nodes of one operator.
struct OperatorSupport {
  OpKind op = OpKind::Convert;
  size_t node_count = 0;
  double macs = 0;
  size_t gpu_count = 0;                  // nodes with a kernel on this device's GPU
  size_t height_split_count = 0;         // nodes that both queues can share by rows
  size_t channel_split_count = 0;        // the same for output channels
  std::vector<std::string> cpu_kernels;  // symbols, in order of first use
  std::vector<std::string> gpu_kernels;
  size_t cpu_placed = 0;  // nodes by where the plan computes them
  size_t gpu_placed = 0;
  size_t split_placed = 0;
  // Counts waits between the queues beside its nodes where the GPU runs all it can: what those that
  // only the CPU can run cost.
  size_t syncs = 0;
};

struct SupportReport {
  std::string device;
  bool has_gpu = false;
  std::string variant;                     // the plan's first variant
  double predicted_us = 0;                 // time of one run
  std::vector<OperatorSupport> operators;  // in the order of ops.def
  double macs = 0;                         // the network's
  // Is the share of the multiply-adds for which the GPU has no kernel; in a network without
  // multiply-adds, the share of the nodes other than Converts. It is 1 on a device without a GPU.
  double fallback_share = 0;
  size_t syncs = 0;        // waits between the queues in the plan's first variant
  size_t gpu_syncs = 0;    // the same where the GPU runs all it can
  PlainLoops plain_loops;  // in the plan's first variant
};

// `chosen` is the plan's first variant. Errors: those of VariantMaker::alone_on().
llvm::Expected<SupportReport> support_report(const ir::Graph& graph,
                                             const LatencyPredictor& predictor,
                                             const Candidate& chosen, VariantMaker& maker);

// Returns the limit on the network itself, if it is asked for. Returns an Input error if the device
// has no GPU.
llvm::Expected<std::vector<LimitCheck>> check_support(const SupportReport& report,
                                                      const DeviceProfile& profile,
                                                      const PlanLimits& limits);

// Prints the report where it is asked for.
void print(const SupportReport& report, const Printouts& prints);

// Returns the error itself, after it has printed its reasons if the report is asked for.
llvm::Error print_refusal(llvm::Error error, const Printouts& prints);

// Prints a table and a summary; as JSON, one line whose keys are the names above.
void print_text(const SupportReport& report, llvm::raw_ostream& os);
void print_json(const SupportReport& report, llvm::raw_ostream& os);
void write_json(const SupportReport& report, tools::JsonWriter& json);

// Prints the same for a model that is refused: each reason, with a suggestion if there is one.
// JSON: {"refused": [{operator, opset, nodes, reason, suggestion}]}; operator is empty for an
// input.
void print_text(const ImportError& error, llvm::raw_ostream& os);
void print_json(const ImportError& error, llvm::raw_ostream& os);

}  // namespace codl::compiler
