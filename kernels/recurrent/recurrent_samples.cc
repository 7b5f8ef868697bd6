#include "kernels/common/work/step_draw.h"
#include "kernels/recurrent/recurrent.h"

namespace codl::kernels {
namespace {

// Draws LSTM and GRU as exporters write them: a bias, the usual activations, mostly one sequence. A
// network that listens runs few steps at a time, and passes the states in.
bool draw_recurrent(StepDraw& draw) {
  RecurrentParams params;
  params.kind = draw.chance(0.6) ? kRecurrentLstm : kRecurrentGru;
  params.direction = draw.chance(0.3) ? 2 : 0;
  params.has_bias = 1;
  const bool is_gru = params.kind == kRecurrentGru;
  params.is_linear_before_reset = is_gru && draw.chance(0.7) ? 1 : 0;  // as PyTorch has it
  // Each direction has the gates' activation, then one or two others.
  params.activation_0 = kUnarySigmoid;
  (is_gru ? params.activation_2 : params.activation_3) = kUnarySigmoid;
  params.activation_1 = params.activation_4 = params.activation_5 = kUnaryTanh;
  (is_gru ? params.activation_3 : params.activation_2) = kUnaryTanh;
  const int32_t steps = draw.chance(0.3) ? 1 : draw.log_between(2, 200);
  const int32_t batch = draw.chance(0.8) ? 1 : draw.log_between(2, 16);
  const int32_t units = draw.chance(0.7) ? 32 * draw.between(1, 16) : draw.log_between(8, 640);
  const int32_t inputs = draw.chance(0.5) ? units : draw.log_between(16, 1024);
  const bool has_states = draw.chance(0.5);
  params.has_h0 = has_states ? 1 : 0;
  params.has_c0 = has_states && params.kind == kRecurrentLstm ? 1 : 0;

  const int32_t directions = recurrent_directions(params.direction);
  const int32_t rows = units * recurrent_gates(params.kind);
  const bool is_packed = draw.kernel_info().packing != PackingKind::None;
  const auto weights = [&](int32_t depth, uint32_t index) {
    return is_packed ? draw.packed({directions, rows, depth}, index)
                     : draw.plain({directions, rows, depth});
  };
  draw.set(params);
  draw.add(draw.plain({steps, batch, inputs}));
  draw.add(weights(inputs, 1));
  draw.add(weights(units, 2));
  draw.add(draw.plain({directions, 2 * rows}));
  for (int32_t has_state : {params.has_h0, params.has_c0})
    if (has_state != 0) draw.add(draw.plain({directions, batch, units}));
  draw.add(draw.plain({steps + 2, directions, batch, units}));
  return true;
}

}  // namespace

extern const StepSamples kRecurrentSamples;
const StepSamples kRecurrentSamples = {OpKind::Recurrent, draw_recurrent};

}  // namespace codl::kernels
