#include "compiler/emit/dump_plan.h"

#include <cstring>

#include "compiler/emit/dump_plan_json.h"
#include "compiler/emit/plan_fault.h"
#include "compiler/emit/step_facts.h"
#include "kernels/kernel_table.h"
#include "llvm/Support/raw_ostream.h"
#include "schema/plan_layout.h"
#include "tools/printable.h"

namespace codl::compiler {

namespace {

PlanHead head_of(const void* bytes) {
  PlanHead head;
  std::memcpy(&head, bytes, sizeof(head));
  return head;
}

std::string shown(const flatbuffers::String* text) {
  return text == nullptr ? "" : tools::printable(text->string_view());
}

class TextDump {
 public:
  explicit TextDump(const plan::PlanDef& plan) : plan_(plan) {}

  std::string run(const PlanHead& head) {
    os_ << "plan of format " << head.version << " by codlc " << shown(plan_.codlc_version())
        << " for " << shown(plan_.device()) << ", cpu_threads=" << plan_.cpu_threads() << "\n"
        << "model=" << shown(plan_.model_hash()) << " profile=" << shown(plan_.profile_hash())
        << "\n"
        << "file_bytes=" << head.file_bytes << " table_bytes=" << head.table_bytes
        << " data_bytes=" << head.data_bytes << "\n";
    for (const plan::IoDef* io : *plan_.inputs()) this->io("input", *io);
    const uint32_t visible = visible_output_count(plan_);
    for (uint32_t i = 0; i < plan_.outputs()->size(); ++i)
      io(i < visible ? "output" : "hidden output", *plan_.outputs()->Get(i));
    if (plan_.extents() != nullptr)
      for (const plan::ExtentDef* extent : *plan_.extents())
        os_ << "extent " << shown(plan_.outputs()->Get(extent->output())->name()) << " dim "
            << extent->dim() << " in "
            << shown(plan_.outputs()->Get(extent->count_output())->name()) << "\n";
    for (uint32_t i = 0; i < plan_.blobs()->size(); ++i) {
      const plan::BlobDef& blob = *plan_.blobs()->Get(i);
      os_ << "blob " << i << " " << shown(blob.name()) << " offset=" << blob.offset_bytes()
          << " bytes=" << blob.bytes() << "\n";
    }
    for (const plan::KernelUse* use : *plan_.kernels())
      os_ << "kernel " << use->id() << " " << find_kernel(use->id())->symbol << " revision "
          << use->revision() << "\n";
    for (const plan::VariantDef* variant : *plan_.variants()) this->variant(*variant);
    return std::move(text_);
  }

 private:
  void dims(const flatbuffers::Vector<int32_t>& dims) {
    os_ << "[";
    for (uint32_t i = 0; i < dims.size(); ++i) os_ << (i == 0 ? "" : ",") << dims.Get(i);
    os_ << "]";
  }

  void io(llvm::StringRef what, const plan::IoDef& io) {
    os_ << what << " " << shown(io.name()) << " " << dtype_name(static_cast<DType>(io.dtype()));
    dims(*io.dims());
    os_ << "\n";
  }

  void variant(const plan::VariantDef& variant) {
    os_ << "\nvariant " << shown(variant.name()) << " sharing=" << name_of(sharing_of(variant))
        << " gate=" << name_of(gate_of(variant)) << " host_bytes=" << variant.host_bytes()
        << " shared_bytes=" << variant.shared_bytes() << " device_bytes=" << variant.device_bytes()
        << llvm::formatv(" predicted={0:f1}us\n", variant.predicted_us());
    const ConvolutionShare share = convolution_share(variant);
    if (const double all = share.cpu_macs + share.gpu_macs; all > 0)
      os_ << llvm::formatv("multiply-adds of convolutions: cpu {0:f1} %, gpu {1:f1} %\n",
                           100 * share.cpu_macs / all, 100 * share.gpu_macs / all);
    for (uint32_t i = 0; i < variant.images()->size(); ++i) {
      const plan::ImageDef& image = *variant.images()->Get(i);
      os_ << "image " << i << " " << image.width() << "x" << image.height() << " "
          << dtype_name(static_cast<DType>(image.dtype())) << "\n";
    }
    for (uint32_t i = 0; i < variant.tensors()->size(); ++i) tensor(i, *variant.tensors()->Get(i));
    for (uint32_t i = 0; i < variant.steps()->size(); ++i)
      step(variant, i, *variant.steps()->Get(i));
  }

