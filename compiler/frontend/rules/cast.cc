// Holds rules that give elements another type: Cast, CastLike, BitCast.
#include "compiler/frontend/graph/shape_operands.h"
#include "compiler/frontend/rules/rules.h"
#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

// Returns the dtype in which rules hold results of `dtype`.
DType made_dtype(DType dtype) { return dtype == DType::F64 ? dtype : held_dtype(dtype); }

// Rounds to values that `to` can hold. Inside a network halves are F32, so a cast to F16 or BF16
// goes there and back.
ir::ValueId rounded(Compose& c, ir::ValueId x, DType to, bool rounds_to_halves) {
  const DType from = c.type(x).dtype;
  const bool is_exact = from == DType::Bool || from == DType::I8 || from == DType::U8 ||
                        (from == DType::F32 && to == DType::F16 && !rounds_to_halves);
  if ((to == DType::F16 || to == DType::BF16) && !is_exact) x = c.cast(x, to);
  return c.cast(x, made_dtype(to));
}

// Returns true if operand 0 came into the network as a `to`.
bool is_from(const OnnxNode& node, Importer& importer, DType to) {
  auto x = importer.extent_operand(node, 0);
  if (!x) {
    llvm::consumeError(x.takeError());
    return false;
  }
  const ir::NodeId producer = importer.graph().value(*x).producer;
  if (producer == ir::kNoId) return false;
  const ir::Node& cast = importer.graph().node(producer);
  return cast.op == OpKind::Cast && importer.type(cast.inputs[0]).dtype == to &&
         importer.type(*x).dtype == held_dtype(to);
}

llvm::Error import_cast_to(const OnnxNode& node, Importer& importer, DType to) {
  CODL_ASSIGN_OR_RETURN(from, importer.dtype_of(node, 0));
  CODL_ASSIGN_OR_RETURN(dims, planned_dims(node, importer, 0));
  if (element_count(dims) == 0) return bind_empty(node, importer, made_dtype(to), dims);
  if (from == to || is_from(node, importer, to)) return importer.bind_operand(node, 0);
  CODL_ASSIGN_OR_RETURN(x, importer.extent_operand(node, 0));
  Compose c(node, importer);
  if (llvm::Error error = c.bind(rounded(c, x, to, importer.rounds_to_halves))) return error;
  return keep_extents(node, importer, 0, [](int32_t dim) { return dim; });
}

// Returns the DType of attribute `to`.
llvm::Expected<DType> target_of(const OnnxNode& node) {
  CODL_ASSIGN_OR_RETURN(to, node.int_or("to", 0));
  const auto dtype = dtype_of_onnx(to);
  if (!dtype)
    return unsupported_error(node.name, "expected a cast to float, an integer or bool, found {0}",
                             onnx_type_name(to));
  return *dtype;
}

// Ignores attributes of casts to 8 bit floats, which codl does not have.
void ignore_float8_attributes(const OnnxNode& node) {
  ignore_attributes(node, {"saturate", "round_mode"});
}

llvm::Error import_cast(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(to, target_of(node));
  ignore_float8_attributes(node);
  return import_cast_to(node, importer, to);
}

llvm::Error import_cast_like(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(to, importer.dtype_of(node, 1));
  ignore_float8_attributes(node);
  return import_cast_to(node, importer, to);
}

// Gives the same bytes another dtype: for constants, and between integers, which wrap.
llvm::Error import_bit_cast(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(to, target_of(node));
  CODL_ASSIGN_OR_RETURN(from, importer.dtype_of(node, 0));
  if (from == to && to != DType::F32) return importer.bind_operand(node, 0);
  if (is_integer(from) && is_integer(to) && dtype_bytes(from) == dtype_bytes(to))
    return import_cast_to(node, importer, to);
  if (held_dtype(to) == to && dtype_bytes(from) == dtype_bytes(to) && to != DType::Bool &&
      importer.is_constant(node, 0)) {
    CODL_ASSIGN_OR_RETURN(x, importer.constant(node, 0));
    OnnxTensor tensor;
    tensor.dtype = to;
    tensor.dims.assign(x.dims.begin(), x.dims.end());
    tensor.bytes = x.bytes;
    importer.bind_constant(node, std::move(tensor));
    return llvm::Error::success();
  }
  return unsupported_error(node.name, "expected integers of one width, found {0} and {1}",
                           dtype_name(from), dtype_name(to));
}

}  // namespace

llvm::ArrayRef<ImportEntry> cast_entries() {
  static constexpr ImportEntry kEntries[] = {
      {"BitCast", 26, kNewestOpset, import_bit_cast},
      {"Cast", 6, kNewestOpset, import_cast},
      {"CastLike", 15, kNewestOpset, import_cast_like},
  };
  return kEntries;
}

}  // namespace codl::compiler
