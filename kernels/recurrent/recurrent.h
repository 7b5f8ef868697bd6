// Recurrent: ONNX's RNN, GRU and LSTM over a whole sequence.
//
//   x          [s, b, i]
//   w          [d, g*h, i]       g gates: Rnn 1, Gru 3 (z r h), Lstm 4 (i o f c)
//   r          [d, g*h, h]
//   bias       [d, 2*g*h]        if has_bias: of w, then of r
//   lengths    [b] (i64)         if has_lengths: steps of each sequence, clamped to [0, s]
//   h0         [d, b, h]         if has_h0, else zero
//   c0         [d, b, h]         if has_c0 (Lstm), else zero
//   peepholes  [d, 3*h]          if has_peepholes (Lstm): i o f
//   y          [s + 2, d, b, h]  the output of every step, zero behind the end of a sequence; the
//                                last hidden state; the last cell state (zero but for Lstm)
//
// All Plain; f32 but for lengths. direction 0: forward, 1: from the end to the beginning, 2: both
// (d = 2). The formulas are ONNX's; f, g, h are the activations, three for each direction (two Gru,
// one Rnn), members of Unary. clip > 0 bounds their arguments to [-clip, clip].
//
// Every hidden unit is computed at once, all gates of it, from the step before: y itself is the
// memory of the states. Sums are in float; their order depends on the shapes alone.
// Windows of rows and parts: none. y must not overlap the others. Nothing past the end is read.
#pragma once

#include "kernels/common/contract/check_step_shape.h"

namespace codl::kernels {

constexpr int32_t recurrent_gates(int32_t kind) {
  return kind == kRecurrentLstm ? 4 : kind == kRecurrentGru ? 3 : 1;
}
constexpr int32_t recurrent_activations(int32_t kind) {
  return kind == kRecurrentLstm ? 3 : kind == kRecurrentGru ? 2 : 1;
}
constexpr int32_t recurrent_directions(int32_t direction) { return direction == 2 ? 2 : 1; }

// Which operand is what; 0: absent (operand 0 is x).
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

void recurrent_ref(const KernelArgs& args);

}  // namespace codl::kernels
