#include "profiler/fit/machine_facts.h"

#include "test/support/catch.h"
#include "tools/tool_error.h"

namespace codl::profiler {
namespace {

std::string error_of(const std::string& text) {
  MachineFacts facts;
  try {
    read_machine_lines(text, "x.csv", &facts);
  } catch (const tools::ToolError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("facts of a machine come back from their lines, the last of a field") {
  MachineFacts facts;
  facts.set(&CpuMachine::ghz, 2.61234, Origin::Measured);
  facts.set(&CpuMachine::last_level_kb, 107520, Origin::Measured);
  facts.set(&GpuMachine::units, 131.7, Origin::Published);
  facts.set(&GpuMachine::registers_kb, 0.5, Origin::Assumed);
  const std::string lines = machine_lines(facts);
  CHECK(lines ==
        "#machine,cpu,ghz,2.612,measured\n#machine,cpu,last_level_kb,107520,measured\n"
        "#machine,gpu,units,132,published\n#machine,gpu,registers_kb,0.5,assumed\n");
  MachineFacts read;
  read_machine_lines("#fact,ghz,9\n#machine,cpu,ghz,1,assumed\nx\n" + lines, "x.csv", &read);
  CHECK(machine_lines(read) == lines);
  CHECK(read.machine.cpu.ghz == 2.612);
  CHECK(read.machine.gpu.units == 132);
}

TEST_CASE("what is measured stays within what a profile may have") {
  MachineFacts facts;
  facts.set(&GpuMachine::units, 0, Origin::Measured);
  facts.set(&GpuMachine::latency_ns, 1e-5, Origin::Measured);
  facts.set(&CpuMachine::vector_lanes, 1, Origin::Measured);
  CHECK(facts.machine.gpu.units == 1);
  CHECK(facts.machine.gpu.latency_ns == 0.01);
  CHECK(facts.machine.cpu.vector_lanes == 4);
  CHECK(error_of(machine_lines(facts)).empty());
}

TEST_CASE("the first field that is not known is named") {
  MachineFacts facts;
  CHECK(facts.missing(false) == "cpu ghz");
  for (const auto& field : compiler::kCpuMachineFields) facts.set(field.value, 8, Origin::Measured);
  CHECK(facts.missing(false).empty());
  CHECK(facts.missing(true) == "gpu units");
  for (const auto& field : compiler::kGpuMachineFields)
    if (!field.is_optional) facts.set(field.value, 8, Origin::Measured);
  CHECK(facts.missing(true).empty());
  CHECK(machine_lines(facts).find("thread_registers") == std::string::npos);
}

TEST_CASE("a line that is no fact of a machine is refused") {
  for (const char* line :
       {"#machine,", "#machine,cpu", "#machine,cpu,ghz", "#machine,cpu,ghz,2.6",
        "#machine,cpu,ghz,2.6,guessed", "#machine,cpu,ghz,2.6,measured,1",
        "#machine,cpu,ghz,2.6x,measured", "#machine,cpu,ghz,0,measured",
        "#machine,cpu,ghz,nan,measured", "#machine,cpu,ghz,1e300,measured",
        "#machine,cpu,units,2,measured", "#machine,npu,ghz,2,measured",
        "#machine,gpu,units,2.5,measured", "#machine,cpu,vector_lanes,32,measured"}) {
    INFO(line);
    CHECK(error_of(std::string("#probe,1,2\n") + line).find("x.csv: line 2: expected #machine") ==
          0);
  }
}

}  // namespace
}  // namespace codl::profiler
