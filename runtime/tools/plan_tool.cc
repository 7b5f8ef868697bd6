#include "runtime/tools/plan_tool.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <iterator>
#include <utility>

#include "schema/mix_bits.h"
#include "tools/files.h"
#include "tools/messages.h"
#include "tools/npy.h"
#include "tools/printable.h"

namespace codl::tools {

ExitCode exit_code_of(codl_status_t status) {
  switch (status) {
    case CODL_OK:
      return ExitCode::Ok;
    case CODL_INVALID_ARGUMENT:
    case CODL_NOT_FOUND:
    case CODL_IO_ERROR:
    case CODL_CORRUPT_PLAN:
      return ExitCode::Input;
    case CODL_UNSUPPORTED_VERSION:
    case CODL_NO_DEVICE:
      return ExitCode::Unsupported;
    case CODL_OUT_OF_MEMORY:
    case CODL_DEVICE_ERROR:
    case CODL_WRONG_RESULT:
    case CODL_CANCELLED:
      break;
  }
  return ExitCode::Internal;
}

void check(const Status& status, const std::string& path) {
  if (status.ok()) return;
  const std::string message = status.message();
  const bool names_path = message.compare(0, path.size(), path) == 0;
  throw ToolError(exit_code_of(status.code()), names_path ? message : path + ": " + message);
}

namespace {

// A name that every plan has: of its first variant, where none has it.
constexpr char kCoexec[] = "coexec";

double random_value(codl_dtype_t dtype, SplitMix64& bits) {
  switch (dtype) {
    case CODL_FLOAT32:
    case CODL_FLOAT64:
    case CODL_FLOAT16:
    case CODL_BFLOAT16:
      // 24 bits: every value is exact in a float.
      return static_cast<double>(bits.next() >> 40) * 0x1p-23 - 1.0;
    case CODL_INT32:
    case CODL_INT64:
      return 0;  // often an index, and 0 is always in range
    case CODL_BOOL:
      return static_cast<double>(bits.next() >> 63);
    default:
      return static_cast<double>(bits.next() >> 61);  // 0 to 7
  }
}

std::string names_of(const std::vector<Tensor>& tensors) {
  std::string names;
  for (const Tensor& tensor : tensors) names += (names.empty() ? "" : ", ") + tensor.name;
  return names;
}

// Returns the path in "NAME=FILE" if NAME is this one; empty: it is another. Names of inputs and
// files may contain '='.
std::string path_of(const std::string& argument, const std::string& name) {
  return argument.starts_with(name + "=") ? argument.substr(name.size() + 1) : "";
}

// Fills the input that "NAME=FILE" names. Returns the input's number.
size_t read_input(const std::string& argument, std::vector<Tensor>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    Tensor& tensor = inputs[i];
    const std::string path = path_of(argument, tensor.name);
    if (path.empty()) continue;
    // Twice the tensor's size, because the elements of a bfloat16 one may come as float32.
    Npy npy = parse_npy(path, read_file(path, 2 * tensor.data.size() + kMaxNpyHeaderBytes));
    // NumPy has no bfloat16: its numbers come as float32, or as raw words of whatever name.
    const bool is_bfloat16 = tensor.dtype == CODL_BFLOAT16;
    if (is_bfloat16 && npy.dtype == CODL_FLOAT32)
      npy.data = convert_elements(CODL_FLOAT32, CODL_BFLOAT16, npy.data);
    const bool is_taken = npy.dtype == tensor.dtype ||
                          (is_bfloat16 && (npy.dtype == CODL_FLOAT32 || npy.dtype == CODL_UINT16));
    if (!is_taken || npy.dims != tensor.dims)
      fail_input(path, describe_tensor(tensor.dtype, tensor.dims) + " for input " + tensor.name,
                 describe_tensor(npy.dtype, npy.dims));
    std::copy_n(reinterpret_cast<const std::byte*>(npy.data.data()), npy.data.size(),
                tensor.data.begin());
    tensor.is_random = false;
    return i;
  }
  fail_input("--input", "NAME=FILE.npy with NAME one of " + names_of(inputs),
             "'" + argument.substr(0, argument.find('=')) + "'");
}

void read_inputs(const std::vector<std::string>& arguments, std::vector<Tensor>& inputs) {
  std::vector<bool> is_given(inputs.size());
  for (const std::string& argument : arguments) {
    const size_t index = read_input(argument, inputs);
    if (is_given[index]) fail_input("--input", "each input once", argument);
    is_given[index] = true;
  }
}

// A test that cannot be made has not passed.
void check_tests_gpu(const codl_session_info_t& info, const PlanFlags& flags) {
  const std::string flag = test_of_gpu(flags);
  if (flag.empty() || *info.opencl_device != '\0') return;
  const std::string reason = info.fallback_reason;
  throw ToolError(reason.empty() ? ExitCode::Input : ExitCode::Unsupported,
                  flag + ": expected a variant with GPU steps, found " + info.variant +
                      (reason.empty() ? ", which has none" : " (" + reason + ")"));
}

// Returns the variant that the flags name; see check_variant().
codl_variant_info_t named_variant(const Plan& plan, const PlanFlags& flags) {
  std::string known;
  for (size_t i = 0; i < plan.variant_count(flags.entry); ++i) {
    const codl_variant_info_t variant = plan.variant(i, flags.entry);
    if (flags.variant.empty() || flags.variant == variant.name) return variant;
    known += (i > 0 ? " or " : "") + std::string(variant.name);
  }
  const codl_variant_info_t first = plan.variant(0, flags.entry);
  if (flags.variant != kCoexec) fail_input("--variant", known, flags.variant);
  if (!flags.require_variant)  // its refusal says more
    print_message(
        flags.tool, Severity::Note,
        std::string("the plan has no variant coexec: its first, ") + first.name + ", runs");
  return first;
}

// Returns "--opencl-platform, --gpu-cores": those that only GPU steps obey.
std::string given_gpu_flags(const PlanFlags& flags) {
  const std::pair<const char*, bool> all[] = {{"--opencl-platform", !flags.opencl_platform.empty()},
                                              {"--opencl-device", !flags.opencl_device.empty()},
                                              {"--gpu-cores", !flags.gpu_cores.empty()},
                                              {"--program-cache", !flags.program_cache.empty()}};
  std::string given;
  for (const auto& [name, is_given] : all)
    if (is_given) given += (given.empty() ? "" : ", ") + std::string(name);
  return given;
}

const char* text_or_null(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

Tensor tensor_of(const codl_tensor_info_t& info) {
  Tensor tensor;
  tensor.name = info.name;
  tensor.dtype = info.dtype;
  tensor.dims.assign(info.dims, info.dims + info.rank);
  tensor.data.resize(info.bytes);
  return tensor;
}

std::vector<FlagGroup> shared_groups(PlanFlags* flags) {
  return {
      {"What is run",
       {{"variant", text_value("NAME", &flags->variant, "the plan's first"),
         "run this one of the plan's variants, like cpu"},
        {"entry", text_value("NAME", &flags->entry_name, "what the inputs fit, else the first"),
         "run a plan of several input shapes at these, like width=320"},
        {"input", texts_value("NAME=FILE.npy", &flags->inputs),
         "read this input from FILE; inputs without a file are random"},
        {"require-variant", switch_value(&flags->require_variant),
         "fail where no GPU can be used, in place of running on the CPU alone"}},
       {{"seed", integer_value("N", &flags->seed), "draw all random numbers from this seed"}}},
      {"Where it runs",
       {{"num-threads",
         integer_value<int32_t>("N", &flags->thread_count, 1, CODL_MAX_THREADS,
                                "what the plan was made for"),
         "run on N CPU threads"},
        {"cpu-cores", cores_value(&flags->cpu_cores, "not pinned"),
         "pin the CPU threads to these cores, the fastest first, like 7,4-6"}},
       {{"gpu-cores", cores_value(&flags->gpu_cores, "not pinned"),
         "pin an OpenCL implementation that computes on the CPU to these cores"},
        {"opencl-platform", text_value("TEXT", &flags->opencl_platform, "the first with a device"),
         "use the OpenCL platform whose name has this text"},
        {"opencl-device",
         text_value("TEXT", &flags->opencl_device, "the first GPU, else the first device"),
         "use the OpenCL device whose name has this text"},
        {"program-cache", text_value("FOLDER", &flags->program_cache, "none"),
         "keep built OpenCL programs in this folder, and take them from there"},
        {"check-every", integer_value<int32_t>("N", &flags->check_every, 1, INT32_MAX, "no checks"),
         "compute one GPU step again on the CPU in each N-th run, and fail if they "
         "differ"}}},
      {"Output",
       {{"output", text_value("FILE", &flags->output_path, "stdout"), "write the report to FILE",
         "o"},
        {"json", switch_value(&flags->is_json), "report one JSON object in place of text"},
        {"trace", text_value("FILE", &flags->trace_path, "none"),
         "write the timeline of one run for Perfetto or chrome://tracing"}}},
  };
}

}  // namespace

std::string runtime_version() {
  return std::string(codl_version()) + " (plan format " +
         std::to_string(codl_plan_format_version()) + ")";
}

bool parse_plan_flags(CommandLine own, const std::vector<std::string>& arguments,
                      PlanFlags* flags) {
  own.version = runtime_version();
  own.usage = {"PLAN [flags]"};
  own.exit_codes =
      "0 ok, 1 the input is wrong (plan, tensor, flag), 2 valid but not supported here, 70 "
      "internal or device error";
  for (FlagGroup& group : shared_groups(flags)) own.groups.push_back(std::move(group));
  const Arguments parsed = parse_command_line(own, arguments);
  if (parsed.answer) {
    print(*parsed.answer);
    return false;
  }
  flags->tool = own.tool;
  flags->plan_path = only_operand(parsed, "PLAN");
  if (flags->plan_path.empty()) fail_input("command line", "a PLAN", "none (see --help)");
  for (const std::string& path : {flags->output_path, flags->trace_path})
    if (!path.empty()) claim_output(path);
  return true;
}

Plan open_plan(const PlanFlags& flags, codl_verify_t verify) {
  note_input(flags.plan_path);
  codl_plan_options_t options = plan_options();
  options.verify = verify;
  Result<Plan> plan = Plan::open_file(flags.plan_path.c_str(), options);
  check(plan.status(), flags.plan_path);
  return std::move(*plan);
}

namespace {

// Returns whether the files fit the inputs of the entry. Adds dims that do not to `misfits`.
bool fits(const Plan& plan, size_t entry, const std::vector<std::string>& arguments,
          std::string* misfits) {
  for (const std::string& argument : arguments)
    for (size_t i = 0; i < plan.input_count(); ++i) {
      const Tensor tensor = tensor_of(plan.input(i, entry));
      const std::string path = path_of(argument, tensor.name);
      if (path.empty()) continue;
      size_t most_bytes = 0;
      for (size_t k = 0; k < plan.entry_count(); ++k)
        most_bytes = std::max(most_bytes, plan.input(i, k).bytes);
      const Npy npy = parse_npy(path, read_file(path, 2 * most_bytes + kMaxNpyHeaderBytes));
      if (npy.dims == tensor.dims) break;
      *misfits += (misfits->empty() ? "" : " or ") + describe_tensor(tensor.dtype, tensor.dims);
      if (entry + 1 == plan.entry_count())
        fail_input(path, *misfits + " for input " + tensor.name,
                   describe_tensor(npy.dtype, npy.dims));
      return false;
    }
  return true;
}

}  // namespace

void choose_entry(const Plan& plan, PlanFlags* flags) {
  std::string known;
  for (size_t i = 0; i < plan.entry_count(); ++i) {
    flags->entry = i;
    if (flags->entry_name.empty() ? plan.entry_count() == 1 || fits(plan, i, flags->inputs, &known)
                                  : flags->entry_name == plan.entry_name(i))
      return;
    if (!flags->entry_name.empty())
      known += (i > 0 ? " or " : "") + std::string(plan.entry_name(i));
  }
  if (plan.entry_count() == 1) fail_input("--entry", "a plan of several input shapes", "one");
  fail_input("--entry", known, flags->entry_name);
}

bool has_gpu_variant(const Plan& plan, const PlanFlags& flags) {
  for (size_t i = 0; i < plan.variant_count(flags.entry); ++i)
    if (plan.variant(i, flags.entry).needs_gpu != 0) return true;
  return false;
}

void check_variant(const Plan& plan, const PlanFlags& flags, bool runs_all) {
  const codl_variant_info_t variant = named_variant(plan, flags);
  const bool uses_gpu = runs_all ? has_gpu_variant(plan, flags) : variant.needs_gpu != 0;
  const std::string idle = given_gpu_flags(flags);
  if (uses_gpu || idle.empty() || !test_of_gpu(flags).empty()) return;
  print_message(
      flags.tool, Severity::Note,
      idle + ": no effect, because " +
          (runs_all ? "no variant has" : std::string("variant ") + variant.name + " has no") +
          " GPU steps");
}

Session create_session(const Plan& plan, const PlanFlags& flags, bool record_timeline) {
  codl_session_options_t options = session_options();
  options.variant = text_or_null(flags.variant);
  options.thread_count = flags.thread_count;
  options.cpu_cores = flags.cpu_cores.data();
  options.cpu_core_count = flags.cpu_cores.size();
  options.gpu_cores = flags.gpu_cores.data();
  options.gpu_core_count = flags.gpu_cores.size();
  options.opencl_platform = text_or_null(flags.opencl_platform);
  options.opencl_device = text_or_null(flags.opencl_device);
  options.check_every = flags.check_every;
  options.seed = flags.seed;
  if (flags.prepares_all) options.variant_count = CODL_ALL_VARIANTS;
  options.require_variant = flags.require_variant ? 1 : 0;
  options.record_timeline = record_timeline ? 1 : 0;
  codl_program_cache_t cache = {};
  if (!flags.program_cache.empty()) {
    check(Status::of([&](codl_diag_t* diag) {
            return codl_dir_cache_create(flags.program_cache.c_str(), &cache, diag);
          }),
          "--program-cache");
    options.program_cache = &cache;
  }
  Result<Session> session = Session::create(plan, options);
  codl_dir_cache_destroy(&cache);
  check(session.status(), flags.plan_path);
  std::vector<codl_shape_t> shapes;
  for (size_t i = 0; i < plan.input_count(); ++i)
    shapes.push_back(shape_of(plan.input(i, flags.entry)));
  check(session->set_shapes(shapes), flags.plan_path);
  check_tests_gpu(session->info(), flags);
  return std::move(*session);
}

std::string test_of_gpu(const PlanFlags& flags) {
  if (flags.is_self_test) return "--self-test";
  if (flags.check_every > 0) return "--check-every";
  if (!flags.require_variant) return "";
  if (!flags.opencl_platform.empty()) return "--opencl-platform with --require-variant";
  if (!flags.opencl_device.empty()) return "--opencl-device with --require-variant";
  // A variant that is asked for by name needs no GPU where it has no steps for one.
  const bool has_name = !flags.variant.empty() && flags.variant != kCoexec;
  return has_name ? "" : "--require-variant";
}

void fill_random(Tensor& tensor, uint64_t seed, size_t input_index) {
  // Input i starts from the i-th number that the seed gives, so inputs differ from each other.
  SplitMix64 starts(seed);
  for (size_t i = 0; i < input_index; ++i) starts.next();
  SplitMix64 values(starts.next());
  const size_t bytes = element_bytes(tensor.dtype);
  const size_t count = tensor.data.size() / bytes;
  for (size_t i = 0; i < count; ++i)
    write_element(tensor.dtype, random_value(tensor.dtype, values), tensor.data.data() + i * bytes);
}

std::vector<Tensor> inputs_of(const Plan& plan, const PlanFlags& flags,
                              std::vector<Tensor>* out_states) {
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < plan.input_count(); ++i) {
    tensors.push_back(tensor_of(plan.input(i, flags.entry)));
    fill_random(tensors.back(), flags.seed, i);
    tensors.back().is_random = true;
  }
  if (out_states == nullptr) {
    read_inputs(flags.inputs, tensors);
    return tensors;
  }
  for (size_t i = 0; i < plan.state_count(); ++i) tensors.push_back(tensor_of(plan.state(i)));
  read_inputs(flags.inputs, tensors);
  const auto first_state = tensors.begin() + static_cast<std::ptrdiff_t>(plan.input_count());
  out_states->assign(std::make_move_iterator(first_state), std::make_move_iterator(tensors.end()));
  tensors.erase(first_state, tensors.end());
  return tensors;
}

