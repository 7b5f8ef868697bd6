// Declares the command line of codlc: its flags, and the compiler's options that they set.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/pipeline.h"
#include "tools/flags.h"

namespace codl::compiler {

// Holds the user's settings for codlc.
struct CodlcFlags {
  std::string model;
  std::vector<std::string> input_shapes;
  std::vector<std::string> dims;
  std::vector<std::string> input_values;
  std::vector<std::string> states;
  std::string device;  // one device, or several with commas between; empty: host
  bool lists_devices = false;
  std::string output;
  std::string out_dir;
  std::string depfile;
  std::string depfile_target;
  std::string ep_context;  // path; empty: none
  bool embeds_plan = false;
  uint32_t job_count = 0;  // 0: as many as there are cores
  bool is_quiet = false;
  PartitionOptions partition;
  std::vector<VariantRequest> variants = CompileOptions().variants;
  const AskedPrecision* precision = &kAskedPrecisions[0];
  std::vector<std::string> avoided;  // "winograd", paths
  std::optional<SupportFormat> support;
  ShrinkOptions shrink;
  std::string emitted_onnx;          // path; empty: none
  std::optional<bool> lists_ops;     // as markdown
  std::vector<std::string> reports;  // paths that end in .html or .json
  std::string measured;              // path
  std::vector<std::string> learned;  // PLAN=BENCH.json each
  std::string measured_on;           // part of a machine's name; empty: the device compiled for
  std::string dump;
  std::optional<std::string> explained_node;
  std::vector<std::string> skipped_passes;
};

// Returns the passes of --dump and --skip-pass, in order.
std::vector<std::string> pass_names();

tools::CommandLine command_line_of(CodlcFlags* flags);

// Dumps go to `dump_to`. Returns an Input error for flags that contradict each other, and for text
// that is no shape or value.
llvm::Expected<CompileOptions> options_of(const CodlcFlags& flags, llvm::raw_ostream& dump_to);

// Returns the devices of --device; a name with commas that is a file is one device.
std::vector<std::string> devices_of(const CodlcFlags& flags);

// Returns where the plan for a device goes.
std::string output_path(const CodlcFlags& flags, llvm::StringRef device);

}  // namespace codl::compiler
