// What a step gives a kernel, and what a kernel's contract answers.
//
// A *step* is one call of one kernel: parameters, operands, and the part of the output to
// compute. Its *contract* (kernels/<op>/<op>_contract.cc) decides from shapes alone whether the
// kernel may run it. codlc asks while planning; the runtime asks again for every step of every plan
// it opens, because a plan may have been touched. A step that passes reads and writes inside its
// operands only: kernels do not check again.
#pragma once

#include <cstdint>

#include "schema/tables.h"
#include "schema/types.h"

namespace codl::kernels {

// One operand as the contract sees it.
//
// Preconditions (verify_plan and codlc hold them): 0 <= rank <= kMaxRank; 1 <= dims[i]; the element
// count fits int32; Nhwc and Image2d have rank 4; 0 <= row_begin < row_end <= dims[2]; pixel_stride
// as below.
struct OperandShape {
  DType dtype = DType::F32;
  Layout layout = Layout::Plain;
  int32_t rank = 0;
  int32_t dims[kMaxRank] =
      {};  // of the whole value, ONNX order; Packed: dims of the unpacked weight
  // Nhwc, Image2d: the rows of the value that the memory holds; nothing else may be touched.
  // Plain, Packed: 0, 0.
  int32_t row_begin = 0;
  int32_t row_end = 0;
  uint64_t bytes = 0;  // size of the memory, 0 for Image2d
  // Nhwc, Image2d: elements from pixel to pixel where the value is a window of the channels of a
  // wider map, a multiple of kChannelPad and at least the value's channels; what lies between its
  // pixels belongs to others. 0: no window, pixels follow each other. On the CPU the channels are
  // whole panels, on the GPU multiples of kChannelPad.
  int32_t pixel_stride = 0;
  // Of a window on the GPU, whose memory is the map's (a buffer begins where drivers allow, an
  // image has no part): the map's channel that is its first, a multiple of kChannelPad. Else 0.
  int32_t first_channel = 0;
};

inline constexpr uint32_t kMaxOperands = 16;
inline constexpr uint32_t kMaxTileInts = 8;

// One step. The output is the last operand.
//   part_dim  None: all of the output, as far as its operand holds it (part is then [0, 0))
//             Height: output rows part; OutputChannel: output channels part, begin a multiple of
//             kChannelPanel (Plain [m, n]: columns)
struct StepShape {
  const KernelInfo* kernel = nullptr;
  const void* params = nullptr;  // the Params struct of kernel->op; 4-byte aligned
  const OperandShape* operands = nullptr;
  uint32_t operand_count = 0;
  SplitDim part_dim = SplitDim::None;
  Range part;
  const int32_t* tile = nullptr;  // kernel constants chosen by the compiler, e.g. work-group sizes
  uint32_t tile_count = 0;        // 0: the contract's defaults
  // The output is where the input has it (in_place.h), so that nothing is moved.
  bool is_in_place = false;

  constexpr const OperandShape& output() const { return operands[operand_count - 1]; }
  template <typename Params>
  const Params& params_as() const {
    return *static_cast<const Params*>(params);
  }
};

// What running a CPU step takes.
struct StepNeeds {
  int32_t task_count = 1;      // independent pieces; results never depend on who runs which
  uint64_t scratch_bytes = 0;  // per worker, 64-byte aligned
  // All tasks run once in each phase, and no phase begins before all tasks of the one before are
  // done. Memory of all workers for what a phase leaves to the next, 64-byte aligned.
  int32_t phase_count = 1;
  uint64_t shared_bytes = 0;
};

// How an OpenCL step is launched: derived here, never read from the plan.
//
// Kernel arguments are the operands in order (buffer, SVM pointer or image) but for those that the
// kernel does not touch (is_cl_argument()), then `scalars`, each 4 bytes: an int, or a float's
// bits, as the kernel function declares them.
struct ClLaunch {
  struct Define {
    const char* name;  // -D name=value
    int32_t value;
  };
  static constexpr uint32_t kMaxScalars = 68;  // 67 of a Concat of 15 inputs
  static constexpr uint32_t kMaxDefines = 16;
  uint64_t global[3] = {1, 1, 1};
  uint64_t local[3] = {0, 0, 0};  // 0: the driver chooses
  uint32_t scalars[kMaxScalars] = {};
  uint32_t scalar_count = 0;
  uint32_t local_bytes = 0;  // that the kernel function has for each work-group
  Define defines[kMaxDefines] = {};
  uint32_t define_count = 0;
  bool is_over = false;  // more was added than there is room for: check_step() refuses the step

  void add_int(int32_t value) { add_bits(static_cast<uint32_t>(value)); }
  void add_float(float value) { add_bits(__builtin_bit_cast(uint32_t, value)); }
  void add_bits(uint32_t bits) {
    if (scalar_count == kMaxScalars) is_over = true;
    if (!is_over) scalars[scalar_count++] = bits;
  }
  void define(const char* name, int32_t value) {
    if (define_count == kMaxDefines) is_over = true;
    if (!is_over) defines[define_count++] = {name, value};
  }
};

// No std::string_view: its comparison would be a symbol of the library.
constexpr bool is_symbol(const KernelInfo& kernel, const char* symbol) {
  return __builtin_strcmp(kernel.symbol, symbol) == 0;
}

// What must be known of an operator's kernels to run a step. One constant per kernels/<op>/, named
// k<Op>Contract. What else is known of them, and asked while planning only, is in step_work.h.
struct Contract {
  // Null if the kernel may run the step, else a static text that says what was expected, e.g.
  // "input rows of the part inside the operand".
  const char* (*check)(const StepShape& step, StepNeeds* out_needs);
  // GPU kernels only; the step has passed check().
  void (*launch)(const StepShape& step, ClLaunch* out_launch);
};

// One operand while a CPU kernel runs.
struct TensorView {
  void* data = nullptr;  // the first element held (row shape.row_begin of batch 0)
  OperandShape shape;
  int64_t strides[kMaxRank] = {};  // elements per step of each ONNX dim; see strides_of()
  template <typename T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

struct KernelArgs {
  const void* params = nullptr;
  const TensorView* operands = nullptr;  // the output is the last
  uint32_t operand_count = 0;
  SplitDim part_dim = SplitDim::None;
  Range part;
  const int32_t* tile = nullptr;
  uint32_t tile_count = 0;
  void* scratch = nullptr;  // of this worker
  void* shared = nullptr;   // of all workers
  int32_t phase = 0;
  int32_t task_begin = 0;  // run tasks [task_begin, task_end) of StepNeeds::task_count
  int32_t task_end = 0;
  bool continues = false;  // scratch is as this worker left it in others of these tasks and phase

  const TensorView& output() const { return operands[operand_count - 1]; }
  template <typename Params>
  const Params& params_as() const {
    return *static_cast<const Params*>(params);
  }
};

using CpuKernel = void (*)(const KernelArgs& args);

}  // namespace codl::kernels
