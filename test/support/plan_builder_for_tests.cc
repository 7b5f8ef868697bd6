#include "test/support/plan_builder_for_tests.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "schema/verify_plan.h"

namespace codl::test {
namespace {

// Returns the vector, or null for one that is to be absent.
template <typename T>
const std::vector<T>* unless_empty(const std::vector<T>& items) {
  return items.empty() ? nullptr : &items;
}

// Builds a vector of tables from a vector of structs; `make` builds one.
template <typename Item, typename Make>
auto make_tables(flatbuffers::FlatBufferBuilder& builder, const std::vector<Item>& items,
                 Make make) {
  std::vector<decltype(make(items[0]))> offsets;
  for (const Item& item : items) offsets.push_back(make(item));
  return builder.CreateVector(offsets);
}

flatbuffers::Offset<plan::TensorDef> make_tensor(flatbuffers::FlatBufferBuilder& builder,
                                                 const TestTensor& tensor) {
  return plan::CreateTensorDefDirect(
      builder, tensor.name.c_str(), static_cast<uint8_t>(tensor.dtype),
      static_cast<uint8_t>(tensor.layout), &tensor.dims, tensor.row_begin, tensor.row_end,
      static_cast<uint8_t>(tensor.storage), tensor.index, tensor.offset_bytes, tensor.bytes,
      tensor.pixel_stride, tensor.first_channel, unless_empty(tensor.scales),
      unless_empty(tensor.zero_points), tensor.scale_dim);
}

flatbuffers::Offset<plan::StepDef> make_step(flatbuffers::FlatBufferBuilder& builder,
                                             const TestStep& step) {
  return plan::CreateStepDefDirect(
      builder, static_cast<uint8_t>(step.kind), static_cast<uint8_t>(step.queue), step.kernel,
      &step.params, &step.operands, static_cast<uint8_t>(step.part_dim), step.part.begin,
      step.part.end, &step.tile, static_cast<uint8_t>(step.map_access), &step.waits,
      step.predicted_us, step.name.c_str(), step.owned.begin, step.owned.end,
      unless_empty(step.wait_kinds));
}

flatbuffers::Offset<plan::VariantDef> make_variant(flatbuffers::FlatBufferBuilder& builder,
                                                   const TestVariant& variant) {
  const auto name = builder.CreateString(variant.name);
  const auto images = make_tables(builder, variant.images, [&](const TestImage& image) {
    return plan::CreateImageDef(builder, image.width, image.height,
                                static_cast<uint8_t>(image.dtype));
  });
  const auto tensors = make_tables(builder, variant.tensors, [&](const TestTensor& tensor) {
    return make_tensor(builder, tensor);
  });
  const auto steps = make_tables(builder, variant.steps,
                                 [&](const TestStep& step) { return make_step(builder, step); });
  return plan::CreateVariantDef(builder, name, static_cast<uint8_t>(variant.sharing),
                                static_cast<uint8_t>(variant.gate), variant.host_bytes,
                                variant.shared_bytes, variant.device_bytes, images, tensors, steps,
                                variant.predicted_us, variant.max_ahead_us,
                                builder.CreateVector(variant.needs), variant.is_recorded);
}

flatbuffers::Offset<plan::EntryDef> make_entry(flatbuffers::FlatBufferBuilder& builder,
                                               const TestPlan& plan) {
  const auto make_io = [&](const TestIo& io) {
    return plan::CreateIoDefDirect(builder, io.name.c_str(), static_cast<uint8_t>(io.dtype),
                                   &io.dims, io.bytes);
  };
  const auto name = builder.CreateString(plan.entry_name);
  const auto inputs = make_tables(builder, plan.inputs, make_io);
  const auto outputs = make_tables(builder, plan.outputs, make_io);
  const auto variants = make_tables(builder, plan.variants, [&](const TestVariant& variant) {
    return make_variant(builder, variant);
  });
  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<plan::ExtentDef>>> extents;
  if (!plan.extents.empty())
    extents = make_tables(builder, plan.extents, [&](const TestExtent& extent) {
      return plan::CreateExtentDef(builder, extent.output, extent.dim, extent.count_output);
    });
  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<plan::StateDef>>> states;
  if (!plan.states.empty())
    states = make_tables(builder, plan.states, [&](const TestState& state) {
      return plan::CreateStateDef(builder, state.input, state.output);
    });
  return plan::CreateEntryDef(builder, name, inputs, outputs, plan.visible_outputs, extents,
                              variants, states);
}

void make_plan(flatbuffers::FlatBufferBuilder& builder, const TestPlan& plan) {
  std::vector<flatbuffers::Offset<plan::BlobDef>> blobs;
  for (const TestBlob& blob : plan.blobs)
    blobs.push_back(
        plan::CreateBlobDefDirect(builder, blob.name.c_str(), blob.offset_bytes, blob.bytes));
  std::vector<flatbuffers::Offset<plan::KernelUse>> kernels;
  for (const TestKernelUse& use : plan.kernels)
    kernels.push_back(plan::CreateKernelUse(builder, use.id, use.revision));
  std::vector<flatbuffers::Offset<plan::EntryDef>> entries;
  for (uint32_t i = 0; i < plan.entry_count; ++i) entries.push_back(make_entry(builder, plan));
  for (const TestPlan& other : plan.others) entries.push_back(make_entry(builder, other));
  builder.Finish(plan::CreatePlanDefDirect(builder, plan.device.c_str(), "test", "0", "0",
                                           plan.cpu_threads, unless_empty(plan.worker_speeds),
                                           &blobs, &kernels, &entries));
}

}  // namespace

uint32_t add_blob(TestPlan& plan, const std::string& name, std::span<const float> values) {
  const uint64_t offset = round_up(plan.data.size(), kBlobAlignment);
  plan.data.resize(offset + values.size_bytes());
  std::memcpy(plan.data.data() + offset, values.data(), values.size_bytes());
  plan.blobs.push_back({.name = name, .offset_bytes = offset, .bytes = values.size_bytes()});
  return static_cast<uint32_t>(plan.blobs.size() - 1);
}

void name_kernels(TestPlan& plan) {
  std::set<uint16_t> ids;
  const auto add = [&](const TestPlan& entry) {
    for (const TestVariant& variant : entry.variants)
      for (const TestStep& step : variant.steps)
        if (step.kind == StepKind::Kernel) ids.insert(step.kernel);
  };
  add(plan);
  for (const TestPlan& other : plan.others) add(other);
  plan.kernels.clear();
  for (uint16_t id : ids)
    if (const KernelInfo* kernel = find_kernel(id))
      plan.kernels.push_back({kernel->id, kernel->revision});
}

std::vector<uint8_t> to_bytes(const TestPlan& plan) {
  flatbuffers::FlatBufferBuilder builder;
  make_plan(builder, plan);
  return to_bytes({builder.GetBufferPointer(), builder.GetSize()}, plan.data);
}

std::vector<uint8_t> to_bytes(std::span<const uint8_t> table, std::span<const uint8_t> data) {
  PlanHead head = {};
  std::memcpy(head.magic, kPlanMagic, sizeof(kPlanMagic));
  head.version = kPlanVersion;
  head.table_offset = kTableOffset;
  head.table_bytes = table.size();
  head.data_offset = round_up(head.table_offset + head.table_bytes, kDataAlignment);
  head.data_bytes = data.size();
  head.file_bytes = head.data_offset + head.data_bytes;
  std::vector<uint8_t> file(head.file_bytes);
  std::copy(table.begin(), table.end(), file.begin() + static_cast<int64_t>(head.table_offset));
  std::copy(data.begin(), data.end(), file.begin() + static_cast<int64_t>(head.data_offset));
  write_head(file, head);
  update_checksum(file);
  return file;
}

PlanHead read_head(std::span<const uint8_t> file) {
  PlanHead head;
  std::memcpy(&head, file.data(), sizeof(head));
  return head;
}

void write_head(std::span<uint8_t> file, const PlanHead& head) {
  std::memcpy(file.data(), &head, sizeof(head));
}

void update_checksum(std::span<uint8_t> file) {
  PlanHead head = read_head(file);
  head.checksum = plan_checksum(file.data(), file.size());
  write_head(file, head);
}

}  // namespace codl::test
