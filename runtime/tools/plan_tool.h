// Holds what codl-run and codl-bench share: flags, opening a plan, creating a session, tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "codl/codl.hpp"
#include "codl/policy.h"
#include "tools/dtype.h"
#include "tools/flags.h"
#include "tools/json_writer.h"
#include "tools/tool_error.h"

namespace codl::tools {

// Returns the exit code that tells a tool's caller about a status of libcodl.
ExitCode exit_code_of(codl_status_t status);

// Throws what a status says, if it is no success; `path` is put in front of a message that does not
// name the file.
void check(const Status& status, const std::string& path);

struct PlanFlags {
  std::string tool;  // that they were given to
  std::string plan_path;
  std::string entry_name;  // empty: the one that the inputs fit, else the plan's first
  size_t entry = 0;        // choose_entry() sets it
  std::string variant;     // empty: uses the entry's first
  bool require_variant = false;
  bool prepares_all = false;  // all variants of the plan, for a policy
  int32_t thread_count = 0;   // 0: the plan's
  std::vector<int32_t> cpu_cores;
  std::vector<int32_t> gpu_cores;
  std::string opencl_platform;
  std::string opencl_device;
  std::string program_cache;  // a folder; empty: none
  int32_t check_every = 0;    // runs; 0: no checks
  bool is_self_test = false;
  std::vector<std::string> inputs;  // NAME=FILE.npy
  uint64_t seed = 0;
  std::string output_path;  // file of the report; empty or "-": stdout
  std::string trace_path;   // empty: no trace
  bool is_json = false;
};

struct Tensor {
  std::string name;
  codl_dtype_t dtype = CODL_FLOAT32;
  std::vector<int64_t> dims;
  std::vector<std::byte> data;
  bool is_random = false;  // an input that no file was given for
};

// Returns libcodl's version for --version: "0.1.0 (plan format 3)".
std::string runtime_version();

// Reads the flags in `own` (a tool's name, summary and groups) and those of every tool that takes
// one PLAN. False if --help or --version was asked for and has been answered on stdout.
bool parse_plan_flags(CommandLine own, const std::vector<std::string>& arguments, PlanFlags* flags);

Plan open_plan(const PlanFlags& flags, codl_verify_t verify);

// Finds the entry that the flags name, or whose inputs have the dims of the files that they name.
void choose_entry(const Plan& plan, PlanFlags* flags);

bool has_gpu_variant(const Plan& plan, const PlanFlags& flags);

// An input error if the plan has no such variant. The name coexec means the first variant of a plan
// that has none; a note says so. Another one names flags that choose a GPU where no step needs one,
// in the variant or, if `runs_all`, in any, unless create_session() refuses them.
void check_variant(const Plan& plan, const PlanFlags& flags, bool runs_all = false);

// An input error if flags ask for what only a session with GPU steps can show (test_of_gpu()) and
// it has none; Unsupported if the machine is why it has none.
Session create_session(const Plan& plan, const PlanFlags& flags, bool record_timeline);

// The flag by which the GPU is to be tested; empty: none.
std::string test_of_gpu(const PlanFlags& flags);

// Returns the inputs that the flags name a file for, and random tensors for the others.
// `out_states`, if not null, receives what the session begins with: states that have a file, zeros
// for the others.
std::vector<Tensor> inputs_of(const Plan& plan, const PlanFlags& flags,
                              std::vector<Tensor>* out_states = nullptr);
// Zeros.
std::vector<Tensor> empty_outputs(const Plan& plan, const PlanFlags& flags = {});

// Fills the tensor with the random values of input `input_index`, the same on every machine:
// floats uniform in [-1, 1), bool 0 or 1, int32 and int64 zero (an index that is always in range),
// other integers 0 to 7.
void fill_random(Tensor& tensor, uint64_t seed, size_t input_index);

// Views of the tensors, which keep the memory.
std::vector<codl_buffer_t> buffers_of(std::vector<Tensor>& tensors);

struct DestroyPolicy {
  void operator()(codl_policy_t* policy) const { codl_policy_destroy(policy); }
};
// Must not outlive its session.
using Policy = std::unique_ptr<codl_policy_t, DestroyPolicy>;
Policy create_policy(const Session& session);

// Runs once; with a policy, on the variant that it chooses.
void run_session(Session& session, const std::vector<codl_buffer_t>& inputs,
                 const std::vector<codl_buffer_t>& outputs, const Policy& policy = nullptr);

// Returns the first dims[i] elements along each dim i of a dense tensor, dense again.
Tensor leading_part(Tensor tensor, const std::vector<int64_t>& dims);

// Cuts the outputs of a run down to the extents that it found.
void trim_outputs(const Session& session, std::vector<Tensor>& outputs);

// Keeps the facts about a session beyond its life.
struct SessionFacts {
  std::string plan_device;  // the profile's name, which the plan has; the machine may be another
  std::string entry;        // its name; empty: the plan has one
  std::string variant;
  std::string fallback_reason;    // why it is not the variant asked for; empty if it is
  std::string flag_refusal;       // why waits by flag are by event; empty: none is
  std::string recording_refusal;  // why recorded steps are enqueued one by one; empty: none is
  std::string opencl_platform;    // empty without a GPU
  std::string opencl_device;
  int32_t thread_count = 0;
  int32_t wanted_thread_count = 0;  // if it is more, the system granted no more threads
  // Counts memory by kind, as in codl_session_info_t.
  struct Memory {
    const char* text;  // as codl-bench prints it
    const char* key;   // its key in JSON
    int64_t bytes;
  };
  std::vector<Memory> memory;
  double session_us = 0;  // creating it, of which
  double program_us = 0;  // building OpenCL programs
};

SessionFacts facts_of(const Plan& plan, const Session& session);

// Returns "variant coexec, planned for device sd855, on this machine: 2 CPU threads, OpenCL device
// X", and the reason if it is not the variant asked for.
std::string describe_session(const SessionFacts& facts);

// Writes keys "plan", "plan_device", "entry" (if the plan has several), "variant",
// "fallback_reason", "thread_count", "wanted_thread_count", "opencl_platform", "opencl_device" of
// the open object.
void write_session(JsonWriter& json, const std::string& plan_path, const SessionFacts& facts);

}  // namespace codl::tools
