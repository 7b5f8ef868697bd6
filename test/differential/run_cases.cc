// Compiles and runs cases in one process, in many modes, and compares with the expected outputs.
//
//   run_cases [--modes=N] [--seed=S] [--list=FILE] [CASE...]
//
// A CASE is a folder like ONNX's node tests: model.onnx; in_I.npy and out_I.npy by the index
// of the graph's input and output; tol.txt ("rtol atol"). FILE has one folder a line. From all
// modes (device, strategy, forced split, precision), the seed and the case's name draw N; default:
// all. Prints "begin CASE" and a line per mode: "VERDICT CASE MODE[: reason]" with
//   passed   every output has the expected type and dims and is within the tolerance (a bfloat16
//            within 2^-6 at least: kMinBf16Rtol)
//   refused  the compiler says that it does not support something (exit code 2)
//   wrong    it ran, and an output is off
//   broken   anything else: an input error, an internal error, a plan or run that fails
// Exits 1 if anything is wrong or broken.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "codl/codl.hpp"
#include "compiler/device/device_profile.h"
#include "compiler/pipeline.h"
#include "compiler/support/error.h"
#include "compiler/support/hash.h"
#include "kernels/kernel_table.h"
#include "runtime/tools/plan_tool.h"
#include "tools/npy.h"

