#include "compiler/emit/plan_builder.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <optional>
#include <set>
#include <tuple>

#include "compiler/emit/plan_fault.h"
#include "compiler/support/error.h"
#include "compiler/support/version.h"
#include "kernels/kernel_table.h"
#include "llvm/ADT/STLExtras.h"
#include "schema/plan_fields.h"
#include "schema/plan_layout.h"
#include "schema/types.h"
#include "schema/verify_plan.h"

namespace codl::compiler {

namespace {

namespace fb = flatbuffers;

// Builds the FlatBuffer. Strings are shared: node and value names repeat in every variant.
class TableBuilder {
 public:
  TableBuilder(const ir::Graph& graph, const PackedWeights& weights)
      : graph_(graph), weights_(weights) {}

  void build(llvm::ArrayRef<Schedule> variants, llvm::ArrayRef<MemoryPlan> memory,
             const PlanInfo& info) {
    std::vector<fb::Offset<plan::VariantDef>> variant_offsets;
    for (size_t i = 0; i < variants.size(); ++i)
      variant_offsets.push_back(variant(variants[i], memory[i]));
    const auto inputs = ios(
        graph_.inputs(), [&](size_t i) { return string(graph_.value(graph_.inputs()[i]).name); });
    const auto outputs =
        ios(graph_.outputs(), [&](size_t i) { return string(graph_.output_name(i)); });
    const auto blobs = blob_table();
    const auto kernels = kernels_used(variants);
    const auto variants_vector = fbb_.CreateVector(variant_offsets);
    const auto extents = extent_table();
    const auto device = string(info.device);
    const auto version = string(codlc_version());
    const auto model_hash = string(info.model_hash);
    const auto profile_hash = string(info.profile_hash);
    plan::PlanDefBuilder root(fbb_);
    root.add_device(device);
    root.add_codlc_version(version);
    root.add_model_hash(model_hash);
    root.add_profile_hash(profile_hash);
    root.add_cpu_threads(info.cpu_threads);
    root.add_inputs(inputs);
    root.add_outputs(outputs);
    root.add_blobs(blobs);
    root.add_kernels(kernels);
    root.add_variants(variants_vector);
    root.add_visible_outputs(visible_outputs());
    root.add_extents(extents);
    fbb_.Finish(root.Finish());
  }

  const uint8_t* data() const { return fbb_.GetBufferPointer(); }
  uint64_t bytes() const { return fbb_.GetSize(); }

 private:
  template <typename T>
  using Vector = fb::Offset<fb::Vector<fb::Offset<T>>>;

  fb::Offset<fb::String> string(const std::string& text) { return fbb_.CreateSharedString(text); }

  // Number of the variant's blob in the plan.
  uint32_t blob_index(const Blob& blob) const {
    const std::optional<uint32_t> index = weights_.find(blob);
    assert(index && "pack_weights saw every variant");
    return *index;
  }

  fb::Offset<plan::TensorDef> tensor(const Schedule& schedule, const Tensor& tensor,
                                     uint64_t place) {
    const auto name = string(graph_.value(tensor.value).name);
    const auto dims = fbb_.CreateVector(tensor.shape.dims, static_cast<size_t>(tensor.shape.rank));
    plan::TensorDefBuilder builder(fbb_);
    builder.add_name(name);
    builder.add_dtype(static_cast<uint8_t>(tensor.shape.dtype));
    builder.add_layout(static_cast<uint8_t>(tensor.shape.layout));
    builder.add_dims(dims);
    builder.add_row_begin(tensor.shape.row_begin);
    builder.add_row_end(tensor.shape.row_end);
    builder.add_storage(static_cast<uint8_t>(tensor.storage));
    if (tensor.storage == Storage::Weights)
      builder.add_index(blob_index(schedule.blobs[tensor.index]));
    else if (tensor.storage == Storage::Image)
      builder.add_index(static_cast<uint32_t>(place));
    else if (tensor.storage == Storage::Input || tensor.storage == Storage::Output)
      builder.add_index(tensor.index);
    else
      builder.add_offset_bytes(place);
    builder.add_bytes(tensor.shape.bytes);
    return builder.Finish();
  }

