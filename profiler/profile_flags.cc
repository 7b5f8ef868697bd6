#include "profiler/profile_flags.h"

#include "runtime/tools/plan_tool.h"
#include "schema/plan_layout.h"
#include "tools/quantity.h"

namespace codl::profiler {

tools::CommandLine command_line_of(ProfileFlags* flags) {
  using tools::cores_value;
  using tools::integer_value;
  using tools::switch_value;
  using tools::text_value;
  tools::CommandLine line;
  line.tool = kTool;
  line.version = tools::runtime_version();
  line.usage = {"-o FILE.json [flags]", "-o FILE.json --fit-only [flags]"};
  line.summary =
      "Times codl's kernels on this machine and writes a device profile for codlc "
      "--device=FILE.json.";
  line.exit_codes =
      "0 ok, 1 the input is wrong (flag, sample file), 2 not supported here, 70 internal or device "
      "error, 130 interrupted: --resume goes on";
  line.examples = {{"codl-profile -o mine.json --time-budget=10m",
                    "measures this machine; then: codlc net.onnx --device=mine.json"}};
  line.groups = {
      {"Files",
       {{"output", text_value("FILE.json", &flags->output), "write the profile to FILE.json", "o"},
        {"force", switch_value(&flags->replaces),
         "replace the profile, and the samples, that are there"},
        {"resume", switch_value(&flags->resumes),
         "go on with the samples of a run that was interrupted"}},
       {{"samples", text_value("FILE", &flags->samples, "the output's name and .samples.csv"),
         "keep what is measured in FILE"},
        {"fit-only", switch_value(&flags->fits_only), "measure nothing; fit the samples there are"},
        {"evaluation", text_value("FILE", &flags->evaluation, "not written"),
         "write every sample's terms and held-out prediction"},
        {"name", text_value("NAME", &flags->name, "the output's name"), "call the device NAME"},
        {"description", text_value("TEXT", &flags->description, "the processors' names"),
         "describe the device in one line for people"}}},
      {"What is measured",
       {{"time-budget", tools::duration_value(&flags->budget_s),
         "take this long in all, like 90s or 10m"},
        {"facts-only", switch_value(&flags->facts_only),
         "stop after the machine's facts, within two minutes", "",
         "Kernels are predicted as on other machines; --resume refines the profile."},
        {"cpu-only", switch_value(&flags->cpu_only), "leave OpenCL devices alone"}},
       {{"plan", tools::texts_value("FILE", &flags->plans),
         "measure this plan's steps, too, and say how well they are predicted", "",
         "They are not fitted."},
        {"kernels", text_value("TEXT", &flags->kernels, "all"),
         "measure only kernels whose names have this text"},
        {"samples-per-kernel",
         integer_value<int32_t>("N", &flags->samples_per_kernel, 8, 100000,
                                "12 to 320, by what it computes"),
         "time N steps of each kernel"},
        {"seed", integer_value("N", &flags->seed, 0),
         "draw other steps, in another order, for a process beside another"},
        {"layout",
         tools::choice_value(&flags->layout, {{"auto", MapLayout::Auto},
                                              {"image", MapLayout::Image},
                                              {"buffer", MapLayout::Buffer}}),
         "keep feature maps on the GPU so; auto: the faster way", "",
         "With buffer, kernels on images are not timed; auto is buffer where OpenCL computes on "
         "the "
         "CPU."}}},
      {"Where it runs",
       {{"num-threads",
         integer_value<int32_t>("N", &flags->thread_count, 1, static_cast<int32_t>(kMaxThreads),
                                "one for each core"),
         "measure plans of N CPU threads"},
        {"cpu-cores", cores_value(&flags->cpu_cores, "not pinned"),
         "pin the CPU threads to these cores, like 0,2,4-7"}},
       {{"gpu-cores", cores_value(&flags->gpu_cores, "not pinned"),
         "pin an OpenCL implementation that computes on the CPU to these cores"},
        {"opencl-platform", text_value("TEXT", &flags->platform, "the first with a device"),
         "use the OpenCL platform whose name has this text"},
        {"opencl-device",
         text_value("TEXT", &flags->device, "the first GPU, else the first device"),
         "use the OpenCL device whose name has this text"}}}};
  return line;
}

}  // namespace codl::profiler
