// The plug-in execution provider: what ONNX Runtime finds in libcodl_onnxruntime.so. It claims
// EPContext nodes of codl and leaves all others to other providers.
#include <charconv>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "codl/codl.h"
#include "integrations/onnxruntime/ort_pieces.h"
#include "integrations/onnxruntime/plan_node.h"

namespace codl::onnxruntime {
namespace {

// ONNX Runtime puts the provider's name in lower case before the options of a session.
constexpr std::string_view kOptionPrefix = "ep.codlexecutionprovider.";
constexpr char kOptionNames[] =
    "variant, threads, allow_cpu_fallback, program_cache, opencl_platform, opencl_device";

OrtStatus* read_option(const OrtApi& ort, const std::string& name, const std::string& value,
                       Options* options) {
  const auto refuse = [&](const char* expected) {
    return fault_of(ort, ORT_INVALID_ARGUMENT, "option " + name,
                    std::string("expected ") + expected + ", found \"" + value + "\"");
  };
  if (name == "threads") {
    const char* end = value.data() + value.size();
    const auto [stop, error] = std::from_chars(value.data(), end, options->threads);
    if (error != std::errc() || stop != end || options->threads < 0 ||
        options->threads > CODL_MAX_THREADS)
      return refuse("0 (the plan's) to 64");
  } else if (name == "allow_cpu_fallback") {
    if (value != "0" && value != "1") return refuse("0 or 1");
    options->allows_cpu_fallback = value == "1";
  } else if (name == "variant") {
    options->variant = value;
  } else if (name == "program_cache") {
    options->program_cache = value;
  } else if (name == "opencl_platform") {
    options->opencl_platform = value;
  } else if (name == "opencl_device") {
    options->opencl_device = value;
  } else {
    return fault_of(ort, ORT_INVALID_ARGUMENT, "options",
                    std::string("expected ") + kOptionNames + ", found \"" + name + "\"");
  }
  return nullptr;
}

OrtStatus* read_options(const OrtApi& ort, const OrtSessionOptions* session, Options* options) {
  OrtKeyValuePairs* pairs = nullptr;
  if (OrtStatus* fault = ort.GetSessionOptionsConfigEntries(session, &pairs)) return fault;
  const char *const *keys = nullptr, *const *values = nullptr;
  size_t count = 0;
  ort.GetKeyValuePairs(pairs, &keys, &values, &count);
  OrtStatus* fault = nullptr;
  for (size_t i = 0; i < count && fault == nullptr; ++i) {
    const std::string_view key = keys[i], value = values[i];
    if (key.substr(0, kOptionPrefix.size()) == kOptionPrefix)
      fault = read_option(ort, std::string(key.substr(kOptionPrefix.size())), values[i], options);
    else if (key == "ep.context_file_path")
      options->model_path = value;
    else if (key == "ep.context_enable" && value == "1")
      fault = fault_of(ort, ORT_NOT_IMPLEMENTED, "ep.context_enable",
                       "expected 0, since codlc --ep-context makes such models, found 1");
  }
  ort.ReleaseKeyValuePairs(pairs);
  return fault;
}

// codlc writes this to its models. Only plans of the library's own format run.
std::string compatibility_text() {
  return "codl plan format " + std::to_string(codl_plan_format_version());
}

struct Factory : OrtEpFactory {
  Factory(const OrtApi& ort_api, const OrtLogger* default_logger);
  const OrtApi& ort;
  const OrtEpApi& ep_api;
  const OrtLogger* logger;
};

// Serves one session of ONNX Runtime.
struct Provider : OrtEp {
  Provider(const Factory& of_factory, const OrtLogger* session_logger);
  const Factory& factory;
  const OrtLogger* logger;
  const std::string compatibility;
  Options options;
};

OrtStatus* ORT_API_CALL get_capability(OrtEp* self, const OrtGraph* graph,
                                       OrtEpGraphSupportInfo* support) noexcept {
  const Factory& factory = static_cast<Provider*>(self)->factory;
  const OrtApi& ort = factory.ort;
  size_t count = 0;
  if (OrtStatus* fault = ort.Graph_GetNumNodes(graph, &count)) return fault;
  std::vector<const OrtNode*> nodes(count);
  if (OrtStatus* fault = ort.Graph_GetNodes(graph, nodes.data(), count)) return fault;
  for (const OrtNode* node : nodes)
    if (is_plan_node(ort, node))
      if (OrtStatus* fault =
              factory.ep_api.EpGraphSupportInfo_AddNodesToFuse(support, &node, 1, nullptr))
        return fault;
  return nullptr;
}

void ORT_API_CALL release_nodes(OrtEp*, OrtNodeComputeInfo** nodes, size_t count) noexcept {
  for (size_t i = 0; i < count; ++i) delete static_cast<PlanNode*>(nodes[i]);
}

OrtStatus* ORT_API_CALL compile(OrtEp* self, const OrtGraph** graphs, const OrtNode** fused_nodes,
                                size_t count, OrtNodeComputeInfo** out_nodes, OrtNode**) noexcept {
  const Provider& provider = *static_cast<Provider*>(self);
  std::vector<std::unique_ptr<PlanNode>> nodes(count);
  for (size_t i = 0; i < count; ++i)
    if (OrtStatus* fault = PlanNode::make(provider.factory.ort, provider.logger, provider.options,
                                          graphs[i], fused_nodes[i], &nodes[i]))
      return fault;
  for (size_t i = 0; i < count; ++i) out_nodes[i] = nodes[i].release();
  return nullptr;
}

Provider::Provider(const Factory& of_factory, const OrtLogger* session_logger)
    : OrtEp{}, factory(of_factory), logger(session_logger), compatibility(compatibility_text()) {
  ort_version_supported = kApiVersion;
  GetName = [](const OrtEp*) noexcept { return kProviderName; };
  GetCapability = get_capability;
  Compile = compile;
  ReleaseNodeComputeInfos = release_nodes;
  GetCompiledModelCompatibilityInfo = [](OrtEp* self, const OrtGraph*) noexcept {
    return static_cast<Provider*>(self)->compatibility.c_str();
  };
}

OrtStatus* ORT_API_CALL get_supported_devices(OrtEpFactory* self,
                                              const OrtHardwareDevice* const* devices,
                                              size_t device_count, OrtEpDevice** ep_devices,
                                              size_t max_ep_devices, size_t* out_count) noexcept {
  const Factory& factory = *static_cast<Factory*>(self);
  *out_count = 0;
  // The plan says what the GPU computes, which ONNX Runtime need not know of; applications on
  // Android cannot list GPUs.
  for (size_t i = 0; i < device_count && *out_count < max_ep_devices; ++i)
    if (factory.ort.HardwareDevice_Type(devices[i]) == OrtHardwareDeviceType_CPU)
      if (OrtStatus* fault = factory.ep_api.CreateEpDevice(self, devices[i], nullptr, nullptr,
                                                           &ep_devices[(*out_count)++]))
        return fault;
  return nullptr;
}

OrtStatus* ORT_API_CALL create_provider(OrtEpFactory* self, const OrtHardwareDevice* const*,
                                        const OrtKeyValuePairs* const*, size_t,
                                        const OrtSessionOptions* session, const OrtLogger* logger,
                                        OrtEp** out_provider) noexcept {
  const Factory& factory = *static_cast<Factory*>(self);
  auto provider = std::make_unique<Provider>(factory, logger);
  if (OrtStatus* fault = read_options(factory.ort, session, &provider->options)) return fault;
  *out_provider = provider.release();
  return nullptr;
}

OrtStatus* ORT_API_CALL validate_compatibility(OrtEpFactory* self, const OrtHardwareDevice* const*,
                                               size_t, const char* found,
                                               OrtCompiledModelCompatibility* answer) noexcept {
  const Factory& factory = *static_cast<Factory*>(self);
  const std::string own = compatibility_text();
  *answer = own == found ? OrtCompiledModelCompatibility_EP_SUPPORTED_OPTIMAL
                         : OrtCompiledModelCompatibility_EP_UNSUPPORTED;
  if (own != found)
    warn(factory.ort, factory.logger, "model: expected \"" + own + "\", found \"" + found + "\"");
  return nullptr;
}

Factory::Factory(const OrtApi& ort_api, const OrtLogger* default_logger)
    : OrtEpFactory{}, ort(ort_api), ep_api(*ort_api.GetEpApi()), logger(default_logger) {
  ort_version_supported = kApiVersion;
  GetName = [](const OrtEpFactory*) noexcept { return kProviderName; };
  GetVendor = [](const OrtEpFactory*) noexcept { return "codl"; };
  GetVendorId = [](const OrtEpFactory*) noexcept { return uint32_t{0}; };
  GetVersion = [](const OrtEpFactory*) noexcept { return codl_version(); };
  GetSupportedDevices = get_supported_devices;
  CreateEp = create_provider;
  ReleaseEp = [](OrtEpFactory*, OrtEp* ep) noexcept { delete static_cast<Provider*>(ep); };
  ValidateCompiledModelCompatibilityInfo = validate_compatibility;
  // ONNX Runtime calls these without looking whether they are there. Tensors are in its own memory
  // of the CPU, and a run is done when it returns.
  CreateAllocator = [](OrtEpFactory*, const OrtMemoryInfo*, const OrtKeyValuePairs*,
                       OrtAllocator** allocator) noexcept -> OrtStatus* {
    *allocator = nullptr;
    return nullptr;
  };
  ReleaseAllocator = [](OrtEpFactory*, OrtAllocator*) noexcept {};
  CreateDataTransfer = [](OrtEpFactory*, OrtDataTransferImpl** transfer) noexcept -> OrtStatus* {
    *transfer = nullptr;
    return nullptr;
  };
  IsStreamAware = [](const OrtEpFactory*) noexcept { return false; };
  CreateSyncStreamForDevice = [](OrtEpFactory*, const OrtMemoryDevice*, const OrtKeyValuePairs*,
                                 OrtSyncStreamImpl** stream) noexcept -> OrtStatus* {
    *stream = nullptr;
    return nullptr;
  };
}

}  // namespace
}  // namespace codl::onnxruntime

extern "C" {

__attribute__((visibility("default"))) OrtStatus* CreateEpFactories(
    const char*, const OrtApiBase* base, const OrtLogger* logger, OrtEpFactory** factories,
    size_t max_factories, size_t* out_count) {
  using namespace codl::onnxruntime;
  const OrtApi* ort = base->GetApi(kApiVersion);
  if (ort == nullptr)  // every version has the first API
    return fault_of(*base->GetApi(1), ORT_NOT_IMPLEMENTED, "ONNX Runtime",
                    std::string("expected 1.23 or newer, found ") + base->GetVersionString());
  if (max_factories < 1)
    return fault_of(*ort, ORT_INVALID_ARGUMENT, "factories", "expected room for one, found none");
  factories[0] = new Factory(*ort, logger);
  *out_count = 1;
  return nullptr;
}

__attribute__((visibility("default"))) OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {
  delete static_cast<codl::onnxruntime::Factory*>(factory);
  return nullptr;
}

}  // extern "C"
