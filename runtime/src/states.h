// Values that a run leaves for the next one.
#pragma once

#include "codl/codl.h"
#include "runtime/src/arena.h"
#include "schema/plan_fields.h"

namespace codl::rt {

// Holds two buffers for each state of an entry, which take turns: a run reads one and writes the
// other. So nothing is copied, and a run that fails or is cancelled leaves the state as it was, on
// whichever variant it is finished.
class States {
 public:
  // All elements are 0.
  codl_status_t create(const plan::EntryDef& entry, const codl_allocator_t& allocator,
                       codl_diag_t* diag);

  uint32_t count() const { return static_cast<uint32_t>(slots_.count()); }
  // Returns the state that an input or output of the entry is; count() if it is the application's.
  uint32_t of_input(size_t i) const { return count() == 0 ? 0 : state_of_io_[i]; }
  uint32_t of_output(size_t i) const { return count() == 0 ? 0 : state_of_io_[input_count_ + i]; }

  // The next run reads and writes these.
  uint8_t* input(uint32_t state) const { return slots_[state].data[turn_]; }
  uint8_t* output(uint32_t state) const { return slots_[state].data[1 - turn_]; }
  size_t bytes(uint32_t state) const { return slots_[state].bytes; }
  // Called after a run: what it wrote is what the next one reads.
  void turn() { turn_ = 1 - turn_; }
  void set_zero();

  const Arena& memory() const { return memory_; }
  // Keeps the memory for ever: a device may still write to it.
  void leave_memory() { memory_.leave(); }

 private:
  struct Slot {
    uint8_t* data[2] = {};
    size_t bytes = 0;
  };
  Arena memory_;
  Array<Slot> slots_;
  Array<uint32_t> state_of_io_;  // inputs come first, then outputs; empty without states
  size_t input_count_ = 0;
  int turn_ = 0;
};

}  // namespace codl::rt
