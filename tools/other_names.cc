#include "tools/other_names.h"

namespace codl::tools {
namespace {

struct Home {
  const char* tools;  // with blanks between; empty: all of them
  const char* text;   // the flag and its value
};

struct OtherName {
  const char* names;  // with blanks between
  Home homes[3];      // the first is that for tools which have none
};

constexpr char kReadPlans[] = "codl-run codl-bench codl-sim codl-dump";
constexpr char kRunPlans[] = "codl-run codl-bench";

// Names of onnxruntime_perf_test, trtexec, ncnn, MNN, and TFLite's benchmark_model, and words that
// a newcomer tries.
constexpr OtherName kOtherNames[] = {
    {"precision fp16 half float16 use-fp16 enable-fp16 allow-fp16 dtype data-type",
     {{"codlc", "--precision=fp16"}}},
    {"quantize quantise quant int8 uint8 bits best weightquantbits",
     {{"codlc", "--precision=int8 --calibration=DIR; 8-bit models need neither"}}},
    {"threads num-threads nthreads cpu-threads intra-op-threads intra-op-num-threads",
     {{"codl-run codl-bench codl-profile", "--num-threads=N"},
      {"codlc",
       "codl-run --num-threads=N, or codl-bench; a plan is for as many as the profile has"}}},
    {"input-shape shape shapes input-shapes inputshape minshapes optshapes maxshapes "
     "override-input-shapes overwrite-input-shape input-layer-shape",
     {{"codlc", "--input-shape=NAME:DIMS, like input:1x3x224x224, when the plan is made"}}},
    {"batch batch-size",
     {{"codlc", "--input-shape=NAME:DIMS, whose first dim the batch mostly is"}}},
    {"opset opset-version",
     {{"", "no flag, the model says its opset; codlc --version prints those that are read"}}},
    {"device target soc chip chipset platform backend march arch",
     {{"codlc", "--device=NAME, of --list-devices"},
      {kRunPlans,
       "--opencl-device=TEXT, of this machine; a plan has its device by codlc --device"}}},
    {"provider execution-provider ep delegate",
     {{"codl-run codl-bench codl-sim", "--variant=NAME, of a plan by codlc --variants=NAME,..."},
      {"codlc", "--strategy=NAME, and --device=NAME of the phone"}}},
    {"gpu use-gpu use-nnapi nnapi cuda opencl use-opencl vulkan use-vulkan",
     {{"codlc", "--strategy=gpu, or --variants=gpu beside others"},
      {"codl-run codl-bench codl-sim", "--variant=gpu, of a plan by codlc --variants=...,gpu"}}},
    {"cpu use-cpu",
     {{"codlc", "--strategy=cpu"},
      {"codl-run codl-bench codl-sim", "--variant=cpu"},
      {"codl-profile", "--cpu-only"}}},
    {"out output-file save save-engine saveengine",
     {{"codlc", "-o FILE"},
      {kRunPlans, "-o FILE, of the report; codl-run --output-dir=DIR, of outputs"}}},
    {"output-dir outdir out-dir", {{"codl-run", "--output-dir=DIR"}, {"codlc", "--out-dir=DIR"}}},
    {"overwrite force",
     {{"", "no flag, an output replaces what was in its file"}, {"codl-profile", "--force"}}},
    {"model onnx graph plan input-model load-engine loadengine",
     {{kReadPlans, "PLAN without a flag"}, {"codlc", "MODEL.onnx without a flag"}}},
    {"inputs input-file loadinputs input-layer-value-files",
     {{kRunPlans, "--input=NAME=FILE.npy"}}},
    {"optimize opt optimization-level",
     {{"codlc", "--skip-pass=PASS, to leave one out: all passes run"}}},
    {"prune-ratio sparsity", {{"codlc", "--prune=RATIO"}}},
    {"max-memory memory-limit mem-limit workspace mempoolsize",
     {{"codlc", "--max-arena=BYTES of feature maps, --max-weights=BYTES of weights"}}},
    {"runs num-runs iterations iters repeat repeats repetitions loop loops loop-count avgruns",
     {{"codl-bench", "--num-runs=N"}}},
    {"warmup warmups warm-up warmup-runs num-warmup", {{"codl-bench", "--warmup-runs=N"}}},
    {"duration min-secs", {{"codl-bench", "--min-ms=N"}}},
    {"affinity cores cpu-affinity", {{kRunPlans, "--cpu-cores=LIST"}}},
    {"calib calibrate",
     {{"codlc",
       "--calibration=DIR, of --prune and --low-rank; 8-bit models are calibrated before"}}},
    {"profile device-profile",
     {{"codl-bench", "--steps, or --trace=FILE"},
      {"codlc codl-sim codl-dump", "--device=NAME, or --device=FILE.json of codl-profile"}}},
    {"steps profiling enable-op-profiling use-profiler dumpprofile",
     {{"codl-bench", "--steps, or --trace=FILE"}}},
    {"verbose log-level debug", {{"codlc", "--explain, --dump=STAGE, or --report=FILE.html"}}}};

// True if `word` is one of `words`, which have blanks between.
bool is_among(std::string_view word, std::string_view words) {
  const std::string bounded = " " + std::string(word) + " ";
  return !word.empty() && (" " + std::string(words) + " ").find(bounded) != std::string::npos;
}

}  // namespace

std::string flag_here(std::string_view name, std::string_view tool) {
  for (const OtherName& other : kOtherNames) {
    if (!is_among(name, other.names)) continue;
    for (const Home& home : other.homes)
      if (home.tools != nullptr && is_among(tool, home.tools)) return home.text;
    const std::string_view tools = other.homes[0].tools;
    const std::string first(tools.substr(0, tools.find(' ')));
    return (first.empty() ? "" : first + " ") + other.homes[0].text;
  }
  return "";
}

}  // namespace codl::tools
