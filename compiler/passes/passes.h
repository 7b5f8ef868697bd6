// Declares all passes: each is one function in a file of the same name. The file says what the pass
// needs, what it gives, and where it stands in the order (pass_order.h).
#pragma once

#include "compiler/ir/graph.h"
#include "llvm/Support/Error.h"

namespace codl::compiler {

llvm::Error fold_constants(ir::Graph& graph);
llvm::Error merge_common(ir::Graph& graph);
llvm::Error nest_concats(ir::Graph& graph);
llvm::Error eliminate_dead(ir::Graph& graph);
llvm::Error fuse_unary_patterns(ir::Graph& graph);
llvm::Error fuse_normalize(ir::Graph& graph);
llvm::Error fuse_attention(ir::Graph& graph);
llvm::Error raise_dequantize(ir::Graph& graph);
llvm::Error drop_exact_casts(ir::Graph& graph);
llvm::Error drop_silent_noise(ir::Graph& graph);
llvm::Error fuse_quantize_pairs(ir::Graph& graph);
llvm::Error drop_requantize(ir::Graph& graph);
llvm::Error fuse_gates(ir::Graph& graph);
llvm::Error sink_depth_to_space(ir::Graph& graph);
llvm::Error sink_transposes(ir::Graph& graph);
llvm::Error sink_reshapes(ir::Graph& graph);
llvm::Error fuse_pads(ir::Graph& graph);
llvm::Error fold_batch_norm(ir::Graph& graph);
llvm::Error fuse_one_hot(ir::Graph& graph);
llvm::Error fuse_affine(ir::Graph& graph);
llvm::Error fuse_activation(ir::Graph& graph);
llvm::Error fuse_residual(ir::Graph& graph);
llvm::Error widen_pools(ir::Graph& graph);
llvm::Error assign_layouts(ir::Graph& graph);
llvm::Error find_grids(ir::Graph& graph);

}  // namespace codl::compiler