  // "shared+1024": an offset in an arena; "image:2": a number.
  void place(const plan::TensorDef& tensor) {
    os_ << name_of(storage_of(tensor));
    if (storage_of(tensor) == Storage::Host || storage_of(tensor) == Storage::Shared ||
        storage_of(tensor) == Storage::Device)
      os_ << "+" << tensor.offset_bytes();
    else
      os_ << ":" << tensor.index();
  }

  // "t7 conv1 f32[1,64,56,56] nhwc rows[0,28) shared+1024 bytes=401408"
  void tensor(uint32_t index, const plan::TensorDef& tensor) {
    os_ << "t" << index << " " << shown(tensor.name()) << " "
        << dtype_name(static_cast<DType>(tensor.dtype()));
    dims(*tensor.dims());
    os_ << " " << name_of(static_cast<Layout>(tensor.layout())) << " ";
    if (tensor.row_end() != 0)
      os_ << "rows[" << tensor.row_begin() << "," << tensor.row_end() << ") ";
    place(tensor);
    if (tensor.bytes() != 0) os_ << " bytes=" << tensor.bytes();
    os_ << "\n";
  }

  void operand(const plan::VariantDef& variant, const plan::StepDef& step, uint32_t i) {
    const uint32_t tensor = step.operands()->Get(i);
    os_ << "t" << tensor << "@";
    place(*variant.tensors()->Get(tensor));
  }

  // "12 gpu conv2d_f32_cl_image conv1 rows[0,78) of 112 owns[0,76) in=t4@image:0 out=t7@image:1
  // waits=[9] predicted=412.0us"
  void step(const plan::VariantDef& variant, uint32_t index, const plan::StepDef& step) {
    const StepFacts facts = step_facts(variant, step);
    os_ << index << " " << name_of(lane_of(step)) << " "
        << (facts.kernel != nullptr ? facts.kernel->symbol : name_of(kind_of(step))) << " "
        << shown(step.name());
    if (facts.dim != SplitDim::None) {
      os_ << (facts.dim == SplitDim::Height ? " rows[" : " channels[") << facts.part.begin << ","
          << facts.part.end << ") of " << facts.extent;
      if (facts.owned != facts.part)
        os_ << " owns[" << facts.owned.begin << "," << facts.owned.end << ")";
    }
    const bool is_map = kind_of(step) == StepKind::Map || kind_of(step) == StepKind::Unmap;
    if (kind_of(step) == StepKind::Map) os_ << " for " << name_of(map_access_of(step));
    const uint32_t input_count = step.operands()->size() - (is_map ? 0 : 1);
    for (uint32_t i = 0; i < input_count; ++i) {
      os_ << (i == 0 ? " in=" : ",");
      operand(variant, step, i);
    }
    if (!is_map) {
      os_ << " out=";
      operand(variant, step, input_count);
    }
    if (step.waits()->size() > 0) {
      os_ << " waits=[";
      for (uint32_t i = 0; i < step.waits()->size(); ++i)
        os_ << (i == 0 ? "" : ",") << step.waits()->Get(i);
      os_ << "]";
    }
    os_ << llvm::formatv(" predicted={0:f1}us\n", step.predicted_us());
  }

  const plan::PlanDef& plan_;
  std::string text_;
  llvm::raw_string_ostream os_{text_};
};

}  // namespace

llvm::Expected<const plan::PlanDef*> open_plan(const void* bytes, size_t size,
                                               llvm::StringRef path) {
  const plan::PlanDef* plan = nullptr;
  const PlanFault fault = verify_plan(bytes, size, VerifyLevel::All, kernels::check_step, &plan);
  if (fault.ok()) return plan;
  // A plan for another version is not damaged; codl-run and codl-bench tell the two apart as well.
  const bool is_damaged = fault.kind == PlanFault::Corrupt;
  return plan_fault_error(is_damaged ? ErrorKind::Input : ErrorKind::Unsupported, path, fault);
}

llvm::Expected<std::string> dump_plan_text(const void* bytes, size_t size, llvm::StringRef path) {
  CODL_ASSIGN_OR_RETURN(plan, open_plan(bytes, size, path));
  return TextDump(*plan).run(head_of(bytes));
}

llvm::Expected<std::string> dump_plan_json(const void* bytes, size_t size, llvm::StringRef path) {
  CODL_ASSIGN_OR_RETURN(plan, open_plan(bytes, size, path));
  return plan_as_json(*plan, head_of(bytes));
}

}  // namespace codl::compiler
