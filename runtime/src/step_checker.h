// Computes again on the CPU what a GPU step has computed, now and then, and compares.
//
// A GPU kernel and the CPU kernels of its operator with the same packing read the same weights, and
// an image's bytes are those of the layout Nhwc. So a check needs nothing of a plan but the step:
// when it is complete its inputs, which its output shares no byte with (verify_plan), and its
// output are copied to the host, one slice of the output's rows after the other. Steps whose output
// lies in their input compute nothing and are left out.
#pragma once

#include <cstdint>

#include "codl/codl.h"
#include "runtime/src/arena.h"
#include "runtime/src/cpu_job.h"
#include "runtime/src/cpu_pool.h"
#include "runtime/src/gpu_memory.h"
#include "runtime/src/gpu_queue.h"
#include "runtime/src/plan.h"
#include "runtime/src/step_list.h"

namespace codl::rt {

struct StepCheckerInputs {
  const codl_plan* plan = nullptr;
  const plan::VariantDef* variant = nullptr;
  GpuTensors memory;
  GpuQueue* gpu = nullptr;
  CpuPool* pool = nullptr;
  uint32_t every = 1;  // runs
};

class StepChecker {
 public:
  StepChecker() = default;
  StepChecker(const StepChecker&) = delete;
  StepChecker& operator=(const StepChecker&) = delete;

  // Everything given is borrowed and must outlive this. Call once per object.
  codl_status_t create(const codl_allocator_t& allocator, const StepCheckerInputs& inputs,
                       codl_diag_t* diag);

  // Returns the GPU step that the run which begins shall check, one after the other; kNoStep: none.
  uint32_t begin_run();

  // Checks that step when it is complete and nothing behind it has begun: computes all of its rows.
  // WRONG_RESULT if the CPU computes something else.
  codl_status_t check(codl_diag_t* diag);

  // Runs every step that can be checked, by itself, on several inputs, and compares all of its
  // rows. Overwrites the memory of the variant, which the next run writes before it reads. Calls
  // `report` once for each step; WRONG_RESULT, and the first difference in `diag`, if there is any.
  codl_status_t test_all(const StepList& steps, codl_step_report_t report, void* context,
                         codl_diag_t* diag);

  uint32_t step_count() const { return static_cast<uint32_t>(checked_.count()); }
  // Gives nothing back that a device may still write to.
  void leave_memory() { memory_.leave(); }
  // Both hold what the checks need.
  const Arena& memory() const { return memory_; }
  const Arena& widened() const { return widened_; }

 private:
  struct Checked {
    uint32_t step = 0;
    const KernelInfo* kernel = nullptr;  // the CPU's
  };
  // Holds a slice of a step, as the CPU computes it, and where its operands are in `memory_`.
  struct Slice {
    kernels::StepShape shape;
    kernels::OperandShape operands[kernels::kMaxOperands];
    kernels::StepNeeds needs;
    ScratchSizes scratch;
    Range rows;                            // rows of the output
    size_t places[kernels::kMaxOperands];  // places of inputs; weights have none
    size_t expected = 0;                   // the output as the CPU computes it,
    size_t perturbed = 0;                  // the same for inputs that are a little different,
    size_t found = 0;                      // and as the GPU did
    size_t scratch_place = 0;
    uint64_t total_bytes = 0;
  };

  const plan::StepDef& step_of(const Checked& checked) const;
  const plan::TensorDef& tensor_of(const plan::StepDef& step, uint32_t operand) const;
  bool is_constant(const plan::StepDef& step, uint32_t operand) const;
  size_t widened_bytes(const plan::StepDef& step, uint32_t operand) const;
  uint8_t* constant_data(const plan::StepDef& step, uint32_t operand) const;
  void widen_constants(const plan::StepDef& step) const;
  Range all_rows(const plan::StepDef& step) const;
  bool find_cpu_kernel(Checked& checked, uint64_t* out_most, uint64_t* out_least);
  bool cut(const Checked& checked, Range rows);
  bool narrow(uint32_t operand);
  void place(const plan::StepDef& step);
  Range cut_from(const Checked& checked, int32_t begin);
  codl_status_t copy_slice(codl_diag_t* diag);
  codl_status_t compare(codl_diag_t* diag);
  codl_status_t test(const Checked& checked, const GpuKernel& kernel, uint32_t pattern,
                     codl_diag_t* diag);
  codl_status_t write_inputs(const plan::StepDef& step, uint32_t pattern, codl_diag_t* diag);
  codl_status_t write(uint32_t tensor, uint32_t pattern, codl_diag_t* diag);
  codl_status_t read(uint32_t tensor, Range rows, size_t place, codl_diag_t* diag);
  void widen_read(uint32_t tensor, const kernels::OperandShape& shape, size_t place);
  void compute(size_t output);
  size_t first_beyond(float most, size_t other) const;
  float limit(size_t other) const;
  bool is_half_output() const;
  bool adds_halves() const;
  float* floats(size_t place) const { return reinterpret_cast<float*>(memory_.data() + place); }

  StepCheckerInputs inputs_;
  Array<Checked> checked_;
  Arena memory_;
  Arena widened_;  // the constants of one step that are halves in the plan, as floats
  Slice slice_;
  uint32_t current_ = 0;  // index into checked_
  uint32_t runs_ = 0;     // since the last check
};

}  // namespace codl::rt
