#include "compiler/emit/dump_plan.h"

#include <cstring>

#include "compiler/emit/dump_plan_json.h"
#include "compiler/emit/plan_fault.h"
#include "compiler/emit/plan_reader.h"
#include "compiler/emit/step_facts.h"
#include "kernels/common/contract/tasks.h"
#include "kernels/kernel_table.h"
#include "llvm/Support/raw_ostream.h"
#include "schema/plan_layout.h"
#include "schema/verify_plan.h"
#include "tools/printable.h"

namespace codl::compiler {

namespace {

PlanHead head_of(const void* bytes) {
  PlanHead head;
  std::memcpy(&head, bytes, sizeof(head));
  return head;
}

std::string shown(const std::string& text) { return tools::printable(text); }

class TextDump {
 public:
  explicit TextDump(const PlanModel& plan) : plan_(plan) {}

  std::string run(const PlanHead& head) {
    os_ << "plan of format " << head.version << " by codlc " << shown(plan_.codlc_version)
        << " for " << shown(plan_.info.device) << ", cpu_threads=" << plan_.info.cpu_threads;
    for (size_t i = 0; i < plan_.info.worker_speeds.size(); ++i)
      os_ << (i == 0 ? " worker_speeds=" : ",")
          << llvm::formatv("{0:f4}", double{1} * plan_.info.worker_speeds[i] / kFullSpeed);
    os_ << "\n"
        << "model=" << shown(plan_.info.model_hash) << " profile=" << shown(plan_.info.profile_hash)
        << "\n"
        << "file_bytes=" << head.file_bytes << " table_bytes=" << head.table_bytes
        << " data_bytes=" << head.data_bytes << "\n";
    const bool is_only = plan_.entries.size() == 1;
    if (is_only) ios(plan_.entries.front());
    for (size_t i = 0; i < plan_.blobs.size(); ++i) {
      const PlanBlob& blob = plan_.blobs[i];
      os_ << "blob " << i << " " << shown(blob.name) << " offset=" << blob.offset_bytes
          << " bytes=" << blob.bytes << "\n";
    }
    for (const KernelInfo* kernel : plan_.kernels)
      os_ << "kernel " << kernel->id << " " << kernel->symbol << " revision " << kernel->revision
          << "\n";
    for (const PlanEntry& entry : plan_.entries) {
      if (!is_only) {
        os_ << "\nentry " << shown(entry.name) << "\n";
        ios(entry);
      }
      for (const Variant& one : entry.variants) variant(one);
    }
    return std::move(text_);
  }

 private:
  void dims(llvm::ArrayRef<int32_t> dims) {
    os_ << "[";
    for (size_t i = 0; i < dims.size(); ++i) os_ << (i == 0 ? "" : ",") << dims[i];
    os_ << "]";
  }

  void ios(const PlanEntry& entry) {
    for (const PlanIo& one : entry.inputs) io("input", one);
    for (size_t i = 0; i < entry.outputs.size(); ++i)
      io(i < entry.visible_outputs ? "output" : "hidden output", entry.outputs[i]);
    for (const OutputExtent& extent : entry.extents)
      os_ << "extent " << shown(entry.outputs[extent.output].name) << " dim " << extent.dim
          << " in " << shown(entry.outputs[extent.count_output].name) << "\n";
    for (const KeptState& state : entry.states)
      os_ << "state " << shown(entry.inputs[state.input].name) << " of "
          << shown(entry.outputs[state.output].name) << "\n";
  }

  void io(llvm::StringRef what, const PlanIo& io) {
    os_ << what << " " << shown(io.name) << " " << dtype_name(io.dtype);
    dims(io.dims);
    os_ << "\n";
  }

  void variant(const Variant& variant) {
    os_ << "\nvariant " << shown(variant.name) << " sharing=" << name_of(variant.sharing)
        << " gate=" << name_of(variant.gate) << " host_bytes=" << variant.host_bytes
        << " shared_bytes=" << variant.shared_bytes << " device_bytes=" << variant.device_bytes
        << llvm::formatv(" predicted={0:f1}us", variant.predicted_us);
    if (variant.max_ahead_us > 0) os_ << llvm::formatv(" max_ahead={0:f1}us", variant.max_ahead_us);
    if (variant.is_recorded) os_ << " recorded";
    os_ << "\n";
    const ConvolutionShare share = convolution_share(variant);
    if (const double all = share.cpu_macs + share.gpu_macs; all > 0)
      os_ << llvm::formatv("multiply-adds of convolutions: cpu {0:f1} %, gpu {1:f1} %\n",
                           100 * share.cpu_macs / all, 100 * share.gpu_macs / all);
    for (size_t i = 0; i < variant.images.size(); ++i) {
      const ImageSlot& image = variant.images[i];
      os_ << "image " << i << " " << image.width << "x" << image.height << " "
          << dtype_name(image.dtype) << "\n";
    }
    for (size_t i = 0; i < variant.tensors.size(); ++i) tensor(i, variant.tensors[i]);
    for (size_t i = 0; i < variant.steps.size(); ++i) step(variant, i, variant.steps[i]);
  }

