// Holds an open plan: verified, immutable, shared by sessions and threads.
#pragma once

#include <cstdint>

#include "codl/codl.h"
#include "runtime/src/arena.h"
#include "runtime/src/diag.h"
#include "runtime/src/mapped_file.h"
#include "schema/plan_fields.h"

struct codl_plan {
  codl_allocator_t allocator = {};
  codl::rt::MappedFile file;     // a plan in memory has none
  codl::rt::Arena aligned_data;  // weights of a plan in memory that is not 64-byte aligned
  // Borrowed from the file or from the caller's bytes; valid until codl_plan_close.
  const codl::plan::PlanDef* def = nullptr;
  const uint8_t* data = nullptr;  // the data section, 64-byte aligned

  uint32_t entry_count() const { return def->entries()->size(); }
  const codl::plan::EntryDef& entry(size_t index = 0) const {
    return *def->entries()->Get(static_cast<uint32_t>(index));
  }
  const uint8_t* blob_data(uint32_t blob) const {
    return data + def->blobs()->Get(blob)->offset_bytes();
  }
};

namespace codl::rt {

// Variants that a session has made ready and takes turns in. They have their memory in the same
// places: each arena is as large as the largest of any variant.
struct VariantList {
  const plan::VariantDef* const* items = nullptr;
  size_t count = 0;
  const plan::VariantDef* const* begin() const { return items; }
  const plan::VariantDef* const* end() const { return items + count; }
};

// True if the variant has a step that is not the CPU's.
bool needs_gpu(const plan::VariantDef& variant);

// Returns the entry's first variant without a GPU step; null if there is none.
const plan::VariantDef* find_cpu_variant(const plan::EntryDef& entry);

// True for a size that a version of `Struct` has or had: members were only ever appended, and a
// multiple of size_t cuts none of them in two.
template <typename Struct>
bool is_known_size(size_t struct_size) {
  return struct_size >= sizeof(size_t) && struct_size <= sizeof(Struct) &&
         struct_size % sizeof(size_t) == 0;
}

// Copies an option struct that the caller may have compiled against an older, shorter version; null
// gives the defaults. False, with a line in `diag`, if struct_size is none of a known version.
template <typename Options>
bool read_options(const char* name, const Options* options, Options* out, codl_diag_t* diag) {
  *out = Options{};
  if (options == nullptr) return true;
  if (!is_known_size<Options>(options->struct_size)) {
    set_diag(diag, "%s: expected struct_size a multiple of %zu up to %zu, found %zu", name,
             sizeof(size_t), sizeof(Options), options->struct_size);
    return false;
  }
  __builtin_memcpy(out, options, options->struct_size);
  return true;
}

// Returns INVALID_ARGUMENT and writes a line to `diag`.
codl_status_t refuse_null(const char* what, codl_diag_t* diag);

// Null means the default one; one that is given has both functions.
codl_status_t check_allocator(const codl_allocator_t* allocator, codl_diag_t* diag);

}  // namespace codl::rt
