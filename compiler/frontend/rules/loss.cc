// Imports losses: NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss. Models that were exported for
// training end in one.
#include "compiler/frontend/graph/compose.h"
#include "compiler/frontend/graph/shape_operands.h"
#include "compiler/frontend/rules/rules.h"
#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

enum class LossReduction { None, Sum, Mean };

llvm::Expected<LossReduction> read_reduction(const OnnxNode& node) {
  CODL_ASSIGN_OR_RETURN(reduction, node.string_or("reduction", "mean"));
  if (reduction == "none") return LossReduction::None;
  if (reduction == "sum") return LossReduction::Sum;
  if (reduction == "mean") return LossReduction::Mean;
  return input_error(node.name, "expected reduction none, sum or mean, found '{0}'", reduction);
}

// Returns an Input error unless there are scores [n, classes, d ...] and one class [n, d ...] for
// each row of them.
llvm::Error expect_classes(const OnnxNode& node, const Compose& c, ir::ValueId scores,
                           ir::ValueId classes) {
  const llvm::ArrayRef<int32_t> dims = c.dims(scores);
  llvm::SmallVector<int32_t, 4> expected(dims.begin(), dims.end());
  if (expected.size() >= 2) expected.erase(expected.begin() + 1);
  if (dims.size() >= 2 && c.dims(classes) == llvm::makeArrayRef(expected))
    return llvm::Error::success();
  return input_error(node.name,
                     "expected scores [n, c, ...] and classes [n, ...], found {0} and {1}",
                     ir::to_string(c.type(scores)), ir::to_string(c.type(classes)));
}

ir::ValueId sum_of_all(Compose& c, ir::ValueId x) {
  llvm::SmallVector<int64_t, 4> axes;
  for (int32_t axis = 0; axis < c.rank(x); ++axis) axes.push_back(axis);
  return c.reduce(kReduceSum, x, axes, false);
}

// Computes the loss from the logarithms of probabilities. Rows of class ignore_index count neither
// in the loss nor in the divisor of a mean. `weights` has one per class, or is kNoId.
ir::ValueId loss_of(Compose& c, ir::ValueId log_prob, ir::ValueId classes, ir::ValueId weights,
                    LossReduction reduction, std::optional<int64_t> ignored_class) {
  const llvm::SmallVector<int64_t, 4> rows(c.dims(classes).begin(), c.dims(classes).end());
  llvm::SmallVector<int64_t, 4> column = rows;
  column.insert(column.begin() + 1, 1);
  const ir::ValueId picked = c.node(OpKind::GatherElements, GatherElementsParams{.axis = 1},
                                    {log_prob, c.reshape(classes, column)});
  ir::ValueId loss = c.unary(kUnaryNeg, c.reshape(picked, rows));
  ir::ValueId weight = ir::kNoId;
  if (weights != ir::kNoId) weight = c.gather(weights, classes, 0);
  if (ignored_class) {
    const ir::ValueId is_ignored = c.binary(kBinaryEqual, classes, c.ints({*ignored_class}, {}));
    const ir::ValueId zero = c.scalar(DType::F32, 0);
    // Where masks it, because zero times the infinite loss of an impossible class is no number.
    loss = c.where(is_ignored, zero, loss);
    weight = c.where(is_ignored, zero, weight == ir::kNoId ? c.scalar(DType::F32, 1) : weight);
  }
  if (weight != ir::kNoId) loss = c.mul(loss, weight);
  if (reduction == LossReduction::None) return loss;
  const ir::ValueId sum = sum_of_all(c, loss);
  if (reduction == LossReduction::Sum) return sum;
  const double count = static_cast<double>(c.type(loss).element_count());
  return c.div(sum, weight == ir::kNoId ? c.scalar(DType::F32, count) : sum_of_all(c, weight));
}

llvm::Error import_loss(const OnnxNode& node, Importer& importer, bool takes_scores) {
  CODL_ASSIGN_OR_RETURN(reduction, read_reduction(node));
  CODL_ASSIGN_OR_RETURN(ignore_index, node.int_or("ignore_index", 0, IntegerUse::Data));
  std::optional<int64_t> ignored_class;
  if (node.find("ignore_index") != nullptr) ignored_class = ignore_index;
  Compose c(node, importer);
  ir::ValueId log_prob = c.operand(0);
  const ir::ValueId classes = c.operand_as(1, DType::I64);
  if (llvm::Error error = c.take_error()) return error;
  if (llvm::Error error = expect_classes(node, c, log_prob, classes)) return error;
  if (llvm::Error error =
          expect_indices(node, importer, 1, {int64_t{c.dims(log_prob)[1]}}, ignored_class))
    return error;
  const ir::ValueId weights = node.has_input(2) ? c.operand(2) : ir::kNoId;
  if (llvm::Error error = c.take_error()) return error;
  if (weights != ir::kNoId && (c.rank(weights) != 1 || c.dims(weights)[0] != c.dims(log_prob)[1]))
    return input_error(node.name, "expected a weight for each of {0} classes, found {1}",
                       c.dims(log_prob)[1], ir::to_string(c.type(weights)));
  if (takes_scores)
    log_prob = c.node(OpKind::Softmax, SoftmaxParams{.axis = 1, .is_log = 1}, {log_prob});
  const ir::ValueId loss = loss_of(c, log_prob, classes, weights, reduction, ignored_class);
  if (llvm::Error error = c.bind(loss)) return error;
  return takes_scores && c.has_output(1) ? c.bind(log_prob, 1) : llvm::Error::success();
}

llvm::Error import_negative_log_likelihood(const OnnxNode& node, Importer& importer) {
  return import_loss(node, importer, false);
}

llvm::Error import_softmax_cross_entropy(const OnnxNode& node, Importer& importer) {
  return import_loss(node, importer, true);
}

}  // namespace

llvm::ArrayRef<ImportEntry> loss_entries() {
  static constexpr ImportEntry kEntries[] = {
      {"NegativeLogLikelihoodLoss", 12, kNewestOpset, import_negative_log_likelihood},
      {"SoftmaxCrossEntropyLoss", 12, kNewestOpset, import_softmax_cross_entropy},
  };
  return kEntries;
}

}  // namespace codl::compiler
