// What is asked of an operator's kernels while a plan or a profile is made, and never while a plan
// runs: what a step costs, and which tile to take. The runtime does not link it.
#pragma once

#include "kernels/common/check_step_shape.h"
#include "kernels/common/gpu_facts.h"

namespace codl::kernels {

// A named quantity that latency models weigh, e.g. {"mmacs_1x1", 12.8}. Names are documented in the
// op's header and used in profiles.
struct Feature {
  const char* name;
  double value;
};
inline constexpr uint32_t kMaxFeatures = 48;
struct Features {
  Feature items[kMaxFeatures];
  uint32_t count = 0;
  void add(const char* name, double value) {
    // Which are added is decided by the code alone, never by a file: a fault of this build.
    if (count == kMaxFeatures) __builtin_trap();
    items[count++] = {name, value};
  }
};

// What a profile may say of a row's tile.
//   Own    nothing: the numbers have a meaning of the row's, or its work-groups share local memory
//   Local  the local size: the first three numbers, which change no result
//   Gemm   among which tiles of gemm_tile.cl it chooses
enum class TileKind { Own, Local, Gemm };

// One constant per kernels/<op>/, named k<Op>Work, in <op>_work.cc. All steps have passed
// check_step().
struct OpWork {
  void (*features)(const StepShape& step, Features* out_features);
  // GPU rows only, null for most operators; the step has no tile, and passes check_step() with the
  // one that is given. Writes at most kMaxTileInts numbers and returns how many; 0: the defaults.
  // Of a Local row the first three are the local size; kernels::choose_tile() has the profile's in
  // their place. What decides the order of additions must not depend on the part.
  uint32_t (*choose_tile)(const StepShape& step, const GpuFacts& gpu, int32_t* out_tile) = nullptr;
  // GPU rows only; null: all are Local.
  TileKind (*tile_kind)(const KernelRow& row) = nullptr;
};

// ---- what operators have in common --------------------------------------------------------------

// The features every row without a model of its own is weighed by ("any_cpu" and "any_gpu" of a
// profile): mbytes, every operand once, and steps.
inline void add_traffic(const StepShape& step, Features* out_features) {
  double bytes = 0;
  for (uint32_t i = 0; i < step.operand_count; ++i) bytes += traffic_bytes(step.operands[i]);
  out_features->add("mbytes", bytes * 1e-6);
  out_features->add("steps", 1.0);
}

// mbytes: what is moved, read and written; of the inputs no more is touched. And steps.
inline void add_moved(const StepShape& step, Features* out_features) {
  const double elements = static_cast<double>(stored_elements(step.output()));
  out_features->add("mbytes", elements * moved_bytes(step) * 1e-6);
  out_features->add("steps", 1.0);
}

// The same of operands data and indices: what is moved, and the indices.
inline void add_gathered(const StepShape& step, Features* out_features) {
  const double bytes = 2.0 * traffic_bytes(step.output()) + traffic_bytes(step.operands[1]);
  out_features->add("mbytes", bytes * 1e-6);
  out_features->add("steps", 1.0);
}

}  // namespace codl::kernels
