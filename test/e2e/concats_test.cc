// Tests Concats that have nothing to copy, from ONNX to numbers: on the GPU in buffers and in
// images, as floats and as halves, against the interpreter, and every GPU step against the CPU's.
#include <cmath>
#include <cstring>
#include <random>

#include "codl/codl.h"
#include "compiler/emit/plan_reader.h"
#include "compiler/frontend/onnx_import.h"
#include "compiler/interp/interpreter.h"
#include "compiler/pipeline.h"
#include "kernels/kernel_table.h"
#include "schema/verify_plan.h"
#include "test/support/catch.h"
#include "test/support/expected.h"
#include "test/support/machine_opencl.h"
#include "test/support/onnx_text.h"

namespace codl::compiler {
namespace {

// Each Concat joins one of these: a map and something computed from it, as in densenet; a pooling
// and a convolution, as in inception; a map and a resized one, as in a decoder.
constexpr const char* kNetwork =
    "joined (float[1,16,20,20] x) => (float[1,16,20,20] y)"
    "<float[32,16,3,3] wa, float[16,32,1,1] wb0, float[12,16,3,3] wb, float[44,1,3,3] wd,"
    " float[16,44,1,1] wc0, float[20,16,3,3] wc, float[16,64,3,3] we, float[8,32,1,1] wf,"
    " float[24,64,1,1] wz, float[16,32,1,1] wy>{"
    "a = Conv<pads=[1,1,1,1]>(x, wa) b0 = Conv(a, wb0) b = Conv<pads=[1,1,1,1]>(b0, wb)"
    "ab = Concat<axis=1>(a, b)"
    "d = Conv<pads=[1,1,1,1], group=44>(ab, wd) d1 = Relu(d)"
    "c0 = Conv(d1, wc0) c = Conv<pads=[1,1,1,1]>(c0, wc)"
    "all = Concat<axis=1>(ab, c)"
    "e = Conv<pads=[1,1,1,1], strides=[2,2]>(all, we)"
    "p = MaxPool<kernel_shape=[3,3], pads=[1,1,1,1], strides=[2,2]>(c0)"
    "pe = Concat<axis=1>(p, e)"
    "f = Conv(pe, wf)"
    "s = Constant<value_floats=[1.0,1.0,2.0,2.0]>()"
    "up = Resize<mode=\"nearest\", coordinate_transformation_mode=\"asymmetric\","
    " nearest_mode=\"floor\">(f, , s)"
    "z = Conv(all, wz)"
    "uz = Concat<axis=1>(up, z)"
    "y = Conv(uz, wy)"
    "}";
constexpr size_t kInputFloats = 16 * 20 * 20;

struct Concats {
  int count = 0;
  int copying = 0;
};

Concats gpu_concats_of(llvm::ArrayRef<uint8_t> bytes) {
  const plan::PlanDef* table = nullptr;
  REQUIRE(
      verify_plan(bytes.data(), bytes.size(), VerifyLevel::All, kernels::check_step, &table).ok());
  const PlanModel plan = plan_of(*table);
  Concats concats;
  for (const Step& step : plan.entries[0].variants[0].steps) {
    if (step.kernel == nullptr || step.kernel->op != OpKind::Concat || step.queue != Queue::Gpu)
      continue;
    kernels::OperandShape shapes[kernels::kMaxOperands];
    ++concats.count;
    concats.copying += !plan.entries[0].variants[0].shape_of(step, shapes).is_in_place;
  }
  return concats;
}

double relative_l2(const std::vector<float>& found, const Bytes& expected) {
  REQUIRE(expected.size() == found.size() * sizeof(float));
  double difference = 0, norm = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    float right;
    std::memcpy(&right, &expected[i * sizeof(float)], sizeof(float));
    difference += (found[i] - right) * (found[i] - right);
    norm += right * right;
  }
  return std::sqrt(difference / norm);
}

// Runs twice with checks of each step in turn, after a test of all.
std::vector<float> run_checked(llvm::ArrayRef<uint8_t> bytes, std::vector<float> input) {
  codl_diag_t diag = {};
  codl_plan_t* plan = nullptr;
  REQUIRE(codl_plan_open(bytes.data(), bytes.size(), nullptr, &plan, &diag) == CODL_OK);
  codl_session_options_t options{};
  options.struct_size = sizeof(options);
  options.variant = "gpu";
  options.require_variant = 1;
  options.check_every = 1;
  codl_session_t* session = nullptr;
  const codl_status_t created = codl_session_create(plan, &options, &session, &diag);
  INFO(diag.message);
  REQUIRE(created == CODL_OK);
  codl_status_t status = codl_session_self_test(session, nullptr, nullptr, &diag);
  INFO(diag.message);
  CHECK(status == CODL_OK);
  std::vector<float> output(16 * 20 * 20);
  const codl_buffer_t in{input.data(), input.size() * sizeof(float)};
  const codl_buffer_t out{output.data(), output.size() * sizeof(float)};
  for (int round = 0; round < 12; ++round) {
    status = codl_session_run(session, &in, 1, &out, 1, &diag);
    INFO("round " << round << ": " << diag.message);
    REQUIRE(status == CODL_OK);
  }
  codl_session_destroy(session);
  codl_plan_close(plan);
  return output;
}

}  // namespace

TEST_CASE("the GPU's Concats have nothing to copy, and the result is the interpreter's") {
  const std::string device =
      GENERATE(as<std::string>{}, CODL_TEST_PROFILES "/sd855_images.json",
               CODL_TEST_PROFILES "/host_sub_buffer.json", CODL_TEST_PROFILES "/host_separate.json",
               CODL_TEST_PROFILES "/host_separate_images.json");
  const Precision precision = GENERATE(Precision::Fp32, Precision::Fp16);
  CAPTURE(device, precision == Precision::Fp16);
  if (test::machine_device() == nullptr) return;
  const std::string model = test::onnx_model(kNetwork);
  std::mt19937 random(1);
  // The inputs are small, because the weights make the values a million times as large, too large
  // for halves.
  std::uniform_real_distribution<float> numbers(-1e-3f, 1e-3f);
  std::vector<float> input(kInputFloats);
  for (float& number : input) number = numbers(random);
  const auto* first = reinterpret_cast<const uint8_t*>(input.data());
  const ir::Graph graph = test::value_of(import_onnx(model, "model"));
  const std::vector<Bytes> expected =
      test::value_of(interpret(graph, {Bytes(first, first + input.size() * sizeof(float))}));

  const DeviceProfile profile = test::value_of(load_device_profile(device));
  CompileOptions options;
  options.partition.strategy = "gpu";
  options.precision = precision;
  const CompileResult result = test::value_of(compile(model, "model", profile, options));
  const Concats concats = gpu_concats_of(result.plan);
  CHECK(concats.count == 4);
  // Some values are too large for halves, and one Concat joins them with others.
  CHECK(concats.copying == (precision == Precision::Fp16 ? 1 : 0));
  CHECK(relative_l2(run_checked(result.plan, input), expected[0]) <=
        (precision == Precision::Fp16 ? 1e-2 : 1e-4));
}

}  // namespace codl::compiler
