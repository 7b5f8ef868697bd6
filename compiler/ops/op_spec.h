// Holds everything the compiler knows about an operator. Each compiler/ops/<folder>.cc has one
// constant; a missing file is a link error, a missing member a compile error.
#pragma once

#include <string_view>

#include "compiler/ir/graph.h"
#include "compiler/ops/channel_links.h"
#include "compiler/ops/interval.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

namespace codl::compiler {

// Names a dim along which the node may be cut. Cuts are multiples of `granularity` (or `extent`).
struct SplitRule {
  SplitDim dim = SplitDim::None;
  int32_t extent = 0;
  int32_t granularity = 1;
};

struct OpSpec {
  OpKind kind;
  // Names the ONNX operators that the importer makes this op from, separated by spaces, for
  // --list-ops. The importer's rules are in frontend/.
  std::string_view onnx_types;
  // Returns the output type from parameters and operand types (dims and dtype; layout Plain).
  // Returns an Input error if the shapes do not fit.
  llvm::Expected<ir::TensorType> (*infer)(const ir::NodeView& node);
  // Returns the dims along which the node may be cut; if empty, the node runs whole.
  llvm::SmallVector<SplitRule, 2> (*splits)(const ir::NodeView& node);
  // Returns the rows (or channels) of operand `operand` that the output rows (or channels) `output`
  // read, clipped to the operand: padding at a cut is real rows, never zeros. This is the only
  // source of halos. For a Height part of an operand without that dim, or of a constant, it is the
  // operand's whole extent.
  Range (*input_range)(const ir::NodeView& node, uint32_t operand, SplitDim dim, Range output);
  // Returns true if a node with f32 maps (rank 4) computes in Nhwc; null if the operator computes
  // in Plain.
  bool (*computes_in_nhwc)(const ir::NodeView& node) = nullptr;
  // Is true if all of its kernels for Nhwc compute Plain as fast: then a node with Plain operands
  // stays Plain.
  bool follows_layout = false;
  // Returns what the elements of a result of F32 may be, given that of each operand's; null: any
  // number.
  Interval (*bounds)(const ir::NodeView& node, llvm::ArrayRef<Interval> operands) = nullptr;
  // Says how the result grows with operands without bounds; null: in proportion.
  Growth (*growth)(const ir::NodeView& node, llvm::ArrayRef<Interval> operands) = nullptr;
  // Ties the channels of operands and result that must be pruned together; null: none of them can
  // be removed.
  void (*channels)(const ir::NodeView& node, ChannelLinks& links) = nullptr;
  // Returns the node's parameters without the removed places; null: they stay as they are.
  ir::OpParams (*params_of_kept)(const ir::NodeView& node, KeptPlaces kept) = nullptr;
};

const OpSpec& op_spec(OpKind op);
llvm::ArrayRef<const OpSpec*> all_op_specs();

// Several entries of the table use these functions. The whole extent is [0, dims[2]) or [0,
// dims[1]).
Range whole_extent(const ir::TensorType& type, SplitDim dim);
// The output range is the input range, for elementwise operands.
Range same_range(const ir::NodeView& node, uint32_t operand, SplitDim dim, Range output);

bool always_in_nhwc(const ir::NodeView& node);
// Serve operators that run whole: there is no rule, and every operand is read from end to end.
llvm::SmallVector<SplitRule, 2> no_splits(const ir::NodeView& node);
Range whole_range(const ir::NodeView& node, uint32_t operand, SplitDim dim, Range output);

}  // namespace codl::compiler
