#include "profiler/fit/sample.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "kernels/kernel_table.h"
#include "profiler/fit/least_squares.h"
#include "schema/step_shape.h"
#include "tools/tool_error.h"

namespace codl::profiler {
namespace {

// Cuts `text` at every `separator`.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i)
    if (i == text.size() || text[i] == separator) {
      parts.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  return parts;
}

template <typename Number>
bool parse(std::string_view text, Number* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size();
}

template <typename Number>
bool parse_list(std::string_view text, char separator, std::vector<Number>* out) {
  if (text.empty()) return true;
  for (std::string_view part : split(text, separator)) {
    Number number = 0;
    if (!parse(part, &number)) return false;
    out->push_back(number);
  }
  return true;
}

// Writes dtype:layout:row_begin:row_end:bytes:dims.
std::string to_text(const OperandShape& shape) {
  char text[96];
  std::snprintf(text, sizeof(text), "%d:%d:%d:%d:%llu:", static_cast<int>(shape.dtype),
                static_cast<int>(shape.layout), shape.row_begin, shape.row_end,
                static_cast<unsigned long long>(shape.bytes));
  std::string line = text;
  for (int32_t i = 0; i < shape.rank; ++i)
    line += (i == 0 ? "" : "x") + std::to_string(shape.dims[i]);
  return line;
}

// If it returns true, the operand keeps what contracts assume (OperandShape).
bool parse_operand(std::string_view text, OperandShape* out) {
  const std::vector<std::string_view> fields = split(text, ':');
  int dtype = 0;
  int layout = 0;
  std::vector<int32_t> dims;
  if (fields.size() != 6 || !parse(fields[0], &dtype) || !parse(fields[1], &layout) ||
      !parse(fields[2], &out->row_begin) || !parse(fields[3], &out->row_end) ||
      !parse(fields[4], &out->bytes) || !parse_list(fields[5], 'x', &dims))
    return false;
  if (dtype < 1 || dtype >= kDTypeEnd || layout < 0 || layout > 3 || dims.size() > kMaxRank ||
      out->bytes > uint64_t{1} << 32)
    return false;
  out->dtype = static_cast<DType>(dtype);
  out->layout = static_cast<Layout>(layout);
  double elements = 1;
  for (int32_t dim : dims) {
    if (dim < 1) return false;
    elements *= dim;
    out->dims[out->rank++] = dim;
  }
  const bool is_map = out->layout == Layout::Nhwc || out->layout == Layout::Image2d;
  if (is_map && (out->rank != 4 || out->row_begin < 0 || out->row_end <= out->row_begin ||
                 out->row_end > out->dims[2]))
    return false;
  return elements < 0x1p30;
}

constexpr int kWarmWeights = 4;  // added to the role

bool parse_line(std::string_view line, Sample* out, bool* out_is_known) {
  const std::vector<std::string_view> fields = split(line, ',');
  int32_t revision = 0;
  int32_t role = 0;
  double us = 0;
  std::vector<int32_t> part;
  if (fields.size() != 9 || !parse(fields[1], &revision) || !parse(fields[2], &us) ||
      !parse(fields[3], &out->spread_percent) || !(out->spread_percent >= 0) ||
      !parse(fields[4], &out->run_count) || !parse(fields[5], &role) || role < 0 || role > 6 ||
      role == 3 || !parse_list(fields[6], ' ', &part) || part.size() != 3 || part[0] < 0 ||
      part[0] > 2 || !parse_list(fields[7], ' ', &out->item.params) || !std::isfinite(us) ||
      us <= 0 || us > 1e9)
    return false;
  for (std::string_view text : split(fields[8], ' ')) {
    OperandShape shape;
    if (!parse_operand(text, &shape)) return false;
    out->item.operands.push_back(shape);
  }
  out->role = static_cast<SampleRole>(role % kWarmWeights);
  out->item.has_warm_weights = role >= kWarmWeights;
  out->add_visit(us);
  out->item.part_dim = static_cast<SplitDim>(part[0]);
  out->item.part = {part[1], part[2]};
  for (const KernelInfo& kernel : kKernelInfos)
    if (fields[0] == kernel.symbol && revision == kernel.revision) out->kernel = &kernel;
  *out_is_known = false;
  if (out->kernel == nullptr) return true;
  out->item.op = out->kernel->op;
  kernels::StepNeeds needs;
  *out_is_known = out->item.params.size() * 4 == op_info(out->item.op).params_bytes &&
                  kernels::check_step(step_of(*out->kernel, out->item), &needs) == nullptr;
  return true;
}

// Reads a line that begins with kBatchMark; 0 if it has no number.
bool parse_batch(std::string_view line, double* out_probe) {
  line.remove_prefix(kBatchMark.size());
  *out_probe = 0;
  if (line.empty()) return true;
  return line[0] == ',' && parse(line.substr(1), out_probe) && *out_probe >= 0.1 &&
         *out_probe <= 10;
}

// Traits that decide how much a step feels other work on the machine: 1; the bytes it moves per
// microsecond, and in all, both as logarithms with mean 0 and deviation 1 among the processor's
// steps; and how near it is to the shortest steps. Those of a GPU take as long as the host's
// launches (on an H200's server that moved by 20 % from minute to minute, and steps of 10 us and
// more by 1 %).
enum Trait : size_t { kCommon, kRate, kBytes, kShortness, kTraits };
using Traits = std::array<double, kTraits>;

double dot(const Traits& a, const Traits& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// Changes the traits of one processor's steps to mean 0 and deviation 1.
void normalize(Trait trait, const std::vector<Traits*>& own) {
  const auto count = static_cast<double>(own.size());
  double sum = 0;
  double squares = 0;
  for (const Traits* traits : own) {
    sum += (*traits)[trait];
    squares += (*traits)[trait] * (*traits)[trait];
  }
  const double mean = sum / count;
  const double deviation = std::sqrt(std::max(squares / count - mean * mean, 1e-6));
  for (Traits* traits : own) (*traits)[trait] = ((*traits)[trait] - mean) / deviation;
}

std::vector<Traits> traits_of(const std::vector<Sample>& samples) {
  constexpr double kShortShare = 0.3;  // share of the steps
  std::vector<Traits> traits(samples.size());
  for (const Processor processor : {Processor::Cpu, Processor::Gpu}) {
    std::vector<Traits*> own;
    std::vector<double> least_us;
    for (size_t i = 0; i < samples.size(); ++i) {
      if (samples[i].kernel->processor != processor) continue;
      const double bytes = std::max(static_cast<double>(operand_bytes(samples[i].item)), 1.0);
      const std::vector<double>& visits_us = samples[i].visits_us;
      least_us.push_back(*std::min_element(visits_us.begin(), visits_us.end()));
      traits[i] = {1, std::log(bytes / least_us.back()), std::log(bytes), 0};
      own.push_back(&traits[i]);
    }
    if (own.empty()) continue;
    normalize(kRate, own);
    normalize(kBytes, own);
    const double short_us = quantile(least_us, kShortShare);
    for (size_t i = 0; i < own.size(); ++i)
      (*own[i])[kShortness] = std::pow(std::min(short_us / least_us[i], 1.0), 8);
  }
  return traits;
}

// Holds how far a visit deviates from its step's usual time, as a logarithm.
struct Deviation {
  const Traits* traits;
  double value;
};

// Fits how a batch slows its steps, by their traits: robust least squares that starts at `effects`.
// The ridge holds effects near 0 that a few steps could show by chance; 3 or 20 instead of 8 make
// no difference on five pairs' samples. Any short step shows the launch time.
Traits effects_of(const std::vector<Deviation>& deviations, Traits effects) {
  constexpr int kReweightings = 3;
  constexpr double kScale = 0.05;
  constexpr Traits kRidge = {0.5, 8, 8, 0.1};
  for (int round = 0; round < kReweightings; ++round) {
    std::vector<std::vector<double>> gram(kTraits, std::vector<double>(kTraits));
    std::vector<double> right(kTraits);
    for (size_t j = 0; j < kTraits; ++j) gram[j][j] = kRidge[j];
    for (const auto& [traits, value] : deviations) {
      const double error = (value - dot(*traits, effects)) / kScale;
      const double weight = 1 / (1 + error * error);
      for (size_t j = 0; j < kTraits; ++j) {
        right[j] += weight * (*traits)[j] * value;
        for (size_t k = 0; k < kTraits; ++k) gram[j][k] += weight * (*traits)[j] * (*traits)[k];
      }
    }
    const std::vector<double> solved = solve_positive(std::move(gram), std::move(right));
    std::copy(solved.begin(), solved.end(), effects.begin());
  }
  return effects;
}

// Returns the time of a GPU step that takes as long as its launch. After the batches' effects are
// removed, visits still differ in both directions (on an H200's server their deviation was 10 %,
// that of steps of 10 us and more 1 %). So all of them count; outliers are clamped.
double mean_us(const std::vector<double>& visits) {
  constexpr double kFar = 0.15;
  const double usual_us = quantile(visits, 0.5);
  double sum_us = 0;
  for (double us : visits) sum_us += std::clamp(us, (1 - kFar) * usual_us, (1 + kFar) * usual_us);
  return sum_us / static_cast<double>(visits.size());
}

// Returns the time of any other step, whose visits are lengthened now and then: the mean of the
// shorter four fifths, which differs less from sample to sample than a quantile does.
double shorter_mean_us(std::vector<double> visits) {
  constexpr double kShare = 0.8;
  std::sort(visits.begin(), visits.end());
  const double count = std::max(kShare * static_cast<double>(visits.size()), 1.0);
  double sum_us = 0;
  for (size_t i = 0; static_cast<double>(i) < count; ++i)
    sum_us += std::min(count - static_cast<double>(i), 1.0) * visits[i];
  return sum_us / count;
}

// Returns for each visit the geometric mean of its undisturbed and its median run: the more a
// visit's runs differ, the farther the undisturbed one is below other visits.
std::vector<double> between_runs(const Sample& sample) {
  std::vector<double> visits = sample.visits_us;
  for (size_t v = 0; v < visits.size(); ++v)
    visits[v] = std::sqrt(visits[v] * sample.medians_us[v]);
  return visits;
}

// Removes the effects of batches from visits. `batches[i]` are those of (*samples)[i]'s visits. It
// uses steps that were visited in several batches, and alternates: it fits the steps' times, then
// the effects of batches on them.
void take_away_batches(const std::vector<std::vector<size_t>>& batches, size_t batch_count,
                       std::vector<Sample>* samples) {
  constexpr int kRounds = 20;
  constexpr size_t kMinSteps = 8;
  // Larger effects, above 15 %, disturb steps unequally; visits without them are better.
  constexpr double kMax = 0.14;
  const std::vector<Traits> traits = traits_of(*samples);
  std::vector<Traits> effects(batch_count, Traits{});
  const auto settled = [&](size_t i) {
    std::vector<double> visits = between_runs((*samples)[i]);
    for (size_t v = 0; v < visits.size(); ++v)
      visits[v] /= std::exp(std::clamp(dot(traits[i], effects[batches[i][v]]), -kMax, kMax));
    return visits;
  };
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::vector<Deviation>> deviations(batch_count);
    for (size_t i = 0; i < samples->size(); ++i) {
      const std::vector<double> visits = between_runs((*samples)[i]);
      // Visits of one batch alone say nothing about it.
      if (std::count(batches[i].begin(), batches[i].end(), batches[i][0]) ==
          static_cast<ptrdiff_t>(batches[i].size()))
        continue;
      const double usual_us = quantile(settled(i), 0.5);
      for (size_t v = 0; v < visits.size(); ++v)
        deviations[batches[i][v]].push_back({&traits[i], std::log(visits[v] / usual_us)});
    }
    for (size_t batch = 0; batch < batch_count; ++batch)
      if (deviations[batch].size() >= kMinSteps)
        effects[batch] = effects_of(deviations[batch], effects[batch]);
  }
  constexpr double kIsShort = 0.3;  // the time is within a sixth of the shortest
  for (size_t i = 0; i < samples->size(); ++i) {
    Sample& sample = (*samples)[i];
    const bool is_launch =
        sample.kernel->processor == Processor::Gpu && traits[i][kShortness] > kIsShort;
    sample.us = is_launch ? mean_us(settled(i)) : shorter_mean_us(settled(i));
  }
}

// Changes times from the clock of "#probe", which lasted a second, to the usual one while steps are
// timed. `usual_probes`: of each processor's batches.
void bring_to_usual_clock(const double (&usual_probes)[2], std::vector<Sample>* samples) {
  for (Sample& sample : *samples) {
    const double usual = usual_probes[static_cast<size_t>(sample.kernel->processor)];
    for (double& us : sample.visits_us) us *= usual;
    for (double& us : sample.medians_us) us *= usual;
    sample.us *= usual;
  }
}

}  // namespace

void Sample::add_visit(double visit_us) {
  constexpr double kMaxSpreadPercent = 50;
  visits_us.push_back(visit_us);
  // The spread is the distance of the median from kQuietShare, if the middle half is symmetric.
  medians_us.push_back(visit_us / (1 - std::min(spread_percent, kMaxSpreadPercent) / 100));
  us = quantile(visits_us, kQuietShare);
}

ProcessorFacts processor_facts(const compiler::Machine& machine, const kernels::GpuTiles& tiles) {
  ProcessorFacts processor;
  processor.machine = machine;
  set_gpu_facts(machine, &processor.gpu);
  processor.gpu.tiles = tiles;
  return processor;
}

TermTimes times_of(const KernelInfo& kernel, const StepCase& item,
                   const ProcessorFacts& processor) {
  return compiler::times_of(step_of(kernel, item), processor.machine, processor.gpu,
                            item.has_warm_weights);
}

std::string step_text(const Sample& sample) {
  Sample step = sample;
  step.visits_us = {0};
  step.spread_percent = 0;
  step.run_count = 0;
  return to_line(step);
}

std::string to_line(const Sample& sample) {
  char head[160];
  std::snprintf(
      head, sizeof(head), "%s,%d,%.4g,%.3g,%d,%d,%d %d %d,", sample.kernel->symbol,
      sample.kernel->revision, sample.visits_us.back(), sample.spread_percent, sample.run_count,
      static_cast<int>(sample.role) + (sample.item.has_warm_weights ? kWarmWeights : 0),
      static_cast<int>(sample.item.part_dim), sample.item.part.begin, sample.item.part.end);
  std::string line = head;
  for (size_t i = 0; i < sample.item.params.size(); ++i)
    line += (i == 0 ? "" : " ") + std::to_string(sample.item.params[i]);
  line += ",";
  for (size_t i = 0; i < sample.item.operands.size(); ++i)
    line += (i == 0 ? "" : " ") + to_text(sample.item.operands[i]);
  return line;
}

std::vector<Sample> read_samples(std::string_view text, const std::string& path,
                                 double (*out_usual_probes)[2]) {
  std::vector<Sample> samples;
  std::vector<std::vector<size_t>> batches_of_visits;
  size_t batch = 0;
  std::vector<double> probes[2];  // indexed by processor: probes of batches
  double probe = 0;               // probe of the batch, once its line was read; 0: not known
  std::map<std::string, size_t> index_by_step;
  size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    const auto check = [&](bool is_right, const char* expected) {
      if (!is_right)
        tools::fail_input(path + ": line " + std::to_string(number), expected,
                          std::string(line.substr(0, 40)));
    };
    if (line.starts_with(kBatchMark)) {
      ++batch;
      check(parse_batch(line, &probe), "#batch, or #batch and a ratio of 0.1 to 10");
    }
    if (line.empty() || line[0] == '#') continue;
    Sample sample;
    bool is_known = false;
    check(parse_line(line, &sample, &is_known), "a sample");
    if (!is_known) continue;
    if (probe > 0) probes[static_cast<size_t>(sample.kernel->processor)].push_back(probe);
    probe = 0;
    const auto [found, is_new] = index_by_step.emplace(step_text(sample), samples.size());
    if (is_new) {
      samples.push_back(std::move(sample));
      batches_of_visits.emplace_back();
    } else {
      samples[found->second].spread_percent = sample.spread_percent;
      samples[found->second].add_visit(sample.visits_us.back());
    }
    batches_of_visits[found->second].push_back(batch);
  }
  take_away_batches(batches_of_visits, batch + 1, &samples);
  double usual_probes[2] = {1, 1};
  for (size_t processor = 0; processor < 2; ++processor)
    if (!probes[processor].empty()) usual_probes[processor] = quantile(probes[processor], 0.5);
  bring_to_usual_clock(usual_probes, &samples);
  if (out_usual_probes != nullptr)
    std::copy(std::begin(usual_probes), std::end(usual_probes), *out_usual_probes);
  return samples;
}

std::map<std::string, std::string> read_facts(std::string_view text) {
  std::map<std::string, std::string> facts;
  for (std::string_view line : split(text, '\n')) {
    if (!line.starts_with("#fact,")) continue;
    line.remove_prefix(6);
    const size_t comma = line.find(',');
    if (comma != std::string_view::npos)
      facts[std::string(line.substr(0, comma))] = line.substr(comma + 1);
  }
  return facts;
}

std::map<std::string, size_t> read_needed(std::string_view text, const std::string& path) {
  std::map<std::string, size_t> needed;
  for (std::string_view line : split(text, '\n')) {
    if (!line.starts_with(kNeededMark)) continue;
    const std::string_view fields = line.substr(kNeededMark.size());
    const size_t comma = std::min(fields.find(','), fields.size());
    size_t count = 0;
    const char* const end = fields.data() + fields.size();
    const char* const number = std::min(fields.data() + comma + 1, end);
    if (const auto [last, error] = std::from_chars(number, end, count);
        error != std::errc() || last != end)
      tools::fail_input(path, "#needed, a kernel and a number", std::string(line.substr(0, 40)));
    needed[std::string(fields.substr(0, comma))] = count;
  }
  return needed;
}

}  // namespace codl::profiler
