#include "compiler/partition/search/runs.h"

#include <algorithm>

#include "compiler/partition/strategies/strategy.h"
#include "schema/mix_bits.h"

namespace codl::compiler {
namespace {

uint64_t key_of(const Run& run) {
  uint64_t key = uint64_t{run.first} << 32 | run.last;
  for (const NodePartition& node_partition : run.segment.node_partitions)
    key = mix_bits(key + kSplitMixStep) ^ key_of(node_partition);
  return mix_bits(key);
}

RunPtr finished(Run run) {
  run.key = key_of(run);
  return std::make_shared<const Run>(std::move(run));
}

}  // namespace

uint64_t key_of(llvm::ArrayRef<RunPtr> runs) {
  uint64_t key = 0;
  for (const RunPtr& run : runs) key ^= run->key;
  return key;
}

double compute_us(const Run& run) {
  double processor_us[2] = {};
  for (const NodePartition& node_partition : run.segment.node_partitions)
    for (const Part& part : node_partition.parts)
      processor_us[static_cast<size_t>(part.processor)] += part.predicted_us;
  return std::max(processor_us[0], processor_us[1]);
}

Runs runs_of(const PartitionPlan& plan) {
  Runs runs;
  for (ir::NodeId first = 0; first < plan.node_partitions.size();) {
    Run run;
    run.first = first;
    run.last = last_of_segment(plan, first);
    const NodePartition& head = plan.node_partitions[first];
    if (head.is_split()) {
      run.spec.assignment =
          head.dim == SplitDim::Height ? Assignment::Height : Assignment::OutputChannel;
      const double gpu = head.part_on(Processor::Gpu)->owned.count();
      run.spec.gpu_share = gpu / (gpu + head.part_on(Processor::Cpu)->owned.count());
      for (const Part& part : head.parts)
        run.spec.boundary_first[index_of(part.processor)] = part.boundary_first;
    } else {
      run.spec.assignment = head.part_on(Processor::Gpu) ? Assignment::Gpu : Assignment::Cpu;
    }
    for (ir::NodeId node = first; node <= run.last; ++node) {
      // Nodes of a chain that have no kernel for the preferred form use another.
      for (const Part& part : plan.node_partitions[node].parts) {
        Form& form = run.spec.forms[index_of(part.processor)];
        if (index_of(part.processor, part.form) < index_of(part.processor, form)) form = part.form;
      }
      run.segment.node_partitions.push_back(plan.node_partitions[node]);
    }
    run.segment.output = ValueSplit::of(run.segment.node_partitions.back());
    first = run.last + 1;
    runs.push_back(finished(std::move(run)));
  }
  return runs;
}

PartitionPlan plan_of(const Runs& runs) {
  PartitionPlan plan;
  for (const RunPtr& run : runs) append_segment(plan, run->segment);
  return plan;
}

RunList::RunList(const PartitionPlan& plan) : runs_(runs_of(plan)) {
  plan_.node_partitions.resize(plan.node_partitions.size());
  plan_.chains.resize(plan.node_partitions.size());
  show(runs_);
}

size_t RunList::index_at(ir::NodeId node) const {
  const auto at = std::partition_point(runs_.begin(), runs_.end(),
                                       [&](const RunPtr& run) { return run->last < node; });
  return static_cast<size_t>(at - runs_.begin());
}

void RunList::show(llvm::ArrayRef<RunPtr> runs) {
  for (const RunPtr& run : runs)
    for (ir::NodeId node = run->first; node <= run->last; ++node) {
      plan_.chains[node].nodes.clear();
      NodePartition& node_partition = plan_.node_partitions[node];
      node_partition = run->segment.node_partitions[node - run->first];
      node_partition.chain = run->count() > 1 ? static_cast<int32_t>(run->first) : -1;
      if (run->count() > 1) plan_.chains[run->first].nodes.push_back(node);
    }
}

void RunList::replace(size_t begin, size_t end, Runs runs) {
  const size_t kept = std::min(runs.size(), end - begin);
  std::move(runs.begin(), runs.begin() + static_cast<ptrdiff_t>(kept),
            runs_.begin() + static_cast<ptrdiff_t>(begin));
  const auto at = runs_.begin() + static_cast<ptrdiff_t>(begin + kept);
  if (kept < end - begin)
    runs_.erase(at, runs_.begin() + static_cast<ptrdiff_t>(end));
  else
    runs_.insert(at, runs.begin() + static_cast<ptrdiff_t>(kept), runs.end());
}

void RunList::go_back_to(const Runs& runs) {
  auto now = runs_.begin();
  for (const RunPtr& run : runs) {
    while (now != runs_.end() && (*now)->first < run->first) ++now;
    if (now == runs_.end() || *now != run) show(run);
  }
  runs_ = runs;
}

std::optional<Run> RunMaker::make(ir::NodeId first, ir::NodeId last, const RunSpec& spec) const {
  Run run{first, last, spec, {}};
  std::optional<Segment> segment;
  if (spec.is_split()) {
    if (run.count() > static_cast<size_t>(options_.max_chain)) return std::nullopt;
    std::array<bool, 2> boundary_first = spec.boundary_first;
    if (options_.boundary_first != BoundaryFirst::Auto)
      boundary_first.fill(options_.boundary_first == BoundaryFirst::Always);
    segment = costs_.split(first, last, spec.dim(), spec.gpu_share, spec.forms, boundary_first);
  } else if (first == last) {
    const Processor processor = processor_of(spec.assignment);
    segment = costs_.whole(first, processor, spec.forms[index_of(processor)]);
  }
  if (!segment) return std::nullopt;
  run.segment = std::move(*segment);
  return run;
}

bool RunMaker::add_whole(Runs& runs, ir::NodeId first, ir::NodeId last, const RunSpec& spec) const {
  RunSpec other = spec;
  other.assignment = spec.assignment == Assignment::Cpu ? Assignment::Gpu : Assignment::Cpu;
  for (ir::NodeId node = first; node <= last; ++node) {
    std::optional<Run> run = make(node, node, spec);
    if (!run) run = make(node, node, other);
    if (!run) return false;
    runs.push_back(finished(std::move(*run)));
  }
  return true;
}

bool RunMaker::add(Runs& runs, ir::NodeId first, ir::NodeId last, const RunSpec& spec) const {
  if (!spec.is_split()) return add_whole(runs, first, last, spec);
  std::optional<Run> run = make(first, last, spec);
  if (!run) return false;
  runs.push_back(finished(std::move(*run)));
  return true;
}

}  // namespace codl::compiler
