// The whole compiler as one function.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/device/device_profile.h"
#include "compiler/partition/options.h"
#include "compiler/passes/pass.h"
#include "llvm/Support/Error.h"

namespace codl::compiler {

// The front end's passes in the order they run.
llvm::ArrayRef<Pass> frontend_passes();

struct CompileOptions {
  PartitionOptions partition;
  PassOptions passes;
  std::string dump;  // stage to print: graph, partition, schedule, memory; empty: none
  llvm::raw_ostream* dump_to = nullptr;
};

// What codlc tells the user about a plan.
struct CompileReport {
  struct Variant {
    std::string name;
    double predicted_us = 0;
    uint64_t arena_bytes = 0;  // host, shared and device
    double gpu_mac_share = 0;  // of the multiply-adds
    size_t split_nodes = 0;
    size_t chains = 0;
    size_t longest_chain = 0;
  };
  std::vector<Variant> variants;
  std::vector<std::string> not_split_as_forced;  // "node (Op)"
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
