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
#include "compiler/report/compile_report.h"
#include "compiler/support/large_bytes.h"
#include "compiler/variants/variants.h"
#include "llvm/Support/Error.h"

namespace codl::compiler {

// The front end's passes in the order they run.
llvm::ArrayRef<Pass> frontend_passes();

enum class SupportFormat { None, Text, Json };

struct CompileOptions {
  ImportOptions import;
  PartitionOptions partition;
  // In the plan's order; the first is what a session begins with. One is made of two of the same
  // name.
  std::vector<VariantRequest> variants = {{}, {VariantRequest::Cpu, "cpu"}};
  std::vector<std::string> skipped_passes;  // names: these do not run
  Precision precision = Precision::Fp32;
  // Print why the steps of a node of the first variant take what is predicted; empty: of all nodes.
  std::optional<std::string> explained_node;
  // What to print: graph, partition, schedule, memory, or the graph after a pass; empty: nothing.
  std::string dump;
  llvm::raw_ostream* dump_to = nullptr;
  // Print what the device makes of the network (compiler/report) to dump_to.
  SupportFormat support = SupportFormat::None;
  CompressOptions compress;
  // Before layouts are chosen; or null. The first in front of compress, which may take long.
  std::function<llvm::Error(const ir::Graph& graph)> on_uncompressed;
  std::function<llvm::Error(const ir::Graph& graph)> on_optimised;
  bool wants_report = false;  // CompileResult::report_json
  // The text of codl-bench --json --steps, for the report, and where it is from; empty: none.
  std::string measured_json;
  std::string measured_path;
  bool builds_plan = true;  // false: the report and the limits are all that is asked for
};

struct CompileResult {
  LargeBytes plan;
  std::string report_json;  // of compiler/report/plan_report.h
  CompileReport report;
};

// ONNX bytes to plan bytes for one device. Errors: Input, Unsupported, Limit (partition.limits),
// Internal.
llvm::Expected<CompileResult> compile(llvm::StringRef onnx, llvm::StringRef path,
                                      const DeviceProfile& profile, const CompileOptions& options);

}  // namespace codl::compiler
