#include "profiler/fit/machine_facts.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "profiler/fit/tiles.h"
#include "tools/tool_error.h"

namespace codl::profiler {
namespace {

constexpr std::string_view kMark = "#machine,";

// Keeps whole numbers, which are sizes, and rounds measurements to 4 digits.
double as_stated(double value) { return value == std::round(value) ? value : rounded(value, 4); }

template <typename Fields, typename Part, typename Origins>
void set_field(const Fields& fields, double Part::*member, double value, Origin origin, Part* part,
               Origins* origins) {
  for (size_t i = 0; i < std::size(fields); ++i) {
    if (fields[i].value != member) continue;
    const double stated = fields[i].is_whole ? std::round(value) : as_stated(value);
    part->*member = std::clamp(stated, fields[i].least, fields[i].most);
    (*origins)[i] = origin;
  }
}

template <typename Fields, typename Origins>
std::string missing_field(const char* processor, const Fields& fields, const Origins& origins) {
  for (size_t i = 0; i < std::size(fields); ++i)
    if (!origins[i] && !fields[i].is_optional) return std::string(processor) + " " + fields[i].name;
  return {};
}

template <typename Fields, typename Part, typename Origins>
std::string lines_of(const char* processor, const Fields& fields, const Part& part,
                     const Origins& origins) {
  std::string text;
  for (size_t i = 0; i < std::size(fields); ++i) {
    if (!origins[i]) continue;
    char value[32];
    const auto end = std::to_chars(value, value + sizeof(value), part.*fields[i].value).ptr;
    text += std::string(kMark) + processor + ',' + fields[i].name + ',' + std::string(value, end) +
            ',' + kOriginNames[static_cast<size_t>(*origins[i])] + '\n';
  }
  return text;
}

// Returns false if the processor has no such field, or not with that value.
template <typename Fields, typename Part, typename Origins>
bool read_field(const Fields& fields, std::string_view name, double value, Origin origin,
                Part* part, Origins* origins) {
  for (size_t i = 0; i < std::size(fields); ++i) {
    if (fields[i].name != name) continue;
    const bool is_right = value >= fields[i].least && value <= fields[i].most &&
                          (!fields[i].is_whole || value == std::floor(value));
    part->*fields[i].value = value;
    (*origins)[i] = origin;
    return is_right;
  }
  return false;
}

std::optional<Origin> origin_of(std::string_view name) {
  const auto found = std::find(std::begin(kOriginNames), std::end(kOriginNames), name);
  if (found == std::end(kOriginNames)) return {};
  return static_cast<Origin>(found - std::begin(kOriginNames));
}

// Reads the fields after the mark: processor, field, value, origin.
bool read_fields(std::string_view line, MachineFacts* facts) {
  std::vector<std::string_view> words;
  for (size_t begin = 0; begin <= line.size();) {
    const size_t end = std::min(line.find(',', begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  if (words.size() != 4) return false;
  double value = 0;
  const char* const end = words[2].data() + words[2].size();
  const auto [last, error] = std::from_chars(words[2].data(), end, value);
  const std::optional<Origin> origin = origin_of(words[3]);
  if (error != std::errc() || last != end || !origin) return false;
  if (words[0] == "cpu")
    return read_field(compiler::kCpuMachineFields, words[1], value, *origin, &facts->machine.cpu,
                      &facts->cpu_origins);
  return words[0] == "gpu" && read_field(compiler::kGpuMachineFields, words[1], value, *origin,
                                         &facts->machine.gpu, &facts->gpu_origins);
}

}  // namespace

void MachineFacts::set(double CpuMachine::*field, double value, Origin origin) {
  set_field(compiler::kCpuMachineFields, field, value, origin, &machine.cpu, &cpu_origins);
}

void MachineFacts::set(double GpuMachine::*field, double value, Origin origin) {
  set_field(compiler::kGpuMachineFields, field, value, origin, &machine.gpu, &gpu_origins);
}

std::string MachineFacts::missing(bool has_gpu) const {
  std::string field = missing_field("cpu", compiler::kCpuMachineFields, cpu_origins);
  if (field.empty() && has_gpu)
    field = missing_field("gpu", compiler::kGpuMachineFields, gpu_origins);
  return field;
}

std::string machine_lines(const MachineFacts& facts) {
  return lines_of("cpu", compiler::kCpuMachineFields, facts.machine.cpu, facts.cpu_origins) +
         lines_of("gpu", compiler::kGpuMachineFields, facts.machine.gpu, facts.gpu_origins);
}

void read_machine_lines(std::string_view text, const std::string& path, MachineFacts* facts) {
  size_t number = 1;
  for (size_t begin = 0; begin < text.size(); ++number) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.starts_with(kMark) && !read_fields(line.substr(kMark.size()), facts))
      tools::fail_input(path + ": line " + std::to_string(number),
                        "#machine, a processor, a field of it, its value and origin",
                        std::string(line.substr(0, 60)));
  }
}

}  // namespace codl::profiler
