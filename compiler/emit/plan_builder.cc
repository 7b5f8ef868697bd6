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

std::vector<PlanIo> ios_of(const ir::Graph& graph, llvm::ArrayRef<ir::ValueId> values) {
  std::vector<PlanIo> ios;
  for (ir::ValueId id : values) {
    const ir::Value& value = graph.value(id);
    ios.push_back(
        {value.name,
         value.type.dtype,
         {value.type.dims.begin(), value.type.dims.end()},
         static_cast<uint64_t>(value.type.element_count()) * dtype_bytes(value.type.dtype)});
  }
  return ios;
}

// Returns the schedule's variant, with the blobs' numbers in the plan.
Variant variant_of(const Schedule& schedule, size_t entry, const PackedWeights& weights) {
  Variant variant = static_cast<const Variant&>(schedule);
  for (Tensor& tensor : variant.tensors) {
    if (tensor.storage != Storage::Weights) continue;
    const std::optional<uint32_t> index = weights.find(entry, schedule.blobs[tensor.index]);
    assert(index && "pack_weights saw every variant");
    tensor.index = *index;
  }
  return variant;
}

PlanEntry ios_of(const EntryToEmit& from) {
  const ir::Graph& graph = *from.graph;
  PlanEntry entry;
  entry.name = from.name;
  entry.inputs = ios_of(graph, graph.inputs());
  entry.outputs = ios_of(graph, graph.outputs());
  for (size_t i = 0; i < entry.outputs.size(); ++i) entry.outputs[i].name = graph.output_name(i);
  // The counts of extents come after every output of the model.
  entry.visible_outputs = static_cast<uint32_t>(entry.outputs.size());
  entry.extents = graph.extents().vec();
  for (const OutputExtent& extent : entry.extents)
    entry.visible_outputs = std::min(entry.visible_outputs, extent.count_output);
  llvm::sort(entry.extents, [](const OutputExtent& a, const OutputExtent& b) {
    return std::tie(a.output, a.dim) < std::tie(b.output, b.dim);
  });
  entry.states = graph.states().vec();
  return entry;
}

PlanModel plan_of(llvm::ArrayRef<EntryToEmit> entries, const PackedWeights& weights,
                  const PlanInfo& info) {
  PlanModel plan;
  plan.info = info;
  plan.codlc_version = codlc_version();
  for (size_t i = 0; i < weights.blobs.size(); ++i) {
    const auto& [entry, blob] = weights.blobs[i];
    plan.blobs.push_back(
        {entries[entry].graph->value(blob.value).name, weights.offsets[i], blob.bytes});
  }
  std::set<uint16_t> ids;
  for (size_t entry = 0; entry < entries.size(); ++entry) {
    plan.entries.push_back(ios_of(entries[entry]));
    for (const Schedule& schedule : entries[entry].schedules) {
      for (const Step& step : schedule.steps)
        if (step.kernel != nullptr) ids.insert(step.kernel->id);
      plan.entries.back().variants.push_back(variant_of(schedule, entry, weights));
    }
  }
  for (uint16_t id : ids) plan.kernels.push_back(find_kernel(id));
  return plan;
}