namespace codl::test {
namespace {

namespace fs = std::filesystem;
using compiler::CompileOptions;
using compiler::Precision;

struct Mode {
  const char* name;
  const char* device;  // a profile's name, or a file in test/profiles
  const char* strategy = "optimal";
  SplitDim split_dim = SplitDim::None;
  double ratio = 0;  // for a forced split; 0: none
  int32_t max_chain = compiler::kMaxChainLength;
  // The GPU kernels' times are drawn for the case, so its maps are in images and in buffers at
  // random.
  bool draws_times = false;
  compiler::BoundaryFirst boundary_first = compiler::BoundaryFirst::Auto;
};

constexpr auto kFirst = compiler::BoundaryFirst::Always;

// Lists every strategy, both layouts of a GPU's maps, each processor alone and both side by side,
// all kinds of memory sharing, forced splits with and without chains, rows at a cut first or with
// the others.
constexpr Mode kModes[] = {
    {"cpu", "host-pair", "cpu"},
    {"gpu-buffer", "host-pair", "gpu"},
    {"gpu-image", "sd855_images.json", "gpu"},
    {"auto", "host-pair"},
    {"auto-image", "sd855_images.json"},
    {"auto-kirin", "kirin990"},
    {"coarse", "host-pair", "coarse"},
    {"fine-image", "sd855_images.json", "fine"},
    {"mulayer", "host-pair", "mulayer"},
    {"codl-buffer", "sd855", "codl-buffer", SplitDim::None, 0, 8, true},
    {"codl-image", "sd855_images.json", "codl"},
    {"codl-kirin", "kirin990", "codl"},
    {"segments", "host-pair", "segments"},
    {"h", "host-pair", "optimal", SplitDim::Height, 0.5, 4},
    {"h-image", "sd855_images.json", "optimal", SplitDim::Height, 0.5, 4},
    {"h-no-chain", "host-pair", "optimal", SplitDim::Height, 0.3, 1},
    {"h-sub-buffer", "host_sub_buffer.json", "optimal", SplitDim::Height, 0.7, 8},
    {"h-separate", "host_separate.json", "optimal", SplitDim::Height, 0.4, 8},
    {"h-first", "host-pair", "optimal", SplitDim::Height, 0.5, 2, false, kFirst},
    {"h-first-image", "sd855_images.json", "optimal", SplitDim::Height, 0.5, 1, false, kFirst},
    {"h-first-sub-buffer", "host_sub_buffer.json", "optimal", SplitDim::Height, 0.6, 2, false,
     kFirst},
    {"h-first-separate", "host_separate.json", "optimal", SplitDim::Height, 0.4, 2, false, kFirst},
    {"h-first-layouts", "sd855", "optimal", SplitDim::Height, 0.4, 2, true, kFirst},
    {"h-first-layouts-svm", "host_images.json", "optimal", SplitDim::Height, 0.6, 2, true, kFirst},
    {"h-first-layouts-separate", "host_separate_images.json", "optimal", SplitDim::Height, 0.5, 2,
     true, kFirst},
    {"oc", "host-pair", "optimal", SplitDim::OutputChannel, 0.5, 4},
    {"oc-image", "sd855_images.json", "optimal", SplitDim::OutputChannel, 0.4, 4},
    {"oc-no-chain", "host-pair", "optimal", SplitDim::OutputChannel, 0.3, 1},
    {"oc-sub-buffer", "host_sub_buffer.json", "optimal", SplitDim::OutputChannel, 0.6, 8},
    {"oc-separate", "host_separate.json", "optimal", SplitDim::OutputChannel, 0.5, 8},
    {"gpu-separate", "host_separate.json", "gpu"},
    {"gpu-layouts", "sd855", "gpu", SplitDim::None, 0, 1, true},
    {"auto-layouts", "sd855", "optimal", SplitDim::None, 0, 8, true},
    {"h-layouts", "sd855", "optimal", SplitDim::Height, 0.5, 4, true},
    {"h-layouts-svm", "host_images.json", "optimal", SplitDim::Height, 0.6, 4, true},
    {"h-layouts-separate", "host_separate_images.json", "optimal", SplitDim::Height, 0.4, 4, true},
    {"oc-layouts", "sd855", "optimal", SplitDim::OutputChannel, 0.5, 4, true},
    {"oc-layouts-svm", "host_images.json", "optimal", SplitDim::OutputChannel, 0.5, 4, true},
    {"oc-layouts-separate", "host_separate_images.json", "optimal", SplitDim::OutputChannel, 0.5, 4,
     true},
};

// Describes a verdict that ends a mode before there is anything to compare.
struct Ending {
  const char* verdict;
  std::string reason;
};

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Ending{"broken", path.string() + ": expected a readable file, found none"};
  return {std::istreambuf_iterator<char>(file), {}};
}

const compiler::DeviceProfile& profile_of(const Mode& mode) {
  static std::vector<std::pair<std::string, compiler::DeviceProfile>> loaded;
  for (const auto& [name, profile] : loaded)
    if (name == mode.device) return profile;
  const std::string name = mode.device;
  const std::string path = name.find(".json") == std::string::npos
                               ? name
                               : (fs::path(CODL_TEST_PROFILES) / name).string();
  auto profile = compiler::load_device_profile(path);
  if (!profile) throw Ending{"broken", llvm::toString(profile.takeError())};
  loaded.reserve(std::size(kModes));
  loaded.emplace_back(name, std::move(*profile));
  return loaded.back().second;
}

// Bounds the drawn step times of a GPU's kernel; a phone's synchronisation takes as long.
constexpr double kMaxStepUs = 1000;

compiler::DeviceProfile with_drawn_times(compiler::DeviceProfile profile, const std::string& name) {
  std::mt19937_64 random(compiler::hash_of(name));
  for (const KernelInfo& kernel : kKernelInfos) {
    if (kernel.processor != Processor::Gpu) continue;
    compiler::Shares& shares = profile.kernels[kernel.id - 1].shares;
    shares = compiler::Shares();
    // A conversion that takes no time is no reason to stay with a layout.
    if (kernel.op == OpKind::Convert) continue;
    shares[compiler::Term::Step] = static_cast<double>(random() % 1000) / 1000 * kMaxStepUs;
  }
  return profile;
}

compiler::LargeBytes compile_case(const std::string& model, const fs::path& folder,
                                  const Mode& mode) {
  CompileOptions options;
  options.partition.strategy = mode.strategy;
  options.partition.split_dim = mode.split_dim;
  if (mode.ratio > 0) options.partition.ratio = mode.ratio;
  options.partition.max_chain = mode.max_chain;
  options.partition.boundary_first = mode.boundary_first;
  options.partition.search_budget = 300;  // thousands of graphs: no plan needs to be good
  const compiler::DeviceProfile profile =
      mode.draws_times ? with_drawn_times(profile_of(mode), folder.filename().string())
                       : profile_of(mode);
  auto result = compiler::compile(model, (folder / "model.onnx").string(), profile, options);
  if (result) return std::move(result->plan);
  std::string text;
  llvm::raw_string_ostream os(text);
  const int code = compiler::report_error(result.takeError(), os);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  throw Ending{code == 2 ? "refused" : "broken", text};
}

void expect_ok(const Status& status) {
  if (!status.ok()) throw Ending{"broken", status.message()};
}

std::vector<tools::Tensor> run_case(const compiler::LargeBytes& plan_bytes,
                                    const fs::path& folder) {
  Result<Plan> plan = Plan::open(plan_bytes.data(), plan_bytes.size());
  expect_ok(plan.status());
  tools::PlanFlags flags;
  flags.thread_count = 2;
  // If the GPU fails, the CPU must not pass for it.
  flags.variant = plan->variant(0).name;
  flags.require_variant = true;
  std::vector<tools::Tensor> inputs = tools::inputs_of(*plan, flags);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const fs::path path = folder / ("in_" + std::to_string(i) + ".npy");
    const tools::Npy array = tools::parse_npy(path.string(), read_file(path));
    if (array.dtype != inputs[i].dtype || array.dims != inputs[i].dims)
      throw Ending{"broken", "input " + inputs[i].name + ": expected " +
                                 tools::describe_tensor(array.dtype, array.dims) + ", found " +
                                 tools::describe_tensor(inputs[i].dtype, inputs[i].dims)};
    std::memcpy(inputs[i].data.data(), array.data.data(), array.data.size());
  }
  std::vector<tools::Tensor> outputs = tools::empty_outputs(*plan);
  Session session = tools::create_session(*plan, flags, false);
  // The second run finds the first one's data in the arenas.
  for (int i = 0; i < 2; ++i) {
    for (tools::Tensor& output : outputs)
      std::fill(output.data.begin(), output.data.end(), std::byte{0x5a});
    tools::run_session(session, tools::buffers_of(inputs), tools::buffers_of(outputs));
  }
  tools::trim_outputs(session, outputs);
  return outputs;
}

