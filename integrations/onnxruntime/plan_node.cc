#include "integrations/onnxruntime/plan_node.h"

#include <algorithm>

namespace codl::onnxruntime {
namespace {

constexpr size_t kPageBytes = 4096;  // codl_plan_open wants plans in memory aligned so

std::string text_of(const int64_t* dims, size_t rank) {
  std::string text = "[";
  for (size_t i = 0; i < rank; ++i)
    text += (i > 0 ? ", " : "") + (dims[i] < 0 ? "?" : std::to_string(dims[i]));
  return text + "]";
}

ONNXTensorElementDataType type_of(codl_dtype_t dtype) {
  switch (dtype) {
    case CODL_FLOAT32:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
    case CODL_INT64:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64;
    case CODL_BOOL:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL;
    case CODL_INT8:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8;
    case CODL_UINT8:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8;
    case CODL_INT16:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16;
    case CODL_UINT16:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16;
    case CODL_INT32:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32;
    case CODL_UINT32:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32;
    case CODL_UINT64:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64;
    case CODL_FLOAT64:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE;
    case CODL_FLOAT16:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16;
    case CODL_BFLOAT16:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16;
  }
  return ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
}

// Returns null where the node has no such attribute.
const OrtOpAttr* attribute_of(const OrtApi& ort, const OrtNode* node, const char* name) {
  const OrtOpAttr* attribute = nullptr;
  if (OrtStatus* fault = ort.Node_GetAttributeByName(node, name, &attribute)) {
    ort.ReleaseStatus(fault);
    return nullptr;
  }
  return attribute;
}

// Returns 0 where there is no attribute.
size_t bytes_of_text(const OrtApi& ort, const OrtOpAttr* attribute) {
  size_t size = 0;
  char none = 0;
  if (attribute == nullptr) return 0;
  // It fails, because there is no room, and says how much is needed.
  ort.ReleaseStatus(ort.ReadOpAttr(attribute, ORT_OP_ATTR_STRING, &none, 0, &size));
  return size;
}

std::string read_text(const OrtApi& ort, const OrtNode* node, const char* name) {
  const OrtOpAttr* attribute = attribute_of(ort, node, name);
  size_t size = bytes_of_text(ort, attribute);
  if (size == 0) return "";
  std::string text(size, '\0');
  if (OrtStatus* fault = ort.ReadOpAttr(attribute, ORT_OP_ATTR_STRING, text.data(), size, &size)) {
    ort.ReleaseStatus(fault);
    return "";
  }
  return text;
}

int64_t read_integer(const OrtApi& ort, const OrtNode* node, const char* name, int64_t otherwise) {
  const OrtOpAttr* attribute = attribute_of(ort, node, name);
  int64_t value = otherwise;
  size_t size = 0;
  if (attribute == nullptr) return otherwise;
  OrtStatus* fault = ort.ReadOpAttr(attribute, ORT_OP_ATTR_INT, &value, sizeof(value), &size);
  if (fault != nullptr) value = otherwise;
  ort.ReleaseStatus(fault);
  return value;
}

// Expects a type that is the plan's as far as it is known: a dim may be open, or all of them.
OrtStatus* check_type(const OrtApi& ort, const OrtTensorTypeAndShapeInfo* type,
                      const codl_tensor_info_t& info, const std::string& where) {
  ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  if (OrtStatus* fault = ort.GetTensorElementType(type, &element)) return fault;
  if (element != type_of(info.dtype))
    return fault_of(ort, ORT_INVALID_ARGUMENT, where,
                    "expected elements of type " + std::to_string(type_of(info.dtype)) +
                        " (ONNXTensorElementDataType), found " + std::to_string(element));
  size_t rank = 0;
  if (OrtStatus* fault = ort.GetDimensionsCount(type, &rank)) return fault;
  std::vector<int64_t> dims(rank);
  if (OrtStatus* fault = ort.GetDimensions(type, dims.data(), rank)) return fault;
  bool is_same = rank == static_cast<size_t>(info.rank);
  for (size_t i = 0; is_same && i < rank; ++i) is_same = dims[i] < 0 || dims[i] == info.dims[i];
  if (is_same) return nullptr;
  return fault_of(ort, ORT_INVALID_ARGUMENT, where,
                  "expected dims " + text_of(info.dims, static_cast<size_t>(info.rank)) +
                      " of the plan, found " + text_of(dims.data(), rank));
}

OrtStatus* values_of(const OrtApi& ort, const OrtNode* node, bool are_outputs,
                     std::vector<const OrtValueInfo*>* values) {
  size_t count = 0;
  if (OrtStatus* fault =
          are_outputs ? ort.Node_GetNumOutputs(node, &count) : ort.Node_GetNumInputs(node, &count))
    return fault;
  values->resize(count);
  return are_outputs ? ort.Node_GetOutputs(node, values->data(), count)
                     : ort.Node_GetInputs(node, values->data(), count);
}

// Returns "" for a value that was left out.
std::string name_of(const OrtApi& ort, const OrtValueInfo* value) {
  const char* name = nullptr;
  if (value == nullptr) return "";
  if (OrtStatus* fault = ort.GetValueInfoName(value, &name)) {
    ort.ReleaseStatus(fault);
    return "";
  }
  return name;
}

// Returns whether the path leads from a folder to a file in it or below.
bool stays_below(const std::string& path) {
  if (path.empty() || path.find('\0') != path.npos || path[0] == '/') return false;
  return ("/" + path + "/").find("/../") == path.npos;
}

}  // namespace

bool is_plan_node(const OrtApi& ort, const OrtNode* node) {
  const char *type = "", *domain = "";
  OrtStatus* fault = ort.Node_GetOperatorType(node, &type);
  if (fault == nullptr) fault = ort.Node_GetDomain(node, &domain);
  const bool is_context = fault == nullptr && std::string(type) == "EPContext" &&
                          std::string(domain) == "com.microsoft";
  ort.ReleaseStatus(fault);
  return is_context && read_text(ort, node, "source") == "codl";
}

OrtStatus* PlanNode::make(const OrtApi& ort, const OrtLogger* logger, const Options& options,
                          const OrtGraph* graph, const OrtNode* fused_node,
                          std::unique_ptr<PlanNode>* out_node) {
  size_t count = 0;
  if (OrtStatus* fault = ort.Graph_GetNumNodes(graph, &count)) return fault;
  std::vector<const OrtNode*> nodes(count);
  if (OrtStatus* fault = ort.Graph_GetNodes(graph, nodes.data(), count)) return fault;
  if (count != 1)
    return fault_of(ort, ORT_EP_FAIL, "EPContext",
                    "expected one node, found " + std::to_string(count));
  std::unique_ptr<PlanNode> node(new PlanNode(ort, logger));
  OrtStatus* fault = node->open(options, graph, nodes[0]);
  if (fault == nullptr) fault = node->bind(nodes[0], fused_node, false);
  if (fault == nullptr) fault = node->bind(nodes[0], fused_node, true);
  if (fault == nullptr) fault = node->create_session(options);
  if (fault == nullptr) *out_node = std::move(node);
  return fault;
}

PlanNode::PlanNode(const OrtApi& ort, const OrtLogger* logger)
    : OrtNodeComputeInfo{}, ort_(ort), logger_(logger) {
  ort_version_supported = kApiVersion;
  CreateState = [](OrtNodeComputeInfo*, OrtNodeComputeContext*, void** state) -> OrtStatus* {
    *state = nullptr;  // all that there is was made with the node
    return nullptr;
  };
  Compute = [](OrtNodeComputeInfo* info, void*, OrtKernelContext* context) {
    return static_cast<PlanNode*>(info)->run(context);
  };
  ReleaseState = [](OrtNodeComputeInfo*, void*) {};
}

PlanNode::~PlanNode() {
  codl_session_destroy(session_);
  codl_plan_close(plan_);
}

OrtStatus* PlanNode::open(const Options& options, const OrtGraph* graph, const OrtNode* node) {
  where_ = "EPContext";
  if (read_integer(ort_, node, "main_context", 1) != 1)
    return fault_of(ort_, ORT_INVALID_GRAPH, where_, "expected main_context 1, found another");
  codl_diag_t diag = {};
  if (read_integer(ort_, node, "embed_mode", 1) == 0) {
    const std::string relative = read_text(ort_, node, "ep_cache_context");
    if (!stays_below(relative))
      return fault_of(
          ort_, ORT_INVALID_GRAPH, where_,
          "expected a plan in the folder of the model or below it, found \"" + relative + "\"");
    const char* model_path = "";
    if (OrtStatus* fault = ort_.Graph_GetModelPath(graph, &model_path)) return fault;
    const std::string model = model_path[0] != '\0' ? model_path : options.model_path;
    if (model.empty())
      return fault_of(ort_, ORT_INVALID_ARGUMENT, where_,
                      "expected a model that is loaded from its file, or the session option "
                      "ep.context_file_path, found neither, so that the plan " +
                          relative + " cannot be found");
    where_ = model.substr(0, model.rfind('/') + 1) + relative;
    const codl_status_t status = codl_plan_open_file(where_.c_str(), nullptr, &plan_, &diag);
    if (status != CODL_OK) return fault_of(ort_, status, "", diag);
  } else {
    const OrtOpAttr* attribute = attribute_of(ort_, node, "ep_cache_context");
    size_t size = bytes_of_text(ort_, attribute);
    if (size == 0) return fault_of(ort_, ORT_INVALID_GRAPH, where_, "expected a plan, found none");
    void* bytes = nullptr;
    if (posix_memalign(&bytes, kPageBytes, size) != 0)
      return fault_of(ort_, ORT_EP_FAIL, where_, "expected enough memory, found none left");
    bytes_.reset(bytes);
    if (OrtStatus* fault =
            ort_.ReadOpAttr(attribute, ORT_OP_ATTR_STRING, bytes_.get(), size, &size))
      return fault;
    const codl_status_t status = codl_plan_open(bytes_.get(), size, nullptr, &plan_, &diag);
    if (status != CODL_OK) return fault_of(ort_, status, where_, diag);
  }
  const std::string device = read_text(ort_, node, "hardware_architecture");
  if (device != codl_plan_device(plan_))
    return fault_of(ort_, ORT_INVALID_GRAPH, where_,
                    "expected a plan for the device " + device + " of the model, found one for " +
                        codl_plan_device(plan_));
  if (codl_plan_state_count(plan_) != 0)
    return fault_of(ort_, ORT_INVALID_GRAPH, where_, "expected a plan without states, found one");
  return nullptr;
}

// Names say which input of the fused node is which of the plan: ONNX Runtime passes a value once
// that is two inputs.
OrtStatus* PlanNode::bind(const OrtNode* node, const OrtNode* fused_node, bool is_output) {
  const char* const kind = is_output ? "output" : "input";
  std::vector<Value>& bound = is_output ? outputs_ : inputs_;
  std::vector<const OrtValueInfo*> values, passed;
  if (OrtStatus* fault = values_of(ort_, node, is_output, &values)) return fault;
  if (OrtStatus* fault = values_of(ort_, fused_node, is_output, &passed)) return fault;
  const size_t count = is_output ? codl_plan_output_count(plan_) : codl_plan_input_count(plan_);
  if (values.size() != count)
    return fault_of(ort_, ORT_INVALID_GRAPH, where_,
                    "expected a node with the plan's " + std::to_string(count) + " " + kind +
                        "s, found " + std::to_string(values.size()));
  for (size_t i = 0; i < count; ++i) {
    Value value = {};
    value.infos.resize(codl_plan_entry_count(plan_));
    for (size_t entry = 0; entry < value.infos.size(); ++entry) {
      codl_tensor_info_t* info = &value.infos[entry];
      const codl_status_t status = is_output ? codl_plan_entry_output(plan_, entry, i, info)
                                             : codl_plan_entry_input(plan_, entry, i, info);
      if (status != CODL_OK) return fault_of(ort_, status, where_, {});
    }
    const std::string name = name_of(ort_, values[i]);
    const auto is_it = [&](const OrtValueInfo* other) { return name_of(ort_, other) == name; };
    const auto found =
        name.empty() ? passed.end() : std::find_if(passed.begin(), passed.end(), is_it);
    if (found == passed.end())
      return fault_of(ort_, ORT_INVALID_GRAPH, where_,
                      std::string("expected every ") + kind + " to be in use, found \"" +
                          value.infos[0].name + "\" is not");
    value.index = static_cast<size_t>(found - passed.begin());
    const OrtTypeInfo* type = nullptr;
    const OrtTensorTypeAndShapeInfo* tensor = nullptr;
    if (OrtStatus* fault = ort_.GetValueInfoTypeInfo(values[i], &type)) return fault;
    if (OrtStatus* fault = ort_.CastTypeInfoToTensorInfo(type, &tensor)) return fault;
    if (tensor == nullptr)
      return fault_of(ort_, ORT_INVALID_GRAPH, where_, "expected tensors, found \"" + name + "\"");
    for (const codl_tensor_info_t& info : value.infos)
      if (OrtStatus* fault = check_type(ort_, tensor, info, where_ + ": " + kind + " " + name))
        return fault;
    bound.push_back(std::move(value));
  }
  (is_output ? output_buffers_ : input_buffers_).resize(count);
  return nullptr;
}

OrtStatus* PlanNode::create_session(const Options& options) {
  bool has_cpu_variant = false;
  for (size_t i = 0; i < codl_plan_variant_count(plan_); ++i) {
    codl_variant_info_t variant = {};
    if (codl_plan_variant(plan_, i, &variant) == CODL_OK && variant.needs_gpu == 0)
      has_cpu_variant = true;
  }
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? nullptr : text.c_str();
  };
  codl_diag_t diag = {};
  codl_log_t log = {this, [](void* context, const char* line) {
                      const auto* node = static_cast<PlanNode*>(context);
                      warn(node->ort_, node->logger_, node->where_ + ": " + line);
                    }};
  codl_session_options_t wanted = {};
  wanted.struct_size = sizeof(wanted);
  wanted.variant = text_or_null(options.variant);
  wanted.thread_count = options.threads;
  wanted.opencl_platform = text_or_null(options.opencl_platform);
  wanted.opencl_device = text_or_null(options.opencl_device);
  wanted.require_variant = options.allows_cpu_fallback ? 0 : 1;
  wanted.fallback =
      options.allows_cpu_fallback && has_cpu_variant ? CODL_FALLBACK_PER_RUN : CODL_FALLBACK_NEVER;
  wanted.log = &log;
  codl_program_cache_t cache = {};
  if (!options.program_cache.empty()) {
    const codl_status_t status =
        codl_dir_cache_create(options.program_cache.c_str(), &cache, &diag);
    if (status != CODL_OK) return fault_of(ort_, status, "option program_cache", diag);
    wanted.program_cache = &cache;
  }
  const codl_status_t status = codl_session_create(plan_, &wanted, &session_, &diag);
  codl_dir_cache_destroy(&cache);
  if (status != CODL_OK) return fault_of(ort_, status, where_, diag);
  codl_session_info_t info = {};
  info.struct_size = sizeof(info);
  if (codl_session_get_info(session_, &info) == CODL_OK && info.fallback_reason[0] != '\0')
    warn(ort_, logger_, where_ + ": variant " + info.variant + " runs: " + info.fallback_reason);
  return nullptr;
}