std::vector<Tensor> empty_outputs(const Plan& plan, const PlanFlags& flags) {
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < plan.output_count(); ++i)
    tensors.push_back(tensor_of(plan.output(i, flags.entry)));
  return tensors;
}

std::vector<codl_buffer_t> buffers_of(std::vector<Tensor>& tensors) {
  std::vector<codl_buffer_t> buffers;
  for (Tensor& tensor : tensors) buffers.push_back(buffer_of(tensor.data));
  return buffers;
}

Policy create_policy(const Session& session) {
  codl_policy_t* policy = nullptr;
  check(Status::of(
            [&](codl_diag_t* diag) { return codl_policy_create(session.get(), &policy, diag); }),
        "policy");
  return Policy(policy);
}

void run_session(Session& session, const std::vector<codl_buffer_t>& inputs,
                 const std::vector<codl_buffer_t>& outputs, const Policy& policy) {
  const auto run = [&](codl_diag_t* diag) {
    return codl_policy_run(policy.get(), inputs.data(), inputs.size(), outputs.data(),
                           outputs.size(), diag);
  };
  check(policy ? Status::of(run) : session.run(inputs, outputs), "run");
}

Tensor leading_part(Tensor tensor, const std::vector<int64_t>& dims) {
  size_t row_bytes = element_bytes(tensor.dtype);
  // Dims behind the last that shrinks stay together: a row is copied at once.
  size_t outer_rank = dims.size();
  while (outer_rank > 0 && dims[outer_rank - 1] == tensor.dims[outer_rank - 1])
    row_bytes *= static_cast<size_t>(dims[--outer_rank]);
  if (outer_rank == 0) return tensor;

  Tensor part;
  part.name = std::move(tensor.name);
  part.dtype = tensor.dtype;
  part.dims = dims;
  const size_t run_bytes = row_bytes * static_cast<size_t>(dims[outer_rank - 1]);
  size_t run_count = 1;
  for (size_t i = 0; i + 1 < outer_rank; ++i) run_count *= static_cast<size_t>(dims[i]);
  if (run_bytes == 0) run_count = 0;
  part.data.reserve(run_count * run_bytes);
  for (size_t run = 0; run < run_count; ++run) {
    size_t row = 0;  // row of the whole tensor, in rows of dim outer_rank - 1
    size_t pitch = static_cast<size_t>(tensor.dims[outer_rank - 1]);
    size_t rest = run;
    for (size_t i = outer_rank - 1; i-- > 0;) {
      row += rest % static_cast<size_t>(dims[i]) * pitch;
      rest /= static_cast<size_t>(dims[i]);
      pitch *= static_cast<size_t>(tensor.dims[i]);
    }
    const std::byte* from = tensor.data.data() + row * row_bytes;
    part.data.insert(part.data.end(), from, from + run_bytes);
  }
  return part;
}

