// Writes Einsum as transposes, products and sums over labelled axes.
#include <algorithm>
#include <cctype>

#include "compiler/frontend/graph/shape_operands.h"
#include "compiler/frontend/rules/rules.h"
#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

// Names an axis of the equation: its letter, or a number for the axes of an ellipsis: 0 is the last
// of them.
using Label = char;
using Labels = std::string;

bool is_letter(Label label) { return std::isalpha(static_cast<unsigned char>(label)) != 0; }
bool has(const Labels& labels, Label label) { return labels.find(label) != Labels::npos; }

struct Equation {
  std::vector<Labels> terms;
  Labels output;
};

// Returns the labels of one term for an operand with `rank` dims; -1: the output, whose ellipsis
// has `ellipsis` dims.
llvm::Expected<Labels> read_term(const OnnxNode& node, llvm::StringRef term, int64_t rank,
                                 size_t& ellipsis) {
  const auto [front, behind] = term.split("...");
  const bool has_ellipsis = front.size() != term.size();
  const size_t letters = front.size() + behind.size();
  if (!llvm::all_of(front, is_letter) || !llvm::all_of(behind, is_letter))
    return input_error(node.name, "expected letters and one ellipsis, found '{0}'", term);
  if (rank >= 0 &&
      (has_ellipsis ? letters > static_cast<size_t>(rank) : letters != static_cast<size_t>(rank)))
    return input_error(node.name, "expected labels for {0} dims, found '{1}'", rank, term);
  size_t count = ellipsis;
  if (rank >= 0) {
    count = static_cast<size_t>(rank) - letters;
    ellipsis = std::max(ellipsis, count);
  }
  Labels labels = front.str();
  if (has_ellipsis)
    for (size_t i = count; i-- > 0;) labels.push_back(static_cast<Label>(i));
  return labels + behind.str();
}

llvm::Expected<Equation> read_equation(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(attribute, node.string_or("equation", ""));
  std::string text;
  std::copy_if(attribute.begin(), attribute.end(), std::back_inserter(text),
               [](char c) { return c != ' '; });
  const auto [left, right] = llvm::StringRef(text).split("->");
  const bool has_output = left.size() != text.size();
  llvm::SmallVector<llvm::StringRef, 4> terms;
  left.split(terms, ',');
  if (terms.size() != node.inputs.size())
    return input_error(node.name, "expected a term for each of {0} operands, found '{1}'",
                       node.inputs.size(), attribute);
  Equation equation;
  size_t ellipsis = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, i));
    CODL_ASSIGN_OR_RETURN(labels,
                          read_term(node, terms[i], static_cast<int64_t>(dims.size()), ellipsis));
    equation.terms.push_back(labels);
  }
  if (has_output) {
    CODL_ASSIGN_OR_RETURN(labels, read_term(node, right, -1, ellipsis));
    equation.output = labels;
    return equation;
  }
  // The ellipsis comes first, then the letters that appear once, in order.
  for (size_t i = ellipsis; i-- > 0;) equation.output.push_back(static_cast<Label>(i));
  for (int letter = 'A'; letter <= 'z'; ++letter) {
    const auto label = static_cast<Label>(letter);
    if (is_letter(label) && std::count(left.begin(), left.end(), label) == 1)
      equation.output.push_back(label);
  }
  return equation;
}

// Holds a value and the labels of its axes; no label appears twice.
struct Operand {
  ir::ValueId value = ir::kNoId;
  Labels labels;
};

int64_t dim_of(Compose& c, const Operand& operand, Label label) {
  return c.dims(operand.value)[operand.labels.find(label)];
}

// Brings the axes into another order.
void arrange(Compose& c, Operand& operand, const Labels& labels) {
  Dims64 perm;
  for (Label label : labels) perm.push_back(static_cast<int64_t>(operand.labels.find(label)));
  operand.value = c.transpose(operand.value, perm);
  operand.labels = labels;
}

// Where two axes have one label, keeps the elements where they agree: every (dim + 1)th of both as
// one axis.
void take_diagonal(const OnnxNode& node, Compose& c, Operand& operand, size_t first,
                   size_t second) {
  Dims64 dims(c.dims(operand.value).begin(), c.dims(operand.value).end());
  const int64_t dim = dims[first];
  if (dims[second] != dim) {
    c.fail(input_error(node.name, "expected axes '{0}' of one length, found {1} and {2}",
                       operand.labels[first], dim, dims[second]));
    operand.value = ir::kNoId;
    return;
  }
  Dims64 perm = {static_cast<int64_t>(first), static_cast<int64_t>(second)};
  Dims64 merged = {dim * dim};
  Labels labels(1, operand.labels[first]);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i == first || i == second) continue;
    perm.push_back(static_cast<int64_t>(i));
    merged.push_back(dims[i]);
    labels.push_back(operand.labels[i]);
  }
  const ir::ValueId rows = c.reshape(c.transpose(operand.value, perm), merged);
  operand.value = c.slice(rows, 0, 0, dim, dim + 1);
  operand.labels = labels;
}

