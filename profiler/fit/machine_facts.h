// The facts of a machine with where each comes from, as sample files keep them.
#pragma once

#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "compiler/cost/machine.h"

namespace codl::profiler {

using compiler::CpuMachine;
using compiler::GpuMachine;
using compiler::kOriginNames;
using compiler::Origin;

struct MachineFacts {
  compiler::Machine machine;
  // Indexed as compiler::kCpuMachineFields and kGpuMachineFields; empty: the field is not known.
  std::optional<Origin> cpu_origins[std::size(compiler::kCpuMachineFields)];
  std::optional<Origin> gpu_origins[std::size(compiler::kGpuMachineFields)];

  // To the nearest value that a profile has: what is known while steps are timed is what codlc will
  // know.
  void set(double CpuMachine::*field, double value, Origin origin);
  void set(double GpuMachine::*field, double value, Origin origin);

  // "cpu ghz", the first field that is not known; empty: all are.
  std::string missing(bool has_gpu) const;
};

// Lines of a sample file, of what is known:
//   #machine,cpu,ghz,2.6,measured
std::string machine_lines(const MachineFacts& facts);

// Takes what the lines of the text say; the last of a field counts. Throws ToolError (Input) naming
// a line that is none.
void read_machine_lines(std::string_view text, const std::string& path, MachineFacts* facts);

}  // namespace codl::profiler
