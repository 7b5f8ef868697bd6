// Covers every kind and direction, with and without the optional operands, with weights as they are
// and packed. Packed ones also have units around panels and vectors, batches around a group, and
// sequences around a chunk. Lengths are random: some are negative, some beyond the sequence.
#pragma once

#include "kernels/recurrent/recurrent.h"
#include "test/kernels/kernel_case.h"

namespace codl::test {

struct RecurrentSizes {
  int32_t steps = 5;
  int32_t batch = 3;
  int32_t inputs = 9;
  int32_t units = 4;
};

inline KernelCase make_recurrent_case(const char* name, const RecurrentParams& params,
                                      const RecurrentSizes& sizes, bool is_packed) {
  const auto [steps, batch, inputs, units] = sizes;
  const int32_t directions = kernels::recurrent_directions(params.direction);
  const int32_t rows = units * kernels::recurrent_gates(params.kind);
  const auto weights = [&](int32_t depth) {
    return is_packed ? packed_operand({directions, rows, depth})
                     : plain_operand({directions, rows, depth});
  };
  KernelCase item{name,
                  OpKind::Recurrent,
                  words_of(params),
                  {plain_operand({steps, batch, inputs}), weights(inputs), weights(units)}};
  std::vector<OperandShape>& operands = item.operands;
  if (params.has_bias != 0) operands.push_back(plain_operand({directions, 2 * rows}));
  if (params.has_lengths != 0) operands.push_back(typed_operand(DType::I64, {batch}));
  for (int32_t has_state : {params.has_h0, params.has_c0})
    if (has_state != 0) operands.push_back(plain_operand({directions, batch, units}));
  if (params.has_peepholes != 0) operands.push_back(plain_operand({directions, 3 * units}));
  operands.push_back(plain_operand({steps + 2, directions, batch, units}));
  return item;
}

inline RecurrentParams recurrent_params(int32_t kind, int32_t direction) {
  RecurrentParams params;
  params.kind = kind;
  params.direction = direction;
  params.activation_0 = params.activation_3 = kUnarySigmoid;
  params.activation_1 = params.activation_2 = params.activation_4 = params.activation_5 =
      kUnaryTanh;
  return params;
}

inline std::vector<KernelCase> recurrent_cases() {
  constexpr int32_t kKinds[] = {kRecurrentRnn, kRecurrentGru, kRecurrentLstm};
  std::vector<KernelCase> cases;
  for (int32_t kind : kKinds)
    for (int32_t direction : {0, 1, 2})
      for (int32_t has_all : {0, 1})
        for (bool is_packed : {false, true}) {
          RecurrentParams params = recurrent_params(kind, direction);
          params.has_bias = params.has_lengths = params.has_h0 = has_all;
          params.has_c0 = params.has_peepholes = kind == kRecurrentLstm ? has_all : 0;
          params.is_linear_before_reset = params.is_input_forget = has_all;
          params.clip = 0.5f * static_cast<float>(has_all);
          cases.push_back(make_recurrent_case("sequence", params, {}, is_packed));
        }

  const auto add = [&](const char* name, const RecurrentParams& params, RecurrentSizes sizes) {
    cases.push_back(make_recurrent_case(name, params, sizes, true));
  };
  for (int32_t kind : kKinds) {
    for (int32_t units : {1, 5, 16, 17, 24, 130})
      for (int32_t batch : {1, 2}) {
        // Units fill panels wholly or in part. The GRU resets its state before the product in the
        // first case and after it in the second.
        RecurrentParams params = recurrent_params(kind, batch == 1 ? 0 : 2);
        params.has_bias = params.has_h0 = 1;
        add("units", params, {.steps = 3, .batch = batch, .inputs = 11, .units = units});
        params.is_linear_before_reset = params.is_input_forget = 1;
        params.has_bias = params.has_h0 = 0;
        add("units", params, {.steps = 3, .batch = batch, .inputs = 3, .units = units});
      }
    for (int32_t direction : {0, 1}) {
      RecurrentParams params = recurrent_params(kind, direction);
      params.has_bias = 1;
      for (int32_t steps : {1, 2, 42, 43, 90})
        add("steps", params, {.steps = steps, .batch = 1, .inputs = 7, .units = 6});
      for (int32_t batch : {14, 21, 42, 43, 90})
        add("batch", params, {.steps = 4, .batch = batch, .inputs = 7, .units = 6});
      params.has_lengths = 1;
      add("lengths", params, {.steps = 50, .batch = 6, .inputs = 7, .units = 6});
    }
    // Uses a stride of inputs that first-level caches handle badly.
    add("inputs", recurrent_params(kind, 0), {.steps = 9, .inputs = 1024, .units = 3});
  }

  for (int32_t activation :
       {kUnaryRelu, kUnaryTanh, kUnarySigmoid, kUnaryLeakyRelu, kUnaryThresholdedRelu,
        kUnaryHardSigmoid, kUnaryElu, kUnarySoftsign, kUnarySoftplus})
    for (int32_t kind : kKinds) {
      RecurrentParams params = recurrent_params(kind, 0);
      params.activation_0 = params.activation_1 = params.activation_2 = activation;
      params.activation_alpha_0 = params.activation_alpha_1 = params.activation_alpha_2 = 0.2f;
      params.activation_beta_0 = params.activation_beta_1 = params.activation_beta_2 = 0.5f;
      // Otherwise some states grow from step to step, and cancellation leaves only rounding errors.
      params.clip = 1.5f;
      add("activation", params, {.steps = 3, .units = 18});
    }
  // The second direction has other activations than the first.
  for (int32_t kind : kKinds) {
    RecurrentParams params = recurrent_params(kind, 2);
    params.activation_0 = params.activation_2 = kUnarySoftsign;
    params.activation_1 = params.activation_5 = kUnaryElu;
    params.activation_alpha_1 = params.activation_alpha_5 = 0.3f;
    add("activations of each direction", params, {});
  }

  for (int32_t option : {0, 1, 2, 3}) {
    RecurrentParams params = recurrent_params(kRecurrentLstm, 2);
    params.has_peepholes = option == 0 || option == 3 ? 1 : 0;
    params.clip = option == 1 || option == 3 ? 0.3f : 0.0f;
    params.is_input_forget = option == 2 || option == 3 ? 1 : 0;
    params.has_h0 = option % 2;
    params.has_c0 = (option + 1) % 2;
    add("options of an LSTM", params, {.units = 19});
  }
  return cases;
}

}  // namespace codl::test
