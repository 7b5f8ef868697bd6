// Tests Recurrent with packed weights: the packing, what the contract accepts, how a step is cut,
// and its costs. cpu_conformance_test.cc tests whether the kernel is right.
#include "kernels/recurrent/recurrent.h"

#include "kernels/pack.h"
#include "test/kernels/recurrent_cases.h"
#include "test/kernels/step_for_tests.h"
#include "test/support/catch.h"

namespace codl::kernels {
namespace {

OperandShape packed_weights(std::initializer_list<int32_t> dims) {
  OperandShape shape = plain(dims);
  shape.layout = Layout::Packed;
  shape.bytes = packed_bytes({PackingKind::RecurrentPanels}, shape.dims, 3, 1);
  return shape;
}

OperandShape lengths_of(int32_t batch) {
  OperandShape shape = plain({batch});
  shape.dtype = DType::I64;
  shape.bytes *= 2;
  return shape;
}

TEST_CASE("packed weights of a recurrent network are panels of each direction") {
  const int32_t dims[] = {2, 18, 2};
  std::vector<float> source(72);
  for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<float>(i + 1);
  std::vector<float> found(packed_bytes({PackingKind::RecurrentPanels}, dims, 3, 1) /
                           sizeof(float));
  REQUIRE(found.size() == 2 * 2 * 2 * 16);
  pack({PackingKind::RecurrentPanels}, dims, 3, 1, source.data(), found.data());
  for (size_t direction = 0; direction < 2; ++direction)
    for (size_t row = 0; row < 32; ++row)
      for (size_t k = 0; k < 2; ++k) {
        const float expected = row < 18 ? source[direction * 36 + row * 2 + k] : 0.0f;
        CHECK(found[((direction * 2 + row / 16) * 2 + k) * 16 + row % 16] == expected);
      }
}

TEST_CASE("the contract of recurrent networks with packed weights") {
  RecurrentParams params = test::recurrent_params(kRecurrentGru, 0);
  std::vector<OperandShape> operands = {plain({5, 2, 3}), packed_weights({1, 12, 3}),
                                        packed_weights({1, 12, 4}), plain({7, 1, 2, 4})};
  const auto check_with = [&](size_t i, const OperandShape& shape) {
    std::vector<OperandShape> changed = operands;
    changed[i] = shape;
    return check({"recurrent_f32_cpu", &params, changed});
  };
  CHECK(check_with(0, operands[0]) == "ok");
  for (size_t i : {size_t{1}, size_t{2}}) {
    CHECK(check_with(i, plain({1, 12, static_cast<int32_t>(i) + 2})) ==
          "operands of f32, lengths of i64, plain but for packed weights");
    OperandShape short_weights = operands[i];
    short_weights.bytes -= sizeof(float);
    CHECK(check_with(i, short_weights) == "packed weights of their shape's size");
  }
  CHECK(check_with(0, packed_weights({5, 2, 3})) ==
        "operands of f32, lengths of i64, plain but for packed weights");
  CHECK(check({"recurrent_any_cpu", &params, operands}) ==
        "operands of f32, lengths of i64, plain but for packed weights");
  params.activation_1 = kUnaryNot;
  CHECK(check_with(0, operands[0]) == "known activations");
  params.activation_1 = kUnaryTanh;
  params.activation_2 = kUnaryNot;  // for a direction that does not exist
  CHECK(check_with(0, operands[0]) == "ok");
  params.has_lengths = 1;
  operands.insert(operands.begin() + 3, lengths_of(2));
  CHECK(check_with(0, operands[0]) == "ok");
  CHECK(check_with(3, plain({2})) ==
        "operands of f32, lengths of i64, plain but for packed weights");
  OperandShape integers = operands[0];
  integers.dtype = DType::I64;
  integers.bytes *= 2;
  CHECK(check_with(0, integers) == "operands of f32, lengths of i64, plain but for packed weights");
  // Halves are all of them or none, but for lengths.
  std::vector<OperandShape> halves = operands;
  for (size_t i : {size_t{0}, size_t{1}, size_t{2}, size_t{4}}) {
    halves[i].dtype = DType::F16;
    halves[i].bytes /= 2;
  }
  CHECK(check({"recurrent_f32_cpu", &params, halves}) == "ok");
  for (size_t i : {size_t{0}, size_t{1}, size_t{4}}) {
    std::vector<OperandShape> mixed = halves;
    mixed[i] = operands[i];
    CHECK(check({"recurrent_f32_cpu", &params, mixed}) ==
          "operands of one dtype, scales and biases of f32");
  }
  // These are a billion weights, packed.
  params.has_lengths = 0;
  CHECK(check({"recurrent_f32_cpu",
               &params,
               {plain({1, 1, 1 << 20}), packed_weights({1, 3 * 350, 1 << 20}),
                packed_weights({1, 3 * 350, 350}), plain({3, 1, 1, 350})}}) ==
        "operands of at most 2^30 elements");
  CHECK(check({"recurrent_f32_cpu",
               &params,
               {plain({1, 1, 11'930'464}), packed_weights({1, 81, 11'930'464}),
                packed_weights({1, 81, 27}), plain({3, 1, 1, 27})}}) ==
        "packed weights of at most 2^30 elements");
}

TEST_CASE("sequences of a direction are computed together, those with lengths each alone") {
  RecurrentParams params = test::recurrent_params(kRecurrentLstm, 2);
  const auto tasks = [&](int32_t batch) {
    std::vector<OperandShape> operands = {plain({5, batch, 3}), packed_weights({2, 16, 3}),
                                          packed_weights({2, 16, 4})};
    if (params.has_lengths != 0) operands.push_back(lengths_of(batch));
    operands.push_back(plain({7, 2, batch, 4}));
    return task_count({"recurrent_f32_cpu", &params, operands});
  };
  CHECK(tasks(1) == 2);
  CHECK(tasks(42) == 2);
  CHECK(tasks(43) == 4);
  params.has_lengths = 1;
  CHECK(tasks(1) == 2);
  CHECK(tasks(42) == 84);
  params.direction = 1;
  // The inputs of a few steps of a long sequence are multiplied at once, so that memory is bounded.
  const OperandShape x = plain({1'000'000, 3, 8});
  const OperandShape y = plain({1'000'002, 1, 3, 4});
  CHECK(recurrent_work(params, x, y).chunk_steps == 42);
  params.has_lengths = 0;
  CHECK(recurrent_work(params, x, y).chunk_steps == 14);
}

TEST_CASE("work of a recurrent network, by hand") {
  RecurrentParams params = test::recurrent_params(kRecurrentLstm, 0);
  params.has_h0 = 1;
  const StepForTest step = {
      "recurrent_f32_cpu",
      &params,
      {plain({3, 1, 128}), packed_weights({1, 512, 128}), packed_weights({1, 512, 128}),
       plain({1, 1, 128}), plain({5, 1, 1, 128})}};
  WorkMachine machine;
  machine.vector_lanes = 16;
  machine.l1_bytes = 32768;
  machine.l2_bytes = machine.last_level_bytes = 1e9;
  const StepWork work = work_of(step, machine);
  CHECK(work.needed_macs == 3.0 * 2 * 512 * 128);
  // The inputs of three steps are a tile of four, the state of each is separate; there are 16 pairs
  // of panels.
  CHECK(work.macs == (4.0 + 3) * 512 * 128);
  CHECK(work.tile_calls == 16 + 3 * 16);
  CHECK(work.weight_bytes == 2.0 * 512 * 128 * 4);
  CHECK(work.read_bytes == (3 + 1) * 128 * 4);
  CHECK(work.written_bytes == 5 * 128 * 4);
  CHECK(work.run_bytes == 128 * 4);
  // Five curves; a sum and two limits for each of four gates; five operations for cell and state.
  CHECK(work.operations == 3.0 * 128 * (3 * 19 + 2 * 20 + 4 * 3 + 5));
  CHECK(work.transcendentals == 0);  // quotients are estimates
  CHECK(work.moved_bytes ==
        4.0 * 128 * (512 + 4 * 16) + 4.0 * 128 * 3 * (512 + 16) + 3.0 * 128 * (4 * 5 + 11) * 4);
  CHECK(work.tasks == 1);
  // It reads all operands once, and the weights of the state in two further steps.
  CHECK(work.beyond_l1_bytes == work.read_bytes + work.weight_bytes + 2.0 * 512 * 128 * 4);
  CHECK(work.beyond_l2_bytes == 0);
  // As halves, weights and other operands take half the bytes; sums and states are floats.
  StepForTest halves = step;
  for (OperandShape& operand : halves.operands) {
    operand.dtype = DType::F16;
    operand.bytes /= 2;
  }
  const StepWork of_halves = work_of(halves, machine);
  CHECK(of_halves.macs == work.macs);
  CHECK(of_halves.tile_calls == work.tile_calls);
  CHECK(of_halves.weight_bytes == work.weight_bytes / 2);
  CHECK(of_halves.read_bytes == work.read_bytes / 2);
  CHECK(of_halves.written_bytes == work.written_bytes / 2);
  CHECK(of_halves.moved_bytes ==
        2.0 * 128 * (512 + 4 * 16) + 128 * 3 * (2.0 * 512 + 4 * 16) + 3.0 * 128 * (4 * 5 + 11) * 4);
  // The first step multiplies no state if that is zero.
  params.has_h0 = 0;
  StepForTest without = step;
  without.operands.erase(without.operands.begin() + 3);
  CHECK(work_of(without, machine).macs == (4.0 + 2) * 512 * 128);
}

}  // namespace
}  // namespace codl::kernels
