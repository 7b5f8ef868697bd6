// How much memory a session holds, by kind. The runtime allocates by these formulas, and with them
// codlc says before there is a session what one will hold (compiler/emit/plan_memory.h).
//
// Not counted, since only the driver knows it: what OpenCL takes for itself (context, queues,
// compiled programs, staging of copies). Nor are stacks of threads.
#pragma once

#include <cstdint>

#include "schema/plan_fields.h"

namespace codl {

// Bytes by kind:
//   host         arena of tensors that the CPU touches; transfers copy from it and to it
//   scratch      of the CPU's kernels, for all workers
//   shared       arena of tensors that both processors touch
//   device       arena of tensors that the GPU touches, in buffers
//   image        images, with what the driver pads their rows by
//   weight       the variant's, in whole pages: mapped from the plan's file, so all sessions of the
//                plan have them once and the system can read them again; or the caller's memory
//   weight_copy  the driver's copies of weights that a GPU reads but cannot read there
//   table        the plan's structure (once for all sessions of the plan) and what a session keeps
//                of its steps, tensors and workers
struct SessionMemory {
#define CODL_MEMORY(name, text) uint64_t name##_bytes = 0;
#include "schema/memory.def"
#undef CODL_MEMORY
};

// Pages of the default allocator's memory; 16 KiB on some phones.
inline constexpr uint64_t kPageBytes = 4096;

// A huge page of x86 and of aarch64 with pages of 4 KiB. The default allocator maps blocks of that
// size or more.
inline constexpr uint64_t kHugePageBytes = uint64_t{2} << 20;

// What the default allocator takes for a block. The last huge page of a large one may go beyond it
// by half: hundreds of small pages take longer to be had than all of the others. `page_bytes` 0:
// another allocator, of which no more is known than what it is asked for.
uint64_t block_bytes(uint64_t size_bytes, uint64_t page_bytes);

// Scratch memory of CPU kernels: an area for each worker, then one of all workers.
struct ScratchSizes {
  uint64_t stride_bytes = 0;  // from worker to worker
  uint64_t total_bytes = 0;
};
// False: beyond 64 bits.
bool scratch_sizes(uint64_t bytes_per_worker, uint64_t bytes_of_all, uint64_t worker_count,
                   ScratchSizes* out_sizes);

struct ImageSize {
  uint32_t width = 0;
  uint32_t height = 0;
  DType dtype = DType::F32;
};
// Rows are padded to a multiple of `row_texels`.
uint64_t image_bytes(uint32_t width, uint32_t height, DType dtype, uint64_t row_texels);
inline uint64_t image_bytes(const ImageSize& image, uint64_t row_texels) {
  return image_bytes(image.width, image.height, image.dtype, row_texels);
}

// The blob's pages.
uint64_t mapped_bytes(const plan::BlobDef& blob);

// Variants that a session has made ready and takes turns in. They have their memory in the same
// places: each arena is as large as the largest of any variant.
struct VariantList {
  const plan::VariantDef* const* items = nullptr;
  size_t count = 0;
  const plan::VariantDef* const* begin() const { return items; }
  const plan::VariantDef* const* end() const { return items + count; }
};

struct ArenaSizes {
  uint64_t host_bytes = 0;
  uint64_t svm_bytes = 0;     // shared arena of FineSvm variants,
  uint64_t buffer_bytes = 0;  // and of SubBuffer variants
  uint64_t device_bytes = 0;
};
ArenaSizes arena_sizes(const VariantList& variants);

// Images of a session are those of its variants with the most, by dtype; the k-th of a dtype is as
// wide and as high as the k-th of any variant needs it.
uint32_t session_image_count(const VariantList& variants, DType dtype);
// `out_images` has room for them.
void session_images(const VariantList& variants, DType dtype, ImageSize* out_images);

// What libcodl keeps by session, variant, step, operand of a CPU step, and worker. session.cc holds
// them equal to its structs on 64-bit machines; on others it keeps less.
inline constexpr uint64_t kSessionBytes = 2816;
inline constexpr uint64_t kPreparedBytes = 1096;
inline constexpr uint64_t kForecastBytes = 28;
inline constexpr uint64_t kStepBytes = 304;
inline constexpr uint64_t kStepTimeBytes = 56;
inline constexpr uint64_t kProgramBytes = 672;
inline constexpr uint64_t kViewBytes = 136;
inline constexpr uint64_t kWorkerBytes = 64;

struct SessionLists {
  uint64_t worker_count = 1;  // of the CPU, the caller's thread included
  bool records_timeline = false;
  bool is_adaptive = false;  // CODL_VARIANT_ADAPTIVE
};
// All lists of a session, as the default allocator takes them.
uint64_t list_bytes(const plan::PlanDef& plan, const VariantList& variants,
                    const SessionLists& lists, uint64_t page_bytes);

}  // namespace codl