  fb::Offset<plan::StepDef> step(const Step& step) {
    const auto name = string(step.name);
    // The runtime reads the params struct in place: 4-byte aligned.
    fbb_.ForceVectorAlignment(step.params.bytes(), 1, 4);
    const auto params =
        fbb_.CreateVector(static_cast<const uint8_t*>(step.params.data()), step.params.bytes());
    const auto operands = fbb_.CreateVector(step.operands.data(), step.operands.size());
    const auto tile = fbb_.CreateVector(step.tile.data(), step.tile.size());
    const auto waits = fbb_.CreateVector(step.waits.data(), step.waits.size());
    plan::StepDefBuilder builder(fbb_);
    builder.add_kind(static_cast<uint8_t>(step.kind));
    builder.add_lane(static_cast<uint8_t>(step.lane));
    builder.add_kernel(step.kernel != nullptr ? step.kernel->id : 0);
    builder.add_params(params);
    builder.add_operands(operands);
    builder.add_part_dim(static_cast<uint8_t>(step.part_dim));
    builder.add_part_begin(step.part.begin);
    builder.add_part_end(step.part.end);
    builder.add_tile(tile);
    builder.add_map_access(static_cast<uint8_t>(step.map_access));
    builder.add_waits(waits);
    builder.add_predicted_us(static_cast<float>(step.predicted_us));
    builder.add_name(name);
    builder.add_owned_begin(step.owned.begin);
    builder.add_owned_end(step.owned.end);
    return builder.Finish();
  }

  fb::Offset<plan::VariantDef> variant(const Schedule& schedule, const MemoryPlan& memory) {
    std::vector<fb::Offset<plan::TensorDef>> tensors;
    for (size_t i = 0; i < schedule.tensors.size(); ++i)
      tensors.push_back(tensor(schedule, schedule.tensors[i], memory.offset_bytes[i]));
    std::vector<fb::Offset<plan::StepDef>> steps;
    for (const Step& one : schedule.steps) steps.push_back(step(one));
    std::vector<fb::Offset<plan::ImageDef>> images;
    for (const ImageSlot& image : memory.images)
      images.push_back(
          plan::CreateImageDef(fbb_, image.width, image.height, static_cast<uint8_t>(image.dtype)));
    const auto name = string(schedule.name);
    const auto images_vector = fbb_.CreateVector(images);
    const auto tensors_vector = fbb_.CreateVector(tensors);
    const auto steps_vector = fbb_.CreateVector(steps);
    plan::VariantDefBuilder builder(fbb_);
    builder.add_name(name);
    builder.add_sharing(static_cast<uint8_t>(schedule.sharing));
    builder.add_gate(static_cast<uint8_t>(schedule.gate));
    builder.add_host_bytes(memory.host_bytes);
    builder.add_shared_bytes(memory.shared_bytes);
    builder.add_device_bytes(memory.device_bytes);
    builder.add_images(images_vector);
    builder.add_tensors(tensors_vector);
    builder.add_steps(steps_vector);
    builder.add_predicted_us(static_cast<float>(schedule.predicted_us));
    return builder.Finish();
  }

  template <typename NameOf>
  Vector<plan::IoDef> ios(llvm::ArrayRef<ir::ValueId> values, NameOf name_of_io) {
    std::vector<fb::Offset<plan::IoDef>> ios;
    for (size_t i = 0; i < values.size(); ++i) {
      const ir::Value& value = graph_.value(values[i]);
      const auto name = name_of_io(i);
      const auto dims = fbb_.CreateVector(value.type.dims.data(), value.type.dims.size());
      const uint64_t bytes =
          static_cast<uint64_t>(value.type.element_count()) * dtype_bytes(value.type.dtype);
      ios.push_back(
          plan::CreateIoDef(fbb_, name, static_cast<uint8_t>(value.type.dtype), dims, bytes));
    }
    return fbb_.CreateVector(ios);
  }

