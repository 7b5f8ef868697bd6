#include "compiler/passes/grids.h"

#include <algorithm>

#include "compiler/ops/activation.h"
#include "compiler/passes/rewrite.h"
#include "schema/quantised.h"

namespace codl::compiler {
namespace {

constexpr int32_t kLowestByte = -128;

// A clamp keeps elements on a grid if both its limits are on it, or beyond its ends.
bool keeps_grid(const UnaryParams& function, const ir::Grid& grid) {
  const auto is_limit = [&](float limit) {
    const float inside = std::clamp(limit, lowest_of(grid), highest_of(grid));
    return nearest_on_grid(grid, inside) == inside;
  };
  return function.kind == kUnaryRelu || function.kind == kUnaryIdentity ||
         (function.kind == kUnaryClip && is_limit(function.alpha) && is_limit(function.beta));
}

}  // namespace

float nearest_on_grid(const ir::Grid& grid, float x) {
  const int8_t byte = byte_of_number(x, grid.scale, grid.zero_point);
  return number_of_byte(byte, grid.scale, grid.zero_point);
}

float lowest_of(const ir::Grid& grid) { return number_of_byte(-128, grid.scale, grid.zero_point); }
float highest_of(const ir::Grid& grid) { return number_of_byte(127, grid.scale, grid.zero_point); }

UnaryParams quantize8(const ir::Grid& grid) {
  return {.kind = kUnaryQuantize8,
          .alpha = grid.scale,
          .beta = static_cast<float>(grid.zero_point - kLowestByte)};
}

ir::ValueId add_quantize8(ir::Graph& graph, NewNames& names, ir::ValueId value,
                          const ir::Grid& grid) {
  ir::TensorType type = graph.value(value).type;
  ir::Node node;
  node.op = OpKind::Unary;
  node.params = ir::OpParams::of(OpKind::Unary, quantize8(grid));
  node.inputs = {value};
  std::string name = names.take(graph.value(value).name + ".quantized");
  node.name = name;
  return graph.add_node(std::move(node), std::move(name), std::move(type));
}

ir::Grid grid_of(const UnaryParams& function) {
  if (function.kind != kUnaryQuantize8) return {};
  // `beta` counts the steps of the grid below zero.
  return {function.alpha, static_cast<int32_t>(function.beta) + kLowestByte};
}

bool is_on_grid(const ir::Graph& graph, ir::ValueId value, const ir::Grid& grid,
                GridOfValue grid_of_value) {
  const ir::Value& elements = graph.value(value);
  if (!elements.is_constant) return grid_of_value(value) == grid;
  return elements.type.dtype == DType::F32 &&
         llvm::all_of(elements.as<float>(), [&](float x) { return nearest_on_grid(grid, x) == x; });
}

ir::Grid grid_after(const ir::Graph& graph, const ir::Node& node, GridOfValue grid_of_value) {
  if (graph.value(node.output).type.dtype != DType::F32) return {};
  const UnaryParams last = last_function(node);
  if (const ir::Grid grid = grid_of(last)) return grid;
  if (node.op == OpKind::Unary) {
    const ir::Grid grid = grid_of_value(node.inputs[0]);
    return grid && keeps_grid(last, grid) ? grid : ir::Grid();
  }
  const auto [first, end] = moved_operands(node);
  const auto moved = llvm::makeArrayRef(node.inputs).slice(first, end - first);
  for (ir::ValueId operand : moved)
    if (const ir::Grid grid = grid_of_value(operand)) {
      const bool is_on = llvm::all_of(
          moved, [&](ir::ValueId other) { return is_on_grid(graph, other, grid, grid_of_value); });
      return is_on ? grid : ir::Grid();
    }
  return {};
}

}  // namespace codl::compiler
