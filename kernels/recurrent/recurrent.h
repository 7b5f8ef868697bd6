// Recurrent is ONNX's RNN, GRU and LSTM over a whole sequence.
//
//   x          [s, b, i]
//   w          [d, g*h, i]       g gates: Rnn 1, Gru 3 (z r h), Lstm 4 (i o f c); Packed is
//   r          [d, g*h, h]       [d][ceil(g*h/16)][i or h][16], zero past g*h: recurrent_pack()
//   bias       [d, 2*g*h]        if has_bias: of w, then of r
//   lengths    [b] (i64)         if has_lengths: steps of each sequence, clamped to [0, s]
//   h0         [d, b, h]         if has_h0, else zero
//   c0         [d, b, h]         if has_c0 (Lstm), else zero
//   peepholes  [d, 3*h]          if has_peepholes (Lstm): i o f
//   y          [s + 2, d, b, h]  the output of every step, zero behind the end of a sequence; the
//                                last hidden state; the last cell state (zero but for Lstm)
//
// All Plain; f32 but for lengths, or of recurrent_f32_cpu f16. direction 0: forward, 1: from the
// end to the beginning, 2: both (d = 2). The formulas are ONNX's; f, g, h are the activations,
// three for each direction (two Gru, one Rnn), members of Unary. clip > 0 bounds their arguments to
// [-clip, clip].
//
// Every hidden unit is computed at once, all gates of it, from the step before: y itself is the
// memory of the states, but for halves, whose states are floats in scratch memory: a sequence adds
// up what rounding takes from them. Sums are in float; their order depends on the shapes alone.
// Windows of rows and parts: none. y must not overlap the others. Nothing past the end is read.
//
// recurrent_any_cpu takes any weights. recurrent_f32_cpu takes packed ones, and computes some
// sequences of a direction together (RecurrentWork).
#pragma once

#include "kernels/common/contract/check_step_shape.h"
#include "kernels/common/gemm/packed_weights.h"

namespace codl::kernels {

constexpr int32_t recurrent_gates(int32_t kind) {
  return kind == kRecurrentLstm ? 4 : kind == kRecurrentGru ? 3 : 1;
}
constexpr int32_t recurrent_activations(int32_t kind) {
  return kind == kRecurrentLstm ? 3 : kind == kRecurrentGru ? 2 : 1;
}
// Names a member of Unary with its parameters.
struct RecurrentActivation {
  int32_t kind;
  float alpha;
  float beta;
};
// Returns the i-th activation: those of the first direction come before those of the second; i is
// below recurrent_activations() * recurrent_directions().
constexpr RecurrentActivation recurrent_activation(const RecurrentParams& params, int32_t i) {
  const RecurrentActivation all[] = {
      {params.activation_0, params.activation_alpha_0, params.activation_beta_0},
      {params.activation_1, params.activation_alpha_1, params.activation_beta_1},
      {params.activation_2, params.activation_alpha_2, params.activation_beta_2},
      {params.activation_3, params.activation_alpha_3, params.activation_beta_3},
      {params.activation_4, params.activation_alpha_4, params.activation_beta_4},
      {params.activation_5, params.activation_alpha_5, params.activation_beta_5},
  };
  return all[i];
}
constexpr int32_t recurrent_directions(int32_t direction) { return direction == 2 ? 2 : 1; }

// Says which operand is what; 0 means absent (operand 0 is x).
struct RecurrentOperands {
  uint32_t bias = 0;
  uint32_t lengths = 0;
  uint32_t h0 = 0;
  uint32_t c0 = 0;
  uint32_t peepholes = 0;
  uint32_t count = 3;  // without y
};

constexpr RecurrentOperands recurrent_operands(const RecurrentParams& params) {
  RecurrentOperands operands;
  const auto take = [&](int32_t is_there) { return is_there != 0 ? operands.count++ : 0; };
  operands.bias = take(params.has_bias);
  operands.lengths = take(params.has_lengths);
  operands.h0 = take(params.has_h0);
  operands.c0 = take(params.has_c0);
  operands.peepholes = take(params.has_peepholes);
  return operands;
}

// Says how recurrent_f32_cpu goes through a step. A task is a group of sequences in one direction:
// they share what is read of the weights. Products of the inputs of some steps are made ahead of
// them, as a product of matrices; those of the state step by step.
struct RecurrentWork {
  int64_t directions;
  int64_t groups;       // groups of sequences; sequences that have lengths are each by themselves
  int64_t group_batch;  // sequences of the largest group
  int64_t chunk_steps;  // steps whose inputs are multiplied at once
  // A row of sums has so many elements: those of all gates as whole panels, and as many after them
  // as a vector that begins at the last gate may reach.
  int64_t sum_stride;
  // A group has so many rows of scratch: for both biases, the gates of a chunk, and the state's
  // addends.
  int64_t scratch_rows;
  // If operands are halves, floats follow these rows: scratch_states for the hidden states, as many
  // for the cells, and scratch_peepholes for the peepholes.
  int64_t scratch_states;
  int64_t scratch_peepholes;

  constexpr int64_t scratch_floats() const {
    return scratch_rows * sum_stride + 2 * scratch_states + scratch_peepholes;
  }
  constexpr int64_t first_sequence(int64_t group, int64_t batch) const {
    return batch * group / groups;
  }
};

// Sums, gates and states between two steps are floats.
inline constexpr int32_t kRecurrentSumBytes = sizeof(float);

// Sequences times steps: they fill whole tiles of the micro-kernel on AVX3 and AVX2, and are enough
// for the weights' way from memory to be short beside their products.
inline constexpr int64_t kRecurrentRows = 42;

constexpr RecurrentWork recurrent_work(const RecurrentParams& params, const OperandShape& x,
                                       const OperandShape& y) {
  RecurrentWork work = {};
  const int64_t steps = x.dims[0];
  const int64_t batch = x.dims[1];
  work.directions = y.dims[1];
  work.groups = params.has_lengths != 0 ? batch : ceil_div(batch, kRecurrentRows);
  work.group_batch = ceil_div(batch, work.groups);
  const int64_t chunk = kRecurrentRows / work.group_batch;
  work.chunk_steps = chunk < steps ? chunk : steps;
  work.sum_stride =
      panel_channels(int64_t{y.dims[3]} * recurrent_gates(params.kind)) + kChannelPanel;
  work.scratch_rows = 2 + (work.chunk_steps + 1) * work.group_batch;
  if (x.dtype != DType::F16) return work;
  work.scratch_states = work.group_batch * y.dims[3];
  work.scratch_peepholes = int64_t{3} * y.dims[3];
  return work;
}

// `dims` are [d, g*h, i] or [d, g*h, h].
constexpr uint64_t recurrent_packed_elements(const int32_t* dims) {
  return static_cast<uint64_t>(dims[0]) * static_cast<uint64_t>(panel_channels(dims[1])) *
         static_cast<uint64_t>(dims[2]);
}

// Packs `src` (row-major, in the order of the dims) into recurrent_packed_elements() floats or
// Halves at `dst`.
template <typename Element>
void recurrent_pack(const int32_t* dims, const float* src, Element* dst);

void recurrent_ref(const KernelArgs& args);

}  // namespace codl::kernels
