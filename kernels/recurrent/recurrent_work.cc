#include "kernels/common/work/work_counts.h"
#include "kernels/recurrent/recurrent.h"

namespace codl::kernels::recurrent {
namespace {

// Plain loops.
void count_reference(const StepShape& step, const WorkMachine& machine, StepWork* out) {
  const auto& params = step.params_as<RecurrentParams>();
  // A curve for each gate and one for the state: an LSTM has five, a GRU three.
  const auto elements = static_cast<double>(element_count(step.output()));
  const double curves = params.kind == kRecurrentLstm ? 5 : params.kind == kRecurrentRnn ? 1 : 3;
  out->macs = out->needed_macs;
  out->transcendentals = 2 * curves * elements;
  out->operations = 2 * curves * elements;
  fill_loops(step, machine, 2 * out->macs / elements, all_read_bytes(step), out);
}

// Counts the gates on vectors. `elements`: of the states of all steps.
void count_gates(const RecurrentParams& params, double elements, const WorkMachine& machine,
                 StepWork* out) {
  const int32_t directions = recurrent_directions(params.direction);
  const int32_t count = recurrent_activations(params.kind);
  const bool is_lstm = params.kind == kRecurrentLstm;
  const bool is_gru = params.kind == kRecurrentGru;
  for (int32_t i = 0; i < directions * count; ++i) {
    const double gates = i % count != 0 ? 1 : is_lstm ? 3 : is_gru ? 2 : 1;
    add_curve(recurrent_activation(params, i).kind, gates * elements / directions, machine, out);
  }
  // A gate costs a sum and two limits. An LSTM's cell costs a product, a multiply-add, two limits,
  // and the product of the state; a GRU costs the product that resets, and three of the state.
  const double gates = recurrent_gates(params.kind);
  const double others = is_lstm ? 5 : is_gru ? 4 : 0;
  out->operations += elements * (3 * gates + others + (params.has_peepholes != 0 ? 3 : 0));
  // Floats moved: a gate adds two and stores one, and its curve loads and stores; an LSTM moves
  // nine more for the cell and the state, and a curve; a GRU seven.
  out->moved_bytes += elements * (5 * gates + (is_lstm ? 11 : is_gru ? 7 : 0)) * kRecurrentSumBytes;
}

// Returns a product of sequences, or steps and sequences, with the panels of one direction's
// weights. A row begins `stride` inputs of `input_bytes` after the one before.
PanelProduct product_of(int64_t runs, int64_t rows, int64_t stride, int64_t input_bytes,
                        const OperandShape& weights, const PanelTileSize& size) {
  const int64_t columns = weights.dims[1];
  PanelProduct product;
  product.runs = static_cast<double>(runs);
  product.pixels = rows;
  product.tile_pixels = size.pixels_for(stride * input_bytes, size.most_pixels(columns));
  product.panels = ceil_div(columns, kChannelPanel);
  product.most_panels = rows == 1 || size.pixels == 1 ? size.row_panels : size.panels;
  product.lanes =
      static_cast<double>(product.panels - 1) * kChannelPanel + size.last_lanes(columns);
  product.depth = weights.dims[2];
  product.input_bytes = static_cast<double>(input_bytes);
  product.weight_bytes = element_bytes(weights);
  return product;
}

void count_panel_work(const StepShape& step, const WorkMachine& machine, StepWork* out) {
  const auto& params = step.params_as<RecurrentParams>();
  const OperandShape& x = step.operands[0];
  const OperandShape& w = step.operands[1];
  const OperandShape& r = step.operands[2];
  const OperandShape& y = step.output();
  const PanelTileSize size = panel_tile_size(machine.vector_lanes);
  const RecurrentWork work = recurrent_work(params, x, y);
  const int64_t steps = x.dims[0];
  const int64_t inputs = x.dims[2];
  const int64_t units = y.dims[3];
  const int64_t chains = work.directions * work.groups;

  const int64_t x_stride = work.group_batch == 1 ? x.dims[1] * inputs : inputs;
  const int64_t whole_chunks = steps / work.chunk_steps;
  const int64_t rest = steps % work.chunk_steps;
  const auto inputs_of = [&](int64_t runs, int64_t rows) {
    return count_panels(product_of(runs, rows, x_stride, element_bytes(x), w, size), size);
  };
  PanelCounts counts = inputs_of(chains * whole_chunks, work.chunk_steps * work.group_batch);
  counts.add(inputs_of(chains, rest * work.group_batch));
  const double input_tiles = counts.tiles;
  // A state of zeros is not multiplied.
  const int64_t state_steps = params.has_h0 != 0 ? steps : steps - 1;
  const PanelTileSize state_size = r.dtype == DType::F16 ? row_tile_size(size) : size;
  const PanelCounts of_state = count_panels(
      product_of(chains * state_steps, work.group_batch, units, kRecurrentSumBytes, r, state_size),
      state_size);
  counts.add(of_state);
  out->macs = counts.macs;
  out->moved_bytes += counts.moved_bytes;
  out->tile_calls = counts.calls;
  out->run_bytes = static_cast<double>(work.group_batch * units) * element_bytes(y);
  count_gates(params, static_cast<double>(work.directions * steps * x.dims[1] * units), machine,
              out);
  fill_tasks(chains, static_cast<int32_t>(chains), machine, out);

  // These are bytes of one direction.
  const auto directions = static_cast<double>(work.directions);
  const double w_bytes = static_cast<double>(w.bytes) / directions;
  const double r_bytes = static_cast<double>(r.bytes) / directions;
  const double row_bytes = static_cast<double>(work.sum_stride) * kRecurrentSumBytes;
  const double chunk_bytes =
      static_cast<double>(work.chunk_steps * work.group_batch) *
      (row_bytes + double{1} * element_bytes(x) * static_cast<double>(inputs));
  const double step_bytes = 2.0 * static_cast<double>(work.group_batch) * row_bytes;
  const int64_t panel_bytes = inputs * kChannelPanel * element_bytes(w);
  const auto pass_bytes =
      static_cast<double>(size.pass_panels(panel_bytes, size.panels) * panel_bytes);
  const auto runs = static_cast<double>(chains * ceil_div(steps, work.chunk_steps));
  // Each worker in a direction reads its weights.
  const double sharers =
      larger(smaller(machine.threads, static_cast<double>(chains)) / directions, 1);
  double read_bytes = 0;
  for (uint32_t i = 0; i + 1 < step.operand_count; ++i)
    if (i < 1 || i > 2) read_bytes += traffic_bytes(step.operands[i]);
  WorkMemory memory(step, machine, out);
  memory.read(read_bytes, directions);
  memory.weights(directions * (w_bytes + r_bytes), sharers);
  memory.write(written_bytes(step));
  memory.scratch(static_cast<double>(work.scratch_floats()) * kRecurrentSumBytes);
  // The tiles of a chunk, and the next chunk, read the weights of the inputs again; each step reads
  // those of the state.
  memory.again(larger(input_tiles - runs, 0) * w_bytes, smaller(w_bytes, pass_bytes));
  memory.again(larger(runs - directions, 0) * w_bytes, w_bytes + r_bytes + chunk_bytes);
  memory.again(larger(of_state.tiles - directions, 0) * r_bytes, r_bytes + step_bytes);
  memory.finish();
}

void work(const StepShape& step, const WorkMachine& machine, StepWork* out) {
  const OperandShape& x = step.operands[0];
  const double weights = static_cast<double>(element_count(step.operands[1])) +
                         static_cast<double>(element_count(step.operands[2]));
  // Each step of each sequence passes all weights.
  out->needed_macs = weights * x.dims[0] * x.dims[1];
  if (step.kernel->is_reference()) return count_reference(step, machine, out);
  count_panel_work(step, machine, out);
}

}  // namespace

extern const OpWork kWork;
const OpWork kWork = {KernelFamily::Product, work};

}  // namespace codl::kernels::recurrent
