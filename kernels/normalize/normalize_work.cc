#include <cmath>

#include "kernels/common/work/work_counts.h"
#include "kernels/normalize/normalize.h"

namespace codl::kernels::normalize {
namespace {

// A group goes three times through the texels of its channels: for the mean, for the squares, and
// for the results; two times where the mean is known.
void texel_work(const StepShape& step, const WorkMachine& machine, StepWork* out) {
  const OperandShape& x = step.operands[0];
  const double passes = step.params_as<NormalizeParams>().is_rms != 0 ? 2 : 3;
  const double pixels = double{1} * x.dims[2] * x.dims[3];
  const double elements = static_cast<double>(part_elements(step));
  const double channels = channels_of_part(step.part_dim, step.part, x).count();
  out->operations = 5 * elements;  // an element takes a distance, sums and squares, factor and
                                   // shift
  out->transcendentals = 2 * elements / pixels;
  add_curve(step.params_as<NormalizeParams>().activation, elements, machine, out);
  const double x_bytes = elements * element_bytes(x);
  double other_bytes = 0;
  for (uint32_t i = 1; i + 1 < step.operand_count; ++i)
    other_bytes += traffic_bytes(step.operands[i]) * channels / x.dims[1];
  out->run_bytes = kChannelPad * element_bytes(x);
  out->moved_bytes = passes * x_bytes + other_bytes + written_bytes(step);
  const double items = normalize_texel_items(x);
  out->tile_calls = out->waves * passes * std::ceil(pixels / (items * kNormalizeTexels));
  out->item_registers = (kNormalizeTexels + 2) * kChannelPad;  // and a mean and a sum
  WorkMemory memory(step, machine, out);
  memory.read_channels(x_bytes);
  memory.read(other_bytes);
  memory.write(written_bytes(step));
  memory.again((passes - 1) * x_bytes, x_bytes / x.dims[0]);
  memory.finish();
}

void work(const StepShape& step, const WorkMachine& machine, StepWork* out) {
  if (step.kernel->layout == Layout::Image2d) return texel_work(step, machine, out);
  const OperandShape& x = step.operands[0];
  const NormalizeWork work = normalize_work(step);
  const int32_t activation = step.params_as<NormalizeParams>().activation;
  double share = 1;  // share of the channels
  if (step.part_dim == SplitDim::OutputChannel) share = double{1} * step.part.count() / x.dims[1];
  const double elements = static_cast<double>(element_count(x)) * share;
  const double means = elements / static_cast<double>(work.element_count);
  // Counts distances, sums and squares; factor and shift.
  out->operations = 5 * elements;
  out->transcendentals = 2 * means;  // a root and a quotient
  const double x_bytes = static_cast<double>(part_elements(step)) * element_bytes(x);
  double other_bytes = 0;
  for (uint32_t i = 1; i + 1 < step.operand_count; ++i)
    other_bytes += traffic_bytes(step.operands[i]) * share;
  // Between an element's two uses lie the elements of its mean and of the means beside it.
  const double lanes = work.has_kept_lanes ? static_cast<double>(work.lanes) : 1;
  const double set_bytes = static_cast<double>(work.element_count) * lanes * element_bytes(x);
  if (step.kernel->is_reference()) {
    add_curve(activation, elements, machine, out);
    return fill_loops(step, machine, 4, x_bytes + other_bytes, out);
  }
  const NormalizeItems items = is_cpu(step) ? NormalizeItems{} : normalize_items(work);
  out->run_bytes = static_cast<double>(work.lanes) * element_bytes(x);
  out->moved_bytes = 2 * x_bytes + other_bytes + written_bytes(step);
  out->tile_calls = 2 * elements / static_cast<double>(work.lanes);
  if (is_cpu(step)) {
    out->phases = work.line_blocks > 0 ? 2 : 1;
    fill_tasks(work.units, work.task_count, machine, out);
    const double lanes_of_vector = machine.vector_lanes;
    if (!work.has_kept_lanes) {
      // The last vector of a line counts as a whole one. For a mean, eight sums become one of each,
      // joined in doubles, and there are a quotient, a root and a quotient of short vectors.
      const double lines = elements / static_cast<double>(work.lanes);
      const double whole = std::ceil(static_cast<double>(work.lanes) / lanes_of_vector);
      out->operations = (5 * lines * whole + 40 * means) * lanes_of_vector;
      out->transcendentals = 3 * 4 * means;
    }
  } else {
    const double pieces = static_cast<double>(work.element_count) / items.width;
    // Pieces that are held are all loaded at once, in one pass.
    if (items.held > 0) out->moved_bytes -= x_bytes;
    out->tile_calls = out->waves * (items.held > 0 ? 1 : 2 * std::ceil(pieces / items.rows()));
    out->item_registers = 2 * items.held * items.width;  // x, and scale or bias
  }
  add_curve(activation, elements, machine, out);
  // Limits are in the loop that writes columns; a CPU kernel else activates what it has written.
  const bool is_limit = activation == kUnaryRelu || activation == kUnaryClip;
  if (is_cpu(step) && activation != kUnaryIdentity && !(is_limit && work.has_kept_lanes))
    out->moved_bytes += 2 * x_bytes;
  const double workers = is_cpu(step) ? smaller(machine.threads, out->tasks) : 1;
  WorkMemory memory(step, machine, out);
  memory.read_channels(x_bytes);
  memory.read(other_bytes, workers);
  memory.write(written_bytes(step));
  if (items.held == 0)
    memory.again(x_bytes, smaller(set_bytes, x_bytes) / (work.line_blocks > 0 ? workers : 1));
  memory.finish();
}

}  // namespace

extern const OpWork kWork;
const OpWork kWork = {KernelFamily::Reduction, work, nullptr, TileKind::Own};

}  // namespace codl::kernels::normalize
