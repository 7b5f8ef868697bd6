// Holds the facts of a machine and the origin of each, as sample files keep them.
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

  // Rounds to the nearest value that a profile can have, so that steps are timed with the facts
  // that codlc will know.
  void set(double CpuMachine::*field, double value, Origin origin);
  void set(double GpuMachine::*field, double value, Origin origin);

  // Returns the first field that is not known, as "cpu ghz"; empty if all are known.
  std::string missing(bool has_gpu) const;
};

// Returns lines of a sample file about the known facts:
//   #machine,cpu,ghz,2.6,measured
std::string machine_lines(const MachineFacts& facts);

// Reads the facts from the lines of the text; the last of a field counts. Throws ToolError (Input)
// naming a malformed line.
void read_machine_lines(std::string_view text, const std::string& path, MachineFacts* facts);

}  // namespace codl::profiler
