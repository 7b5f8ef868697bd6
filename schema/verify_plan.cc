#include "schema/verify_plan.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "schema/in_place.h"
#include "schema/plan_check.h"

namespace codl {

using kernels::OperandShape;
using kernels::StepShape;
using plan::StepDef;
using plan::TensorDef;
using plan::VariantDef;

static_assert(std::endian::native == std::endian::little, "a plan is read where it lies");

namespace {

// PlanDef, EntryDef, VariantDef, TensorDef.
constexpr flatbuffers::uoffset_t kMaxTableDepth = 4;
// A plan has steps and tensors, and as many tables again for blobs, images, inputs and outputs.
constexpr flatbuffers::uoffset_t kMaxTables = 2 * (kMaxSteps + kMaxTensors);
// The smallest table takes 12 bytes with its place in a vector: 4 each for that, for the table's
// start and for fields that are not at their defaults. So no more tables are visited than a file
// has that shares none, and the time is in proportion to the bytes.
constexpr uint64_t kMinTableBytes = 12;

// ---- head ---------------------------------------------------------------------------------------

bool check_head(PlanCheck& c, const PlanHead& head, uint64_t size) {
  if (!c.expect(std::memcmp(head.magic, kPlanMagic, sizeof(kPlanMagic)) == 0,
                "magic \"CODL\" at the start of the file", head.magic[0]))
    return false;
  if (!c.expect(head.version == kPlanVersion, "the plan format version of this build", head.version,
                PlanFault::Version))
    return false;
  return c.expect(head.file_bytes == size, "file_bytes equal to the size of the file",
                  as_found(head.file_bytes)) &&
         c.expect(head.table_offset == kTableOffset, "table_offset 64",
                  as_found(head.table_offset)) &&
         c.expect(head.table_bytes <= size - kTableOffset &&
                      head.table_bytes < FLATBUFFERS_MAX_BUFFER_SIZE,
                  "table_bytes inside the file", as_found(head.table_bytes)) &&
         c.expect(head.data_offset % kDataAlignment == 0, "data_offset a multiple of 65536",
                  as_found(head.data_offset)) &&
         c.expect(head.data_offset >= kTableOffset + head.table_bytes && head.data_offset <= size,
                  "data_offset behind the table and inside the file", as_found(head.data_offset)) &&
         c.expect(head.data_bytes == size - head.data_offset,
                  "data_bytes up to the end of the file", as_found(head.data_bytes)) &&
         c.expect(head.reserved == 0, "reserved 0", as_found(head.reserved));
}

bool check_checksum(PlanCheck& c, const PlanHead& head, const void* bytes, size_t size) {
  return c.expect(plan_checksum(bytes, size) == head.checksum, "checksum of the file's bytes",
                  as_found(head.checksum));
}

bool check_table(PlanCheck& c, const uint8_t* table, uint64_t table_bytes) {
  c.at("table", -1);
  const auto max_tables = static_cast<flatbuffers::uoffset_t>(
      std::min<uint64_t>(kMaxTables, table_bytes / kMinTableBytes));
  flatbuffers::Verifier verifier(table, table_bytes, kMaxTableDepth, max_tables);
  if (!c.expect(verifier.VerifyBuffer<plan::PlanDef>(nullptr),
                "a well-formed FlatBuffer whose tables stand in one place each",
                as_found(table_bytes)))
    return false;
  c.plan = flatbuffers::GetRoot<plan::PlanDef>(table);
  return true;
}

// ---- the plan's own tables ----------------------------------------------------------------------

// Multiplies checked dims.
int64_t product_of(const flatbuffers::Vector<int32_t>& dims) {
  int64_t elements = 1;
  for (int32_t dim : dims) elements *= dim;
  return elements;
}

bool check_io(PlanCheck& c, const plan::IoDef& io) {
  if (!c.expect(io.name() != nullptr && io.name()->size() > 0, "a name", 0) ||
      !c.expect(is_known_dtype(io.dtype()), "a dtype of types.h", io.dtype()) ||
      !check_dims(c, io.dims(), 0))
    return false;
  const uint64_t bytes =
      static_cast<uint64_t>(product_of(*io.dims())) * dtype_bytes(static_cast<DType>(io.dtype()));
  return c.expect(io.bytes() == bytes, "bytes equal to the product of the dims",
                  as_found(io.bytes()));
}

bool check_ios(PlanCheck& c) {
  for (uint32_t i = 0; i < c.entry->inputs()->size(); ++i) {
    c.at("input", i);
    if (!check_io(c, *c.entry->inputs()->Get(i))) return false;
  }
  for (uint32_t i = 0; i < c.entry->outputs()->size(); ++i) {
    c.at("output", i);
    if (!check_io(c, *c.entry->outputs()->Get(i))) return false;
  }
  return true;
}

// The runtime reads what a hidden output holds as one int64.
bool check_hidden_outputs(PlanCheck& c) {
  for (uint32_t i = visible_output_count(*c.entry); i < c.entry->outputs()->size(); ++i) {
    const plan::IoDef& io = *c.entry->outputs()->Get(i);
    c.at("output", i);
    if (!c.expect(io.dtype() == static_cast<uint8_t>(DType::I64), "dtype I64 of a hidden output",
                  io.dtype()) ||
        !c.expect(io.bytes() == sizeof(int64_t), "one element of a hidden output",
                  as_found(io.bytes())))
      return false;
  }
  return true;
}

// Extents ascend, so that no dim has two.
bool check_extents(PlanCheck& c) {
  if (c.entry->extents() == nullptr) return true;
  const uint32_t visible = visible_output_count(*c.entry);
  const plan::ExtentDef* previous = nullptr;
  for (uint32_t i = 0; i < c.entry->extents()->size(); ++i) {
    const plan::ExtentDef& extent = *c.entry->extents()->Get(i);
    c.at("extent", i);
    if (!c.expect(extent.output() < visible, "a visible output", extent.output()) ||
        !c.expect(
            extent.count_output() >= visible && extent.count_output() < c.entry->outputs()->size(),
            "a hidden output as the count", extent.count_output()))
      return false;
    const uint32_t rank = c.entry->outputs()->Get(extent.output())->dims()->size();
    if (!c.expect(extent.dim() >= 0 && static_cast<uint32_t>(extent.dim()) < rank,
                  "a dim of the output", extent.dim()) ||
        !c.expect(previous == nullptr || previous->output() < extent.output() ||
                      (previous->output() == extent.output() && previous->dim() < extent.dim()),
                  "extents by ascending output and dim", extent.dim()))
      return false;
    previous = &extent;
  }
  return true;
}

// Checks the numbers that the runtime adds up and divides by.
bool check_worker_speeds(PlanCheck& c) {
  const flatbuffers::Vector<uint16_t>* speeds = c.plan->worker_speeds();
  if (speeds == nullptr) return true;
  c.at("plan", -1);
  if (!c.expect(speeds->size() == c.plan->cpu_threads() && speeds->size() >= 1,
                "as many worker_speeds as cpu_threads", speeds->size()) ||
      !c.expect(speeds->Get(0) == kFullSpeed, "10000 of the first worker", speeds->Get(0)))
    return false;
  for (uint16_t speed : *speeds)
    if (!c.expect(speed >= 1 && speed <= kFullSpeed, "worker_speeds between 1 and 10000", speed))
      return false;
  return true;
}

bool check_blobs(PlanCheck& c) {
  for (uint32_t i = 0; i < c.plan->blobs()->size(); ++i) {
    const plan::BlobDef& blob = *c.plan->blobs()->Get(i);
    c.at("blob", i);
    if (!c.expect(blob.name() != nullptr, "a name", 0) ||
        !c.expect(blob.offset_bytes() % kBlobAlignment == 0, "offset_bytes a multiple of 4096",
                  as_found(blob.offset_bytes())) ||
        !c.expect(blob.offset_bytes() <= c.data_bytes, "offset_bytes inside the data section",
                  as_found(blob.offset_bytes())) ||
        !c.expect(blob.bytes() >= 1 && blob.bytes() <= c.data_bytes - blob.offset_bytes(),
                  "bytes inside the data section", as_found(blob.bytes())))
      return false;
  }
  return true;
}

// Ids ascend, so the list is no longer than kernels.def.
bool check_kernels(PlanCheck& c) {
  uint32_t previous_id = 0;
  for (uint32_t i = 0; i < c.plan->kernels()->size(); ++i) {
    const plan::KernelUse& use = *c.plan->kernels()->Get(i);
    c.at("kernel", i);
    const KernelInfo* info = find_kernel(use.id());
    if (!c.expect(info != nullptr, "a kernel of this build", use.id(), PlanFault::Kernel) ||
        !c.expect(use.revision() == info->revision, "the kernel revision of this build",
                  use.revision(), PlanFault::Kernel) ||
        !c.expect(use.id() > previous_id, "kernel ids in ascending order", use.id()))
      return false;
    previous_id = use.id();
    c.is_kernel_named[use.id()] = true;
  }
  return true;
}

// Every string and vector of PlanDef is there, so that readers need not look for null.
bool check_plan_fields(PlanCheck& c) {
  const plan::PlanDef& plan = *c.plan;
  c.at("plan", -1);
  return c.expect(plan.device() != nullptr && plan.codlc_version() != nullptr &&
                      plan.model_hash() != nullptr && plan.profile_hash() != nullptr,
                  "device, codlc_version, model_hash and profile_hash present", 0) &&
         c.expect(plan.blobs() != nullptr && plan.kernels() != nullptr && plan.entries() != nullptr,
                  "blobs, kernels and entries present", 0) &&
         c.expect(plan.cpu_threads() <= kMaxThreads, "cpu_threads of at most 64",
                  plan.cpu_threads()) &&
         c.expect(plan.entries()->size() >= 1 && plan.entries()->size() <= kMaxEntries,
                  "between 1 and 64 entries", plan.entries()->size());
}

bool check_entry_fields(PlanCheck& c) {
  const plan::EntryDef& entry = *c.entry;
  const bool is_only = c.plan->entries()->size() == 1;
  c.variant_index = -1;
  c.at("entry", is_only ? 0 : -1);
  return c.expect(entry.name() != nullptr && entry.inputs() != nullptr &&
                      entry.outputs() != nullptr && entry.variants() != nullptr,
                  "name, inputs, outputs and variants present", 0) &&
         c.expect(!is_only || entry.name()->size() == 0, "an empty name of the only entry",
                  entry.name()->size()) &&
         c.expect(is_only || (entry.name()->size() >= 1 && entry.name()->size() <= kMaxNameBytes),
                  "a name of 1 to 255 bytes", entry.name()->size()) &&
         c.expect(entry.outputs()->size() >= 1, "at least one output", 0) &&
         c.expect(entry.visible_outputs() <= entry.outputs()->size(),
                  "visible_outputs among the outputs", entry.visible_outputs()) &&
         c.expect(entry.variants()->size() >= 1 && entry.variants()->size() <= kMaxVariants,
                  "between 1 and 64 variants", entry.variants()->size());
}

// ---- variants -----------------------------------------------------------------------------------

bool has_gpu_step(const VariantDef& variant) {
  for (const StepDef* step : *variant.steps())
    if (queue_of(*step) == Queue::Gpu) return true;
  return false;
}

bool check_images(PlanCheck& c, const VariantDef& variant) {
  for (uint32_t i = 0; i < variant.images()->size(); ++i) {
    const plan::ImageDef& image = *variant.images()->Get(i);
    c.at("image", i);
    if (!c.expect(image.width() >= 1 && image.width() <= kMaxImageSide,
                  "width between 1 and 65536 texels", image.width()) ||
        !c.expect(image.height() >= 1 && image.height() <= kMaxImageSide,
                  "height between 1 and 65536 texels", image.height()) ||
        !c.expect(uint64_t{image.width()} * image.height() * 4 <= kMaxElements,
                  "at most 2^30 elements", image.height()) ||
        !c.expect(image.dtype() == static_cast<uint8_t>(DType::F32) ||
                      image.dtype() == static_cast<uint8_t>(DType::F16) ||
                      image.dtype() == static_cast<uint8_t>(DType::I8),
                  "an image of F32, F16 or I8", image.dtype()))
      return false;
  }
  return true;
}

bool check_arenas(PlanCheck& c, const VariantDef& variant) {
  const bool has_shared_arena =
      sharing_of(variant) == Sharing::FineSvm || sharing_of(variant) == Sharing::SubBuffer;
  const bool has_gpu = has_gpu_step(variant);
  return c.expect(variant.host_bytes() <= kMaxArenaBytes, "host_bytes of at most 2^40",
                  as_found(variant.host_bytes())) &&
         c.expect(variant.shared_bytes() <= kMaxArenaBytes, "shared_bytes of at most 2^40",
                  as_found(variant.shared_bytes())) &&
         c.expect(variant.device_bytes() <= kMaxArenaBytes, "device_bytes of at most 2^40",
                  as_found(variant.device_bytes())) &&
         c.expect(has_shared_arena || variant.shared_bytes() == 0,
                  "shared_bytes 0 unless sharing is FineSvm or SubBuffer",
                  as_found(variant.shared_bytes())) &&
         c.expect(has_gpu || (variant.shared_bytes() == 0 && variant.device_bytes() == 0 &&
                              variant.images()->size() == 0),
                  "no shared or device memory without a GPU step",
                  as_found(variant.device_bytes()));
}

// A runtime that does not know states refuses the plan by this.
bool check_needs(PlanCheck& c, const VariantDef& variant) {
  const uint32_t count = count_of(variant.needs());
  const uint32_t expected = state_count(*c.entry) != 0 ? 1 : 0;
  return c.expect(count <= expected, expected == 0 ? "no needs" : "no needs but states", count,
                  PlanFault::Version) &&
         c.expect(count == expected, "a need of states", count) &&
         (count == 0 || c.expect(variant.needs()->Get(0) == static_cast<uint16_t>(Need::States),
                                 "a need of states", variant.needs()->Get(0), PlanFault::Version));
}

bool check_variant_fields(PlanCheck& c, const VariantDef& variant) {
  c.at("variant", -1);
  return c.expect(variant.name() != nullptr && variant.name()->size() > 0 &&
                      variant.name()->size() <= kMaxNameBytes,
                  "a name of 1 to 255 bytes", 0) &&
         c.expect(variant.images() != nullptr && variant.tensors() != nullptr &&
                      variant.steps() != nullptr,
                  "images, tensors and steps present", 0) &&
         c.expect(is_known(sharing_of(variant)), "a known sharing", variant.sharing()) &&
         c.expect(is_known(gate_of(variant)), "a known gate", variant.gate()) &&
         c.expect(is_latency(variant.predicted_us()), "predicted_us from 0 to 3e38",
                  as_found(variant.predicted_us())) &&
         c.expect(is_latency(variant.max_ahead_us()), "max_ahead_us from 0 to 3e38",
                  as_found(variant.max_ahead_us())) &&
         c.expect(variant.max_ahead_us() == 0 || gate_of(variant) == Gate::HostEnqueue,
                  "gate HostEnqueue where max_ahead_us is a bound", variant.gate()) &&
         c.expect(variant.max_ahead_us() == 0 || !variant.is_recorded(),
                  "no recorded steps with max_ahead_us", as_found(variant.max_ahead_us())) &&
         check_needs(c, variant);
}

// Variants are chosen by name.
bool check_name_is_new(PlanCheck& c, uint32_t variant_index) {
  const flatbuffers::String& name = *c.entry->variants()->Get(variant_index)->name();
  for (uint32_t i = 0; i < variant_index; ++i)
    if (!c.expect(!are_equal(*c.entry->variants()->Get(i)->name(), name),
                  "a name that no other variant has", i))
      return false;
  return true;
}

bool check_variants(PlanCheck& c) {
  for (uint32_t i = 0; i < c.entry->variants()->size(); ++i) {
    const VariantDef& variant = *c.entry->variants()->Get(i);
    c.variant_index = i;
    if (!check_variant_fields(c, variant) || !check_name_is_new(c, i) ||
        !check_arenas(c, variant) || !check_images(c, variant) || !check_tensors(c, variant) ||
        !check_steps(c, variant) || !check_maps(c, variant))
      return false;
  }
  return true;
}

bool check_entries(PlanCheck& c) {
  const uint32_t count = c.plan->entries()->size();
  for (uint32_t i = 0; i < count; ++i) {
    c.entry = c.plan->entries()->Get(i);
    c.entry_index = count == 1 ? -1 : int64_t{i};
    if (!check_entry_fields(c) || !check_ios(c) || !check_hidden_outputs(c) || !check_extents(c) ||
        !check_entry_is_new(c, i) || !check_states(c) || !check_variants(c))
      return false;
  }
  return true;
}

bool check_file(PlanCheck& c, const uint8_t* bytes, size_t size, VerifyLevel level,
                PlanHead* out_head) {
  if (!c.expect(reinterpret_cast<uintptr_t>(bytes) % alignof(PlanHead) == 0, "bytes aligned to 8",
                0) ||
      !c.expect(size >= sizeof(PlanHead), "a file of at least 64 bytes", as_found(size)))
    return false;
  PlanHead& head = *out_head;
  std::memcpy(&head, bytes, sizeof(head));
  c.data_bytes = head.data_bytes;
  return check_head(c, head, size) &&
         (level == VerifyLevel::Structure || check_checksum(c, head, bytes, size)) &&
         check_table(c, bytes + head.table_offset, head.table_bytes) && check_plan_fields(c) &&
         check_worker_speeds(c) && check_blobs(c) && check_kernels(c) && check_entries(c);
}

}  // namespace

PlanFault verify_plan(const void* bytes, size_t size, VerifyLevel level, CheckStep check_step,
                      const plan::PlanDef** out_plan, PlanHead* out_head) {
  PlanCheck check;
  PlanHead head;
  check.check_step = check_step;
  *out_plan = nullptr;
  if (check_file(check, static_cast<const uint8_t*>(bytes), size, level,
                 out_head != nullptr ? out_head : &head))
    *out_plan = check.plan;
  return check.fault;
}

// Returns what a file that begins so is in place of a plan; null: it begins as a plan does.
static const char* other_kind_of(std::string_view begin) {
  if (begin.empty()) return "an empty file";
  if (begin.size() >= sizeof(kPlanMagic) &&
      std::memcmp(begin.data(), kPlanMagic, sizeof(kPlanMagic)) == 0)
    return nullptr;
  // The first field, ir_version, is a small number.
  if (begin.size() >= 2 && begin[0] == '\x08' && begin[1] > 0 && begin[1] < 32)
    return "an ONNX model (codlc makes a plan of it)";
  const size_t first = begin.find_first_not_of(" \t\r\n");
  if (first != begin.npos && (begin[first] == '{' || begin[first] == '[')) return "JSON";
  return "a file of another kind";
}

bool may_be_plan(std::string_view begin, uint64_t size, char (&fault)[128]) {
  if (const char* other = other_kind_of(begin)) {
    std::snprintf(fault, sizeof(fault), "expected a plan, found %s", other);
    return false;
  }
  PlanHead head = {};
  std::memcpy(&head, begin.data(), std::min(begin.size(), sizeof(head)));
  uint64_t bytes = sizeof(head);
  // The head of another version does not say it.
  if (size >= bytes) bytes = head.version == kPlanVersion ? head.file_bytes : size;
  if (bytes == size) return true;
  std::snprintf(fault, sizeof(fault), "expected %llu bytes%s, found %llu%s",
                static_cast<unsigned long long>(bytes),
                size < sizeof(head) ? " of the plan's head" : " as the plan's head says",
                static_cast<unsigned long long>(size),
                size < bytes ? " (the file is cut off)" : "");
  return false;
}

uint64_t checksum_of(const void* bytes, size_t size) { return XXH3_64bits(bytes, size); }

uint64_t plan_checksum(const void* bytes, size_t size) {
  return checksum_of(static_cast<const uint8_t*>(bytes) + sizeof(PlanHead),
                     size - sizeof(PlanHead));
}

uint32_t visible_output_count(const plan::EntryDef& entry) {
  return entry.visible_outputs() != 0 ? entry.visible_outputs() : entry.outputs()->size();
}

OperandShape operand_shape_of(const TensorDef& tensor) {
  OperandShape shape;
  shape.dtype = static_cast<DType>(tensor.dtype());
  shape.layout = static_cast<Layout>(tensor.layout());
  shape.rank = static_cast<int32_t>(tensor.dims()->size());
  for (int32_t i = 0; i < shape.rank; ++i) shape.dims[i] = tensor.dims()->Get(i);
  shape.row_begin = tensor.row_begin();
  shape.row_end = tensor.row_end();
  shape.bytes = tensor.bytes();
  shape.pixel_stride = tensor.pixel_stride();
  shape.first_channel = tensor.first_channel();
  if (count_of(tensor.scales()) > 0) shape.scale = tensor.scales()->Get(0);
  if (count_of(tensor.zero_points()) > 0) shape.zero_point = tensor.zero_points()->Get(0);
  return shape;
}

// Returns whether y, the output of the step, lies in its input x: anywhere in it in the host arena,
// else at its beginning, in one buffer.
static bool lies_in(const TensorDef& x, const TensorDef& y, const StepShape& step) {
  const int64_t bytes = kernels::run_in_input(step);
  const Storage storage = storage_of(x);
  if (bytes < 0 || storage != storage_of(y) || !is_arena(storage)) return false;
  const bool is_of_queue =
      (storage == Storage::Device) == (step.kernel->processor == Processor::Gpu);
  return is_of_queue && (storage == Storage::Host || bytes == 0) &&
         y.offset_bytes() == x.offset_bytes() + static_cast<uint64_t>(bytes);
}

StepShape step_shape_of(const VariantDef& variant, const StepDef& step, OperandShape* shapes) {
  StepShape shape;
  shape.kernel = find_kernel(step.kernel());
  shape.params = step.params()->data();
  shape.operands = shapes;
  shape.operand_count = step.operands()->size();
  for (uint32_t i = 0; i < shape.operand_count; ++i)
    shapes[i] = operand_shape_of(operand_of(variant, step, i));
  shape.part_dim = static_cast<SplitDim>(step.part_dim());
  shape.part = {step.part_begin(), step.part_end()};
  shape.tile = step.tile()->data();
  shape.tile_count = step.tile()->size();
  shape.is_in_place = kernels::joins_windows(shape) ||
                      (shape.operand_count == 2 &&
                       lies_in(operand_of(variant, step, 0), operand_of(variant, step, 1), shape));
  return shape;
}

}  // namespace codl
