// Measures the time of the partition stage alone, and the plans that a long annealing from a random
// start finds beyond it. ctest does not run it.
//
//   partition_bench [--device=NAME] [--budget=N] [--anneal=N] chain:NODES|MODEL.onnx...
//
// chain:NODES is a generated line of convolutions. Prints for each: nodes, seconds of the processor
// in partition(), evaluated plans and the predicted time; with --anneal the best of N plans
// evaluated by simulated annealing, and its gain.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "compiler/frontend/onnx_import.h"
#include "compiler/partition/partition.h"
#include "compiler/partition/strategies/strategy.h"
#include "compiler/passes/pass_order.h"
#include "compiler/passes/passes.h"
#include "compiler/pipeline.h"
#include "compiler/simulate/timing/plan_times.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "test/support/graphs.h"

namespace codl::compiler {
namespace {

[[noreturn]] void fail(const std::string& text) {
  std::fprintf(stderr, "partition_bench: error: %s\n", text.c_str());
  std::exit(1);
}

template <class T>
T value_or_fail(llvm::Expected<T> value) {
  if (!value) fail(llvm::toString(value.takeError()));
  return std::move(*value);
}

ir::Graph chain_of(uint32_t nodes) {
  test::GraphBuilder builder(32, 56, 56);
  ir::ValueId value = builder.input();
  // Channels differ, so that nodes differ.
  for (uint32_t i = 0; i < nodes; ++i)
    value = builder.conv("n" + std::to_string(i), value, 32 + 16 * (i % 3), i % 4 == 0 ? 1 : 3);
  return builder.finish(value);
}

ir::Graph read_graph(const std::string& name) {
  if (name.rfind("chain:", 0) == 0) {
    const long nodes = std::strtol(name.c_str() + 6, nullptr, 10);
    if (nodes < 1 || nodes > 100000) fail(name + ": expected chain:1 to chain:100000");
    return chain_of(static_cast<uint32_t>(nodes));
  }
  auto bytes = llvm::MemoryBuffer::getFile(name);
  if (!bytes) fail(name + ": " + bytes.getError().message());
  ir::Graph graph = value_or_fail(import_onnx((*bytes)->getBuffer(), name));
  if (llvm::Error error = run_passes(graph, frontend_passes(), {}))
    fail(llvm::toString(std::move(error)));
  return graph;
}

// Describes consecutive nodes with the same placement.
struct Piece {
  ir::NodeId first = 0, last = 0;
  Assignment place = Assignment::Cpu;
  double share = 0.5;
  FormPair forms = kBothBuffers;
  std::array<bool, 2> boundary_first = {};  // indexed by processor
};

// It shares nothing with polish.cc but the definition of a plan.
class Annealing {
 public:
  Annealing(const CostModel& costs, JudgePlan judge, uint32_t budget)
      : costs_(costs), judge_(judge), budget_(budget) {}

  int64_t run() {
    std::vector<Piece> now = random_start();
    int64_t now_ns = *judge(now), best_ns = now_ns;
    for (uint32_t i = 1; i < budget_;) {
      std::vector<Piece> next = changed(now);
      const std::optional<int64_t> ns = judge(next);
      if (!ns) continue;
      ++i;
      const double done = static_cast<double>(i) / budget_;
      // Falls with the share of the budget.
      const double temperature = kHot * std::pow(kCold / kHot, done);
      const double worse = static_cast<double>(*ns - now_ns) / static_cast<double>(now_ns);
      if (worse > 0 && uniform() >= std::exp(-worse / temperature)) continue;
      now = std::move(next);
      now_ns = *ns;
      best_ns = std::min(best_ns, now_ns);
    }
    return best_ns;
  }

 private:
  static constexpr double kHot = 0.02, kCold = 0.0001;

  double uniform() { return static_cast<double>(random_() >> 8) / 16777216.0; }
  uint32_t draw(size_t count) { return random_() % static_cast<uint32_t>(count); }
  FormPair random_forms() { return costs_.form_pairs()[draw(costs_.form_pairs().size())]; }
  Assignment random_place() { return static_cast<Assignment>(draw(4)); }

  std::vector<Piece> random_start() {
    std::vector<Piece> pieces;
    for (ir::NodeId node = 0; node < costs_.graph().nodes().size(); ++node) {
      Piece piece{node, node, random_place(), uniform(), random_forms(), {}};
      for (int turn = 0; turn < 4 && !segment_of(piece); ++turn)
        piece.place = static_cast<Assignment>((static_cast<int>(piece.place) + 1) % 4);
      pieces.push_back(piece);
    }
    return pieces;
  }

  std::optional<Segment> segment_of(const Piece& piece) const {
    switch (piece.place) {
      case Assignment::Cpu:
        return costs_.whole(piece.first, Processor::Cpu);
      case Assignment::Gpu:
        return costs_.whole(piece.first, Processor::Gpu, piece.forms[index_of(Processor::Gpu)]);
      case Assignment::Height:
        return costs_.split(piece.first, piece.last, SplitDim::Height, piece.share, piece.forms,
                            piece.boundary_first);
      case Assignment::OutputChannel:
        return costs_.split(piece.first, piece.last, SplitDim::OutputChannel, piece.share,
                            piece.forms);
    }
    return std::nullopt;
  }

