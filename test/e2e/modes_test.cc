// Goes from ONNX to numbers: the example network is compiled for every kind of sharing, GPU layout
// and forced split, run by the runtime, and compared with the interpreter on the unmodified graph.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>

#include "codl/codl.h"
#include "compiler/frontend/onnx_import.h"
#include "compiler/interp/interpreter.h"
#include "compiler/pipeline.h"
#include "llvm/Support/MemoryBuffer.h"
#include "test/support/catch.h"
#include "test/support/machine_opencl.h"
#include "test/support/onnx_text.h"
#include "test/support/zero_queue.h"

namespace codl::compiler {
namespace {

// Every network must keep this relative L2 error against the interpreter.
constexpr double kMaxRelativeError = 1e-4;

std::string read_model() {
  auto file = llvm::MemoryBuffer::getFile(CODL_TEST_MODEL);
  REQUIRE(bool(file));
  return (*file)->getBuffer().str();
}

Bytes random_input(size_t bytes) {
  std::mt19937 generator(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Bytes data(bytes);
  for (size_t i = 0; i < bytes; i += 4) {
    const float value = uniform(generator);
    std::memcpy(&data[i], &value, 4);
  }
  return data;
}

double relative_l2(const Bytes& found, const Bytes& expected) {
  REQUIRE(found.size() == expected.size());
  double difference = 0, norm = 0;
  for (size_t i = 0; i < found.size(); i += 4) {
    float a, b;
    std::memcpy(&a, &found[i], 4);
    std::memcpy(&b, &expected[i], 4);
    difference += (a - b) * (a - b);
    norm += b * b;
  }
  return std::sqrt(difference / norm);
}

const Bytes& expected_output(const std::string& model, const Bytes& input) {
  static Bytes output;
  if (output.empty()) {
    auto graph = import_onnx(model, "model");
    REQUIRE(bool(graph));
    auto outputs = interpret(*graph, {input});
    REQUIRE(bool(outputs));
    output = (*outputs)[0];
  }
  return output;
}

Bytes run_plan(llvm::ArrayRef<uint8_t> plan_bytes, const char* variant, const Bytes& input,
               bool needs_gpu, int32_t thread_count = 0) {
  codl_diag_t diag;
  codl_plan_t* plan = nullptr;
  INFO(diag.message);
  REQUIRE(codl_plan_open(plan_bytes.data(), plan_bytes.size(), nullptr, &plan, &diag) == CODL_OK);
  codl_session_options_t options{};
  options.struct_size = sizeof(options);
  options.variant = variant;
  options.require_variant = needs_gpu;
  options.thread_count = thread_count;
  codl_session_t* session = nullptr;
  const codl_status_t created = codl_session_create(plan, &options, &session, &diag);
  if (created == CODL_NO_DEVICE) WARN("[SKIP] " << diag.message);
  REQUIRE(created == CODL_OK);
  codl_tensor_info_t info;
  REQUIRE(codl_plan_output(plan, 0, &info) == CODL_OK);
  Bytes output(info.bytes);
  const codl_buffer_t in{const_cast<uint8_t*>(input.data()), input.size()};
  const codl_buffer_t out{output.data(), output.size()};
  for (int i = 0; i < 2; ++i) {  // the second run finds what the first left in the arenas
    std::fill(output.begin(), output.end(), 0);
    REQUIRE(codl_session_run(session, &in, 1, &out, 1, &diag) == CODL_OK);
  }
  codl_session_destroy(session);
  codl_plan_close(plan);
  return output;
}

// A plan for shared memory without mapping needs a device that has it.
bool is_for_another_machine(const std::string& device) {
  return device == "host-pair" && test::lacks_fine_svm();
}

CompileResult compile_for(const std::string& model, const std::string& device,
                          const PartitionOptions& partition,
                          Precision precision = Precision::Fp32) {
  auto profile = load_device_profile(device);
  if (!profile) FAIL(llvm::toString(profile.takeError()));
  CompileOptions options;
  options.partition = partition;
  options.partition.search_budget = 100;  // with sanitizers each plan that is judged takes its time
  options.precision = precision;
  auto result = compile(model, "model", *profile, options);
  if (!result) FAIL(llvm::toString(result.takeError()));
  return std::move(*result);
}

TEST_CASE("every mode on every kind of device gives the interpreter's numbers") {
  const std::string device = GENERATE(
      as<std::string>{}, "host-pair", CODL_TEST_PROFILES "/sd855_images.json",
      CODL_TEST_PROFILES "/host_sub_buffer.json", CODL_TEST_PROFILES "/host_separate.json");
  struct Mode {
    const char* name;
    const char* strategy;
    SplitDim dim;
    int32_t max_chain;
    BoundaryFirst boundary_first = BoundaryFirst::Auto;
  };
  const Mode mode =
      GENERATE(Mode{"optimal", "optimal", SplitDim::None, kMaxChainLength},
               Mode{"cpu", "cpu", SplitDim::None, 1}, Mode{"gpu", "gpu", SplitDim::None, 1},
               Mode{"h", "optimal", SplitDim::Height, 4},
               Mode{"h, boundary first", "optimal", SplitDim::Height, 2, BoundaryFirst::Always},
               Mode{"oc", "optimal", SplitDim::OutputChannel, 1});
  CAPTURE(device, mode.name);
  if (is_for_another_machine(device)) return;
  PartitionOptions partition;
  partition.strategy = mode.strategy;
  partition.split_dim = mode.dim;
  if (mode.dim != SplitDim::None) partition.ratio = 0.5;
  partition.max_chain = mode.max_chain;
  partition.boundary_first = mode.boundary_first;

  const std::string model = read_model();
  const Bytes input = random_input(1 * 3 * 64 * 64 * 4);
  const Bytes& expected = expected_output(model, input);
  const CompileResult result = compile_for(model, device, partition);
  for (const CompileReport::Variant& variant : result.reports[0].variants) {
    CAPTURE(variant.name);
    CHECK(relative_l2(run_plan(result.plan, variant.name.c_str(), input, variant.gpu_mac_share > 0),
                      expected) <= kMaxRelativeError);
  }
  if (mode.dim != SplitDim::None)
    CHECK(result.reports[0].variants[0].gpu_mac_share == Approx(0.5).margin(0.1));
}

TEST_CASE("cut launches and tiles give the interpreter's numbers") {
  const std::string device = GENERATE(
      as<std::string>{}, "host-pair", CODL_TEST_PROFILES "/sd855_images.json",
      CODL_TEST_PROFILES "/host_sub_buffer.json", CODL_TEST_PROFILES "/host_separate.json");
  struct Mode {
    const char* strategy;
    SplitDim dim;
  };
  // Parts of the channels are cut only in panels of 16, which are no smaller here.
  const Mode mode = GENERATE(Mode{"cpu", SplitDim::None}, Mode{"gpu", SplitDim::None},
                             Mode{"optimal", SplitDim::Height});
  CAPTURE(device, mode.strategy, mode.dim);
  if (is_for_another_machine(device)) return;
  PartitionOptions partition;
  partition.strategy = mode.strategy;
  partition.split_dim = mode.dim;
  // In these chains each processor keeps its own maps: shared maps are not computed in tiles.
  if (mode.dim != SplitDim::None) partition.ratio = 0.7;
  partition.max_chain = 4;
  const std::string model = read_model();
  const Bytes input = random_input(1 * 3 * 64 * 64 * 4);
  const Bytes& expected = expected_output(model, input);
  const auto check = [&](const CompileResult& result) {
    const CompileReport::Variant& variant = result.reports[0].variants[0];
    CHECK(relative_l2(run_plan(result.plan, variant.name.c_str(), input, variant.gpu_mac_share > 0),
                      expected) <= kMaxRelativeError);
  };
  const PlanFigures whole = compile_for(model, device, partition).reports[0].variants[0].figures;
  const bool has_gpu = whole.gpu_share > 0;
  if (has_gpu) {
    partition.limits.max_gpu_slice_us = whole.longest_slice_us / 3;
    const CompileResult cut = compile_for(model, device, partition);
    CHECK(cut.reports[0].variants[0].figures.longest_slice_us <= whole.longest_slice_us / 3);
    check(cut);
    partition.limits = {};
  }
  // Less than the whole plan needs, whose Concats are windows; those of tiles are copied
  // (fit_arena).
  const uint64_t limit = whole.arena_bytes * 19 / 20;
  partition.limits.max_arena_bytes = limit;
  const CompileResult tiled = compile_for(model, device, partition);
  CHECK(tiled.reports[0].variants[0].figures.arena_bytes <= limit);
  check(tiled);
}

TEST_CASE("results are the same bytes whatever shares the workers begin with") {
  const std::string model = read_model();
  const Bytes input = random_input(1 * 3 * 64 * 64 * 4);
  auto profile = load_device_profile("sd855");
  REQUIRE(!!profile);
  CompileOptions options;
  options.partition.strategy = "cpu";
  Bytes first;
  const std::vector<double> all_speeds[] = {{}, profile->cpu_worker_speeds, {1, 0.1, 0.9, 0.0001}};
  for (const std::vector<double>& speeds : all_speeds) {
    profile->cpu_worker_speeds = speeds;
    auto result = compile(model, "model", *profile, options);
    REQUIRE(!!result);
    for (const int32_t threads : {1, 4}) {
      const Bytes output = run_plan(result->plan, "cpu", input, false, threads);
      if (first.empty()) first = output;
      CHECK(output == first);
    }
  }
}

TEST_CASE("co-execution that promises too little is left") {
  auto profile = load_device_profile("host-pair");
  REQUIRE(!!profile);
  profile->transfer.host.reset();
  profile->transfer.map_us.value = 0;
  // A synchronisation costs so much; then co-execution is, or is not, predicted to be 1.05 times as
  // fast as the CPU alone.
  const auto [sync_us, pays] = GENERATE(std::pair(0.0, true), std::pair(1e4, false));
  CAPTURE(sync_us);
  profile->transfer.sync_us.value = sync_us;
  auto result = compile(read_model(), "model", *profile, {});
  REQUIRE(!!result);
  const CompileReport::Variant& first = result->reports[0].variants.front();
  const CompileReport::Variant& cpu = result->reports[0].variants.back();
  REQUIRE(cpu.name == "cpu");
  CHECK((first.gpu_mac_share > 0) == pays);
  CHECK((1.05 * first.predicted_us <= cpu.predicted_us) == pays);
}

// The docs state this bound of fp16.
constexpr double kMaxHalvesError = 1e-2;

TEST_CASE("halves round the result, within their bound") {
  const std::string device = GENERATE(
      as<std::string>{}, "host-pair", CODL_TEST_PROFILES "/sd855_images.json",
      CODL_TEST_PROFILES "/host_sub_buffer.json", CODL_TEST_PROFILES "/host_separate.json");
  struct Mode {
    const char* strategy;
    SplitDim dim;
  };
  const Mode mode =
      GENERATE(Mode{"cpu", SplitDim::None}, Mode{"gpu", SplitDim::None},
               Mode{"optimal", SplitDim::Height}, Mode{"optimal", SplitDim::OutputChannel});
  const Precision precision = GENERATE(Precision::Fp16, Precision::Auto);
  CAPTURE(device, mode.strategy, mode.dim, precision);
#ifdef CODL_SLOW_RUN
  // With sanitizers the chosen precision runs on one device, and nightly.sh has the others.
  if (precision == Precision::Auto && device != "host-pair" &&
      std::getenv("CODL_ALL_CASES") == nullptr)
    return;
#endif
  if (is_for_another_machine(device)) return;
  PartitionOptions partition;
  partition.strategy = mode.strategy;
  partition.split_dim = mode.dim;
  if (mode.dim != SplitDim::None) partition.ratio = 0.5;
  partition.max_chain = 4;
  const std::string model = read_model();
  const Bytes input = random_input(1 * 3 * 64 * 64 * 4);
  const CompileResult result = compile_for(model, device, partition, precision);
  const CompileReport::Variant& variant = result.reports[0].variants[0];
  const bool needs_gpu = std::string(mode.strategy) != "cpu";
  const double error = relative_l2(run_plan(result.plan, variant.name.c_str(), input, needs_gpu),
                                   expected_output(model, input));
  CHECK(error <= kMaxHalvesError);
  if (precision == Precision::Fp16) CHECK(variant.half_tensors * 2 >= variant.real_tensors);
  if (variant.half_tensors > 0) CHECK(error > kMaxRelativeError / 10);
}

// Returns two products with weights of 4 bits in blocks.
std::string model_of_few_bits() {
  std::mt19937 random(7);
  onnx::ModelProto model = test::parse_onnx_text(
      R"(<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
      g (float[1,1024] x) => (float[1,1024] y) {
        a = com.microsoft.MatMulNBits<K = 1024, N = 1024, bits = 4, block_size = 32>(x, w0, s0)
        b = Relu(a)
        y = com.microsoft.MatMulNBits<K = 1024, N = 1024, bits = 4, block_size = 32>(b, w1, s1, z1)
      })");
  const auto add = [&](const char* name, bool is_scale, std::vector<int64_t> dims) {
    onnx::TensorProto& tensor = *model.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(is_scale ? onnx::TensorProto::FLOAT : onnx::TensorProto::UINT8);
    int64_t count = 1;
    for (const int64_t dim : dims) {
      tensor.add_dims(dim);
      count *= dim;
    }
    std::string& raw = *tensor.mutable_raw_data();
    for (int64_t i = 0; i < count; ++i) {
      const float scale = std::uniform_real_distribution<float>(0.01f, 0.02f)(random);
      if (is_scale)
        raw.append(reinterpret_cast<const char*>(&scale), sizeof scale);
      else
        raw.push_back(static_cast<char>(random()));
    }
  };
  for (const char* weights : {"w0", "w1"}) add(weights, false, {1024, 32, 16});
  for (const char* scales : {"s0", "s1"}) add(scales, true, {1024 * 32});
  add("z1", false, {1024 * 16});
  return model.SerializeAsString();
}

TEST_CASE("weights of 4 bits stay so in the plan of every mode") {
  struct Mode {
    const char* strategy;
    SplitDim dim;
  };
  const Mode mode = GENERATE(Mode{"cpu", SplitDim::None}, Mode{"gpu", SplitDim::None},
                             Mode{"optimal", SplitDim::OutputChannel});
  const Precision precision = GENERATE(Precision::Fp32, Precision::Fp16);
  CAPTURE(mode.strategy, mode.dim, precision);
  PartitionOptions partition;
  partition.strategy = mode.strategy;
  partition.split_dim = mode.dim;
  if (mode.dim != SplitDim::None) partition.ratio = 0.5;
  const std::string model = model_of_few_bits();
  const Bytes input = random_input(1024 * sizeof(float));
  const CompileResult result = compile_for(model, "host-pair", partition, precision);
  CHECK(static_cast<double>(result.plan.size()) < 1.15 * static_cast<double>(model.size()));
  auto graph = import_onnx(model, "model");
  REQUIRE(bool(graph));
  auto expected = interpret(*graph, {input});
  REQUIRE(bool(expected));
  for (const CompileReport::Variant& variant : result.reports[0].variants) {
    CAPTURE(variant.name);
    CHECK(relative_l2(run_plan(result.plan, variant.name.c_str(), input, variant.gpu_mac_share > 0),
                      (*expected)[0]) <=
          (precision == Precision::Fp16 ? kMaxHalvesError : kMaxRelativeError));
  }
}

TEST_CASE("both queues of a split write what the result is made of") {
  const std::string device = GENERATE(
      as<std::string>{}, "host-pair", CODL_TEST_PROFILES "/sd855_images.json",
      CODL_TEST_PROFILES "/host_sub_buffer.json", CODL_TEST_PROFILES "/host_separate.json");
  const SplitDim dim = GENERATE(SplitDim::Height, SplitDim::OutputChannel);
  const test::FaultQueue queue = GENERATE(test::FaultQueue::Cpu, test::FaultQueue::Gpu);
  CAPTURE(device, dim, queue);
  if (is_for_another_machine(device)) return;
  PartitionOptions partition;
  partition.split_dim = dim;
  partition.ratio = 0.5;
  const std::string model = read_model();
  const Bytes input = random_input(1 * 3 * 64 * 64 * 4);
  const LargeBytes built = compile_for(model, device, partition).plan;
  std::vector<uint8_t> plan(built.begin(), built.end());
  REQUIRE(test::zero_queue(plan, queue) > 0);
  // Half of every convolution's output is missing: far more than rounding.
  CHECK(relative_l2(run_plan(plan, "coexec", input, true), expected_output(model, input)) > 0.1);
}

TEST_CASE("equal input gives equal bytes") {
  const std::string model = read_model();
  CHECK(compile_for(model, "host-pair", {}).plan == compile_for(model, "host-pair", {}).plan);
}

}  // namespace
}  // namespace codl::compiler