// Has the session use the plan's entry for the dims of the inputs.
OrtStatus* PlanNode::choose_entry(OrtKernelContext* context) {
  shapes_.resize(inputs_.size());
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const OrtValue* value = nullptr;
    OrtTensorTypeAndShapeInfo* type = nullptr;
    size_t rank = 0;
    if (OrtStatus* fault = ort_.KernelContext_GetInput(context, inputs_[i].index, &value))
      return fault;
    if (OrtStatus* fault = ort_.GetTensorTypeAndShape(value, &type)) return fault;
    OrtStatus* fault = ort_.GetDimensionsCount(type, &rank);
    shapes_[i] = {};
    shapes_[i].rank = static_cast<int32_t>(rank);
    if (fault == nullptr && rank <= CODL_MAX_RANK)  // no entry has more
      fault = ort_.GetDimensions(type, shapes_[i].dims, rank);
    ort_.ReleaseTensorTypeAndShapeInfo(type);
    if (fault != nullptr) return fault;
  }
  codl_diag_t diag = {};
  const codl_status_t status =
      codl_session_set_shapes(session_, shapes_.data(), shapes_.size(), &diag);
  if (status != CODL_OK) return fault_of(ort_, status, where_, diag);
  codl_session_info_t info = {};
  info.struct_size = sizeof(info);
  const codl_status_t found = codl_session_get_info(session_, &info);
  entry_ = info.entry;
  return found == CODL_OK ? nullptr : fault_of(ort_, found, where_, {});
}

