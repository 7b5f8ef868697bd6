// Makes the table of --list-ops and docs/reference/operators.md: what ONNX's operators become and
// where that runs. It comes from the importer's entries, the OpSpecs and kernels.def, and is no
// list of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "llvm/Support/raw_ostream.h"

namespace codl::compiler {

struct OperatorRow {
  std::string onnx_type;
  int64_t oldest_opset = 0;  // for models that may use it; not every form in between
  int64_t newest_opset = 0;
  std::string becomes;  // operators of ops.def, or "" for what leaves no node of its own
  // Says whether the operator's steps have a fast kernel: "fast" for all, "plain" (reference
  // kernels' loops) for none, "fast by parts" for some; "-" if it leaves nothing to compute.
  std::string cpu;
  std::string gpu;     // "buffer", "image" or both; "by parts" for only some of it; "-"
  std::string splits;  // "h", "oc" or both; "-"
};

// Returns the rows sorted by name.
std::vector<OperatorRow> operator_table();

void print_text(const std::vector<OperatorRow>& rows, llvm::raw_ostream& os);
void print_markdown(const std::vector<OperatorRow>& rows, llvm::raw_ostream& os);

}  // namespace codl::compiler
