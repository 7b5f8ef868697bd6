// Declares compile(), the whole compiler as one function.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/device/device_profile.h"
#include "compiler/frontend/onnx_import.h"
#include "compiler/partition/options.h"
#include "compiler/report/compile_report.h"
#include "compiler/report/printouts.h"
#include "compiler/shrink/shrink.h"
#include "compiler/simulate/measured/measured_steps.h"
#include "compiler/support/large_bytes.h"
#include "compiler/variants/variants.h"
#include "llvm/Support/Error.h"

namespace codl::compiler {

// Asks for the network at one set of input shapes, beside those of CompileOptions::import.
struct EntryRequest {
  std::string name;  // PlanEntry's
  llvm::StringMap<std::vector<int64_t>> input_shapes;
  llvm::StringMap<int64_t> dims;
};

struct CompileOptions {
  ImportOptions import;
  std::vector<EntryRequest> entries = {{}};  // in the plan's order; the only one has no name
  PartitionOptions partition;
  // These are in the plan's order; the first is what a session begins with. Of two of the same name
  // one is made.
  std::vector<VariantRequest> variants = {{}, {VariantRequest::Cpu, "cpu"}};
  std::vector<std::string> skipped_passes;  // names: these do not run
  Precision precision = Precision::Fp32;    // for real numbers; shrink.bytes is beside it
  bool compares_precisions = false;         // CompileReport::precisions
  Printouts prints;
  ShrinkOptions shrink;
  bool emits_onnx = false;                     // CompileResult::onnx
  std::optional<std::string> ep_context_plan;  // CompileResult::ep_context refers to it; "": has it
  bool wants_report = false;                   // CompileResult::report_json
  std::vector<MeasuredSteps> measured;         // for the report; empty: none
  std::string measured_path;                   // for messages
  bool builds_plan = true;  // false: the report and the limits are all that is asked for

  const AskedPrecision& asked() const { return asked_precision(precision, shrink.bytes); }
};

struct CompileResult {
  LargeBytes plan;
  std::string onnx;                    // the network after fusion and shrink(), before its layouts
  std::string ep_context;              // a model of ONNX Runtime that is the plan
  std::string report_json;             // made by compiler/report/plan_report.h
  std::vector<CompileReport> reports;  // parallel to CompileOptions::entries
};

// Compiles the bytes of an ONNX model to the bytes of a plan for one device. Returns Input,
// Unsupported, Limit (partition.limits) and Internal errors.
llvm::Expected<CompileResult> compile(llvm::StringRef onnx, llvm::StringRef path,
                                      const DeviceProfile& profile, const CompileOptions& options);

}  // namespace codl::compiler
