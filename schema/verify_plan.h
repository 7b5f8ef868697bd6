// Checks a plan before anything in it is believed. The same function runs in codlc (on what it is
// about to write) and in the runtime (on what it was given). Allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "schema/step_shape.h"

namespace codl {

struct PlanHead;

namespace plan {
struct PlanDef;
struct EntryDef;
struct VariantDef;
struct TensorDef;
struct StepDef;
}  // namespace plan

// This is kernels::check_step, passed in so that schema does not depend on kernels' objects.
using CheckStep = const char* (*)(const kernels::StepShape& step, kernels::StepNeeds* out_needs);

enum class VerifyLevel {
  Structure,  // no step can touch memory outside its arena, its operands or the file
  All,        // and the checksum of the whole file is right (reads every page)
};

// Describes what is wrong with a plan, if anything. `where` and `expected` are static texts.
struct PlanFault {
  // Version: another format version, or what only a later build knows. Kernel: one that this build
  // lacks.
  enum Kind { None, Corrupt, Version, Kernel } kind = None;
  const char* where = nullptr;     // "head", "variant", "tensor", "step" ...
  const char* expected = nullptr;  // "file_bytes equal to the size of the file" ...
  int64_t entry = -1;              // -1 in a plan of one entry
  int64_t variant = -1;
  int64_t index = -1;  // index of the tensor or step
  int64_t found = 0;
  bool ok() const { return kind == None; }
};

// Verifies `size` bytes at `bytes` (8-byte aligned). On success *out_plan points into them, and
// *out_head, if given, is the head that was verified: it is read once.
//
// Guarantees for every step: its kernel id and revision are known; params have the right size;
// operands exist, have storage the queue may touch, and lie inside their arena, blob or io buffer
// with checked arithmetic; the contract accepts the step; waits name earlier steps of other queues;
// Map and Unmap alternate, and a CPU step touches a SubBuffer-shared tensor only between them. Does
// not guarantee that the numbers computed are right.
PlanFault verify_plan(const void* bytes, size_t size, VerifyLevel level, CheckStep check_step,
                      const plan::PlanDef** out_plan, PlanHead* out_head = nullptr);

// For people who give another file, or one that is cut off: returns false and writes "expected X,
// found Y" if no plan has `size` bytes and begins with `begin`, its first 64 bytes or all of it.
// verify_plan() does not rely on it.
bool may_be_plan(std::string_view begin, uint64_t size, char (&fault)[128]);

// Returns the XXH3 (64 bit) of bytes. It tells damage, not forgery.
uint64_t checksum_of(const void* bytes, size_t size);

// Returns PlanHead::checksum of a file of `size` >= 64 bytes: the checksum of the bytes behind the
// head.
uint64_t plan_checksum(const void* bytes, size_t size);

// Returns how many outputs of a verified entry are the network's; those after them count what is in
// them.
uint32_t visible_output_count(const plan::EntryDef& entry);

// Returns the operand shape of a verified tensor.
kernels::OperandShape operand_shape_of(const plan::TensorDef& tensor);

// The step as its contract sees it. `shapes` has room for kMaxOperands and must outlive the result.
kernels::StepShape step_shape_of(const plan::VariantDef& variant, const plan::StepDef& step,
                                 kernels::OperandShape* shapes);

}  // namespace codl