void trim_outputs(const Session& session, std::vector<Tensor>& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const OutputDims found = session.output_dims(i);
    outputs[i] = leading_part(std::move(outputs[i]),
                              std::vector<int64_t>(found.dims, found.dims + found.rank));
  }
}

SessionFacts facts_of(const Plan& plan, const Session& session) {
  const codl_session_info_t info = session.info();
  const auto as_bytes = [](size_t bytes) { return static_cast<int64_t>(bytes); };
  return {.plan_device = plan.device(),
          .entry = plan.entry_name(info.entry),
          .variant = info.variant,
          .fallback_reason = info.fallback_reason,
          .flag_refusal = info.flag_refusal,
          .recording_refusal = info.recording_refusal,
          .opencl_platform = info.opencl_platform,
          .opencl_device = info.opencl_device,
          .thread_count = info.thread_count,
          .wanted_thread_count = info.wanted_thread_count,
          .memory = {{"host arena", "host_bytes", as_bytes(info.host_bytes)},
                     {"scratch", "scratch_bytes", as_bytes(info.scratch_bytes)},
                     {"shared arena", "shared_bytes", as_bytes(info.shared_bytes)},
                     {"device arena", "device_bytes", as_bytes(info.device_bytes)},
                     {"images", "image_bytes", as_bytes(info.image_bytes)},
                     {"weights", "weight_bytes", as_bytes(info.weight_bytes)},
                     {"weight copies", "weight_copy_bytes", as_bytes(info.weight_copy_bytes)},
                     {"tables", "table_bytes", as_bytes(info.table_bytes)}},
          .session_us = info.load_us,
          .program_us = info.program_us};
}