bool is_float(codl_dtype_t dtype) {
  return dtype == CODL_FLOAT32 || dtype == CODL_FLOAT64 || dtype == CODL_FLOAT16 ||
         dtype == CODL_BFLOAT16;
}

// This is two units in the last place. ONNX's own runner allows this for a bfloat16 output whatever
// the test's tolerance (onnx/backend/test/runner/__init__.py, assert_similar_outputs): its
// references round every intermediate value to bfloat16, of 8 bits, but codl rounds the output
// alone.
constexpr double kMinBf16Rtol = 0x1p-6;

// NaN matches only NaN, an infinity only itself.
bool is_close(double found, double wanted, double rtol, double atol) {
  if (std::isnan(wanted) || std::isnan(found)) return std::isnan(wanted) && std::isnan(found);
  if (std::isinf(wanted) || std::isinf(found)) return wanted == found;
  return std::abs(found - wanted) <= atol + rtol * std::abs(wanted);
}

// Describes the first difference; empty if there is none.
std::string difference(const tools::Tensor& found, const tools::Npy& wanted, double rtol,
                       double atol) {
  if (found.dtype != wanted.dtype || found.dims != wanted.dims)
    return "expected " + tools::describe_tensor(wanted.dtype, wanted.dims) + ", found " +
           tools::describe_tensor(found.dtype, found.dims);
  if (wanted.dtype == CODL_BFLOAT16) rtol = std::max(rtol, kMinBf16Rtol);
  const size_t size = tools::element_bytes(wanted.dtype);
  size_t count = 0;
  std::string first;
  for (size_t at = 0; at < wanted.data.size(); at += size) {
    const char* want = wanted.data.data() + at;
    const auto* have = reinterpret_cast<const char*>(found.data.data()) + at;
    if (std::memcmp(want, have, size) == 0) continue;
    const double want_value = tools::read_element(wanted.dtype, want);
    const double have_value = tools::read_element(wanted.dtype, have);
    if (is_float(wanted.dtype) && is_close(have_value, want_value, rtol, atol)) continue;
    if (count++ > 0) continue;
    char text[128];
    std::snprintf(text, sizeof text, "expected %.9g as element %zu, found %.9g", want_value,
                  at / size, have_value);
    first = text;
  }
  if (count > 1) first += " (" + std::to_string(count) + " elements differ)";
  return first;
}

