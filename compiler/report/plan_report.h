// Writes all that the compiler knows of a plan (codlc --report), as JSON and as one HTML page that
// shows it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/partition/limits.h"
#include "compiler/report/compile_report.h"
#include "compiler/report/pass_savings.h"
#include "compiler/report/support_report.h"
#include "compiler/simulate/measured/measured_steps.h"

namespace codl::compiler {

// Borrowed.
struct ReportedPlan {
  const ir::Graph& graph;
  const LatencyPredictor& predictor;
  const CompileReport& report;                               // describes the same variants
  llvm::ArrayRef<std::pair<std::string, GraphCost>> passes;  // PassSavings::costs()
  const SupportReport& support;
  // There is one per schedule: schedules[i] is variants[i]'s. The first's operators are listed one
  // by one.
  llvm::ArrayRef<MadeVariant> variants;
  llvm::ArrayRef<Schedule> schedules;
  const PartitionOptions& asked;
  const char* precision = "";  // AskedPrecision::name
  llvm::ArrayRef<LimitCheck> limits;
  llvm::ArrayRef<MeasuredSteps> measured;  // empty: none
  llvm::StringRef measured_path;           // for messages
  llvm::StringRef model_path;
  llvm::StringRef model_hash;
  uint64_t plan_bytes = 0;
};

// Returns one line about an entry; docs/reference/report.md has the keys. Times are microseconds.
// Returns an Input error for measurements that are no output of codl-bench --json --steps of this
// plan.
llvm::Expected<std::string> report_json(const ReportedPlan& plan);

// Returns the one line of all entries' reports: that of the only one as it is.
std::string join_reports(llvm::ArrayRef<std::string> reports);

// Returns a page for `json` of join_reports(), which loads nothing from elsewhere.
std::string report_html(llvm::StringRef json);

}  // namespace codl::compiler
