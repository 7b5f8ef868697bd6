#include "compiler/passes/pass_order.h"

#include "compiler/passes/passes.h"

namespace codl::compiler {
namespace {

constexpr Pass kPasses[] = {
    {"fold_constants", fold_constants},            // the fusions may use what becomes constant
    {"merge_common", merge_common},                // before readers are counted
    {"nest_concats", nest_concats},                // needs equal operands to be one value
    {"raise_dequantize", raise_dequantize},        // needs one dequantisation of each value
    {"drop_exact_casts", drop_exact_casts},        // the above goes by casts to 8 bits
    {"drop_silent_noise", drop_silent_noise},      // leaves copies
    {"eliminate_dead", eliminate_dead},            // copies would stand between what fuses
    {"fuse_unary_patterns", fuse_unary_patterns},  // before pieces of a formula fuse elsewhere
    {"fuse_normalize", fuse_normalize},            // likewise
    {"fuse_attention", fuse_attention},            // likewise
    {"fuse_quantize_pairs", fuse_quantize_pairs},  // likewise
    {"drop_requantize", drop_requantize},          // leaves fewer nodes between what fuses
    {"fuse_gates", fuse_gates},                    // after the passes that know such sums
    {"sink_transposes", sink_transposes},          // moves them out of the way of the fusions below
    {"sink_reshapes", sink_reshapes},              // likewise
    {"sink_depth_to_space", sink_depth_to_space},  // likewise
    {"eliminate_dead", eliminate_dead},            // removes those that met there
    {"fuse_pads", fuse_pads},                      // where a convolution reads what is padded
    {"fold_batch_norm", fold_batch_norm},          // before a convolution has an activation
    {"fuse_one_hot", fuse_one_hot},                // a bias in the product is in the table
    {"fuse_affine", fuse_affine},                  // takes what did not fold into a convolution
    {"fuse_residual", fuse_residual},              // before a convolution has an activation
    {"fuse_activation", fuse_activation},          // an activation is the last thing a node does
    {"widen_pools", widen_pools},                  // adds channels, which pruning could not follow
    {"assign_layouts", assign_layouts},            // its Converts would stand between what fuses
    {"find_grids", find_grids},                    // no pass behind it changes a value
};
constexpr size_t kLayoutPasses = 3;

}  // namespace

llvm::ArrayRef<Pass> frontend_passes() { return kPasses; }
llvm::ArrayRef<Pass> fusion_passes() { return frontend_passes().drop_back(kLayoutPasses); }
llvm::ArrayRef<Pass> layout_passes() { return frontend_passes().take_back(kLayoutPasses); }

}  // namespace codl::compiler
