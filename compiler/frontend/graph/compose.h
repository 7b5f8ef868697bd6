// Writes formulas as nodes of the graph, for import rules of ONNX operators that become several
// nodes.
//
//   Compose c(node, importer);
//   const ir::ValueId x = c.operand(0);
//   return c.bind(c.mul(x, c.unary(kUnarySigmoid, x)));
//
// The first error sticks: from then on every function gives kNoId and does nothing, and bind() and
// take_error() return it. Values are nodes of the graph; names are made from the node's first
// output. A node whose operands are all constants is folded by the passes (or earlier, when a rule
// asks for the constant).
#pragma once

#include "compiler/frontend/graph/first_error.h"
#include "compiler/frontend/graph/importer.h"
#include "compiler/support/error.h"
#include "schema/tables.h"

namespace codl::compiler {

class Compose {
 public:
  Compose(const OnnxNode& node, Importer& importer);

  // ---- operands ----
  ir::ValueId operand(size_t i);                  // as Importer::operand()
  ir::ValueId operand_as(size_t i, DType dtype);  // cast if it has another dtype
  ir::ValueId named(llvm::StringRef name);        // a result of Rewrite
  const ir::TensorType& type(ir::ValueId value) const;
  llvm::ArrayRef<int32_t> dims(ir::ValueId value) const;
  int32_t rank(ir::ValueId value) const;

  // ---- constants ----
  ir::ValueId scalar(DType dtype, double value);  // rank 0; exact for integers up to 2^53
  // `name` follows the output's name, in dumps and reports.
  ir::ValueId floats(llvm::ArrayRef<float> elements, llvm::ArrayRef<int64_t> dims,
                     llvm::StringRef name = "constant");
  ir::ValueId ints(llvm::ArrayRef<int64_t> elements, llvm::ArrayRef<int64_t> dims);  // I64
  ir::ValueId constant(DType dtype, llvm::ArrayRef<int64_t> dims, SharedBytes bytes);
  // Every element has this value.
  ir::ValueId filled(DType dtype, double value, llvm::ArrayRef<int64_t> dims);

  // ---- elementwise, with broadcasting; binary operands have one dtype ----
  ir::ValueId unary(int32_t kind, ir::ValueId x, float alpha = 0, float beta = 0);
  ir::ValueId binary(int32_t kind, ir::ValueId a, ir::ValueId b);
  ir::ValueId add(ir::ValueId a, ir::ValueId b) { return binary(kBinaryAdd, a, b); }
  ir::ValueId sub(ir::ValueId a, ir::ValueId b) { return binary(kBinarySub, a, b); }
  ir::ValueId mul(ir::ValueId a, ir::ValueId b) { return binary(kBinaryMul, a, b); }
  ir::ValueId div(ir::ValueId a, ir::ValueId b) { return binary(kBinaryDiv, a, b); }
  ir::ValueId where(ir::ValueId condition, ir::ValueId a, ir::ValueId b);
  ir::ValueId cast(ir::ValueId x, DType dtype);  // x itself if it has the dtype

  // ---- shapes; axes may count from the end ----
  ir::ValueId reshape(ir::ValueId x, llvm::ArrayRef<int64_t> dims);  // x itself if it has the dims
  ir::ValueId transpose(ir::ValueId x, llvm::ArrayRef<int64_t> perm);
  ir::ValueId expand(ir::ValueId x, llvm::ArrayRef<int64_t> dims);
  ir::ValueId slice(ir::ValueId x, int64_t axis, int64_t begin, int64_t count, int64_t step = 1);
  ir::ValueId concat(llvm::ArrayRef<ir::ValueId> values, int64_t axis);
  ir::ValueId pad(ir::ValueId x, llvm::ArrayRef<int64_t> begin, llvm::ArrayRef<int64_t> end);  // 0
  ir::ValueId gather(ir::ValueId x, ir::ValueId indices, int64_t axis);

  // ---- arithmetic over axes ----
  ir::ValueId reduce(int32_t kind, ir::ValueId x, llvm::ArrayRef<int64_t> axes,
                     bool keepdims = true);
  ir::ValueId softmax(ir::ValueId x, int64_t axis);
  ir::ValueId matmul(ir::ValueId a, ir::ValueId b);  // BatchMatMul, numpy's rules for rank 1 too

  // Appends any node whose infer() gives the output's type.
  template <typename Params>
  ir::ValueId node(OpKind op, const Params& params, llvm::ArrayRef<ir::ValueId> inputs) {
    return append(op, ir::OpParams::of(op, params), inputs);
  }
  // Appends a node whose dims are its output's: Expand, Resize, DepthToSpace.
  template <typename Params>
  ir::ValueId shaped_node(OpKind op, const Params& params, llvm::ArrayRef<ir::ValueId> inputs,
                          llvm::ArrayRef<int64_t> dims) {
    return append_shaped(op, ir::OpParams::of(op, params), inputs, dims);
  }

  // ---- the end of a rule ----
  // Binds output `output` of the ONNX node to the value. The rule must have cast it to the dtype
  // that ONNX says.
  llvm::Error bind(ir::ValueId value, size_t output = 0);
  bool has_output(size_t output) const;  // true if the node names it
  // Makes every later call fail with the error, if there is one.
  void fail(llvm::Error error) { error_.keep(std::move(error)); }
  llvm::Error take_error() { return error_.take(node_.name); }

 private:
  ir::ValueId append(OpKind op, ir::OpParams params, llvm::ArrayRef<ir::ValueId> inputs);
  ir::ValueId append_shaped(OpKind op, ir::OpParams params, llvm::ArrayRef<ir::ValueId> inputs,
                            llvm::ArrayRef<int64_t> dims);
  ir::ValueId of_rank(ir::ValueId x, int32_t rank, llvm::StringRef name);
  // Counts the axis from the front; 0 after an error.
  int32_t axis_of(ir::ValueId x, int64_t axis);
  ir::ValueId take(llvm::Expected<ir::ValueId> value);

  const OnnxNode& node_;
  Importer& importer_;
  ir::ValueId first_value_;  // first of the values that the formula adds
  FirstError error_;
};

}  // namespace codl::compiler