// Builds the FlatBuffer. Strings are shared, because node and value names repeat in every variant.
class TableBuilder {
 public:
  // The order in which parts are made decides the bytes.
  explicit TableBuilder(const PlanModel& plan) {
    std::vector<EntryParts> parts;
    for (const PlanEntry& entry : plan.entries) {
      EntryParts& made = parts.emplace_back();
      for (const Variant& one : entry.variants)
        made.variant_offsets.push_back(variant(one, !entry.states.empty()));
      made.inputs = ios(entry.inputs);
      made.outputs = ios(entry.outputs);
    }
    const auto blobs = list<plan::BlobDef>(plan.blobs, [&](const PlanBlob& blob) {
      return plan::CreateBlobDef(fbb_, string(blob.name), blob.offset_bytes, blob.bytes);
    });
    const auto kernels = list<plan::KernelUse>(plan.kernels, [&](const KernelInfo* kernel) {
      return plan::CreateKernelUse(fbb_, kernel->id, kernel->revision);
    });
    for (size_t i = 0; i < parts.size(); ++i) {
      const PlanEntry& entry = plan.entries[i];
      parts[i].variants = fbb_.CreateVector(parts[i].variant_offsets);
      parts[i].extents = list<plan::ExtentDef>(entry.extents, [&](const OutputExtent& extent) {
        return plan::CreateExtentDef(fbb_, extent.output, extent.dim, extent.count_output);
      });
      if (!entry.states.empty())
        parts[i].states = list<plan::StateDef>(entry.states, [&](const KeptState& state) {
          return plan::CreateStateDef(fbb_, state.input, state.output);
        });
    }
    const auto device = string(plan.info.device);
    const auto version = string(plan.codlc_version);
    const auto model_hash = string(plan.info.model_hash);
    const auto profile_hash = string(plan.info.profile_hash);
    fb::Offset<fb::Vector<uint16_t>> worker_speeds;
    if (!plan.info.worker_speeds.empty())
      worker_speeds = fbb_.CreateVector(plan.info.worker_speeds);
    std::vector<fb::Offset<plan::EntryDef>> entry_offsets;
    for (size_t i = 0; i < parts.size(); ++i) {
      const auto name = string(plan.entries[i].name);
      entry_offsets.push_back(plan::CreateEntryDef(
          fbb_, name, parts[i].inputs, parts[i].outputs, plan.entries[i].visible_outputs,
          parts[i].extents, parts[i].variants, parts[i].states));
    }
    const auto entries = fbb_.CreateVector(entry_offsets);
    plan::PlanDefBuilder root(fbb_);
    root.add_device(device);
    root.add_codlc_version(version);
    root.add_model_hash(model_hash);
    root.add_profile_hash(profile_hash);
    root.add_cpu_threads(plan.info.cpu_threads);
    root.add_blobs(blobs);
    root.add_kernels(kernels);
    root.add_entries(entries);
    if (!worker_speeds.IsNull()) root.add_worker_speeds(worker_speeds);
    fbb_.Finish(root.Finish());
  }

  const uint8_t* data() const { return fbb_.GetBufferPointer(); }
  uint64_t bytes() const { return fbb_.GetSize(); }

 private:
  template <typename Table>
  using Tables = fb::Offset<fb::Vector<fb::Offset<Table>>>;

  struct EntryParts {
    std::vector<fb::Offset<plan::VariantDef>> variant_offsets;
    Tables<plan::IoDef> inputs, outputs;
    Tables<plan::VariantDef> variants;
    Tables<plan::ExtentDef> extents;
    Tables<plan::StateDef> states;
  };

  template <typename Table, typename Items, typename Make>
  Tables<Table> list(const Items& items, Make make) {
    std::vector<fb::Offset<Table>> offsets;
    for (const auto& item : items) offsets.push_back(make(item));
    return fbb_.CreateVector(offsets);
  }

  fb::Offset<fb::String> string(const std::string& text) { return fbb_.CreateSharedString(text); }

  fb::Offset<plan::TensorDef> tensor(const Tensor& tensor) {
    const auto name = string(tensor.name);
    const auto dims = fbb_.CreateVector(tensor.shape.dims, static_cast<size_t>(tensor.shape.rank));
    fb::Offset<fb::Vector<float>> scales;
    fb::Offset<fb::Vector<int32_t>> zero_points;
    if (kernels::is_quantised(tensor.shape)) {
      scales = fbb_.CreateVector(&tensor.shape.scale, 1);
      if (tensor.shape.zero_point != 0)
        zero_points = fbb_.CreateVector(&tensor.shape.zero_point, 1);
    }
    plan::TensorDefBuilder builder(fbb_);
    builder.add_name(name);
    builder.add_dtype(static_cast<uint8_t>(tensor.shape.dtype));
    builder.add_layout(static_cast<uint8_t>(tensor.shape.layout));
    builder.add_dims(dims);
    builder.add_row_begin(tensor.shape.row_begin);
    builder.add_row_end(tensor.shape.row_end);
    builder.add_storage(static_cast<uint8_t>(tensor.storage));
    builder.add_index(tensor.index);
    builder.add_offset_bytes(tensor.offset_bytes);
    builder.add_bytes(tensor.shape.bytes);
    builder.add_pixel_stride(tensor.shape.pixel_stride);
    builder.add_first_channel(tensor.shape.first_channel);
    if (kernels::is_quantised(tensor.shape)) {
      builder.add_scales(scales);
      builder.add_zero_points(zero_points);
    }
    return builder.Finish();
  }

