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
  line.groups = {
      {"Files",
       {{"output", text_value("FILE.json", &flags->output), "the profile", "o"},
        {"samples", text_value("FILE", &flags->samples, "the output's name and .samples.csv"),
         "what was measured"},
        {"force", switch_value(&flags->replaces),
         "replace the profile, and the samples, that are there"},
        {"evaluation", text_value("FILE", &flags->evaluation, "not written"),
         "write every sample's terms and held-out prediction"},
        {"name", text_value("NAME", &flags->name, "the output's name"), "of the device"},
        {"description", text_value("TEXT", &flags->description, "the processors' names"),
         "one line for people"}}},
      {"What is measured",
       {{"time-budget", tools::duration_value(&flags->budget_s), "of all, like 90s or 10m"},
        {"facts-only", switch_value(&flags->facts_only),
         "stop behind the machine's facts, within two minutes: kernels are predicted as on other "
         "machines; --resume refines it"},
        {"resume", switch_value(&flags->resumes),
         "go on with the samples of a run that was interrupted"},
        {"fit-only", switch_value(&flags->fits_only), "measure nothing; fit the samples there are"},
        {"plan", tools::texts_value("FILE", &flags->plans),
         "measure this plan's steps too and say how well they are predicted; they are not fitted"},
        {"kernels", text_value("TEXT", &flags->kernels, "all"),
         "only kernels whose names have this"},
        {"samples-per-kernel",
         integer_value<int32_t>("N", &flags->samples_per_kernel, 8, 100000,
                                "12 to 320, by what it computes"),
         "steps to time of each kernel"},
        {"seed", integer_value("N", &flags->seed, 0),
         "draw other steps, in another order: for a process beside another"},
        {"cpu-only", switch_value(&flags->cpu_only), "leave OpenCL devices alone"},
        {"layout",
         tools::choice_value(&flags->layout, {{"auto", MapLayout::Auto},
                                              {"image", MapLayout::Image},
                                              {"buffer", MapLayout::Buffer}}),
         "of feature maps on the GPU: buffer (kernels on images are not timed), image, or auto, "
         "the faster one (buffer, of OpenCL that computes on the CPU)"}}},
      {"Where it runs",
       {{"num-threads",
         integer_value<int32_t>("N", &flags->thread_count, 1, static_cast<int32_t>(kMaxThreads),
                                "one for each core"),
         "CPU threads of a plan"},
        {"cpu-cores", cores_value(&flags->cpu_cores, "not pinned"),
         "cores for the CPU threads, like 0,2,4-7"},
        {"gpu-cores", cores_value(&flags->gpu_cores, "not pinned"),
         "cores for an OpenCL implementation that computes on the CPU"},
        {"opencl-platform", text_value("TEXT", &flags->platform, "the first with a device"),
         "part of the platform's name"},
        {"opencl-device",
         text_value("TEXT", &flags->device, "the first GPU, else the first device"),
         "part of the device's name"}}}};
  return line;
}

}  // namespace codl::profiler
