// Defines the fixed head of a plan file, its alignments and its limits. Numbers are little endian.
#pragma once

#include <cstdint>

namespace codl {

inline constexpr char kPlanMagic[4] = {'C', 'O', 'D', 'L'};

// Goes up when an older runtime could not read the file; see schema/README.md.
inline constexpr uint32_t kPlanVersion = 3;

struct PlanHead {
  char magic[4];
  uint32_t version;
  uint64_t file_bytes;
  uint64_t table_offset;  // the FlatBuffer
  uint64_t table_bytes;
  uint64_t data_offset;  // weights; multiple of kDataAlignment
  uint64_t data_bytes;
  uint64_t checksum;  // XXH3 (64 bit) of the bytes after the head
  uint64_t reserved;  // 0
};
static_assert(sizeof(PlanHead) == 64);

inline constexpr uint64_t kTableOffset = 64;
// This is a multiple of every page size in use (16 KiB-page phones map at 64 KiB too).
inline constexpr uint64_t kDataAlignment = 65536;
// Blobs start at multiples of 4096, so that OpenCL can use the mapping in place
// (CL_MEM_USE_HOST_PTR works in pages).
inline constexpr uint64_t kBlobAlignment = 4096;
// Tensors in the host arena start at a cache line.
inline constexpr uint64_t kHostAlignment = 64;
// Tensors in the shared and device arenas start at a multiple of CL_DEVICE_MEM_BASE_ADDR_ALIGN of
// every device seen (PoCL 128 bytes, NVIDIA 512) and of the least the OpenCL profile asks (128).
inline constexpr uint64_t kDeviceAlignment = 1024;

// These limits keep arithmetic on untrusted numbers inside int32 and int64.
inline constexpr int32_t kMaxDim = 1 << 24;
inline constexpr int64_t kMaxElements = int64_t{1} << 30;  // per tensor, padding included
inline constexpr uint64_t kMaxArenaBytes = uint64_t{1} << 40;
inline constexpr uint32_t kMaxSteps = 1u << 20;
inline constexpr uint32_t kMaxThreads = 64;
// The fastest worker of the CPU queue has this speed. It is the first, and a step of one task runs
// there. The others' speeds are in this unit.
inline constexpr uint16_t kFullSpeed = 10000;
// These limits bound the time of verify_plan. Those of steps, tensors and waits count over all
// variants of all entries. They are far above any network.
inline constexpr uint32_t kMaxEntries = 64;
inline constexpr uint32_t kMaxVariants = 64;  // each entry has at most so many
// Names of entries are compared with each other, and so are those of an entry's variants.
inline constexpr uint32_t kMaxNameBytes = 255;
inline constexpr uint32_t kMaxStates = 1024;
// Names the plan's first variant where no variant has this name: that one computes on the processor
// that is better alone, and is called by it.
inline constexpr char kCoexecVariant[] = "coexec";
inline constexpr uint32_t kMaxTensors = 1u << 20;
inline constexpr uint64_t kMaxWaits = 1u << 24;
inline constexpr uint32_t kMaxMapped = 256;  // so many shared tensors of a variant may be mapped at
                                             // the same time
inline constexpr uint32_t kMaxImageSide = 1u << 16;  // texels; the device's own limit is lower

}  // namespace codl