  fb::Offset<plan::StepDef> step(const Step& step) {
    const auto name = string(step.name);
    // The runtime reads the params struct in place, so it is 4-byte aligned.
    const size_t params_bytes = step.params.size() * sizeof(step.params[0]);
    fbb_.ForceVectorAlignment(params_bytes, 1, 4);
    const auto params =
        fbb_.CreateVector(reinterpret_cast<const uint8_t*>(fb::data(step.params)), params_bytes);
    const auto operands = fbb_.CreateVector(step.operands);
    const auto tile = fbb_.CreateVector(step.tile);
    const auto waits = fbb_.CreateVector(step.waits);
    fb::Offset<fb::Vector<uint8_t>> wait_kinds;
    if (!step.wait_kinds.empty())
      wait_kinds = fbb_.CreateVector(reinterpret_cast<const uint8_t*>(step.wait_kinds.data()),
                                     step.wait_kinds.size());
    plan::StepDefBuilder builder(fbb_);
    builder.add_kind(static_cast<uint8_t>(step.kind));
    builder.add_queue(static_cast<uint8_t>(step.queue));
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
    if (!wait_kinds.IsNull()) builder.add_wait_kinds(wait_kinds);
    return builder.Finish();
  }

  fb::Offset<plan::VariantDef> variant(const Variant& variant, bool has_states) {
    std::vector<fb::Offset<plan::TensorDef>> tensors;
    for (const Tensor& one : variant.tensors) tensors.push_back(tensor(one));
    std::vector<fb::Offset<plan::StepDef>> steps;
    for (const Step& one : variant.steps) steps.push_back(step(one));
    std::vector<fb::Offset<plan::ImageDef>> images;
    for (const ImageSlot& image : variant.images)
      images.push_back(
          plan::CreateImageDef(fbb_, image.width, image.height, static_cast<uint8_t>(image.dtype)));
    const auto name = string(variant.name);
    const auto images_vector = fbb_.CreateVector(images);
    const auto tensors_vector = fbb_.CreateVector(tensors);
    const auto steps_vector = fbb_.CreateVector(steps);
    fb::Offset<fb::Vector<uint16_t>> needs;
    if (has_states)
      needs = fbb_.CreateVector(std::vector<uint16_t>{static_cast<uint16_t>(Need::States)});
    plan::VariantDefBuilder builder(fbb_);
    builder.add_name(name);
    builder.add_sharing(static_cast<uint8_t>(variant.sharing));
    builder.add_gate(static_cast<uint8_t>(variant.gate));
    builder.add_host_bytes(variant.host_bytes);
    builder.add_shared_bytes(variant.shared_bytes);
    builder.add_device_bytes(variant.device_bytes);
    builder.add_images(images_vector);
    builder.add_tensors(tensors_vector);
    builder.add_steps(steps_vector);
    builder.add_predicted_us(static_cast<float>(variant.predicted_us));
    builder.add_max_ahead_us(static_cast<float>(variant.max_ahead_us));
    builder.add_is_recorded(variant.is_recorded);
    if (has_states) builder.add_needs(needs);
    return builder.Finish();
  }

  Tables<plan::IoDef> ios(const std::vector<PlanIo>& ios) {
    return list<plan::IoDef>(ios, [&](const PlanIo& io) {
      const auto name = string(io.name);
      const auto dims = fbb_.CreateVector(io.dims);
      return plan::CreateIoDef(fbb_, name, static_cast<uint8_t>(io.dtype), dims, io.bytes);
    });
  }

  fb::FlatBufferBuilder fbb_;
};

}  // namespace

llvm::Expected<LargeBytes> build_plan(llvm::ArrayRef<EntryToEmit> entries,
                                      const PackedWeights& weights, const PlanInfo& info) {
  const TableBuilder table(plan_of(entries, weights, info));

  PlanHead head = {};
  std::memcpy(head.magic, kPlanMagic, sizeof(head.magic));
  head.version = kPlanVersion;
  head.table_offset = kTableOffset;
  head.table_bytes = table.bytes();
  head.data_offset = round_up(kTableOffset + table.bytes(), kDataAlignment);
  head.data_bytes = weights.data_bytes;
  head.file_bytes = head.data_offset + head.data_bytes;

  LargeBytes file;
  file.reserve(head.file_bytes);
  file.resize(head.data_offset);
  std::memcpy(file.data() + kTableOffset, table.data(), table.bytes());
  append_weights(entries, weights, file);
  head.checksum = plan_checksum(file.data(), file.size());
  std::memcpy(file.data(), &head, sizeof(head));

  const plan::PlanDef* verified = nullptr;
  const PlanFault fault =
      verify_plan(file.data(), file.size(), VerifyLevel::All, kernels::check_step, &verified);
  if (!fault.ok()) return plan_fault_error(ExitCode::Internal, "build_plan", fault);
  return file;
}

}  // namespace codl::compiler
