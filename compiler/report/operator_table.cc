#include "compiler/report/operator_table.h"

#include <algorithm>

#include "compiler/frontend/graph/importer.h"
#include "compiler/ops/op_spec.h"
#include "kernels/binary/binary.h"
#include "kernels/reduce/reduce.h"
#include "kernels/unary/unary.h"
#include "llvm/Support/FormatVariadic.h"

namespace codl::compiler {
namespace {

// Holds the facts in kernels.def about one operator.
struct KernelFacts {
  bool has_fast_cpu = false;
  bool has_buffer = false;
  bool has_image = false;
  uint32_t cpu_splits = 0;
  uint32_t gpu_splits = 0;

  bool has_gpu() const { return has_buffer || has_image; }
  // A node is split between the processors: both must be able to.
  uint32_t splits() const { return cpu_splits & gpu_splits; }
};

KernelFacts facts_of(OpKind op) {
  KernelFacts facts;
  for (const KernelInfo& kernel : kKernelInfos) {
    if (kernel.op != op) continue;
    const bool is_gpu = kernel.processor == Processor::Gpu;
    facts.has_fast_cpu |= !is_gpu && !kernel.is_reference();
    facts.has_image |= is_gpu && kernel.layout == Layout::Image2d;
    facts.has_buffer |= is_gpu && kernel.layout != Layout::Image2d;
    (is_gpu ? facts.gpu_splits : facts.cpu_splits) |= kernel.splits;
  }
  return facts;
}

// Returns false if the member of Unary or Binary that the ONNX operator is named after has no
// float32 result of float32 operands (And, Equal, IsNaN ...): the fast kernels are of float32 on
// all sides. Nor do they know all members of Reduce.
bool computes_f32(OpKind op, llvm::StringRef onnx_type) {
  if (onnx_type == "BitShift") return false;                         // two members
  if (op == OpKind::Reduce && onnx_type == "Hardmax") return false;  // ArgMax
  if (op == OpKind::Reduce) onnx_type.consume_front("Reduce");
  for (const FamilyMember& member : kFamilyMembers) {
    if (member.op != op || !onnx_type.equals_insensitive({member.name.data(), member.name.size()}))
      continue;
    if (op == OpKind::Reduce) return kernels::is_sum_or_extreme(member.kind);
    if (op == OpKind::Unary)
      return kernels::unary_output_dtype(member.kind, DType::F32) == DType::F32;
    if (op == OpKind::Binary)
      return kernels::binary_output_dtype(member.kind, DType::F32) == DType::F32;
  }
  return true;
}

bool names(const OpSpec& spec, llvm::StringRef onnx_type) {
  llvm::SmallVector<llvm::StringRef, 16> words;
  llvm::StringRef(spec.onnx_types.data(), spec.onnx_types.size()).split(words, ' ');
  return llvm::is_contained(words, onnx_type);
}

std::string joined(std::initializer_list<std::pair<const char*, bool>> words) {
  std::string text;
  for (const auto& [word, is_there] : words)
    if (is_there) text += (text.empty() ? "" : ",") + std::string(word);
  return text.empty() ? "-" : text;
}

// Fills in the columns after the opsets.
void describe_kernels(OperatorRow& row) {
  bool has_buffer = false, has_image = false, is_partial = false;
  bool has_fast = false, has_plain = false;  // for the CPU
  uint32_t splits = 0;
  for (const OpSpec* spec : all_op_specs()) {
    if (!names(*spec, row.onnx_type)) continue;
    row.becomes += (row.becomes.empty() ? "" : " ") + std::string(op_info(spec->kind).name);
    KernelFacts facts = facts_of(spec->kind);
    if (!computes_f32(spec->kind, row.onnx_type)) facts = KernelFacts();
    has_fast |= facts.has_fast_cpu;
    has_plain |= !facts.has_fast_cpu;
    has_buffer |= facts.has_buffer;
    has_image |= facts.has_image;
    is_partial |= !facts.has_gpu();
    splits |= facts.splits();
  }
  row.cpu = has_fast ? (has_plain ? "fast by parts" : "fast") : (has_plain ? "plain" : "-");
  row.gpu = joined({{"buffer", has_buffer}, {"image", has_image}});
  if (row.gpu != "-" && is_partial) row.gpu += " by parts";
  row.splits =
      joined({{"h", (splits & kSplitHeight) != 0}, {"oc", (splits & kSplitOutputChannel) != 0}});
}

}  // namespace

std::vector<OperatorRow> operator_table() {
  std::vector<OperatorRow> rows;
  for (const ImportEntry& import : import_table()) {  // sorted by name, then opset
    if (rows.empty() || rows.back().onnx_type != import.name()) {
      rows.emplace_back();
      rows.back().onnx_type = import.name();
      rows.back().oldest_opset = import.oldest_opset;
    }
    OperatorRow& row = rows.back();
    row.oldest_opset = std::min(row.oldest_opset, import.oldest_opset);
    // Some entries begin where the operator does, before the first opset that is read at all.
    if (import.domain.empty()) row.oldest_opset = std::max(kOldestOpset, row.oldest_opset);
    row.newest_opset = std::max(row.newest_opset, import.newest_opset);
  }
  for (OperatorRow& row : rows) describe_kernels(row);
  return rows;
}

void print_text(const std::vector<OperatorRow>& rows, llvm::raw_ostream& os) {
  constexpr const char* kFormat = "{0,-47} {1,-7} {2,-13} {3,-22} {4,-7} {5}\n";
  os << llvm::formatv(kFormat, "ONNX operator", "opsets", "CPU", "GPU", "splits", "becomes");
  for (const OperatorRow& row : rows)
    os << llvm::formatv(kFormat, row.onnx_type,
                        llvm::formatv("{0}-{1}", row.oldest_opset, row.newest_opset).str(), row.cpu,
                        row.gpu, row.splits,
                        row.becomes.empty() ? "(nothing: it is resolved)" : row.becomes);
}

void print_markdown(const std::vector<OperatorRow>& rows, llvm::raw_ostream& os) {
  os << "| operator | opsets | becomes | CPU | GPU | splits |\n|---|---|---|---|---|---|\n";
  for (const OperatorRow& row : rows)
    os << llvm::formatv("| {0} | {1}-{2} | {3} | {4} | {5} | {6} |\n", row.onnx_type,
                        row.oldest_opset, row.newest_opset, row.becomes, row.cpu, row.gpu,
                        row.splits);
}

}  // namespace codl::compiler
