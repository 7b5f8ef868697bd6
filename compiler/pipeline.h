// The whole compiler as one function.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/compress/compress.h"
#include "compiler/device/device_profile.h"
#include "compiler/frontend/onnx_import.h"
#include "compiler/partition/options.h"
#include "compiler/passes/pass.h"
#include "compiler/simulate/uncertainty.h"
#include "compiler/support/large_bytes.h"
#include "llvm/Support/Error.h"
#include "schema/session_memory.h"

namespace codl::compiler {

// The front end's passes in the order they run.
llvm::ArrayRef<Pass> frontend_passes();

// How the GPU stores what it alone touches. Fp16: as halves where its kernels can (half_storage.h);
// results change.
enum class Precision { Fp32, Fp16 };

enum class SupportFormat { None, Text, Json };

struct CompileOptions {
  ImportOptions import;
  PartitionOptions partition;
  PassOptions passes;
  Precision precision = Precision::Fp32;
  // Print why the steps of a node of the first variant take what is predicted; empty: of all nodes.
  std::optional<std::string> explained_node;
  std::string dump;  // stage to print: graph, partition, schedule, memory; empty: none
  llvm::raw_ostream* dump_to = nullptr;
  // Print what the device makes of the network (compiler/report) to dump_to.
  SupportFormat support = SupportFormat::None;
  // Limits; a device without a GPU has neither. Share of the multiply-adds without a GPU kernel, or
  // of the nodes, in percent; waits between the lanes in the first variant.
  std::optional<double> max_fallback_percent;
  std::optional<uint32_t> max_handoffs;
  CompressOptions compress;
  std::function<llvm::Error(const ir::Graph& graph)>
      on_optimised;             // before layouts are chosen; or null
  bool reports_passes = false;  // print what each pass saved (report/pass_savings) to dump_to
  bool builds_plan = true;      // false: the report and the limits are all that is asked for
};

// What codlc tells the user about a plan.
struct CompileReport {
  struct Variant {
    std::string name;
    double predicted_us = 0;
    Uncertainty uncertainty;   // of predicted_us
    uint32_t evaluations = 0;  // whole plans that the search judged; 0: there was none
    double bound_us = 0;       // no plan takes less; 0: not known
    SessionMemory memory;      // that a session will hold
    double gpu_mac_share = 0;  // of the multiply-adds
    // Why it is not on both processors; empty where it is, and where that was not asked for.
    std::string one_processor_reason;
    size_t split_nodes = 0;
    size_t chains = 0;
    size_t longest_chain = 0;
    size_t gpu_tensors = 0;   // that only the GPU touches
    size_t half_tensors = 0;  // of them stored as halves
  };
  std::vector<Variant> variants;
  std::vector<std::string> not_split_as_forced;  // "node (Op)"
  uint64_t weight_bytes = 0;
  uint64_t winograd_bytes = 0;  // of them filters transformed by Winograd's method
  CompressReport compress;
  std::vector<std::string> notes;  // of the importer, one line each
  // One line if a notable share of the first variant's time goes into nodes without a fast kernel.
  std::string plain_loops_warning;
  // One line if kernels that the network could use have times that the profile assumes.
  std::string assumed_kernels_warning;
};

struct CompileResult {
  LargeBytes plan;
  CompileReport report;
};

// ONNX bytes to plan bytes for one device. Errors: Input, Unsupported, Limit (max_fallback_percent,
// max_handoffs), Internal.
llvm::Expected<CompileResult> compile(llvm::StringRef onnx, llvm::StringRef path,
                                      const DeviceProfile& profile, const CompileOptions& options);

}  // namespace codl::compiler
