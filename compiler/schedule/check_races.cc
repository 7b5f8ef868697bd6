// Checks a schedule independently of how it was made; schedule.h says what must hold.
#include <algorithm>

#include "compiler/schedule/step_access.h"
#include "compiler/schedule/step_order.h"
#include "compiler/support/error.h"
#include "llvm/ADT/STLExtras.h"

namespace codl::compiler {
namespace {

struct Touch {
  StepId step;
  Region region;
  bool is_write;
};

std::string describe(const Schedule& schedule, StepId id) {
  return llvm::formatv("step {0} ({1})", id, schedule.steps[id].name).str();
}

// Returns true if the parts cover `region`: each cell of the grid that all regions' edges draw in
// it lies in one of them.
bool covers(llvm::ArrayRef<Region> parts, const Region& region) {
  std::vector<int32_t> rows = {region.rows.begin};
  std::vector<int32_t> channels = {region.channels.begin};
  for (const Region& part : parts) {
    for (int32_t edge : {part.rows.begin, part.rows.end})
      if (region.rows.begin < edge && edge < region.rows.end) rows.push_back(edge);
    for (int32_t edge : {part.channels.begin, part.channels.end})
      if (region.channels.begin < edge && edge < region.channels.end) channels.push_back(edge);
  }
  // The first row and channel of a cell identify it.
  for (int32_t row : rows)
    for (int32_t channel : channels)
      if (std::none_of(parts.begin(), parts.end(), [&](const Region& part) {
            return part.rows.contains({row, row + 1}) &&
                   part.channels.contains({channel, channel + 1});
          }))
        return false;
  return true;
}

llvm::Error check_tensor(const Schedule& schedule, const Tensor& tensor, llvm::StringRef name,
                         llvm::ArrayRef<Touch> touches, const StepOrder& order) {
  std::vector<Touch> writes;
  llvm::copy_if(touches, std::back_inserter(writes), [](const Touch& t) { return t.is_write; });
  for (const Touch& a : writes)
    for (const Touch& b : touches) {
      if (!a.region.overlaps(b.region) || a.step == b.step) continue;
      if (!order.happens_before(a.step, b.step) && !order.happens_before(b.step, a.step))
        return internal_error(name, "expected an order between {0} and {1}, found none",
                              describe(schedule, std::min(a.step, b.step)),
                              describe(schedule, std::max(a.step, b.step)));
    }
  if (tensor.storage == Storage::Input || tensor.storage == Storage::Weights)
    return llvm::Error::success();
  for (const Touch& read : touches) {
    if (read.is_write) continue;
    llvm::SmallVector<Region, 8> written;
    for (const Touch& write : writes)
      if (order.happens_before(write.step, read.step)) written.push_back(write.region);
    if (!covers(written, read.region))
      return internal_error(name, "expected all that {0} reads to be written before, found a gap",
                            describe(schedule, read.step));
  }
  return llvm::Error::success();
}

}  // namespace

llvm::Error check_races(const ir::Graph& graph, const Schedule& schedule) {
  for (StepId id = 0; id < schedule.steps.size(); ++id)
    for (StepId wait : schedule.steps[id].waits)
      if (wait >= id || schedule.steps[wait].queue == schedule.steps[id].queue)
        return internal_error(describe(schedule, id),
                              "expected waits on earlier steps of other queues, found {0}", wait);

  const StepOrder order(schedule);
  std::vector<std::vector<Touch>> touches(schedule.tensors.size());
  for (StepId id = 0; id < schedule.steps.size(); ++id) {
    const Step& step = schedule.steps[id];
    // Map and Unmap move no data: they are ordered like writes (below) but fill nothing.
    if (step.kind == StepKind::Map || step.kind == StepKind::Unmap) continue;
    for (const Access& access : accesses_of(graph, schedule, id))
      touches[access.tensor].push_back({id, access.region, access.is_write});
  }
  for (TensorId tensor = 0; tensor < schedule.tensors.size(); ++tensor)
    if (llvm::Error error = check_tensor(schedule, schedule.tensors[tensor],
                                         schedule.tensors[tensor].name, touches[tensor], order))
      return error;

  // The host touches a mapped tensor only between its Map and its Unmap.
  std::vector<std::vector<StepId>> host_steps(schedule.tensors.size());  // indexed by tensor
  for (StepId id = 0; id < schedule.steps.size(); ++id)
    if (schedule.steps[id].queue == Queue::Cpu)
      for (TensorId tensor : schedule.steps[id].operands) host_steps[tensor].push_back(id);
  for (StepId id = 0; id < schedule.steps.size(); ++id) {
    const Step& step = schedule.steps[id];
    if (step.kind != StepKind::Map && step.kind != StepKind::Unmap) continue;
    for (StepId other : host_steps[step.operands[0]]) {
      if (!order.happens_before(id, other) && !order.happens_before(other, id))
        return internal_error(describe(schedule, other),
                              "expected an order to the map or unmap at step {0}", id);
    }
  }
  return llvm::Error::success();
}

}  // namespace codl::compiler
