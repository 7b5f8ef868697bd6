#include "runtime/src/plan.h"

#include <cstdio>
#include <cstring>
#include <iterator>

#include "kernels/kernel_table.h"
#include "runtime/src/diag.h"
#include "schema/plan_layout.h"
#include "schema/verify_plan.h"

namespace codl::rt {

bool needs_gpu(const plan::VariantDef& variant) {
  for (const plan::StepDef* step : *variant.steps())
    if (queue_of(*step) != Queue::Cpu) return true;
  return false;
}

const plan::VariantDef* find_cpu_variant(const plan::EntryDef& entry) {
  for (const plan::VariantDef* variant : *entry.variants())
    if (!needs_gpu(*variant)) return variant;
  return nullptr;
}

codl_status_t refuse_null(const char* what, codl_diag_t* diag) {
  set_diag(diag, "expected %s, found null", what);
  return CODL_INVALID_ARGUMENT;
}

codl_status_t check_allocator(const codl_allocator_t* allocator, codl_diag_t* diag) {
  return allocator == nullptr || (allocator->allocate != nullptr && allocator->release != nullptr)
             ? CODL_OK
             : refuse_null("an allocator's allocate and release", diag);
}

namespace {

// Writes "model.codl: step 12 of variant 0 of entry 1: expected ..., found 7".
void describe_fault(const char* name, const PlanFault& fault, codl_diag_t* diag) {
  // Without an index `where` is the variant or the entry itself.
  const int64_t numbers[] = {fault.index, fault.variant, fault.entry};
  const char* const owners[] = {"", " of variant", " of entry"};
  char place[96] = "";
  size_t length = 0;
  for (size_t i = 0; i < std::size(numbers); ++i)
    if (numbers[i] >= 0)
      length += static_cast<size_t>(std::snprintf(place + length, sizeof(place) - length, "%s %lld",
                                                  length == 0 ? "" : owners[i],
                                                  static_cast<long long>(numbers[i])));
  set_diag(diag, "%s: %s%s: expected %s, found %lld", name, fault.where, place, fault.expected,
           static_cast<long long>(fault.found));
}

codl_status_t verify(codl_plan_t& plan, const void* bytes, size_t size, int32_t level,
                     const char* name, codl_diag_t* diag) {
  PlanHead head;
  const PlanFault fault =
      verify_plan(bytes, size, level == CODL_VERIFY_ALL ? VerifyLevel::All : VerifyLevel::Structure,
                  kernels::check_step, &plan.def, &head);
  if (!fault.ok()) {
    describe_fault(name, fault, diag);
    return fault.kind == PlanFault::Corrupt ? CODL_CORRUPT_PLAN : CODL_UNSUPPORTED_VERSION;
  }
  plan.data = static_cast<const uint8_t*>(bytes) + head.data_offset;
  if (reinterpret_cast<uintptr_t>(plan.data) % kHostAlignment == 0) return CODL_OK;
  // Kernels load weights with aligned instructions.
  if (!plan.aligned_data.allocate(plan.allocator, head.data_bytes, kBlobAlignment)) {
    set_diag(diag, "%s: no memory for an aligned copy of %llu bytes of weights", name,
             static_cast<unsigned long long>(head.data_bytes));
    return CODL_OUT_OF_MEMORY;
  }
  if (head.data_bytes != 0) std::memcpy(plan.aligned_data.data(), plan.data, head.data_bytes);
  plan.data = plan.aligned_data.data();
  return CODL_OK;
}

// `load` gives the bytes: from the caller, or from a file that it maps.
template <typename Load>
codl_status_t open_plan(const char* name, const codl_plan_options_t* options,
                        codl_plan_t** out_plan, codl_diag_t* diag, Load load) {
  clear_diag(diag);
  if (out_plan == nullptr) return refuse_null("out_plan", diag);
  *out_plan = nullptr;
  codl_plan_options_t given;
  if (!read_options("codl_plan_options_t", options, &given, diag)) return CODL_INVALID_ARGUMENT;
  if (given.verify != CODL_VERIFY_STRUCTURE && given.verify != CODL_VERIFY_ALL) {
    set_diag(diag, "verify: expected a codl_verify_t, found %d", given.verify);
    return CODL_INVALID_ARGUMENT;
  }
  if (check_allocator(given.allocator, diag) != CODL_OK) return CODL_INVALID_ARGUMENT;
  const codl_allocator_t allocator =
      given.allocator != nullptr ? *given.allocator : default_allocator();
  codl_plan_t* plan = create_object<codl_plan_t>(allocator);
  if (plan == nullptr) {
    set_diag(diag, "no memory for a plan");
    return CODL_OUT_OF_MEMORY;
  }
  plan->allocator = allocator;
  const void* bytes = nullptr;
  size_t size = 0;
  codl_status_t status = load(plan->file, &bytes, &size);
  if (status == CODL_OK) status = verify(*plan, bytes, size, given.verify, name, diag);
  if (status == CODL_OK)
    *out_plan = plan;
  else
    codl_plan_close(plan);
  return status;
}

// `index` is in range.
codl_status_t describe_io(const flatbuffers::Vector<flatbuffers::Offset<plan::IoDef>>& ios,
                          size_t index, codl_tensor_info_t* out_info) {
  const plan::IoDef& io = *ios.Get(static_cast<uint32_t>(index));
  out_info->name = io.name()->c_str();
  out_info->dtype = static_cast<codl_dtype_t>(io.dtype());
  out_info->rank = static_cast<int32_t>(io.dims()->size());
  for (uint32_t i = 0; i < io.dims()->size(); ++i) out_info->dims[i] = io.dims()->Get(i);
  out_info->bytes = static_cast<size_t>(io.bytes());
  return CODL_OK;
}

}  // namespace
}  // namespace codl::rt

