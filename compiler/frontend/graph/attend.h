// Writes attention as nodes: softmax(scale * Q K^T + bias) V. ONNX's Attention and those of ONNX
// Runtime are this formula with operands of other forms.
#pragma once

#include "compiler/frontend/graph/compose.h"

namespace codl::compiler {

// Turns [batch, length, heads * size] into [batch, heads, length, size].
ir::ValueId split_heads(Compose& c, ir::ValueId x, int64_t heads);
// Turns it back.
ir::ValueId join_heads(Compose& c, ir::ValueId x);

struct Attention {
  // Are [batch, heads, length, size]. K and V begin with the past ones, and may have fewer heads:
  // as many neighbouring heads of Q share one of them.
  ir::ValueId query = ir::kNoId;
  ir::ValueId key = ir::kNoId;
  ir::ValueId value = ir::kNoId;

  float scale = 0;    // 0: 1 / sqrt(size of a head)
  float softcap = 0;  // 0: none
  bool is_causal = false;
  int64_t left_window = -1;  // -1: no bound
  int64_t right_window = -1;
  // Numbers the keys before the one of the first query: I64 that broadcasts to [batch, 1, 1, 1].
  // kNoId: past_length.
  ir::ValueId first_query = ir::kNoId;
  int64_t past_length = 0;
  // Hides the keys from this number on: I64, as first_query. kNoId: none.
  ir::ValueId valid_keys = ir::kNoId;
  // Is added to the scores and broadcasts to [batch, heads of Q, length of Q, length of K]. A short
  // one hides the keys after its end.
  ir::ValueId bias = ir::kNoId;
  bool may_hide_all = false;  // true if a query may be left without keys, and gets zeros then
  // Is one more score per head, [heads of Q], of a key that has no value. kNoId: none.
  ir::ValueId sink = ir::kNoId;
};

ir::ValueId minus_infinity(Compose& c);

// Returns the values that ONNX's output 3 may show, and the result [batch, heads, length, size].
struct Attended {
  ir::ValueId raw = ir::kNoId;
  ir::ValueId capped = ir::kNoId;
  ir::ValueId scores = ir::kNoId;
  ir::ValueId weights = ir::kNoId;
  ir::ValueId y = ir::kNoId;
};
// Returns an Input error if the operands do not fit.
llvm::Expected<Attended> attend(const OnnxNode& node, Compose& c, const Attention& attention);

}  // namespace codl::compiler
