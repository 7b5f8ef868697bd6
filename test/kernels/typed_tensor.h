// Tensors of any dtype written by hand, and an operator's kernel of any dtype that runs on them,
// for tests that know the expected numbers.
#pragma once

#include <cstring>
#include <initializer_list>
#include <limits>
#include <ostream>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/kernel_table.h"
#include "kernels/ref.h"
#include "test/support/tensors.h"

namespace codl::test {

template <typename T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) return DType::F32;
  if constexpr (std::is_same_v<T, bool>) return DType::Bool;
  if constexpr (std::is_same_v<T, int8_t>) return DType::I8;
  if constexpr (std::is_same_v<T, uint8_t>) return DType::U8;
  if constexpr (std::is_same_v<T, int16_t>) return DType::I16;
  if constexpr (std::is_same_v<T, uint16_t>) return DType::U16;
  if constexpr (std::is_same_v<T, int32_t>) return DType::I32;
  if constexpr (std::is_same_v<T, uint32_t>) return DType::U32;
  if constexpr (std::is_same_v<T, int64_t>) return DType::I64;
  if constexpr (std::is_same_v<T, uint64_t>) return DType::U64;
  if constexpr (std::is_same_v<T, double>) return DType::F64;
  return DType::Any;
}

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The layout is Plain; tensors are equal if dims, dtype and bytes are.
struct TypedTensor {
  kernels::OperandShape shape;
  std::vector<uint8_t> bytes;

  friend bool operator==(const TypedTensor& a, const TypedTensor& b) {
    return a.shape.dtype == b.shape.dtype && a.shape.rank == b.shape.rank &&
           std::memcmp(a.shape.dims, b.shape.dims, sizeof a.shape.dims) == 0 && a.bytes == b.bytes;
  }
  // Prints elements for messages: floats as such, other dtypes as integers.
  friend std::ostream& operator<<(std::ostream& out, const TypedTensor& tensor) {
    const size_t size = dtype_bytes(tensor.shape.dtype);
    out << dtype_name(tensor.shape.dtype) << " {";
    for (size_t i = 0; i < tensor.bytes.size(); i += size) {
      out << (i == 0 ? "" : ", ");
      if (tensor.shape.dtype == DType::F32) {
        float element;
        std::memcpy(&element, &tensor.bytes[i], size);
        out << element;
      } else {
        int64_t element = 0;
        std::memcpy(&element, &tensor.bytes[i], size);
        const auto unused_bits = 64 - 8 * size;
        out << static_cast<int64_t>(static_cast<uint64_t>(element) << unused_bits) /
                   (1ll << unused_bits);
      }
    }
    return out << "}";
  }
};

inline TypedTensor typed_tensor(DType dtype, std::initializer_list<int32_t> dims,
                                std::vector<uint8_t> bytes) {
  TypedTensor tensor;
  tensor.shape.dtype = dtype;
  for (int32_t dim : dims) tensor.shape.dims[tensor.shape.rank++] = dim;
  tensor.shape.bytes = bytes.size();
  tensor.bytes = std::move(bytes);
  return tensor;
}

template <typename T>
TypedTensor tensor(std::initializer_list<int32_t> dims, std::initializer_list<T> elements) {
  static_assert(dtype_of<T>() != DType::Any);
  std::vector<uint8_t> bytes(elements.size() * sizeof(T));
  size_t offset = 0;
  for (T element : elements) {
    std::memcpy(&bytes[offset], &element, sizeof(T));
    offset += sizeof(T);
  }
  return typed_tensor(dtype_of<T>(), dims, std::move(bytes));
}

// Runs <op>_any_cpu on the inputs. The result has the dtype and dims of `like`, whose elements do
// not matter. Its bytes are empty, with a message in `out_error`, if the contract refuses the step
// or the kernel writes outside its operands.
inline TypedTensor run_any(OpKind op, const void* params, const std::vector<TypedTensor>& inputs,
                           const TypedTensor& like, std::string* out_error = nullptr) {
  kernels::StepShape step;
  for (const KernelInfo& kernel : kKernelInfos)
    if (kernel.op == op && kernel.is_reference()) step.kernel = &kernel;
  std::vector<kernels::OperandShape> shapes;
  for (const TypedTensor& input : inputs) shapes.push_back(input.shape);
  shapes.push_back(like.shape);
  step.params = params;
  step.operands = shapes.data();
  step.operand_count = static_cast<uint32_t>(shapes.size());

  TypedTensor output = like;
  output.bytes.clear();
  std::string unused;
  std::string& error = out_error == nullptr ? unused : *out_error;
  kernels::StepNeeds needs;
  if (const char* expected = kernels::check_step(step, &needs)) {
    error = expected;
    return output;
  }
  std::vector<GuardedMemory> memory;
  std::vector<kernels::TensorView> views;
  for (size_t i = 0; i < shapes.size(); ++i) {
    memory.emplace_back(static_cast<size_t>(shapes[i].bytes), dtype_bytes(shapes[i].dtype));
    if (i < inputs.size()) std::memcpy(memory[i].data(), inputs[i].bytes.data(), memory[i].bytes());
    views.push_back(kernels::make_view(shapes[i], memory[i].data()));
  }
  memory.emplace_back(static_cast<size_t>(needs.scratch_bytes));
  kernels::KernelArgs args;
  args.params = params;
  args.operands = views.data();
  args.operand_count = step.operand_count;
  args.scratch = memory.back().data();
  args.task_end = needs.task_count;
  kernels::ref_kernel(op)(args);
  for (const GuardedMemory& operand : memory)
    if (!operand.has_whole_guards()) {
      error = "a write outside an operand";
      return output;
    }
  const auto* bytes = static_cast<const uint8_t*>(views.back().data);
  output.bytes.assign(bytes, bytes + shapes.back().bytes);
  return output;
}

}  // namespace codl::test