static_assert(CODL_MAX_RANK == codl::kMaxRank);
static_assert(CODL_MAX_THREADS == codl::kMaxThreads);
static_assert(CODL_FLOAT32 == static_cast<int>(codl::DType::F32));
static_assert(CODL_INT64 == static_cast<int>(codl::DType::I64));
static_assert(CODL_BOOL == static_cast<int>(codl::DType::Bool));
static_assert(CODL_INT8 == static_cast<int>(codl::DType::I8));
static_assert(CODL_UINT8 == static_cast<int>(codl::DType::U8));
static_assert(CODL_INT16 == static_cast<int>(codl::DType::I16));
static_assert(CODL_UINT16 == static_cast<int>(codl::DType::U16));
static_assert(CODL_INT32 == static_cast<int>(codl::DType::I32));
static_assert(CODL_UINT32 == static_cast<int>(codl::DType::U32));
static_assert(CODL_UINT64 == static_cast<int>(codl::DType::U64));
static_assert(CODL_FLOAT64 == static_cast<int>(codl::DType::F64));
static_assert(CODL_FLOAT16 == static_cast<int>(codl::DType::F16));
static_assert(CODL_BFLOAT16 == static_cast<int>(codl::DType::BF16));
static_assert(CODL_BFLOAT16 + 1 == codl::kDTypeEnd, "a dtype that codl.h does not name");

codl_status_t codl_plan_open(const void* bytes, size_t size, const codl_plan_options_t* options,
                             codl_plan_t** out_plan, codl_diag_t* diag) {
  return codl::rt::open_plan(
      "plan", options, out_plan, diag,
      [&](codl::rt::MappedFile&, const void** out_bytes, size_t* out_size) {
        if (bytes == nullptr || reinterpret_cast<uintptr_t>(bytes) % 8 != 0) {
          codl::rt::set_diag(diag, "plan: expected bytes aligned to 8, found %p", bytes);
          return CODL_INVALID_ARGUMENT;
        }
        *out_bytes = bytes;
        *out_size = size;
        return codl::rt::check_may_be_plan("plan", bytes, size, diag);
      });
}

codl_status_t codl_plan_open_file(const char* path, const codl_plan_options_t* options,
                                  codl_plan_t** out_plan, codl_diag_t* diag) {
  return codl::rt::open_plan(
      path, options, out_plan, diag,
      [&](codl::rt::MappedFile& file, const void** out_bytes, size_t* out_size) {
        if (path == nullptr) return codl::rt::refuse_null("a path", diag);
        const codl_status_t status = file.open(path, diag);
        *out_bytes = file.bytes();
        *out_size = file.size_bytes();
        return status;
      });
}

codl_status_t codl_plan_open_descriptor(int file, uint64_t offset, uint64_t size,
                                        const codl_plan_options_t* options, codl_plan_t** out_plan,
                                        codl_diag_t* diag) {
  return codl::rt::open_plan(
      "plan", options, out_plan, diag,
      [&](codl::rt::MappedFile& mapped, const void** out_bytes, size_t* out_size) {
        if (file < 0) {
          codl::rt::set_diag(diag, "plan: expected an open file, found descriptor %d", file);
          return CODL_INVALID_ARGUMENT;
        }
        const codl_status_t status = mapped.open_part(file, "plan", offset, size, diag);
        *out_bytes = mapped.bytes();
        *out_size = mapped.size_bytes();
        return status;
      });
}