  // The counts of extents stand behind every output of the model.
  uint32_t visible_outputs() const {
    auto visible = static_cast<uint32_t>(graph_.outputs().size());
    for (const ir::OutputExtent& extent : graph_.extents())
      visible = std::min(visible, extent.count_output);
    return visible;
  }

  Vector<plan::ExtentDef> extent_table() {
    std::vector<ir::OutputExtent> sorted = graph_.extents().vec();
    llvm::sort(sorted, [](const ir::OutputExtent& a, const ir::OutputExtent& b) {
      return std::tie(a.output, a.dim) < std::tie(b.output, b.dim);
    });
    std::vector<fb::Offset<plan::ExtentDef>> extents;
    for (const ir::OutputExtent& extent : sorted)
      extents.push_back(
          plan::CreateExtentDef(fbb_, extent.output, extent.dim, extent.count_output));
    return fbb_.CreateVector(extents);
  }

  Vector<plan::BlobDef> blob_table() {
    std::vector<fb::Offset<plan::BlobDef>> blobs;
    for (size_t i = 0; i < weights_.blobs.size(); ++i) {
      const auto name = string(graph_.value(weights_.blobs[i].value).name);
      blobs.push_back(
          plan::CreateBlobDef(fbb_, name, weights_.offsets[i], weights_.blobs[i].bytes));
    }
    return fbb_.CreateVector(blobs);
  }

  Vector<plan::KernelUse> kernels_used(llvm::ArrayRef<Schedule> variants) {
    std::set<uint16_t> ids;
    for (const Schedule& variant : variants)
      for (const Step& step : variant.steps)
        if (step.kernel != nullptr) ids.insert(step.kernel->id);
    std::vector<fb::Offset<plan::KernelUse>> uses;
    for (uint16_t id : ids)
      uses.push_back(plan::CreateKernelUse(fbb_, id, find_kernel(id)->revision));
    return fbb_.CreateVector(uses);
  }

  const ir::Graph& graph_;
  const PackedWeights& weights_;
  fb::FlatBufferBuilder fbb_;
};

}  // namespace

llvm::Expected<std::vector<uint8_t>> build_plan(ir::Graph graph, llvm::ArrayRef<Schedule> variants,
                                                llvm::ArrayRef<MemoryPlan> memory,
                                                const PackedWeights& weights,
                                                const PlanInfo& info) {
  assert(variants.size() == memory.size());
  TableBuilder table(graph, weights);
  table.build(variants, memory, info);

  PlanHead head = {};
  std::memcpy(head.magic, kPlanMagic, sizeof(head.magic));
  head.version = kPlanVersion;
  head.table_offset = kTableOffset;
  head.table_bytes = table.bytes();
  head.data_offset = round_up(kTableOffset + table.bytes(), kDataAlignment);
  head.data_bytes = weights.data_bytes;
  head.file_bytes = head.data_offset + head.data_bytes;

  std::vector<uint8_t> file;
  file.reserve(head.file_bytes);
  file.resize(head.data_offset);
  std::memcpy(file.data() + kTableOffset, table.data(), table.bytes());
  append_weights(graph, weights, file);
  head.checksum = plan_checksum(file.data(), file.size());
  std::memcpy(file.data(), &head, sizeof(head));

  const plan::PlanDef* verified = nullptr;
  const PlanFault fault =
      verify_plan(file.data(), file.size(), VerifyLevel::All, kernels::check_step, &verified);
  if (!fault.ok()) return plan_fault_error(ErrorKind::Internal, "build_plan", fault);
  return file;
}

}  // namespace codl::compiler
