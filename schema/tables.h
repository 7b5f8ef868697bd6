// Expands ops.def, kernels.def and status.def: enums, POD parameter structs, constexpr lists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "schema/types.h"

namespace codl {

// ---- operators ----------------------------------------------------------------------------------

enum class OpKind : uint16_t {
#define CODL_OP_BEGIN(Op, id, folder) Op = id,
#include "schema/ops.def"
};

// Each operator has one POD struct: Conv2dParams, ...
#define CODL_OP_BEGIN(Op, id, folder) struct Op##Params {
#define CODL_PARAM(Op, type, name) type name = 0;
#define CODL_OP_END(Op) \
  }                     \
  ;
#include "schema/ops.def"

// Numbers the members of families: kUnaryRelu, kPool2dMax, ... as `kind` and `activation` store
// them.
#define CODL_MEMBER(Op, Member, id) inline constexpr int32_t k##Op##Member = id;
#include "schema/ops.def"

struct OpParamField {
  OpKind op;
  std::string_view name;
  bool is_float;
  uint32_t offset_bytes;
};

// Lists every parameter of every operator, in the order of ops.def.
inline constexpr OpParamField kOpParamFields[] = {
#define CODL_PARAM(Op, type, name) \
  {OpKind::Op, #name, type(0.5f) != type(0), static_cast<uint32_t>(offsetof(Op##Params, name))},
#include "schema/ops.def"
};

struct OpInfo {
  OpKind kind;
  std::string_view name;
  std::string_view folder;
  uint32_t params_bytes;  // an operator without parameters has 0
};

constexpr uint32_t params_bytes_of(OpKind op) {
  uint32_t bytes = 0;
  for (const OpParamField& field : kOpParamFields)
    if (field.op == op) bytes += 4;
  return bytes;
}

inline constexpr OpInfo kOpInfos[] = {
#define CODL_OP_BEGIN(Op, id, folder) {OpKind::Op, #Op, #folder, params_bytes_of(OpKind::Op)},
#include "schema/ops.def"
};

#define CODL_OP_BEGIN(Op, id, folder)                                                        \
  static_assert(                                                                             \
      params_bytes_of(OpKind::Op) == 0 || params_bytes_of(OpKind::Op) == sizeof(Op##Params), \
      "parameters of " #Op " are 4-byte fields without padding");
#include "schema/ops.def"

struct FamilyMember {
  OpKind op;
  std::string_view name;
  int32_t kind;
};
inline constexpr FamilyMember kFamilyMembers[] = {
#define CODL_MEMBER(Op, Member, id) {OpKind::Op, #Member, id},
#include "schema/ops.def"
};

constexpr const OpInfo& op_info(OpKind kind) {
  for (const OpInfo& info : kOpInfos)
    if (info.kind == kind) return info;
  __builtin_unreachable();
}

// Returns the member's name, or an empty view for a number that names none.
constexpr std::string_view member_name(OpKind op, int32_t kind) {
  for (const FamilyMember& member : kFamilyMembers)
    if (member.op == op && member.kind == kind) return member.name;
  return {};
}

// ---- kernels ------------------------------------------------------------------------------------

struct KernelInfo {
  uint16_t id;
  uint16_t revision;
  const char* symbol;
  OpKind op;
  Algorithm algorithm;
  Processor processor;
  SignatureSet signatures;
  Layout layout;        // layout of the output
  PackingKind packing;  // packing of the weights
  uint32_t splits;
  bool takes_windows;

  // The operator's reference kernel: plain loops over elements, by no means fast.
  constexpr bool is_reference() const { return has(Signature::AnyType); }
  constexpr bool has(Signature signature) const { return (signatures & bit_of(signature)) != 0; }
  constexpr bool can_split(SplitDim dim) const {
    if (dim == SplitDim::Height) return (splits & kSplitHeight) != 0;
    if (dim == SplitDim::OutputChannel) return (splits & kSplitOutputChannel) != 0;
    return true;
  }
  constexpr bool takes_halves() const { return has(Signature::F16Store) || has(Signature::F16); }
  constexpr bool takes_quantised() const { return has(Signature::Q8) || has(Signature::Q8Store); }
  // Returns whether operand `operand` of `count` is floats where all others are halves: a bias, or
  // a scale of Normalize or Resize. (A bias of Attention hides keys by numbers that halves lack.)
  constexpr bool stays_float(uint32_t operand, uint32_t count) const {
    const bool has_scales = op == OpKind::Normalize || op == OpKind::Resize;
    const bool is_mask = op == OpKind::Attention && operand == 3 && count == 5;
    return packing_of(operand) == PackingKind::Bias || is_mask ||
           (has_scales && operand > 0 && operand + 1 < count);
  }
  // Whether operand `operand` of `count` may be a window of a wider map's channels.
  constexpr bool takes_window(uint32_t operand, uint32_t count) const {
    return takes_windows && (operand == 0 || operand + 1 == count || op == OpKind::Concat);
  }
  // Returns the order in which the kernel reads constant operand `operand`. Kernels with packed
  // weights have them in operand 1 and the bias in operand 2, where Recurrent has the weights of
  // the state.
  constexpr PackingKind packing_of(uint32_t operand) const {
    if (packing == PackingKind::None || operand < 1 || operand > 2) return PackingKind::None;
    return operand == 1 || packing == PackingKind::RecurrentPanels ? packing : PackingKind::Bias;
  }
};

inline constexpr KernelInfo kKernelInfos[] = {
#define CODL_KERNEL(id, revision, symbol, op, algorithm, processor, signatures, layout, packing, \
                    splits, windows)                                                             \
  {id,                                                                                           \
   revision,                                                                                     \
   #symbol,                                                                                      \
   OpKind::op,                                                                                   \
   Algorithm::algorithm,                                                                         \
   Processor::processor,                                                                         \
   signatures,                                                                                   \
   Layout::layout,                                                                               \
   PackingKind::packing,                                                                         \
   splits,                                                                                       \
   windows},
#include "schema/kernels.def"
};
inline constexpr size_t kKernelCount = std::size(kKernelInfos);

constexpr bool kernel_ids_are_dense() {
  for (size_t i = 0; i < kKernelCount; ++i)
    if (kKernelInfos[i].id != i + 1) return false;
  return true;
}
static_assert(kernel_ids_are_dense(), "kernels.def: ids are 1, 2, 3 ... in order");

// The entry of a kernel id, or null for an id this build does not have.
constexpr const KernelInfo* find_kernel(uint32_t id) {
  return id >= 1 && id <= kKernelCount ? &kKernelInfos[id - 1] : nullptr;
}

}  // namespace codl