  std::optional<int64_t> judge(const std::vector<Piece>& pieces) {
    PartitionPlan plan;
    for (const Piece& piece : pieces) {
      std::optional<Segment> segment = segment_of(piece);
      if (!segment) return std::nullopt;
      append_segment(plan, std::move(*segment));
    }
    return value_or_fail(judge_(plan));
  }

  std::vector<Piece> changed(std::vector<Piece> pieces) {
    const size_t i = draw(pieces.size());
    Piece& piece = pieces[i];
    switch (draw(6)) {
      case 0:
        piece.share = std::clamp(piece.share + 0.3 * (uniform() - 0.5), 0.01, 0.99);
        break;
      case 1: {  // elsewhere, each node of it
        const Piece old = piece;
        const Assignment place = random_place();
        const double share = uniform();
        const FormPair forms = random_forms();
        pieces.erase(pieces.begin() + static_cast<ptrdiff_t>(i));
        for (ir::NodeId node = old.last + 1; node-- > old.first;)
          pieces.insert(pieces.begin() + static_cast<ptrdiff_t>(i),
                        Piece{node, node, place, share, forms, {}});
        break;
      }
      case 2:  // one chain with the next
        if (i + 1 == pieces.size()) break;
        piece.place = Assignment::Height;
        piece.last = pieces[i + 1].last;
        pieces.erase(pieces.begin() + static_cast<ptrdiff_t>(i) + 1);
        break;
      case 3: {  // cut
        if (piece.first == piece.last) break;
        Piece rest = piece;
        piece.last = piece.first + draw(piece.last - piece.first);
        rest.first = piece.last + 1;
        pieces.insert(pieces.begin() + static_cast<ptrdiff_t>(i) + 1, rest);
        break;
      }
      case 4:
        for (bool& is_first : piece.boundary_first) is_first = draw(2) == 0;
        break;
      default:
        piece.forms = random_forms();
    }
    return pieces;
  }

  const CostModel& costs_;
  JudgePlan judge_;
  const uint32_t budget_;
  std::mt19937 random_{20261126};
};

double seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

void report(const std::string& name, const DeviceProfile& profile, uint32_t budget,
            uint32_t annealed) {
  const ir::Graph graph = read_graph(name);
  const LatencyPredictor predictor(profile);
  PlanTimes times(graph, predictor);
  const auto judge = [&](const PartitionPlan& plan) -> llvm::Expected<int64_t> {
    auto us = times.time_us(plan);
    if (!us) return us.takeError();
    return std::llround(*us * 1e3);
  };
  PartitionOptions options;
  options.search_budget = budget;
  const double start = seconds();
  const Optimum found = value_or_fail(optimal_partition(graph, predictor, options, judge));
  const double took = seconds() - start;
  const double us = static_cast<double>(found.predicted_ns) / 1e3;
  std::printf("%s: %zu nodes, %.2f s, %u plans judged, %.3f ms", name.c_str(), graph.nodes().size(),
              took, found.evaluations, us / 1e3);
  if (annealed > 0) {
    const CostModel costs(graph, predictor);
    const double best_us = static_cast<double>(Annealing(costs, judge, annealed).run()) / 1e3;
    std::printf("; annealing, %u plans judged, %.3f ms, gains %.2f %%", annealed, best_us / 1e3,
                100 * (us / best_us - 1));
  }
  std::printf("\n");
  std::fflush(stdout);
}

uint32_t number_of(const std::string& flag, const char* text) {
  char* end = nullptr;
  const unsigned long value = std::strtoul(text, &end, 10);
  if (*text == '\0' || *end != '\0' || value > 100000000)
    fail(flag + ": expected a number, found \"" + text + "\"");
  return static_cast<uint32_t>(value);
}

}  // namespace
}  // namespace codl::compiler

int main(int argc, char** argv) {
  using namespace codl::compiler;
  std::string device = "sd855";
  uint32_t budget = kSearchBudget, annealed = 0;
  std::vector<std::string> names;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const char* value = std::strchr(argv[i], '=');
    const std::string flag = value != nullptr ? word.substr(0, word.find('=')) : word;
    if (flag == "--device" && value != nullptr)
      device = value + 1;
    else if (flag == "--budget" && value != nullptr)
      budget = number_of(flag, value + 1);
    else if (flag == "--anneal" && value != nullptr)
      annealed = number_of(flag, value + 1);
    else if (word.rfind("--", 0) == 0)
      fail(word + ": expected --device=NAME, --budget=N or --anneal=N");
    else
      names.push_back(word);
  }
  if (names.empty()) fail("expected chain:NODES or MODEL.onnx");
  const DeviceProfile profile = value_or_fail(load_device_profile(device));
  for (const std::string& name : names) report(name, profile, budget, annealed);
}
