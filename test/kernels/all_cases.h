// The cases of every operator, <op>_cases.h (test/CMakeLists.txt makes the list of includes). An
// operator without cases does not compile.
#pragma once

#include <cstdlib>
#include <map>
#include <tuple>

#include "test/kernels/cases.inc"

namespace codl::test {

inline std::vector<KernelCase> cases_of(OpKind op) {
  switch (op) {
#define CODL_OP_BEGIN(Op, id, folder) \
  case OpKind::Op:                    \
    return folder##_cases();
#include "schema/ops.def"
  }
  return {};
}

// Returns the operator's cases. Of more than 12 it takes every fourth of each layout, dtype and
// split, so that every kernel has some; all of them if CODL_ALL_CASES is set.
inline std::vector<KernelCase> some_cases_of(OpKind op) {
  std::vector<KernelCase> cases = cases_of(op);
  constexpr size_t kManyCases = 12, kStride = 4;
  if (cases.size() <= kManyCases || std::getenv("CODL_ALL_CASES") != nullptr) return cases;
  std::map<std::tuple<Layout, DType, SplitDim>, size_t> seen;
  std::vector<KernelCase> some;
  for (KernelCase& item : cases) {
    const OperandShape& output = item.operands.back();
    if (seen[{output.layout, output.dtype, item.part_dim}]++ % kStride == 0)
      some.push_back(std::move(item));
  }
  return some;
}

// True if CODL_SMALL_CASES is set. oclgrind interprets, some thousand times slower than a
// processor, so a test then leaves out cases that take long and show nothing more.
inline bool is_small_run() { return std::getenv("CODL_SMALL_CASES") != nullptr; }

inline bool is_small(const KernelCase& item) {
  uint64_t bytes = 0;
  for (const OperandShape& shape : item.operands) bytes += shape.bytes;
  return bytes <= 16384;
}

// Returns the cases for CPU kernels: all, or only some with sanitizers or in an emulator, where all
// would take minutes.
inline std::vector<KernelCase> cpu_cases_of(OpKind op) {
#ifdef CODL_SLOW_RUN
  return some_cases_of(op);
#else
  return cases_of(op);
#endif
}

}  // namespace codl::test
