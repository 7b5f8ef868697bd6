// Defines the data that a step (schema/step_shape.h) gives a kernel, and the answers of a kernel's
// contract.
//
// The *contract* (kernels/<op>/<op>_contract.cc) decides from shapes alone whether the kernel may
// run it. codlc asks while planning; the runtime asks again for every step of every plan it opens,
// because a plan may have been touched. A step that passes reads and writes inside its operands
// only: kernels do not check again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "schema/step_shape.h"

namespace codl::kernels {

// Says how an OpenCL step is launched, which is derived here and never read from the plan.
//
// Kernel arguments are the operands in order (buffer, SVM pointer or image) but for those that the
// kernel does not touch (is_cl_argument()), then `scalars`, each 4 bytes: an int, or a float's
// bits, in the order of the kernel's list of arguments (launch/cl_args.def).
struct ClLaunch {
  struct Define {
    const char* name;  // -D name=value
    int32_t value;
  };
  static constexpr uint32_t kMaxScalars = 100;  // a Concat of 15 inputs has 67, and grids
  static constexpr uint32_t kMaxDefines = 16;
  uint64_t global[3] = {1, 1, 1};
  uint64_t local[3] = {0, 0, 0};  // 0: the driver chooses
  uint32_t scalars[kMaxScalars] = {};
  uint32_t scalar_count = 0;
  uint32_t local_bytes = 0;  // that the kernel function has for each work-group
  Define defines[kMaxDefines] = {};
  uint32_t define_count = 0;
  bool is_over = false;  // more was added than there is room for: check_step() refuses the step

  // `args` is a struct of cl_launch.h's CODL_CL_ARGS, or one of its groups.
  template <typename Args>
  void add(const Args& args) {
    static_assert(std::is_trivially_copyable_v<Args> && alignof(Args) == 4);
    add_words(&args, sizeof(Args) / 4);
  }
  void add_words(const void* words, size_t count) {
    if (count > kMaxScalars - scalar_count) {
      is_over = true;
      return;
    }
    __builtin_memcpy(scalars + scalar_count, words, count * 4);
    scalar_count += static_cast<uint32_t>(count);
  }
  void define(const char* name, int32_t value) {
    if (define_count == kMaxDefines) is_over = true;
    if (!is_over) defines[define_count++] = {name, value};
  }
};

// Holds the facts about an operator's kernels that are needed to run a step. Each kernels/<op>/ has
// one constant, k<Op>Contract. Facts that only planning needs are in step_work.h.
struct Contract {
  // Returns null if the kernel may run the step, else a static text that says what was expected,
  // e.g. "input rows of the part inside the operand".
  const char* (*check)(const StepShape& step, StepNeeds* out_needs);
  // Sets the launch; GPU kernels only. The step has passed check().
  void (*launch)(const StepShape& step, ClLaunch* out_launch);
};

// Describes one operand while a CPU kernel runs.
struct TensorView {
  void* data = nullptr;  // the first element held (row shape.row_begin of batch 0)
  OperandShape shape;
  int64_t strides[kMaxRank] = {};  // elements per step of each ONNX dim; see strides_of()
  template <typename T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

inline TensorView make_view(const OperandShape& shape, void* data) {
  TensorView view;
  view.data = data;
  view.shape = shape;
  strides_of(shape, view.strides);
  return view;
}

struct KernelArgs {
  const void* params = nullptr;
  const TensorView* operands = nullptr;  // the output is the last
  uint32_t operand_count = 0;
  SplitDim part_dim = SplitDim::None;
  Range part;
  const int32_t* tile = nullptr;
  uint32_t tile_count = 0;
  void* scratch = nullptr;  // this worker's
  void* shared = nullptr;   // shared by all workers
  int32_t phase = 0;
  int32_t task_begin = 0;  // the call runs tasks [task_begin, task_end) of StepNeeds::task_count
  int32_t task_end = 0;
  bool continues = false;  // scratch is as this worker left it in others of these tasks and phase
  uint64_t session_seed = 0;  // decides the numbers of Random

  const TensorView& output() const { return operands[operand_count - 1]; }
  template <typename Params>
  const Params& params_as() const {
    return *static_cast<const Params*>(params);
  }
};

using CpuKernel = void (*)(const KernelArgs& args);

}  // namespace codl::kernels
