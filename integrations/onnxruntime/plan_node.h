// Runs the plan of one EPContext node.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "codl/codl.h"
#include "integrations/onnxruntime/ort_pieces.h"

namespace codl::onnxruntime {

// Holds what a session of ONNX Runtime asks of the provider (README.md has the options).
struct Options {
  std::string variant;  // empty: the plan's first
  int32_t threads = 0;  // 0: the plan's
  bool allows_cpu_fallback = false;
  std::string program_cache;    // folder; empty: none
  std::string opencl_platform;  // part of a name; empty: any
  std::string opencl_device;
  std::string model_path;  // where a model that is loaded from memory would be; empty: unknown
};

// Returns whether the node is an EPContext of codl.
bool is_plan_node(const OrtApi& ort, const OrtNode* node);

// Has a plan and a session of it. ONNX Runtime sees an OrtNodeComputeInfo.
class PlanNode : public OrtNodeComputeInfo {
 public:
  // `graph` has one EPContext node of codl, which ONNX Runtime replaces by `fused_node`. Returns an
  // error where the plan is not there, is no plan, is of another device or of other inputs and
  // outputs than the node says, or cannot be run as `options` ask.
  static OrtStatus* make(const OrtApi& ort, const OrtLogger* logger, const Options& options,
                         const OrtGraph* graph, const OrtNode* fused_node,
                         std::unique_ptr<PlanNode>* out_node);
  ~PlanNode();
  PlanNode(const PlanNode&) = delete;
  PlanNode& operator=(const PlanNode&) = delete;

 private:
  // Says which value of ONNX Runtime is an input or output of the plan.
  struct Value {
    std::vector<codl_tensor_info_t> infos;  // one for each of the plan's entries
    size_t index;                           // its place among those of the fused node
  };

  PlanNode(const OrtApi& ort, const OrtLogger* logger);
  OrtStatus* open(const Options& options, const OrtGraph* graph, const OrtNode* node);
  OrtStatus* bind(const OrtNode* node, const OrtNode* fused_node, bool is_output);
  OrtStatus* create_session(const Options& options);
  OrtStatus* run(OrtKernelContext* context);
  OrtStatus* choose_entry(OrtKernelContext* context);
  OrtStatus* check_outputs();

  const OrtApi& ort_;
  const OrtLogger* logger_;
  std::string where_;  // the plan's path, for messages
  std::unique_ptr<void, void (*)(void*)> bytes_{
      nullptr, std::free};  // the plan, where the model contains it
  codl_plan_t* plan_ = nullptr;
  codl_session_t* session_ = nullptr;
  std::vector<Value> inputs_, outputs_;
  std::mutex mutex_;  // one run at a time; it guards what follows
  size_t entry_ = 0;  // the plan's one in use
  std::vector<codl_shape_t> shapes_;
  std::vector<codl_buffer_t> input_buffers_, output_buffers_;
};

}  // namespace codl::onnxruntime