  // Prints "shared+1024" for an offset in an arena, "image:2" for an image's number.
  void place(const Tensor& tensor) {
    os_ << name_of(tensor.storage);
    if (is_arena(tensor.storage))
      os_ << "+" << tensor.offset_bytes;
    else
      os_ << ":" << tensor.index;
  }

  // Prints "t7 conv1 f32[1,64,56,56] nhwc rows[0,28) shared+1024 bytes=401408".
  void tensor(size_t index, const Tensor& tensor) {
    const kernels::OperandShape& shape = tensor.shape;
    os_ << "t" << index << " " << shown(tensor.name) << " " << dtype_name(shape.dtype);
    dims({shape.dims, static_cast<size_t>(shape.rank)});
    os_ << " " << name_of(shape.layout) << " ";
    if (shape.row_end != 0) os_ << "rows[" << shape.row_begin << "," << shape.row_end << ") ";
    if (shape.pixel_stride != 0) os_ << "pixel_stride=" << shape.pixel_stride << " ";
    if (shape.first_channel != 0) os_ << "first_channel=" << shape.first_channel << " ";
    if (kernels::is_quantised(shape))
      os_ << llvm::format("scale=%.9g ", double{shape.scale}) << "zero_point=" << shape.zero_point
          << " ";
    place(tensor);
    if (shape.bytes != 0) os_ << " bytes=" << shape.bytes;
    os_ << "\n";
  }

  void operand(const Variant& variant, TensorId tensor) {
    os_ << "t" << tensor << "@";
    place(variant.tensors[tensor]);
  }

  // Prints "12 gpu conv2d_f32_cl_image conv1 rows[0,78) of 112 owns[0,76) in=t4@image:0
  // out=t7@image:1 waits=[9] predicted=412.0us".
  void step(const Variant& variant, size_t index, const Step& step) {
    const StepFacts facts = step_facts(variant, step);
    os_ << index << " " << name_of(step.queue) << " "
        << (step.kernel != nullptr ? step.kernel->symbol : name_of(step.kind)) << " "
        << shown(step.name);
    if (facts.is_in_place) os_ << " in place";
    if (step.part_dim != SplitDim::None) {
      os_ << (step.part_dim == SplitDim::Height ? " rows[" : " channels[") << step.part.begin << ","
          << step.part.end << ") of " << facts.extent;
      if (facts.owned != step.part)
        os_ << " owns[" << facts.owned.begin << "," << facts.owned.end << ")";
    }
    const bool is_map = step.kind == StepKind::Map || step.kind == StepKind::Unmap;
    if (step.kind == StepKind::Map) os_ << " for " << name_of(step.map_access);
    const size_t input_count = step.operands.size() - (is_map ? 0 : 1);
    for (size_t i = 0; i < input_count; ++i) {
      os_ << (i == 0 ? " in=" : ",");
      operand(variant, step.operands[i]);
    }
    if (!is_map) {
      os_ << " out=";
      operand(variant, step.operands[input_count]);
    }
    if (!step.waits.empty()) {
      os_ << " waits=[";
      for (size_t i = 0; i < step.waits.size(); ++i)
        os_ << (i == 0 ? "" : ",") << step.waits[i] << (step.waits_by_flag(i) ? " by flag" : "");
      os_ << "]";
    }
    os_ << llvm::formatv(" predicted={0:f1}us\n", step.predicted_us);
  }

  const PlanModel& plan_;
  std::string text_;
  llvm::raw_string_ostream os_{text_};
};

}  // namespace

llvm::Expected<PlanModel> open_plan(const void* bytes, size_t size, llvm::StringRef path) {
  const plan::PlanDef* table = nullptr;
  const PlanFault fault = verify_plan(bytes, size, VerifyLevel::All, kernels::check_step, &table);
  if (fault.ok()) return plan_of(*table);
  // A plan of another version is not damaged; codl-run and codl-bench tell the two apart as well.
  const bool is_damaged = fault.kind == PlanFault::Corrupt;
  return plan_fault_error(is_damaged ? ExitCode::Input : ExitCode::Unsupported, path, fault);
}

llvm::Expected<std::string> dump_plan_text(const void* bytes, size_t size, llvm::StringRef path) {
  CODL_ASSIGN_OR_RETURN(plan, open_plan(bytes, size, path));
  return TextDump(plan).run(head_of(bytes));
}

llvm::Expected<std::string> dump_plan_json(const void* bytes, size_t size, llvm::StringRef path) {
  CODL_ASSIGN_OR_RETURN(plan, open_plan(bytes, size, path));
  return plan_as_json(plan, head_of(bytes));
}

}  // namespace codl::compiler