void codl_plan_close(codl_plan_t* plan) {
  if (plan == nullptr) return;
  const codl_allocator_t allocator = plan->allocator;
  codl::rt::destroy_object(allocator, plan);
}

const char* codl_plan_device(const codl_plan_t* plan) {
  return plan == nullptr ? "" : plan->def->device()->c_str();
}

size_t codl_plan_input_count(const codl_plan_t* plan) {
  return plan == nullptr ? 0 : plan->entry().inputs()->size() - codl::state_count(plan->entry());
}

size_t codl_plan_output_count(const codl_plan_t* plan) {
  return plan == nullptr
             ? 0
             : codl::visible_output_count(plan->entry()) - codl::state_count(plan->entry());
}

codl_status_t codl_plan_input(const codl_plan_t* plan, size_t index, codl_tensor_info_t* out_info) {
  return codl_plan_entry_input(plan, 0, index, out_info);
}

codl_status_t codl_plan_output(const codl_plan_t* plan, size_t index,
                               codl_tensor_info_t* out_info) {
  return codl_plan_entry_output(plan, 0, index, out_info);
}

size_t codl_plan_entry_count(const codl_plan_t* plan) {
  return plan == nullptr ? 0 : plan->entry_count();
}

const char* codl_plan_entry_name(const codl_plan_t* plan, size_t entry) {
  return entry >= codl_plan_entry_count(plan) ? "" : plan->entry(entry).name()->c_str();
}

// Entries have inputs and outputs in common, but for their dims.
codl_status_t codl_plan_entry_input(const codl_plan_t* plan, size_t entry, size_t index,
                                    codl_tensor_info_t* out_info) {
  if (out_info == nullptr) return CODL_INVALID_ARGUMENT;
  *out_info = {};
  if (entry >= codl_plan_entry_count(plan) || index >= codl_plan_input_count(plan))
    return CODL_INVALID_ARGUMENT;
  const codl::plan::EntryDef& def = plan->entry(entry);
  return codl::rt::describe_io(
      *def.inputs(), codl::application_input(def, static_cast<uint32_t>(index)), out_info);
}

codl_status_t codl_plan_entry_output(const codl_plan_t* plan, size_t entry, size_t index,
                                     codl_tensor_info_t* out_info) {
  if (out_info == nullptr) return CODL_INVALID_ARGUMENT;
  *out_info = {};
  // The hidden outputs, which come after the visible ones, have no description.
  if (entry >= codl_plan_entry_count(plan) || index >= codl_plan_output_count(plan))
    return CODL_INVALID_ARGUMENT;
  const codl::plan::EntryDef& def = plan->entry(entry);
  return codl::rt::describe_io(
      *def.outputs(), codl::application_output(def, static_cast<uint32_t>(index)), out_info);
}

size_t codl_plan_state_count(const codl_plan_t* plan) {
  return plan == nullptr ? 0 : codl::state_count(plan->entry());
}

codl_status_t codl_plan_state(const codl_plan_t* plan, size_t index, codl_tensor_info_t* out_info) {
  if (out_info == nullptr) return CODL_INVALID_ARGUMENT;
  *out_info = {};
  if (index >= codl_plan_state_count(plan)) return CODL_INVALID_ARGUMENT;
  const codl::plan::EntryDef& entry = plan->entry();  // all have the same
  return codl::rt::describe_io(
      *entry.inputs(), entry.states()->Get(static_cast<uint32_t>(index))->input(), out_info);
}

size_t codl_plan_variant_count(const codl_plan_t* plan) {
  return codl_plan_entry_variant_count(plan, 0);
}

codl_status_t codl_plan_variant(const codl_plan_t* plan, size_t index,
                                codl_variant_info_t* out_info) {
  return codl_plan_entry_variant(plan, 0, index, out_info);
}

size_t codl_plan_entry_variant_count(const codl_plan_t* plan, size_t entry) {
  return entry >= codl_plan_entry_count(plan) ? 0 : plan->entry(entry).variants()->size();
}

codl_status_t codl_plan_entry_variant(const codl_plan_t* plan, size_t entry, size_t index,
                                      codl_variant_info_t* out_info) {
  if (out_info == nullptr) return CODL_INVALID_ARGUMENT;
  *out_info = {};
  if (index >= codl_plan_entry_variant_count(plan, entry)) return CODL_INVALID_ARGUMENT;
  const codl::plan::VariantDef& variant =
      *plan->entry(entry).variants()->Get(static_cast<uint32_t>(index));
  out_info->name = variant.name()->c_str();
  out_info->needs_gpu = codl::rt::needs_gpu(variant) ? 1 : 0;
  out_info->step_count = variant.steps()->size();
  out_info->predicted_us = variant.predicted_us();
  return CODL_OK;
}
