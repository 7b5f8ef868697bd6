// The execution provider's answers about compatibility, as an ONNX Runtime that only has what they
// need hears them.
#include <onnxruntime_c_api.h>

#include <string>

#include "codl/codl.h"
#include "test/support/catch.h"

extern "C" OrtStatus* CreateEpFactories(const char*, const OrtApiBase*, const OrtLogger*,
                                        OrtEpFactory**, size_t, size_t*);
extern "C" OrtStatus* ReleaseEpFactory(OrtEpFactory*);

namespace {

std::string logged;

// Has the functions that making a provider without options and answering call.
OrtApi fake_api() {
  static OrtEpApi ep_api = {};
  OrtApi api = {};
  api.GetEpApi = []() noexcept -> const OrtEpApi* { return &ep_api; };
  api.GetSessionOptionsConfigEntries =
      [](const OrtSessionOptions*, OrtKeyValuePairs**) noexcept -> OrtStatus* { return nullptr; };
  api.GetKeyValuePairs = [](const OrtKeyValuePairs*, const char* const**, const char* const**,
                            size_t* count) noexcept { *count = 0; };
  api.ReleaseKeyValuePairs = [](OrtKeyValuePairs*) noexcept {};
  api.ReleaseStatus = [](OrtStatus*) noexcept {};
  api.Logger_LogMessage = [](const OrtLogger*, OrtLoggingLevel, const char* text, const char*, int,
                             const char*) noexcept -> OrtStatus* {
    logged += text;
    return nullptr;
  };
  return api;
}
const OrtApi api = fake_api();

TEST_CASE("a provider says which plans it runs, and why it does not run others") {
  const OrtApiBase base = {[](uint32_t) noexcept { return &api; },
                           []() noexcept { return "a fake"; }};
  OrtEpFactory* factory = nullptr;
  size_t count = 0;
  REQUIRE(CreateEpFactories("codl", &base, nullptr, &factory, 1, &count) == nullptr);
  REQUIRE(count == 1);
  OrtEp* provider = nullptr;
  REQUIRE(factory->CreateEp(factory, nullptr, nullptr, 0, nullptr, nullptr, &provider) == nullptr);

  const std::string own = provider->GetCompiledModelCompatibilityInfo(provider, nullptr);
  CHECK(own == "codl plan format " + std::to_string(codl_plan_format_version()));
  const auto answer = [&](const std::string& text) {
    logged.clear();
    OrtCompiledModelCompatibility found = OrtCompiledModelCompatibility_EP_NOT_APPLICABLE;
    CHECK(factory->ValidateCompiledModelCompatibilityInfo(factory, nullptr, 0, text.c_str(),
                                                          &found) == nullptr);
    return found;
  };
  CHECK(answer(own) == OrtCompiledModelCompatibility_EP_SUPPORTED_OPTIMAL);
  CHECK(logged.empty());
  for (const std::string& other : {own + "0", own + " ", own.substr(0, own.size() - 1),
                                   std::string(), std::string("codl plan format 1")}) {
    CAPTURE(other);
    CHECK(answer(other) == OrtCompiledModelCompatibility_EP_UNSUPPORTED);
    CHECK(logged == "codl: model: expected \"" + own + "\", found \"" + other + "\"");
  }
  factory->ReleaseEp(factory, provider);
  CHECK(ReleaseEpFactory(factory) == nullptr);
}

}  // namespace