void compare(const std::vector<tools::Tensor>& outputs, const fs::path& folder) {
  double rtol = 0, atol = 0;
  const std::string tolerance = read_file(folder / "tol.txt");
  if (std::sscanf(tolerance.c_str(), "%lf %lf", &rtol, &atol) != 2)
    throw Ending{"broken", "tol.txt: expected two numbers, found \"" + tolerance + "\""};
  for (size_t i = 0; i < outputs.size(); ++i) {
    const fs::path path = folder / ("out_" + std::to_string(i) + ".npy");
    const tools::Npy wanted = tools::parse_npy(path.string(), read_file(path));
    const std::string text = difference(outputs[i], wanted, rtol, atol);
    if (!text.empty()) throw Ending{"wrong", outputs[i].name + ": " + text};
  }
}

Ending try_mode(const std::string& model, const fs::path& folder, const Mode& mode) {
  try {
    compare(run_case(compile_case(model, folder, mode), folder), folder);
    return {"passed", ""};
  } catch (const Ending& ending) {
    return ending;
  } catch (const tools::ToolError& error) {
    return {"broken", error.what()};
  }
}

// Draws the modes of a case: `count` of them, or all if there are no more.
std::vector<const Mode*> draw_modes(const std::string& name, size_t count, uint64_t seed) {
  std::vector<const Mode*> modes;
  for (const Mode& mode : kModes) modes.push_back(&mode);
  std::mt19937_64 random(compiler::hash_of(name) ^ seed);
  for (size_t i = 0; i + 1 < modes.size(); ++i)
    std::swap(modes[i], modes[i + random() % (modes.size() - i)]);
  modes.resize(std::min(count, modes.size()));
  return modes;
}

int run_cases(const std::vector<std::string>& folders, size_t mode_count, uint64_t seed) {
  int failures = 0;
  for (const std::string& folder : folders) {
    const std::string name = fs::path(folder).filename().string();
    std::printf("begin %s\n", folder.c_str());
    std::fflush(stdout);  // the case that has begun caused a crash
    std::string model;
    std::ifstream file(fs::path(folder) / "model.onnx", std::ios::binary);
    model.assign(std::istreambuf_iterator<char>(file), {});
    for (const Mode* mode : draw_modes(name, mode_count, seed)) {
      const Ending ending = try_mode(model, folder, *mode);
      std::printf("%s %s %s%s%s\n", ending.verdict, folder.c_str(), mode->name,
                  ending.reason.empty() ? "" : ": ", ending.reason.c_str());
      failures +=
          std::strcmp(ending.verdict, "wrong") == 0 || std::strcmp(ending.verdict, "broken") == 0;
    }
  }
  return failures > 0;
}

}  // namespace
}  // namespace codl::test

int main(int argc, char** argv) {
  size_t mode_count = SIZE_MAX;
  uint64_t seed = 0;
  std::vector<std::string> folders;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind("--modes=", 0) == 0) {
      mode_count = std::stoul(argument.substr(8));
    } else if (argument.rfind("--seed=", 0) == 0) {
      seed = std::stoull(argument.substr(7));
    } else if (argument.rfind("--list=", 0) == 0) {
      std::ifstream list(argument.substr(7));
      for (std::string line; std::getline(list, line);) folders.push_back(line);
    } else if (argument.rfind("--", 0) == 0) {
      std::fprintf(stderr, "run_cases: error: expected --modes, --seed or --list, found %s\n",
                   argument.c_str());
      return 1;
    } else {
      folders.push_back(argument);
    }
  }
  return codl::test::run_cases(folders, mode_count, seed);
}