std::string describe_session(const SessionFacts& facts) {
  const std::string entry = facts.entry.empty() ? "" : " of " + printable(facts.entry);
  std::string text = "variant " + printable(facts.variant) + entry + ", planned for device " +
                     printable(facts.plan_device) +
                     ", on this machine: " + counted(facts.thread_count, "CPU thread");
  if (facts.thread_count < facts.wanted_thread_count)
    text += " of " + std::to_string(facts.wanted_thread_count) + " (the system grants no more)";
  if (!facts.opencl_device.empty()) text += ", OpenCL device " + printable(facts.opencl_device);
  if (!facts.fallback_reason.empty())
    text += "\n  not the one asked for: " + printable(facts.fallback_reason);
  if (!facts.flag_refusal.empty())
    text += "\n  waits by flag are by event: " + printable(facts.flag_refusal);
  return text;
}

void write_session(JsonWriter& json, const std::string& plan_path, const SessionFacts& facts) {
  json.key("plan").string(plan_path);
  json.key("plan_device").string(facts.plan_device);
  if (!facts.entry.empty()) json.key("entry").string(facts.entry);
  json.key("variant").string(facts.variant);
  json.key("fallback_reason").string(facts.fallback_reason);
  json.key("flag_refusal").string(facts.flag_refusal);
  json.key("recording_refusal").string(facts.recording_refusal);
  json.key("thread_count").integer(facts.thread_count);
  json.key("wanted_thread_count").integer(facts.wanted_thread_count);
  json.key("opencl_platform").string(facts.opencl_platform);
  json.key("opencl_device").string(facts.opencl_device);
}

}  // namespace codl::tools