Operand read_operand(const OnnxNode& node, Compose& c, size_t i, const Labels& labels) {
  Operand operand = {c.operand(i), labels};
  for (size_t first = 0; first < operand.labels.size() && operand.value != ir::kNoId; ++first) {
    const size_t second = operand.labels.find(operand.labels[first], first + 1);
    if (second == Labels::npos) continue;
    take_diagonal(node, c, operand, first, second);
    // The merged axis is now the first; labels may have moved.
    first = static_cast<size_t>(-1);
  }
  return operand;
}

// Sums over the axes whose label is not in `kept`.
void sum_over_others(Compose& c, Operand& operand, const Labels& kept) {
  Dims64 axes;
  Labels left;
  for (size_t i = 0; i < operand.labels.size(); ++i) {
    if (has(kept, operand.labels[i]))
      left.push_back(operand.labels[i]);
    else
      axes.push_back(static_cast<int64_t>(i));
  }
  if (axes.empty()) return;
  operand.value = c.reduce(kReduceSum, operand.value, axes, /*keepdims=*/false);
  operand.labels = left;
}

// Repeats axes of a single element to the other operand's length.
void broadcast(Compose& c, Operand& operand, const Operand& other) {
  Dims64 dims(c.dims(operand.value).begin(), c.dims(operand.value).end());
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] == 1 && has(other.labels, operand.labels[i]))
      dims[i] = dim_of(c, other, operand.labels[i]);
  operand.value = c.expand(operand.value, dims);
}

int64_t product_of(Compose& c, const Operand& operand, const Labels& labels) {
  int64_t product = 1;
  for (Label label : labels) product *= dim_of(c, operand, label);
  return product;
}

// Multiplies two operands and sums over the axes that nothing else needs, with one batched matrix
// product.
Operand contracted(const OnnxNode& node, Compose& c, Operand a, Operand b, const Labels& kept) {
  if (a.value == ir::kNoId || b.value == ir::kNoId) return {};
  // Axes that only one operand has and nobody needs are summed first.
  sum_over_others(c, a, kept + b.labels);
  sum_over_others(c, b, kept + a.labels);
  broadcast(c, a, b);
  broadcast(c, b, a);
  if (a.value == ir::kNoId || b.value == ir::kNoId) return {};
  Labels batch, rows, columns, inner;
  for (Label label : a.labels) {
    const bool is_shared = has(b.labels, label);
    if (is_shared && dim_of(c, a, label) != dim_of(c, b, label))
      c.fail(input_error(node.name, "expected axes of one length, found {0} and {1}",
                         dim_of(c, a, label), dim_of(c, b, label)));
    (is_shared ? (has(kept, label) ? batch : inner) : rows).push_back(label);
  }
  for (Label label : b.labels)
    if (!has(a.labels, label)) columns.push_back(label);
  arrange(c, a, batch + rows + inner);
  // Columns before the summed axis are as good, so b keeps its order.
  const bool is_b_transposed = b.labels == batch + columns + inner;
  arrange(c, b, is_b_transposed ? b.labels : batch + inner + columns);
  if (a.value == ir::kNoId || b.value == ir::kNoId) return {};

  Operand result;
  result.labels = batch + rows + columns;
  Dims64 dims;
  for (Label label : batch + rows) dims.push_back(dim_of(c, a, label));
  for (Label label : columns) dims.push_back(dim_of(c, b, label));
  const int64_t count = product_of(c, a, batch);
  const int64_t m = product_of(c, a, rows);
  const int64_t n = product_of(c, b, columns);
  const int64_t k = product_of(c, a, inner);
  const ir::ValueId left = c.reshape(a.value, {count, m, k});
  const ir::ValueId right =
      is_b_transposed ? c.reshape(b.value, {count, n, k}) : c.reshape(b.value, {count, k, n});
  const BatchMatMulParams params = {0, is_b_transposed ? 1 : 0};
  result.value = c.reshape(c.node(OpKind::BatchMatMul, params, {left, right}), dims);
  return result;
}

llvm::Error import_einsum(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(equation, read_equation(node, importer));
  Compose c(node, importer);
  Operand result = read_operand(node, c, 0, equation.terms[0]);
  for (size_t i = 1; i < equation.terms.size(); ++i) {
    Labels kept = equation.output;
    for (size_t later = i + 1; later < equation.terms.size(); ++later)
      kept += equation.terms[later];
    result = contracted(node, c, result, read_operand(node, c, i, equation.terms[i]), kept);
  }
  if (llvm::Error error = c.take_error()) return error;
  sum_over_others(c, result, equation.output);
  for (Label label : equation.output)
    if (!has(result.labels, label) ||
        std::count(equation.output.begin(), equation.output.end(), label) != 1)
      return input_error(node.name,
                         "expected each label of the output once and in a term, found "
                         "others in '{0}'",
                         equation.output);
  if (llvm::Error error = c.take_error()) return error;
  arrange(c, result, equation.output);
  return c.bind(result.value);
}

}  // namespace

llvm::ArrayRef<ImportEntry> einsum_entries() {
  static constexpr ImportEntry kEntries[] = {
      {"Einsum", 12, kNewestOpset, import_einsum},
  };
  return kEntries;
}

}  // namespace codl::compiler
