// Every kind and direction, with and without the optional operands; lengths are random: some are
// negative, some beyond the sequence.
#pragma once

#include "kernels/recurrent/recurrent.h"
#include "test/kernels/kernel_case.h"

namespace codl::test {

inline KernelCase make_recurrent_case(const RecurrentParams& params) {
  const int32_t steps = 5;
  const int32_t batch = 3;
  const int32_t inputs = 9;
  const int32_t units = 4;
  const int32_t directions = kernels::recurrent_directions(params.direction);
  const int32_t rows = units * kernels::recurrent_gates(params.kind);
  KernelCase item{"sequence",
                  OpKind::Recurrent,
                  words_of(params),
                  {plain_operand({steps, batch, inputs}), plain_operand({directions, rows, inputs}),
                   plain_operand({directions, rows, units})}};
  std::vector<OperandShape>& operands = item.operands;
  if (params.has_bias != 0) operands.push_back(plain_operand({directions, 2 * rows}));
  if (params.has_lengths != 0) operands.push_back(typed_operand(DType::I64, {batch}));
  for (int32_t has_state : {params.has_h0, params.has_c0})
    if (has_state != 0) operands.push_back(plain_operand({directions, batch, units}));
  if (params.has_peepholes != 0) operands.push_back(plain_operand({directions, 3 * units}));
  operands.push_back(plain_operand({steps + 2, directions, batch, units}));
  return item;
}

inline std::vector<KernelCase> recurrent_cases() {
  std::vector<KernelCase> cases;
  for (int32_t kind : {kRecurrentRnn, kRecurrentGru, kRecurrentLstm})
    for (int32_t direction : {0, 1, 2})
      for (int32_t has_all : {0, 1}) {
        RecurrentParams params;
        params.kind = kind;
        params.direction = direction;
        params.has_bias = params.has_lengths = params.has_h0 = has_all;
        params.has_c0 = params.has_peepholes = kind == kRecurrentLstm ? has_all : 0;
        params.is_linear_before_reset = params.is_input_forget = has_all;
        params.clip = 0.5f * static_cast<float>(has_all);
        params.activation_0 = params.activation_3 = kUnarySigmoid;
        params.activation_1 = params.activation_2 = params.activation_4 = params.activation_5 =
            kUnaryTanh;
        cases.push_back(make_recurrent_case(params));
      }
  return cases;
}

}  // namespace codl::test