OrtStatus* PlanNode::run(OrtKernelContext* context) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (codl_plan_entry_count(plan_) > 1)
    if (OrtStatus* fault = choose_entry(context)) return fault;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const codl_tensor_info_t& info = inputs_[i].infos[entry_];
    const OrtValue* value = nullptr;
    OrtTensorTypeAndShapeInfo* type = nullptr;
    const void* data = nullptr;
    if (OrtStatus* fault = ort_.KernelContext_GetInput(context, inputs_[i].index, &value))
      return fault;
    if (OrtStatus* fault = ort_.GetTensorTypeAndShape(value, &type)) return fault;
    OrtStatus* fault = check_type(ort_, type, info, where_ + ": input " + info.name);
    ort_.ReleaseTensorTypeAndShapeInfo(type);
    if (fault == nullptr) fault = ort_.GetTensorData(value, &data);
    if (fault != nullptr) return fault;
    input_buffers_[i] = {const_cast<void*>(data), info.bytes};
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const codl_tensor_info_t& info = outputs_[i].infos[entry_];
    OrtValue* value = nullptr;
    void* data = nullptr;
    if (OrtStatus* fault = ort_.KernelContext_GetOutput(context, outputs_[i].index, info.dims,
                                                        static_cast<size_t>(info.rank), &value))
      return fault;
    if (OrtStatus* fault = ort_.GetTensorMutableData(value, &data)) return fault;
    output_buffers_[i] = {data, info.bytes};
  }
  codl_diag_t diag = {};
  const codl_status_t status =
      codl_session_run(session_, input_buffers_.data(), input_buffers_.size(),
                       output_buffers_.data(), output_buffers_.size(), &diag);
  return status == CODL_OK ? check_outputs() : fault_of(ort_, status, where_, diag);
}

// ONNX Runtime made the outputs with the plan's dims, so none may be smaller.
OrtStatus* PlanNode::check_outputs() {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const codl_tensor_info_t& info = outputs_[i].infos[entry_];
    int64_t dims[CODL_MAX_RANK];
    int32_t rank = 0;
    const codl_status_t status =
        codl_session_get_output_dims(session_, i, dims, CODL_MAX_RANK, &rank);
    if (status != CODL_OK) return fault_of(ort_, status, where_, {});
    if (!std::equal(dims, dims + rank, info.dims))
      return fault_of(ort_, ORT_EP_FAIL, where_ + ": output " + info.name,
                      "expected dims " + text_of(info.dims, static_cast<size_t>(rank)) +
                          ", found " + text_of(dims, static_cast<size_t>(rank)) +
                          ", which the data decided");
  }
  return nullptr;
}

}  // namespace codl::onnxruntime
