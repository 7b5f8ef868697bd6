// Imports random numbers: RandomNormal, RandomUniform, and those with the dims of an operand.
#include <cstring>

#include "compiler/frontend/graph/shape_operands.h"
#include "compiler/frontend/rules/rules.h"
#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

// Counts the nodes that the graph has already, so that each has numbers of its own.
int32_t next_stream(const ir::Graph& graph) {
  return static_cast<int32_t>(llvm::count_if(
      graph.nodes(), [](const ir::Node& node) { return node.op == OpKind::Random; }));
}

llvm::Expected<RandomParams> read_random(const OnnxNode& node, Importer& importer, bool is_normal) {
  RandomParams params = {};
  params.kind = is_normal ? kRandomNormal : kRandomUniform;
  CODL_ASSIGN_OR_RETURN(location, node.float_or(is_normal ? "mean" : "low", 0.0f));
  CODL_ASSIGN_OR_RETURN(scale, node.float_or(is_normal ? "scale" : "high", 1.0f));
  params.location = location;
  params.scale = is_normal ? scale : scale - location;
  if (node.find("seed") == nullptr) {
    params.stream = next_stream(importer.graph());
    return params;
  }
  CODL_ASSIGN_OR_RETURN(seed, node.float_or("seed", 0.0f));
  params.has_seed = 1;
  std::memcpy(&params.seed, &seed, sizeof seed);
  return params;
}

// ONNX's numbers of the float types, TensorProto.DataType; all are f32 here.
llvm::Error expect_float_dtype(const OnnxNode& node) {
  constexpr int64_t kFloat = 1, kFloat16 = 10, kDouble = 11, kBfloat16 = 16;
  CODL_ASSIGN_OR_RETURN(dtype, node.int_or("dtype", kFloat));
  for (int64_t known : {kFloat, kFloat16, kDouble, kBfloat16})
    if (dtype == known) return llvm::Error::success();
  return input_error(node.name, "expected a dtype of floats, found {0}", dtype);
}

// Returns an input of the network, whose elements there must be for a node to read it.
ir::ValueId any_input(const ir::Graph& graph) {
  for (ir::ValueId id : graph.inputs())
    if (graph.value(id).type.element_count() != 0) return id;
  return ir::kNoId;
}

// With a seed the numbers are a constant, and in a network without inputs. Else they are the
// session's: the node then reads an input of the network, so that nothing takes it for a constant.
llvm::Error bind_random(const OnnxNode& node, Importer& importer, bool is_normal,
                        llvm::ArrayRef<int64_t> dims) {
  if (llvm::Error error = expect_float_dtype(node)) return error;
  if (llvm::Error error = check_dims(node, dims)) return error;
  CODL_ASSIGN_OR_RETURN(params, read_random(node, importer, is_normal));
  if (element_count(dims) == 0) return bind_empty(node, importer, DType::F32, dims);
  Compose c(node, importer);
  ir::ValueId read = params.has_seed != 0 ? ir::kNoId : any_input(importer.graph());
  if (read == ir::kNoId) read = c.scalar(DType::F32, 0);
  return c.bind(c.shaped_node(OpKind::Random, params, {read}, dims));
}

llvm::Error import_with_shape(const OnnxNode& node, Importer& importer, bool is_normal) {
  CODL_ASSIGN_OR_RETURN(shape, node.ints_or("shape", {}));
  return bind_random(node, importer, is_normal, Dims64(shape.begin(), shape.end()));
}

llvm::Error import_like(const OnnxNode& node, Importer& importer, bool is_normal) {
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  return bind_random(node, importer, is_normal, dims);
}

llvm::Error import_random_normal(const OnnxNode& node, Importer& importer) {
  return import_with_shape(node, importer, /*is_normal=*/true);
}
llvm::Error import_random_uniform(const OnnxNode& node, Importer& importer) {
  return import_with_shape(node, importer, /*is_normal=*/false);
}
llvm::Error import_random_normal_like(const OnnxNode& node, Importer& importer) {
  return import_like(node, importer, /*is_normal=*/true);
}
llvm::Error import_random_uniform_like(const OnnxNode& node, Importer& importer) {
  return import_like(node, importer, /*is_normal=*/false);
}

}  // namespace

llvm::ArrayRef<ImportEntry> random_entries() {
  static constexpr ImportEntry kEntries[] = {
      {"RandomNormal", 1, kNewestOpset, import_random_normal},
      {"RandomNormalLike", 1, kNewestOpset, import_random_normal_like},
      {"RandomUniform", 1, kNewestOpset, import_random_uniform},
      {"RandomUniformLike", 1, kNewestOpset, import_random_uniform_like},
  };
  return kEntries;
}

}  // namespace codl::compiler
