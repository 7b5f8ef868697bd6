// The whole compiler as one function.
#pragma once

#include <string>
#include <vector>

#include "compiler/device/device_profile.h"
#include "compiler/partition/options.h"
#include "compiler/passes/pass.h"
#include "llvm/Support/Error.h"

namespace codl::compiler {

struct CompileOptions {
  PartitionOptions partition;
  PassOptions passes;
  std::string dump;  // stage to print: graph, partition, schedule, memory; empty: none
};

struct CompileReport {
  struct Variant {
    std::string name;
    double predicted_us;
    uint64_t host_bytes, shared_bytes, device_bytes;
  };
  std::vector<Variant> variants;
  std::vector<std::string> not_split_as_forced;  // node names
  uint64_t weight_bytes = 0;
};

struct CompileResult {
  std::vector<uint8_t> plan;
  CompileReport report;
};

// ONNX bytes to plan bytes for one device. Errors: Input, Unsupported, Limit, Internal.
llvm::Expected<CompileResult> compile(llvm::StringRef onnx, llvm::StringRef path,
                                      const DeviceProfile& profile, const CompileOptions& options);

}  // namespace codl::compiler
