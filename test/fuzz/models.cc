// Fuzz target: any bytes are an ONNX model, which goes through the importer, the passes and the
// whole compiler. If there is a small plan, it runs on random inputs. Nothing may crash, hang or be
// called our own fault (ExitCode::Internal), and libcodl must accept every plan that codlc wrote.
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "codl/codl.h"
#include "compiler/device/device_profile.h"
#include "compiler/pipeline.h"
#include "compiler/support/error.h"
#include "test/fuzz/target.h"

namespace codl::test {
namespace {

// A plan that would take longer, or is larger, is not run, because the fuzzer should see many
// models.
constexpr double kMaxRunUs = 20000;
constexpr size_t kMaxRunBytes = 1 << 26;

const compiler::DeviceProfile& host() {
  static const compiler::DeviceProfile profile = [] {
    auto loaded = compiler::load_device_profile("host");
    if (!loaded) fail(llvm::toString(loaded.takeError()));
    return std::move(*loaded);
  }();
  return profile;
}

size_t bytes_outside(const codl_plan_t* plan) {
  size_t bytes = 0;
  codl_tensor_info_t info;
  for (size_t i = 0; i < codl_plan_input_count(plan); ++i)
    if (codl_plan_input(plan, i, &info) == CODL_OK) bytes += info.bytes;
  for (size_t i = 0; i < codl_plan_output_count(plan); ++i)
    if (codl_plan_output(plan, i, &info) == CODL_OK) bytes += info.bytes;
  return bytes;
}

std::vector<std::vector<uint64_t>> buffers_of(const codl_plan_t* plan, bool inputs) {
  std::vector<std::vector<uint64_t>> buffers;
  const size_t count = inputs ? codl_plan_input_count(plan) : codl_plan_output_count(plan);
  std::minstd_rand random(1);
  for (size_t i = 0; i < count; ++i) {
    codl_tensor_info_t info;
    const codl_status_t status =
        inputs ? codl_plan_input(plan, i, &info) : codl_plan_output(plan, i, &info);
    if (status != CODL_OK) fail("expected the type of every input and output");
    buffers.emplace_back(info.bytes / 8 + 1);
    for (uint64_t& word : buffers.back()) word = random() % 4 == 0 ? random() : 0;
    // A bool is 0 or 1.
    if (info.dtype == CODL_BOOL) std::memset(buffers.back().data(), 1, info.bytes);
  }
  return buffers;
}

void run_session(const codl_plan_t* plan) {
  codl_diag_t diag;
  codl_session_options_t options{};
  options.struct_size = sizeof options;
  options.thread_count = 1;
  codl_session_t* session = nullptr;
  if (codl_session_create(plan, &options, &session, &diag) != CODL_OK)
    fail(std::string("expected a session, found ") + diag.message);
  auto inputs = buffers_of(plan, true);
  auto outputs = buffers_of(plan, false);
  std::vector<codl_buffer_t> in, out;
  for (size_t i = 0; i < inputs.size(); ++i) {
    codl_tensor_info_t info;
    if (codl_plan_input(plan, i, &info) == CODL_OK) in.push_back({inputs[i].data(), info.bytes});
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    codl_tensor_info_t info;
    if (codl_plan_output(plan, i, &info) == CODL_OK) out.push_back({outputs[i].data(), info.bytes});
  }
  if (codl_session_run(session, in.data(), in.size(), out.data(), out.size(), &diag) != CODL_OK)
    fail(std::string("expected a run, found ") + diag.message);
  codl_session_destroy(session);
}

void run_plan(const compiler::CompileResult& result) {
  codl_diag_t diag;
  codl_plan_t* plan = nullptr;
  if (codl_plan_open(result.plan.data(), result.plan.size(), nullptr, &plan, &diag) != CODL_OK)
    fail(std::string("expected a plan that opens, found ") + diag.message);
  const auto& variant = result.reports[0].variants[0];
  if (variant.predicted_us < kMaxRunUs &&
      variant.figures.arena_bytes + variant.figures.weight_bytes < kMaxRunBytes &&
      bytes_outside(plan) < kMaxRunBytes)
    run_session(plan);
  codl_plan_close(plan);
}

void compile_model(llvm::StringRef bytes) {
  compiler::CompileOptions options;
  options.partition.strategy = "cpu";
  auto result = compiler::compile(bytes, "model.onnx", host(), options);
  if (!result) {
    llvm::handleAllErrors(result.takeError(), [](const compiler::CompileError& error) {
      if (error.kind() == compiler::ExitCode::Internal)
        fail("expected no internal error, found " + error.where().str() + ": " +
             error.text().str());
    });
    return;
  }
  run_plan(*result);
}

}  // namespace
}  // namespace codl::test

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  codl::test::compile_model(llvm::StringRef(reinterpret_cast<const char*>(data), size));
  return 0;
}
