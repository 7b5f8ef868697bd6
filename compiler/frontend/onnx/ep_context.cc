#include "compiler/frontend/onnx/ep_context.h"

#include <climits>
#include <set>

#include "compiler/frontend/onnx/proto_pieces.h"
#include "compiler/support/error.h"
#include "llvm/ADT/STLExtras.h"

namespace codl::compiler {
namespace {

constexpr char kWhere[] = "--ep-context";
constexpr int64_t kMicrosoftOpset = 1;  // the only one
constexpr char kSource[] = "codl";      // integrations/onnxruntime claims nodes of this source
constexpr char kProvider[] = "CodlExecutionProvider";

// Describes an input or output of the node. Dims in which entries differ are open. Returns an
// Unsupported error where they differ in rank.
llvm::Error describe_in_all(const PlanModel& plan, std::vector<PlanIo> PlanEntry::*values, size_t i,
                            onnx::ValueInfoProto* info) {
  const PlanIo& first = (plan.entries.front().*values)[i];
  describe(first.name, first.dtype, first.dims, info);
  auto* shape = info->mutable_type()->mutable_tensor_type()->mutable_shape();
  for (const PlanEntry& entry : plan.entries) {
    const std::vector<int32_t>& dims = (entry.*values)[i].dims;
    if (dims.size() != first.dims.size())
      return unsupported_error(kWhere, "expected values of one rank in all shapes, found \"{0}\"",
                               first.name);
    for (int k = 0; k < static_cast<int>(dims.size()); ++k)
      if (dims[k] != first.dims[k]) shape->mutable_dim(k)->clear_value();
  }
  return llvm::Error::success();
}

}  // namespace

llvm::Error check_ep_context(const ir::Graph& graph) {
  const auto refusal = [](const char* format, const std::string& name) {
    return unsupported_error(kWhere, format, name);
  };
  if (graph.inputs().empty())
    return refusal("expected a network with an input, as {0} nodes have, found none", "EPContext");
  for (const OutputExtent& extent : graph.extents())
    return refusal("expected outputs of fixed dims, found \"{0}\", whose dims data decide",
                   graph.output_name(extent.output));
  std::set<std::string> names;
  for (ir::ValueId id : graph.inputs()) names.insert(graph.value(id).name);
  for (size_t i = 0; i < graph.outputs().size(); ++i)
    if (!names.insert(graph.output_name(i)).second)
      return refusal("expected outputs with names of their own, found another value \"{0}\"",
                     graph.output_name(i));
  return llvm::Error::success();
}

llvm::Expected<std::string> write_ep_context(const PlanModel& plan, llvm::StringRef relative_path,
                                             llvm::StringRef bytes) {
  onnx::ModelProto model;
  model.set_ir_version(kWrittenIrVersion);
  model.set_producer_name("codlc");
  model.set_producer_version(plan.codlc_version);
  model.add_opset_import()->set_version(kWrittenOpset);
  auto* microsoft = model.add_opset_import();
  microsoft->set_domain("com.microsoft");
  microsoft->set_version(kMicrosoftOpset);
  // ONNX Runtime asks the provider of this name about the text, before it makes a session.
  auto* compatibility = model.add_metadata_props();
  compatibility->set_key(std::string("ep_compatibility_info.") + kProvider);
  compatibility->set_value("codl plan format " + std::to_string(kPlanVersion));

  auto* graph = model.mutable_graph();
  graph->set_name("plan");
  auto* node = graph->add_node();
  node->set_name(kSource);
  node->set_domain("com.microsoft");
  node->set_op_type("EPContext");
  const PlanEntry& entry = plan.entries.front();
  for (size_t i = 0; i < entry.inputs.size(); ++i) {
    node->add_input(entry.inputs[i].name);
    if (auto error = describe_in_all(plan, &PlanEntry::inputs, i, graph->add_input())) return error;
  }
  for (size_t i = 0; i < entry.outputs.size(); ++i) {
    node->add_output(entry.outputs[i].name);
    if (auto error = describe_in_all(plan, &PlanEntry::outputs, i, graph->add_output()))
      return error;
  }
  const bool is_embedded = relative_path.empty();
  set(node, "main_context", int64_t{1});
  set(node, "embed_mode", int64_t{is_embedded});
  set_text(node, "ep_cache_context", (is_embedded ? bytes : relative_path).str());
  set_text(node, "source", kSource);
  set_text(node, "ep_sdk_version", plan.codlc_version);
  set_text(node, "hardware_architecture", plan.info.device);
  if (model.ByteSizeLong() > INT_MAX)
    return input_error(kWhere, "expected a model of at most 2 GiB, found {0} bytes",
                       model.ByteSizeLong());
  return model.SerializeAsString();
}

}  // namespace codl::compiler
