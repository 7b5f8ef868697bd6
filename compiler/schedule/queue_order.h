// Brings a schedule's steps into the order the runtime walks, and works out the waits.
#pragma once

#include "compiler/schedule/schedule.h"

namespace codl::compiler {

// Lists queues in the order in which their next steps are listed: the runtime enqueues first and
// computes the CPU's work then.
inline constexpr Queue kEnqueueFirst[] = {Queue::Gpu, Queue::Transfer, Queue::Cpu};

// Takes steps in an order that is right if executed one by one, and makes an equivalent list:
//   - each queue keeps its own order;
//   - GPU and transfer steps stand as early as their waits allow (the runtime enqueues them before
//     it starts the CPU's work);
//   - every step waits for the last step of each other queue that it conflicts with, unless its own
//     queue waited for that before.
void order_queues(const ir::Graph& graph, Schedule& schedule);

// Gives each wait between the CPU and the GPU the kind that takes less on the device, and has GPU
// steps recorded where that takes less.
void choose_host_calls(Variant& variant, const TransferCosts& transfer);

}  // namespace codl::compiler
