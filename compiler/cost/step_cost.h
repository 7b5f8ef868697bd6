// Predicts the time of a step on a machine: a sum of terms, each a physical time multiplied by the
// share that nothing hides (docs/design/cost_model.md).
#pragma once

#include <cstdint>

#include "compiler/cost/machine.h"

namespace codl::compiler {

// Lists the terms of a step's time. The machine says how long each takes alone.
enum class Term : uint8_t {
  Compute,     // multiply-adds at the peak rate
  Operations,  // other vector operations, at the same rate
  Special,     // divisions, roots and exponentials on a GPU
  Gathers,     // single elements
  L1,          // loads and stores of the first-level cache
  L2,          // bytes from beyond it
  LastLevel,   // bytes from beyond the second level
  Memory,      // from beyond the last
  Read,        // input bytes read from memory, each once
  Written,     // output bytes written to memory, each once
  Weights,     // packed weights once, from memory
  Cold,        // those bytes that no cache kept since the run before
  Calls,       // the innermost loop's: a CPU's tiles; a GPU's steps, a cycle each
  Chain,       // GPU: steps that wait for the one before, rounds of groups one after the other
  Rounds,      // GPU: rounds of groups, each waits for memory once
  Waves,       // GPU: waves that a unit starts
  Start,       // CPU: waking the workers, once per phase; GPU: launches
  Step,        // 1 microsecond: what no count says
};
inline constexpr int kTermCount = static_cast<int>(Term::Step) + 1;
// These are the names in profiles and reports.
inline constexpr const char* kTermNames[kTermCount] = {
    "compute",    "operations", "special", "gathers", "l1",      "l2",
    "last_level", "memory",     "read",    "written", "weights", "cold",
    "calls",      "chain",      "rounds",  "waves",   "start",   "step"};

struct TermTimes {
  double us[kTermCount] = {};  // indexed by Term
  // Counts what the step reads and writes beyond the last cache of its processor, beside the terms.
  // Maps that fit there together are assumed to be there.
  double memory_bytes = 0;

  double& operator[](Term term) { return us[static_cast<int>(term)]; }
  double operator[](Term term) const { return us[static_cast<int>(term)]; }
};

// Return each term alone; none hides another. With `has_warm_weights`, caches keep the weights from
// run to run.
TermTimes cpu_times(const kernels::StepWork& work, const CpuMachine& machine, int32_t threads,
                    bool has_warm_weights);
TermTimes gpu_times(const kernels::StepWork& work, const GpuMachine& machine, bool is_a_processor,
                    bool has_warm_weights);

// Returns the terms of a step that has passed check_step(). A GPU step without tile numbers gets
// those that codlc would choose.
TermTimes times_of(const kernels::StepShape& step, const Machine& machine,
                   const kernels::GpuFacts& gpu, bool has_warm_weights);

}  // namespace codl::compiler
