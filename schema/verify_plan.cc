#include "schema/verify_plan.h"

#include <bit>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "kernels/common/tensor_view.h"
#include "schema/plan_generated.h"
#include "schema/plan_layout.h"

namespace codl {

using kernels::OperandShape;
using kernels::StepShape;
using plan::Lane;
using plan::Sharing;
using plan::StepDef;
using plan::StepKind;
using plan::Storage;
using plan::TensorDef;
using plan::VariantDef;

static_assert(std::endian::native == std::endian::little, "a plan is read where it lies");

namespace {

// PlanDef, VariantDef, TensorDef.
constexpr flatbuffers::uoffset_t kMaxTableDepth = 3;
// Steps and tensors, and as many again for blobs, images, inputs and outputs.
constexpr flatbuffers::uoffset_t kMaxTables = 2 * (kMaxSteps + kMaxTensors);

// What is being checked, what has been counted, and the first fault.
struct Check {
  const plan::PlanDef* plan = nullptr;
  CheckStep check_step = nullptr;
  uint64_t data_bytes = 0;
  bool is_kernel_named[kKernelCount + 1] = {};  // by kernel id: listed in PlanDef::kernels
  uint64_t step_count = 0;                      // so far, over all variants
  uint64_t tensor_count = 0;
  uint64_t wait_count = 0;

  const char* where = "head";
  int64_t variant_index = -1;
  int64_t index = -1;
  PlanFault fault;

  void at(const char* place, int64_t place_index) {
    where = place;
    index = place_index;
  }

