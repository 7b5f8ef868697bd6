// Defines the numbers in a plan's tables: where tensors are, who runs a step, what it does. Each
// list has the names that dumps, messages and profiles use.
//
// Numbers are stored in plans: append, never renumber (README.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "schema/types.h"

namespace codl {

// Says where a tensor's memory is.
enum class Storage : uint8_t {
  Input = 0,    // is the application's buffer, bound for each run; index = input number
  Output = 1,   // is the application's buffer, bound for each run; index = output number
  Host = 2,     // host arena: only the CPU queue uses it
  Shared = 3,   // shared arena: both queues use it, by the variant's sharing
  Device = 4,   // device arena: only the GPU queue uses it
  Image = 5,    // image pool; index = image number
  Weights = 6,  // data section of the file; read only; index = blob number
};
inline constexpr const char* kStorageNames[] = {"input",  "output", "host",   "shared",
                                                "device", "image",  "weights"};

// Says how the queues share memory (docs/reference/plan_format.md, "Sharing").
enum class Sharing : uint8_t {
  None = 0,       // the variant has one queue
  FineSvm = 1,    // one fine-grained SVM allocation; both queues may write different bytes of it
  SubBuffer = 2,  // a shared tensor is a sub-buffer; the host touches it between Map and Unmap
  Separate = 3,   // no shared arena; Upload and Download steps copy
};
inline constexpr const char* kSharingNames[] = {"none", "fine_svm", "sub_buffer", "separate"};

// Says what a variant needs beyond what every runtime of the plan's version has.
enum class Need : uint16_t {
  States = 1,  // the session keeps outputs that are inputs of the next run
};

// Says how a GPU step waits for a CPU step.
enum class Gate : uint8_t {
  HostEnqueue = 0,  // it is enqueued once the CPU step is done
  UserEvent = 1,    // it is enqueued at once, behind a user event that the CPU queue completes
};
inline constexpr const char* kGateNames[] = {"host_enqueue", "user_event"};

// Says how a step learns that a step of another queue, which it waits for, is done.
enum class WaitKind : uint8_t {
  Event = 0,  // an OpenCL event, or the variant's gate from the CPU to the GPU
  Flag = 1,   // between CPU and GPU: a number in memory that both see, with no call in between
};
inline constexpr const char* kWaitKindNames[] = {"event", "flag"};

enum class Queue : uint8_t { Cpu = 0, Gpu = 1, Transfer = 2 };
inline constexpr const char* kQueueNames[] = {"cpu", "gpu", "transfer"};
inline constexpr size_t kQueueCount = std::size(kQueueNames);

enum class StepKind : uint8_t {
  Kernel = 0,  // queue Cpu or Gpu
  Map = 1,     // queue Gpu: gives operand 0 (Shared, SubBuffer) to the host
  Unmap = 2,   // queue Gpu: gives it back to the device
  Upload = 3,  // queue Transfer copies rows or channels `part` of operand 0 (Host) to operand 1
               // (Device)
  Download =
      4,  // queue Transfer copies rows or channels `part` of operand 0 (Device) to operand 1 (Host)
};
inline constexpr const char* kStepKindNames[] = {"kernel", "map", "unmap", "upload", "download"};

// Says how the host uses a tensor that a Map step gives it.
enum class MapAccess : uint8_t { Read = 0, Write = 1, ReadWrite = 2 };
inline constexpr const char* kMapAccessNames[] = {"read", "write", "read_write"};

// name_of(value): its name, of one in the list. is_known(value): it is one, for numbers from files.
#define CODL_NAMES(Enum)                                                                           \
  constexpr const char* name_of(Enum value) { return k##Enum##Names[static_cast<size_t>(value)]; } \
  constexpr bool is_known(Enum value) {                                                            \
    return static_cast<size_t>(value) < std::size(k##Enum##Names);                                 \
  }
CODL_NAMES(Storage)
CODL_NAMES(Sharing)
CODL_NAMES(Gate)
CODL_NAMES(WaitKind)
CODL_NAMES(Queue)
CODL_NAMES(StepKind)
CODL_NAMES(MapAccess)
CODL_NAMES(Layout)
CODL_NAMES(SplitDim)
#undef CODL_NAMES

// Returns whether the memory is an arena, in which tensors have offsets.
constexpr bool is_arena(Storage storage) {
  return storage == Storage::Host || storage == Storage::Shared || storage == Storage::Device;
}

// Returns the bytes of an image whose rows are padded to a multiple of `row_texels`; 1: not at all.
constexpr uint64_t image_bytes(uint32_t width, uint32_t height, DType dtype, uint64_t row_texels) {
  return round_up(uint64_t{width}, row_texels) * height * kChannelPad * dtype_bytes(dtype);
}

}  // namespace codl
