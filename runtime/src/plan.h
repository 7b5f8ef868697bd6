// An open plan: verified, immutable, shared by sessions and threads.
#pragma once

#include <cstdint>

#include "codl/codl.h"
#include "runtime/src/arena.h"
#include "runtime/src/mapped_file.h"
#include "schema/plan_generated.h"

struct codl_plan {
  codl_allocator_t allocator = {};
  codl::rt::MappedFile file;     // empty for a plan in memory
  codl::rt::Arena aligned_data;  // weights of a plan in memory that is not 64-byte aligned
  // Borrowed from the file or from the caller's bytes; valid until codl_plan_close.
  const codl::plan::PlanDef* def = nullptr;
  const uint8_t* data = nullptr;  // the data section, 64-byte aligned

  const uint8_t* blob_data(uint32_t blob) const {
    return data + def->blobs()->Get(blob)->offset_bytes();
  }
};

namespace codl::rt {

// True if the variant has a step that is not the CPU's.
bool needs_gpu(const plan::VariantDef& variant);

// Copies an option struct that the caller may have compiled against an older, shorter version; null
// gives the defaults. False if struct_size is none of a known version.
template <typename Options>
bool read_options(const Options* options, Options* out) {
  *out = Options{};
  if (options == nullptr) return true;
  if (options->struct_size < sizeof(size_t) || options->struct_size > sizeof(Options)) return false;
  __builtin_memcpy(out, options, options->struct_size);
  return true;
}

}  // namespace codl::rt