  bool expect(bool holds, const char* expected, int64_t found,
              PlanFault::Kind kind = PlanFault::Corrupt) {
    if (!holds) fault = {kind, where, expected, variant_index, index, found};
    return holds;
  }
};

// Value of an unsigned 64-bit field for PlanFault::found.
constexpr int64_t as_found(uint64_t value) { return static_cast<int64_t>(value); }

constexpr bool is_known_dtype(uint8_t dtype) {
  return dtype == static_cast<uint8_t>(DType::F32) || dtype == static_cast<uint8_t>(DType::I64);
}

constexpr bool is_known_layout(uint8_t layout) {
  return layout <= static_cast<uint8_t>(Layout::Packed);
}

constexpr bool has_rows(Layout layout) {
  return layout == Layout::Nhwc || layout == Layout::Image2d;
}

// Also false for NaN and infinity, which JSON cannot carry.
constexpr bool is_latency(float latency_us) { return latency_us >= 0 && latency_us < 3e38f; }

// Multiplies *product, at most kMaxElements, by a factor of at most kMaxDim: no overflow. False if
// the product is over the limit.
constexpr bool multiply_within_limit(int64_t factor, int64_t* product) {
  *product *= factor;
  return *product <= kMaxElements;
}

// ---- head ---------------------------------------------------------------------------------------

bool check_head(Check& c, const PlanHead& head, uint64_t size) {
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

bool check_checksum(Check& c, const PlanHead& head, const void* bytes, size_t size) {
  return c.expect(plan_checksum(bytes, size) == head.checksum, "checksum of the file's bytes",
                  as_found(head.checksum));
}

bool check_table(Check& c, const uint8_t* table, uint64_t table_bytes) {
  c.at("table", -1);
  flatbuffers::Verifier verifier(table, table_bytes, kMaxTableDepth, kMaxTables);
  if (!c.expect(verifier.VerifyBuffer<plan::PlanDef>(nullptr), "a well-formed FlatBuffer",
                as_found(table_bytes)))
    return false;
  c.plan = flatbuffers::GetRoot<plan::PlanDef>(table);
  return true;
}

// ---- the plan's own tables ----------------------------------------------------------------------

// Dims of a value: each within limits, and their product.
bool check_dims(Check& c, const flatbuffers::Vector<int32_t>* dims) {
  if (!c.expect(dims != nullptr, "dims present", 0) ||
      !c.expect(dims->size() <= static_cast<uint32_t>(kMaxRank), "rank of at most 8", dims->size()))
    return false;
  int64_t elements = 1;
  for (int32_t dim : *dims) {
    if (!c.expect(dim >= 1 && dim <= kMaxDim, "dims between 1 and 2^24", dim)) return false;
    if (!c.expect(multiply_within_limit(dim, &elements), "at most 2^30 elements", elements))
      return false;
  }
  return true;
}

// The product of checked dims.
int64_t product_of(const flatbuffers::Vector<int32_t>& dims) {
  int64_t elements = 1;
  for (int32_t dim : dims) elements *= dim;
  return elements;
}

bool check_io(Check& c, const plan::IoDef& io) {
  if (!c.expect(io.name() != nullptr && io.name()->size() > 0, "a name", 0) ||
      !c.expect(is_known_dtype(io.dtype()), "dtype F32 or I64", io.dtype()) ||
      !check_dims(c, io.dims()))
    return false;
  const uint64_t bytes =
      static_cast<uint64_t>(product_of(*io.dims())) * dtype_bytes(static_cast<DType>(io.dtype()));
  return c.expect(io.bytes() == bytes, "bytes equal to the product of the dims",
                  as_found(io.bytes()));
}

bool check_ios(Check& c) {
  for (uint32_t i = 0; i < c.plan->inputs()->size(); ++i) {
    c.at("input", i);
    if (!check_io(c, *c.plan->inputs()->Get(i))) return false;
  }
  for (uint32_t i = 0; i < c.plan->outputs()->size(); ++i) {
    c.at("output", i);
    if (!check_io(c, *c.plan->outputs()->Get(i))) return false;
  }
  return true;
}

bool check_blobs(Check& c) {
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

// Ascending ids, so the list is no longer than kernels.def.
bool check_kernels(Check& c) {
  uint32_t previous_id = 0;
  for (uint32_t i = 0; i < c.plan->kernels()->size(); ++i) {
    const plan::KernelUse& use = *c.plan->kernels()->Get(i);
    c.at("kernel", i);
    const KernelRow* row = find_kernel(use.id());
    if (!c.expect(row != nullptr, "a kernel of this build", use.id(), PlanFault::Kernel) ||
        !c.expect(use.revision() == row->revision, "the kernel revision of this build",
                  use.revision(), PlanFault::Kernel) ||
        !c.expect(use.id() > previous_id, "kernel ids in ascending order", use.id()))
      return false;
    previous_id = use.id();
    c.is_kernel_named[use.id()] = true;
  }
  return true;
}

// Every string and vector of PlanDef is there, so that readers need not look for null.
bool check_plan_fields(Check& c) {
  const plan::PlanDef& plan = *c.plan;
  c.at("plan", -1);
  return c.expect(plan.device() != nullptr && plan.codlc_version() != nullptr &&
                      plan.model_hash() != nullptr && plan.profile_hash() != nullptr,
                  "device, codlc_version, model_hash and profile_hash present", 0) &&
         c.expect(plan.inputs() != nullptr && plan.outputs() != nullptr &&
                      plan.blobs() != nullptr && plan.kernels() != nullptr &&
                      plan.variants() != nullptr,
                  "inputs, outputs, blobs, kernels and variants present", 0) &&
         c.expect(plan.cpu_threads() <= kMaxThreads, "cpu_threads of at most 64",
                  plan.cpu_threads()) &&
         c.expect(plan.outputs()->size() >= 1, "at least one output", 0) &&
         c.expect(plan.variants()->size() >= 1 && plan.variants()->size() <= kMaxVariants,
                  "between 1 and 64 variants", plan.variants()->size());
}

// ---- tensors ------------------------------------------------------------------------------------

bool is_layout_of(Storage storage, Layout layout) {
  switch (storage) {
    case Storage::Input:
    case Storage::Output:
      return layout == Layout::Plain;
    case Storage::Image:
      return layout == Layout::Image2d;
    case Storage::Weights:
      return layout != Layout::Image2d;
    default:
      return layout == Layout::Plain || layout == Layout::Nhwc;
  }
}

// Rank, dims, rows and the elements stored, pad lanes included.
bool check_tensor_shape(Check& c, const TensorDef& tensor) {
  if (!check_dims(c, tensor.dims())) return false;
  const int32_t row_begin = tensor.row_begin();
  const int32_t row_end = tensor.row_end();
  if (!has_rows(static_cast<Layout>(tensor.layout())))
    return c.expect(row_begin == 0 && row_end == 0, "row_begin and row_end 0 in this layout",
                    row_end);
  if (!c.expect(tensor.dims()->size() == 4, "rank 4 in this layout", tensor.dims()->size()))
    return false;
  const int32_t rows = tensor.dims()->Get(2);
  if (!c.expect(row_begin >= 0 && row_begin < row_end && row_end <= rows,
                "rows [row_begin, row_end) inside the value", row_end))
    return false;
  int64_t elements = round_up(tensor.dims()->Get(1), kChannelPad);
  return c.expect(multiply_within_limit(tensor.dims()->Get(0), &elements) &&
                      multiply_within_limit(row_end - row_begin, &elements) &&
                      multiply_within_limit(tensor.dims()->Get(3), &elements),
                  "at most 2^30 elements, pad lanes included", elements);
}

// Bytes of a tensor in memory whose shape has been checked; 0 for an image.
uint64_t stored_bytes(const TensorDef& tensor) {
  const OperandShape shape = operand_shape_of(tensor);
  if (shape.layout == Layout::Image2d) return 0;
  return static_cast<uint64_t>(kernels::stored_elements(shape)) * dtype_bytes(shape.dtype);
}

bool check_io_place(Check& c, const TensorDef& tensor,
                    const flatbuffers::Vector<flatbuffers::Offset<plan::IoDef>>& ios) {
  if (!c.expect(tensor.index() < ios.size(), "index of an input or output of the plan",
                tensor.index()))
    return false;
  const plan::IoDef& io = *ios.Get(tensor.index());
  if (!c.expect(tensor.dtype() == io.dtype(), "dtype of the input or output", tensor.dtype()) ||
      !c.expect(tensor.dims()->size() == io.dims()->size(), "rank of the input or output",
                tensor.dims()->size()))
    return false;
  for (uint32_t i = 0; i < io.dims()->size(); ++i)
    if (!c.expect(tensor.dims()->Get(i) == io.dims()->Get(i), "dims of the input or output",
                  tensor.dims()->Get(i)))
      return false;
  return true;
}

bool check_arena_place(Check& c, const TensorDef& tensor, uint64_t arena_bytes,
                       uint64_t alignment) {
  return c.expect(tensor.index() == 0, "index 0 in an arena", tensor.index()) &&
         c.expect(tensor.offset_bytes() % alignment == 0,
                  "offset_bytes a multiple of the arena's alignment (host 64, else 1024)",
                  as_found(tensor.offset_bytes())) &&
         c.expect(tensor.offset_bytes() <= arena_bytes &&
                      tensor.bytes() <= arena_bytes - tensor.offset_bytes(),
                  "offset_bytes + bytes inside the arena", as_found(tensor.offset_bytes()));
}

bool check_image_place(Check& c, const VariantDef& variant, const TensorDef& tensor) {
  if (!c.expect(tensor.index() < variant.images()->size(), "index of an image of the variant",
                tensor.index()) ||
      !c.expect(tensor.dtype() == static_cast<uint8_t>(DType::F32), "dtype F32 in an image",
                tensor.dtype()))
    return false;
  const plan::ImageDef& image = *variant.images()->Get(tensor.index());
  const OperandShape shape = operand_shape_of(tensor);
  return c.expect(kernels::image_width(shape) <= image.width(), "an image at least as wide",
                  image.width()) &&
         c.expect(kernels::image_height(shape) <= image.height(), "an image at least as high",
                  image.height());
}

bool check_weights_place(Check& c, const TensorDef& tensor) {
  return c.expect(tensor.index() < c.plan->blobs()->size(), "index of a blob of the plan",
                  tensor.index()) &&
         c.expect(tensor.bytes() == c.plan->blobs()->Get(tensor.index())->bytes(),
                  "bytes equal to the blob's", as_found(tensor.bytes()));
}

bool check_tensor_place(Check& c, const VariantDef& variant, const TensorDef& tensor) {
  switch (tensor.storage()) {
    case Storage::Input:
      return check_io_place(c, tensor, *c.plan->inputs());
    case Storage::Output:
      return check_io_place(c, tensor, *c.plan->outputs());
    case Storage::Host:
      return check_arena_place(c, tensor, variant.host_bytes(), kHostAlignment);
    case Storage::Shared:
      return check_arena_place(c, tensor, variant.shared_bytes(), kDeviceAlignment);
    case Storage::Device:
      return check_arena_place(c, tensor, variant.device_bytes(), kDeviceAlignment);
    case Storage::Image:
      return check_image_place(c, variant, tensor);
    case Storage::Weights:
      return check_weights_place(c, tensor);
  }
  return false;
}

bool check_tensor(Check& c, const VariantDef& variant, const TensorDef& tensor) {
  if (!c.expect(tensor.name() != nullptr, "a name", 0) ||
      !c.expect(is_known_dtype(tensor.dtype()), "dtype F32 or I64", tensor.dtype()) ||
      !c.expect(is_known_layout(tensor.layout()), "a known layout", tensor.layout()) ||
      !c.expect(tensor.storage() <= Storage::MAX, "a known storage",
                static_cast<int64_t>(tensor.storage())) ||
      !c.expect(is_layout_of(tensor.storage(), static_cast<Layout>(tensor.layout())),
                "a layout that its storage can hold", tensor.layout()) ||
      !check_tensor_shape(c, tensor))
    return false;
  // A packed blob's size is known to the contract of its operator, which sees it in the step.
  const bool is_packed = tensor.layout() == static_cast<uint8_t>(Layout::Packed);
  if (!is_packed &&
      !c.expect(tensor.bytes() == stored_bytes(tensor),
                "bytes equal to the elements stored (0 in an image)", as_found(tensor.bytes())))
    return false;
  const bool is_in_arena = tensor.storage() == Storage::Host ||
                           tensor.storage() == Storage::Shared ||
                           tensor.storage() == Storage::Device;
  return c.expect(is_in_arena || tensor.offset_bytes() == 0, "offset_bytes 0 outside an arena",
                  as_found(tensor.offset_bytes())) &&
         check_tensor_place(c, variant, tensor);
}

bool check_tensors(Check& c, const VariantDef& variant) {
  c.tensor_count += variant.tensors()->size();
  c.at("variant", -1);
  if (!c.expect(c.tensor_count <= kMaxTensors, "at most 2^20 tensors in all variants",
                as_found(c.tensor_count)))
    return false;
  for (uint32_t i = 0; i < variant.tensors()->size(); ++i) {
    c.at("tensor", i);
    if (!check_tensor(c, variant, *variant.tensors()->Get(i))) return false;
  }
  return true;
}

// True if writing one tensor changes bytes of the other.
bool share_bytes(const TensorDef& a, const TensorDef& b) {
  if (a.storage() != b.storage()) return false;
  switch (a.storage()) {
    case Storage::Input:
    case Storage::Output:
    case Storage::Image:
    case Storage::Weights:
      return a.index() == b.index();
    default:
      return a.offset_bytes() < b.offset_bytes() + b.bytes() &&
             b.offset_bytes() < a.offset_bytes() + a.bytes();
  }
}

// ---- steps --------------------------------------------------------------------------------------

const TensorDef& operand_of(const VariantDef& variant, const StepDef& step, uint32_t operand) {
  return *variant.tensors()->Get(step.operands()->Get(operand));
}

bool check_operand_indices(Check& c, const VariantDef& variant, const StepDef& step) {
  if (!c.expect(step.operands()->size() <= kernels::kMaxOperands, "at most 16 operands",
                step.operands()->size()))
    return false;
  for (uint32_t tensor : *step.operands())
    if (!c.expect(tensor < variant.tensors()->size(), "operands that name tensors of the variant",
                  tensor))
      return false;
  return true;
}

// Ascending, so that no step is waited for twice; of another lane, because a lane keeps its order.
bool check_waits(Check& c, const VariantDef& variant, const StepDef& step) {
  c.wait_count += step.waits()->size();
  if (!c.expect(c.wait_count <= kMaxWaits, "at most 2^24 waits in all variants",
                as_found(c.wait_count)))
    return false;
  int64_t previous = -1;
  for (uint32_t wait : *step.waits()) {
    if (!c.expect(int64_t{wait} < c.index, "waits for earlier steps", wait) ||
        !c.expect(int64_t{wait} > previous, "waits in ascending order", wait) ||
        !c.expect(variant.steps()->Get(wait)->lane() != step.lane(),
                  "waits for steps of other lanes", wait))
      return false;
    previous = wait;
  }
  return true;
}

// True if a step of the lane may read the storage; `writes`: write it.
bool may_touch(Lane lane, Storage storage, bool writes) {
  switch (storage) {
    case Storage::Input:
      return lane == Lane::Cpu && !writes;
    case Storage::Output:
      return lane == Lane::Cpu && writes;
    case Storage::Host:
      return lane == Lane::Cpu;
    case Storage::Shared:
      return true;
    case Storage::Device:
    case Storage::Image:
      return lane == Lane::Gpu;
    case Storage::Weights:
      return !writes;
  }
  return false;
}

bool check_kernel_operands(Check& c, const VariantDef& variant, const StepDef& step) {
  const uint32_t operand_count = step.operands()->size();
  if (!c.expect(operand_count >= 1, "at least one operand", operand_count)) return false;
  const TensorDef& output = operand_of(variant, step, operand_count - 1);
  for (uint32_t i = 0; i < operand_count; ++i) {
    const TensorDef& operand = operand_of(variant, step, i);
    const bool is_output = i + 1 == operand_count;
    if (!c.expect(may_touch(step.lane(), operand.storage(), is_output),
                  "operands in storage that the lane may read, an output that it may write", i) ||
        !c.expect(is_output || !share_bytes(operand, output),
                  "an output that shares no byte with an input", i))
      return false;
  }
  return true;
}

// The part of a step, against one operand whose rows or channels it names.
bool check_part(Check& c, const StepDef& step, const TensorDef& operand) {
  const Range part = {step.part_begin(), step.part_end()};
  const OperandShape shape = operand_shape_of(operand);
  switch (static_cast<SplitDim>(step.part_dim())) {
    case SplitDim::None:
      return c.expect(part == Range{}, "part [0, 0) without a part_dim", part.end);
    case SplitDim::Height: {
      if (!c.expect(shape.rank == 4, "rank 4 for a part of the rows", shape.rank)) return false;
      const Range held =
          has_rows(shape.layout) ? Range{shape.row_begin, shape.row_end} : Range{0, shape.dims[2]};
      return c.expect(!part.empty() && held.contains(part),
                      "part inside the rows the operand holds", part.end);
    }
    case SplitDim::OutputChannel: {
      if (!c.expect(shape.rank >= 2, "rank of at least 2 for a part of the channels", shape.rank))
        return false;
      const Range channels = {0, shape.dims[1]};
      return c.expect(!part.empty() && channels.contains(part), "part inside the channels",
                      part.end) &&
             c.expect(part.begin % kChannelPanel == 0, "part_begin a multiple of 16", part.begin) &&
             c.expect(part.end % kChannelPanel == 0 || part.end == channels.end,
                      "part_end a multiple of 16 or the last channel", part.end);
    }
  }
  return c.expect(false, "a known part_dim", step.part_dim());
}

bool check_params(Check& c, const StepDef& step, OpKind op) {
  return c.expect(step.params()->size() == params_bytes_of(op),
                  "params as long as the operator's parameters", step.params()->size()) &&
         c.expect(reinterpret_cast<uintptr_t>(step.params()->data()) % 4 == 0,
                  "params aligned to 4 bytes", 0);
}

bool check_kernel_step(Check& c, const VariantDef& variant, const StepDef& step) {
  const KernelRow* row = find_kernel(step.kernel());
  if (!c.expect(row != nullptr, "a kernel of this build", step.kernel(), PlanFault::Kernel) ||
      !c.expect(c.is_kernel_named[row->id], "a kernel that the plan's list names", row->id) ||
      !c.expect(step.lane() == (row->processor == Processor::Cpu ? Lane::Cpu : Lane::Gpu),
                "the lane of the kernel's processor", static_cast<int64_t>(step.lane())) ||
      !c.expect(step.tile()->size() <= kernels::kMaxTileInts, "at most 8 tile numbers",
                step.tile()->size()) ||
      !check_params(c, step, row->op) || !check_kernel_operands(c, variant, step) ||
      !check_part(c, step, operand_of(variant, step, step.operands()->size() - 1)))
    return false;
  OperandShape shapes[kernels::kMaxOperands];
  const StepShape shape = step_shape_of(variant, step, shapes);
  kernels::StepNeeds needs;
  const char* expected = c.check_step(shape, &needs);
  return c.expect(expected == nullptr, expected, row->id);
}

// A step that moves data has no kernel, no parameters and no tile.
bool check_no_kernel(Check& c, const StepDef& step, uint32_t operand_count) {
  return c.expect(step.kernel() == 0, "kernel 0", step.kernel()) &&
         c.expect(step.params()->size() == 0, "no params", step.params()->size()) &&
         c.expect(step.tile()->size() == 0, "no tile", step.tile()->size()) &&
         c.expect(step.operands()->size() == operand_count,
                  "1 operand to map or unmap, 2 to upload or download", step.operands()->size());
}

bool check_map_step(Check& c, const VariantDef& variant, const StepDef& step) {
  return check_no_kernel(c, step, 1) &&
         c.expect(step.lane() == Lane::Gpu, "lane Gpu", static_cast<int64_t>(step.lane())) &&
         c.expect(variant.sharing() == Sharing::SubBuffer, "sharing SubBuffer to map and unmap",
                  static_cast<int64_t>(variant.sharing())) &&
         c.expect(operand_of(variant, step, 0).storage() == Storage::Shared,
                  "an operand in the shared arena", step.operands()->Get(0)) &&
         c.expect(step.part_dim() == static_cast<uint8_t>(SplitDim::None), "no part",
                  step.part_dim()) &&
         check_part(c, step, operand_of(variant, step, 0));
}

// Same value, window for window unless a part says which rows or channels.
bool check_copy_shapes(Check& c, const TensorDef& from, const TensorDef& to, SplitDim part_dim) {
  const OperandShape a = operand_shape_of(from);
  const OperandShape b = operand_shape_of(to);
  if (!c.expect(a.dtype == b.dtype && a.layout == b.layout && a.rank == b.rank,
                "operands of one dtype, layout and rank", b.rank))
    return false;
  for (int32_t i = 0; i < a.rank; ++i)
    if (!c.expect(a.dims[i] == b.dims[i], "operands of the same dims", b.dims[i])) return false;
  return part_dim == SplitDim::Height ||
         c.expect(a.row_begin == b.row_begin && a.row_end == b.row_end,
                  "operands that hold the same rows", b.row_end);
}

bool check_transfer_step(Check& c, const VariantDef& variant, const StepDef& step) {
  if (!check_no_kernel(c, step, 2) ||
      !c.expect(step.lane() == Lane::Transfer, "lane Transfer",
                static_cast<int64_t>(step.lane())) ||
      !c.expect(variant.sharing() == Sharing::Separate, "sharing Separate to upload and download",
                static_cast<int64_t>(variant.sharing())))
    return false;
  const TensorDef& from = operand_of(variant, step, 0);
  const TensorDef& to = operand_of(variant, step, 1);
  const bool is_upload = step.kind() == StepKind::Upload;
  return c.expect(from.storage() == (is_upload ? Storage::Host : Storage::Device),
                  "operand 0 on the side that the step reads",
                  static_cast<int64_t>(from.storage())) &&
         c.expect(to.storage() == (is_upload ? Storage::Device : Storage::Host),
                  "operand 1 on the side that the step writes",
                  static_cast<int64_t>(to.storage())) &&
         check_copy_shapes(c, from, to, static_cast<SplitDim>(step.part_dim())) &&
         check_part(c, step, from) && check_part(c, step, to);
}

// Every string and vector of a step is there, every enum has a known value.
bool check_step_fields(Check& c, const StepDef& step) {
  return c.expect(step.name() != nullptr && step.params() != nullptr &&
                      step.operands() != nullptr && step.tile() != nullptr &&
                      step.waits() != nullptr,
                  "name, params, operands, tile and waits present", 0) &&
         c.expect(step.kind() <= StepKind::MAX, "a known kind",
                  static_cast<int64_t>(step.kind())) &&
         c.expect(step.lane() <= Lane::MAX, "a known lane", static_cast<int64_t>(step.lane())) &&
         c.expect(step.map_access() <= plan::MapAccess::MAX, "a known map_access",
                  static_cast<int64_t>(step.map_access())) &&
         c.expect(is_latency(step.predicted_us()), "predicted_us of 0 or more", 0) &&
         c.expect(step.owned_begin() >= 0 && step.owned_begin() <= step.owned_end() &&
                      step.owned_end() <= kMaxDim,
                  "owned_begin and owned_end in order", step.owned_end());
}

bool check_step_def(Check& c, const VariantDef& variant, const StepDef& step) {
  if (!check_step_fields(c, step) ||
      !c.expect(step.lane() == Lane::Cpu || variant.sharing() != Sharing::None,
                "steps of lane Cpu only in a variant without sharing",
                static_cast<int64_t>(step.lane())) ||
      !check_operand_indices(c, variant, step) || !check_waits(c, variant, step))
    return false;
  switch (step.kind()) {
    case StepKind::Kernel:
      return check_kernel_step(c, variant, step);
    case StepKind::Map:
    case StepKind::Unmap:
      return check_map_step(c, variant, step);
    case StepKind::Upload:
    case StepKind::Download:
      return check_transfer_step(c, variant, step);
  }
  return false;
}

bool check_steps(Check& c, const VariantDef& variant) {
  c.step_count += variant.steps()->size();
  c.at("variant", -1);
  if (!c.expect(c.step_count <= kMaxSteps, "at most 2^20 steps in all variants",
                as_found(c.step_count)))
    return false;
  for (uint32_t i = 0; i < variant.steps()->size(); ++i) {
    c.at("step", i);
    if (!check_step_def(c, variant, *variant.steps()->Get(i))) return false;
  }
  return true;
}

// ---- who holds a shared sub-buffer --------------------------------------------------------------

// Follows a SubBuffer variant through its list of steps: which shared tensors the host holds, and
// what each lane knows to be done in the other. A sub-buffer is the device's at the start and at
// the end.
//
// The list's order alone is not enough: the lanes run at the same time. A CPU step must come behind
// the Map by a wait (its own, or that of an earlier CPU step), and the Unmap behind the CPU step.
class MapTracker {
 public:
  MapTracker(Check& check, const VariantDef& variant) : c_(check), variant_(variant) {}

  // Takes the steps in order.
  bool step(const StepDef& step) {
    note_waits(step);
    switch (step.kind()) {
      case StepKind::Map:
        return map(step);
      case StepKind::Unmap:
        return unmap(step);
      case StepKind::Kernel:
        return step.lane() == Lane::Cpu ? cpu_kernel(step) : gpu_kernel(step);
      default:
        return true;
    }
  }

  bool end() {
    return c_.expect(mapped_count_ == 0, "every mapped tensor unmapped at the end",
                     mapped_count_ == 0 ? 0 : mapped_[0].tensor);
  }

 private:
  struct Mapped {
    uint32_t tensor = 0;
    plan::MapAccess access = plan::MapAccess::Read;
    int64_t map_step = 0;
    int64_t last_cpu_step = -1;  // that touched it
  };

  void note_waits(const StepDef& step) {
    for (uint32_t wait : *step.waits()) {
      const Lane waited = variant_.steps()->Get(wait)->lane();
      if (step.lane() == Lane::Cpu && waited == Lane::Gpu && wait > gpu_done_) gpu_done_ = wait;
      if (step.lane() == Lane::Gpu && waited == Lane::Cpu && wait > cpu_done_) cpu_done_ = wait;
    }
  }

  // Null if the tensor is not mapped.
  Mapped* find(uint32_t tensor) {
    for (uint32_t i = 0; i < mapped_count_; ++i)
      if (mapped_[i].tensor == tensor) return &mapped_[i];
    return nullptr;
  }

  // True if the host holds bytes of the tensor, by whatever name; `to_write`: holds them to write.
  bool is_held_by_host(const TensorDef& tensor, bool to_write) const {
    for (uint32_t i = 0; i < mapped_count_; ++i) {
      const Mapped& mapped = mapped_[i];
      if (to_write && mapped.access == plan::MapAccess::Read) continue;
      if (share_bytes(*variant_.tensors()->Get(mapped.tensor), tensor)) return true;
    }
    return false;
  }

  bool map(const StepDef& step) {
    const uint32_t tensor = step.operands()->Get(0);
    if (!c_.expect(find(tensor) == nullptr, "a tensor that is not mapped yet", tensor) ||
        !c_.expect(!is_held_by_host(*variant_.tensors()->Get(tensor), false),
                   "a tensor that shares no byte with a mapped one", tensor) ||
        !c_.expect(mapped_count_ < kMaxMapped, "at most 256 tensors mapped at the same time",
                   mapped_count_))
      return false;
    mapped_[mapped_count_++] = {tensor, step.map_access(), c_.index, -1};
    return true;
  }

  bool unmap(const StepDef& step) {
    const uint32_t tensor = step.operands()->Get(0);
    Mapped* mapped = find(tensor);
    if (!c_.expect(mapped != nullptr, "a tensor that is mapped", tensor) ||
        !c_.expect(mapped->last_cpu_step <= cpu_done_,
                   "a wait for the last CPU step that touches the tensor", mapped->last_cpu_step))
      return false;
    *mapped = mapped_[--mapped_count_];
    return true;
  }

  bool cpu_kernel(const StepDef& step) {
    const uint32_t operand_count = step.operands()->size();
    for (uint32_t i = 0; i < operand_count; ++i) {
      const uint32_t tensor = step.operands()->Get(i);
      if (variant_.tensors()->Get(tensor)->storage() != Storage::Shared) continue;
      const bool is_output = i + 1 == operand_count;
      Mapped* mapped = find(tensor);
      if (!c_.expect(mapped != nullptr, "shared operands of a CPU step mapped", tensor) ||
          !c_.expect(mapped->map_step <= gpu_done_,
                     "a wait for the Map of each shared operand of a CPU step", tensor) ||
          !c_.expect(!is_output || mapped->access != plan::MapAccess::Read,
                     "an output mapped for writing", tensor))
        return false;
      mapped->last_cpu_step = c_.index;
    }
    return true;
  }

  // Both sides may read what is mapped for reading (OpenCL 1.2, section 5.4.2.1).
  bool gpu_kernel(const StepDef& step) {
    const uint32_t operand_count = step.operands()->size();
    for (uint32_t i = 0; i < operand_count; ++i) {
      const bool is_output = i + 1 == operand_count;
      const TensorDef& operand = operand_of(variant_, step, i);
      if (!c_.expect(!is_held_by_host(operand, !is_output),
                     "operands of a GPU step not mapped, or inputs mapped for reading", i))
        return false;
    }
    return true;
  }

  Check& c_;
  const VariantDef& variant_;
  Mapped mapped_[kMaxMapped];
  uint32_t mapped_count_ = 0;
  int64_t gpu_done_ = -1;  // last step of the GPU lane known to be done to the CPU lane
  int64_t cpu_done_ = -1;  // the reverse
};

bool check_maps(Check& c, const VariantDef& variant) {
  if (variant.sharing() != Sharing::SubBuffer) return true;
  MapTracker tracker(c, variant);
  for (uint32_t i = 0; i < variant.steps()->size(); ++i) {
    c.at("step", i);
    if (!tracker.step(*variant.steps()->Get(i))) return false;
  }
  c.at("variant", -1);
  return tracker.end();
}

// ---- variants -----------------------------------------------------------------------------------

bool has_gpu_step(const VariantDef& variant) {
  for (const StepDef* step : *variant.steps())
    if (step->lane() == Lane::Gpu) return true;
  return false;
}

bool check_images(Check& c, const VariantDef& variant) {
  for (uint32_t i = 0; i < variant.images()->size(); ++i) {
    const plan::ImageDef& image = *variant.images()->Get(i);
    c.at("image", i);
    if (!c.expect(image.width() >= 1 && image.width() <= kMaxImageSide,
                  "width between 1 and 65536 texels", image.width()) ||
        !c.expect(image.height() >= 1 && image.height() <= kMaxImageSide,
                  "height between 1 and 65536 texels", image.height()) ||
        !c.expect(uint64_t{image.width()} * image.height() * 4 <= kMaxElements,
                  "at most 2^30 elements", image.height()))
      return false;
  }
  return true;
}

bool check_arenas(Check& c, const VariantDef& variant) {
  const bool has_shared_arena =
      variant.sharing() == Sharing::FineSvm || variant.sharing() == Sharing::SubBuffer;
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

bool check_variant_fields(Check& c, const VariantDef& variant) {
  c.at("variant", -1);
  return c.expect(variant.name() != nullptr && variant.name()->size() > 0, "a name", 0) &&
         c.expect(variant.images() != nullptr && variant.tensors() != nullptr &&
                      variant.steps() != nullptr,
                  "images, tensors and steps present", 0) &&
         c.expect(variant.sharing() <= Sharing::MAX, "a known sharing",
                  static_cast<int64_t>(variant.sharing())) &&
         c.expect(variant.gate() <= plan::Gate::MAX, "a known gate",
                  static_cast<int64_t>(variant.gate())) &&
         c.expect(is_latency(variant.predicted_us()), "predicted_us of 0 or more", 0);
}

// Variants are chosen by name.
bool check_name_is_new(Check& c, uint32_t variant_index) {
  const flatbuffers::String& name = *c.plan->variants()->Get(variant_index)->name();
  for (uint32_t i = 0; i < variant_index; ++i)
    if (!c.expect(std::strcmp(c.plan->variants()->Get(i)->name()->c_str(), name.c_str()) != 0,
                  "a name that no other variant has", i))
      return false;
  return true;
}

bool check_variants(Check& c) {
  for (uint32_t i = 0; i < c.plan->variants()->size(); ++i) {
    const VariantDef& variant = *c.plan->variants()->Get(i);
    c.variant_index = i;
    if (!check_variant_fields(c, variant) || !check_name_is_new(c, i) ||
        !check_arenas(c, variant) || !check_images(c, variant) || !check_tensors(c, variant) ||
        !check_steps(c, variant) || !check_maps(c, variant))
      return false;
  }
  return true;
}

bool check_file(Check& c, const uint8_t* bytes, size_t size, VerifyLevel level) {
  if (!c.expect(reinterpret_cast<uintptr_t>(bytes) % alignof(PlanHead) == 0, "bytes aligned to 8",
                0) ||
      !c.expect(size >= sizeof(PlanHead), "a file of at least 64 bytes", as_found(size)))
    return false;
  PlanHead head;
  std::memcpy(&head, bytes, sizeof(head));
  c.data_bytes = head.data_bytes;
  return check_head(c, head, size) &&
         (level == VerifyLevel::Structure || check_checksum(c, head, bytes, size)) &&
         check_table(c, bytes + head.table_offset, head.table_bytes) && check_plan_fields(c) &&
         check_ios(c) && check_blobs(c) && check_kernels(c) && check_variants(c);
}

}  // namespace

PlanFault verify_plan(const void* bytes, size_t size, VerifyLevel level, CheckStep check_step,
                      const plan::PlanDef** out_plan) {
  Check check;
  check.check_step = check_step;
  *out_plan = nullptr;
  if (check_file(check, static_cast<const uint8_t*>(bytes), size, level)) *out_plan = check.plan;
  return check.fault;
}

uint64_t plan_checksum(const void* bytes, size_t size) {
  return XXH3_64bits(static_cast<const uint8_t*>(bytes) + sizeof(PlanHead),
                     size - sizeof(PlanHead));
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
  return shape;
}

StepShape step_shape_of(const VariantDef& variant, const StepDef& step, OperandShape* shapes) {
  StepShape shape;
  shape.row = find_kernel(step.kernel());
  shape.params = step.params()->data();
  shape.operands = shapes;
  shape.operand_count = step.operands()->size();
  for (uint32_t i = 0; i < shape.operand_count; ++i)
    shapes[i] = operand_shape_of(operand_of(variant, step, i));
  shape.part_dim = static_cast<SplitDim>(step.part_dim());
  shape.part = {step.part_begin(), step.part_end()};
  shape.tile = step.tile()->data();
  shape.tile_count = step.tile()->size();
  return shape;
}

}  // namespace codl
