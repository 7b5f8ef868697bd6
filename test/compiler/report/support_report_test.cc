#include "compiler/report/support_report.h"

#include "compiler/pipeline.h"
#include "llvm/Support/JSON.h"
#include "test/support/expected.h"
#include "test/support/graphs.h"
#include "test/support/onnx_text.h"

namespace codl::compiler {
namespace {

// Has two convolutions that the GPU can run, with two nodes between them that it cannot run.
std::string interrupted_network() {
  return test::onnx_model(R"(
      g (float[1,4,8,8] x) => (float[1,4,8,8] y)
      <float[4,4,3,3] w, int64[4] order = {3, 1, 2, 0}, int64 axis = {2}>
      { a = Conv<pads = [1, 1, 1, 1]>(x, w)
        b = Gather<axis = 1>(a, order)
        c = CumSum(b, axis)
        y = Conv<pads = [1, 1, 1, 1]>(c, w) })",
                          14);
}

// A network without multiply-adds.
std::string mask_network() {
  return test::onnx_model("g (bool[2,3] x) => (bool[2,3] y) { a = Not(x) y = Not(a) }");
}

struct Outcome {
  std::string error;
  llvm::json::Value report;
  size_t plan_bytes = 0;
};

Outcome compile_with(const std::string& model, const DeviceProfile& profile,
                     CompileOptions options) {
  std::string text;
  llvm::raw_string_ostream os(text);
  options.prints.support = SupportFormat::Json;
  options.prints.to = &os;
  auto result = compile(model, "model", profile, options);
  Outcome outcome{"", nullptr, 0};
  if (result)
    outcome.plan_bytes = result->plan.size();
  else
    outcome.error = llvm::toString(result.takeError());
  auto json = llvm::json::parse(os.str());
  if (json)
    outcome.report = std::move(*json);
  else
    llvm::consumeError(json.takeError());
  return outcome;
}

// Returns -1 if there is none.
int64_t integer(const llvm::json::Object& object, llvm::StringRef key) {
  return object.getInteger(key).getValueOr(-1);
}
double number(const llvm::json::Object& object, llvm::StringRef key) {
  return object.getNumber(key).getValueOr(-1);
}

const llvm::json::Object& row_of(const Outcome& outcome, llvm::StringRef op) {
  for (const llvm::json::Value& row : *outcome.report.getAsObject()->getArray("operators"))
    if (row.getAsObject()->getString("op") == op) return *row.getAsObject();
  FAIL("no row of " << op.str());
  static const llvm::json::Object none;
  return none;
}

}  // namespace

TEST_CASE("the report says what runs where and what the rest costs") {
  const DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  CompileOptions options;
  options.partition.strategy = "gpu";
  const Outcome outcome = compile_with(interrupted_network(), profile, options);
  REQUIRE(outcome.error == "");
  const llvm::json::Object& convs = row_of(outcome, "Conv2d");
  CHECK(integer(convs, "node_count") == 2);
  CHECK(integer(convs, "gpu_count") == 2);
  CHECK(integer(convs, "gpu_placed") == 2);
  CHECK(integer(convs, "height_split_count") == 2);
  CHECK(integer(convs, "syncs") == 0);
  const llvm::json::Object& gathers = row_of(outcome, "Gather");
  CHECK(integer(gathers, "gpu_count") == 0);
  CHECK(integer(gathers, "cpu_placed") == 1);
  const llvm::json::Object& sums = row_of(outcome, "Cumulate");
  // Both go to the CPU, and back.
  CHECK(integer(gathers, "syncs") + integer(sums, "syncs") >= 2);
  const llvm::json::Object& summary = *outcome.report.getAsObject();
  CHECK(number(summary, "fallback_share") == 0);
  CHECK(integer(summary, "syncs") == integer(summary, "gpu_syncs"));
  CHECK(integer(summary, "syncs") >= 4);  // and in and out of the network
}

TEST_CASE("without multiply-adds nodes are counted, and without a GPU all fall back") {
  DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  const Outcome mask = compile_with(mask_network(), profile, {});
  CHECK(number(*mask.report.getAsObject(), "fallback_share") == 1);
  profile.has_gpu = false;
  const Outcome outcome = compile_with(interrupted_network(), profile, {});
  CHECK(number(*outcome.report.getAsObject(), "fallback_share") == 1);
  CHECK(integer(*outcome.report.getAsObject(), "gpu_syncs") == 0);
}

TEST_CASE("a limit that is not met is an error after the report") {
  const DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  CompileOptions options;
  options.partition.strategy = "gpu";
  options.partition.limits.max_syncs = 1;
  Outcome outcome = compile_with(interrupted_network(), profile, options);
  CHECK(outcome.error.find("expected at most 1 waits between CPU and GPU (--max-syncs) in "
                           "variant gpu, found ") != std::string::npos);
  CHECK(outcome.report.getAsObject() != nullptr);
  options.partition.limits.max_syncs = 1000;
  options.partition.limits.max_fallback_percent = 0;
  CHECK(compile_with(interrupted_network(), profile, options).error == "");

  CompileOptions fallback;
  fallback.partition.limits.max_fallback_percent = 99.5;
  CHECK(compile_with(mask_network(), profile, fallback).error ==
        "test: expected at most 99.5 % of the nodes without a GPU kernel (--max-fallback), found "
        "100.0 %");
  DeviceProfile no_gpu = profile;
  no_gpu.has_gpu = false;
  CHECK(compile_with(mask_network(), no_gpu, fallback).error.find("expected a device with a GPU") !=
        std::string::npos);
}

TEST_CASE("a report alone builds no plan") {
  const DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  CompileOptions options;
  CHECK(compile_with(mask_network(), profile, options).plan_bytes > 0);
  options.builds_plan = false;
  CHECK(compile_with(mask_network(), profile, options).plan_bytes == 0);
}

TEST_CASE("nodes of the CPU alone may stand anywhere between those of the GPU") {
  for (Sharing sharing : {Sharing::FineSvm, Sharing::SubBuffer, Sharing::Separate}) {
    for (Layout layout : {Layout::Nhwc, Layout::Image2d}) {
      for (const char* strategy : {"gpu", "optimal"}) {
        CompileOptions options;
        options.partition.strategy = strategy;
        options.partition.search_budget = 100;  // any plan's layouts will do
        const Outcome outcome =
            compile_with(interrupted_network(), test::test_profile(sharing, layout), options);
        CHECK(outcome.error == "");
      }
    }
  }
}

TEST_CASE("the text has a line per operator and a summary") {
  const DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  std::string text;
  llvm::raw_string_ostream os(text);
  CompileOptions options;
  options.prints.support = SupportFormat::Text;
  options.prints.to = &os;
  REQUIRE(test::error_of(compile(interrupted_network(), "model", profile, options)) == "");
  CHECK(os.str().find("\nConv2d ") != std::string::npos);
  CHECK(os.str().find("\n0.0 % of the multiply-adds have no GPU kernel here\n") !=
        std::string::npos);
}

}  // namespace codl::compiler
