// Makes a Concat reuse the result of an earlier one.
//
// Needs:   a Concat whose first operands are all the operands of an earlier Concat along its axis,
//          as in a dense block, where each layer reads the results of all earlier layers.
// Gives:   a Concat of the earlier result and the remaining operands. It copies as many bytes but
//          has few operands: image kernels take eight, and the earlier operands need not stay in
//          memory until the last Concat. Numerics are unchanged.
// Order:   after merge_common, which makes equal operands one value.
#include <map>

#include "compiler/passes/passes.h"

namespace codl::compiler {
namespace {

// Holds the lists of operands so far as a tree: a list is a shorter list and one more operand.
class Prefixes {
 public:
  // Returns the list of one operand. For the result of a Concat along the axis it is that Concat's
  // list.
  size_t list_of(int32_t axis, ir::ValueId operand) {
    const auto [at, is_new] = lists_.try_emplace({axis, operand}, joined_.size());
    if (is_new) joined_.push_back(ir::kNoId);
    return at->second;
  }
  size_t with(size_t list, ir::ValueId operand) {
    const auto [at, is_new] = longer_.try_emplace({list, operand}, joined_.size());
    if (is_new) joined_.push_back(ir::kNoId);
    return at->second;
  }
  // Returns the value of the first Concat of exactly this list; kNoId if there is none.
  ir::ValueId joined(size_t list) const { return joined_[list]; }
  void set_joined(size_t list, int32_t axis, ir::ValueId joined) {
    if (joined_[list] == ir::kNoId) joined_[list] = joined;
    lists_.try_emplace({axis, joined}, list);
  }

 private:
  std::map<std::pair<int32_t, ir::ValueId>, size_t> lists_;  // keyed by axis and operand
  std::map<std::pair<size_t, ir::ValueId>, size_t> longer_;
  std::vector<ir::ValueId> joined_;  // indexed by list
};

}  // namespace

llvm::Error nest_concats(ir::Graph& graph) {
  Prefixes prefixes;
  for (ir::NodeId id = 0; id < graph.nodes().size(); ++id) {
    ir::Node& node = graph.node(id);
    if (node.op != OpKind::Concat) continue;
    const int32_t axis = node.params.as<ConcatParams>().axis;
    size_t list = prefixes.list_of(axis, node.inputs[0]);
    ir::ValueId longest = ir::kNoId;
    size_t length = 0;  // length of the longest proper prefix that a Concat has joined
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      list = prefixes.with(list, node.inputs[i]);
      const ir::ValueId joined = prefixes.joined(list);
      if (joined == ir::kNoId || i + 1 == node.inputs.size()) continue;
      longest = joined;
      length = i + 1;
    }
    prefixes.set_joined(list, axis, node.output);
    if (length < 2) continue;
    node.inputs.erase(node.inputs.begin(), node.inputs.begin() + length);
    node.inputs.insert(node.inputs.begin(), longest);
  }
  return llvm::Error::success();
}

}  // namespace codl::compiler
