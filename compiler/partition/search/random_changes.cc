#include "compiler/partition/search/random_changes.h"

#include <algorithm>
#include <array>

namespace codl::compiler {

std::optional<Change> RandomChanges::small() {
  const ir::NodeId count = list_.node_count();
  const ir::NodeId node = draw(count);
  const Run& run = list_.at(node);
  const Run* next = run.last + 1 < count ? &list_.at(run.last + 1) : nullptr;
  const auto length = static_cast<ir::NodeId>(run.count());
  RunSpec spec = run.spec;
  switch (draw(6)) {
    case 0:
    case 1:  // another cut
      if (!spec.is_split()) return std::nullopt;
      if (const auto share = changes_.moved_share(run, 0.16 * (draw_share(random_) - 0.5))) {
        spec.gpu_share = *share;
        return changes_.placed(run.first, run.last, spec);
      }
      return std::nullopt;
    case 2:  // nodes of the next run, or all of it
      if (next == nullptr) return std::nullopt;
      if (!spec.is_split()) spec = next->spec;
      return in_chain(
          run.first, draw(2) == 0 ? next->last : std::min(run.last + 1 + draw(3), count - 1), spec);
    case 3:  // two runs of one
      if (length < 2) return std::nullopt;
      return changes_.placed(run.first, run.first + draw(length - 1), spec);
    case 4:  // the last nodes to the next
      if (next == nullptr || !next->spec.is_split()) return std::nullopt;
      return in_chain(run.last - std::min(draw(3), length - 1), next->last, next->spec);
    default:
      return elsewhere(node, std::min(node + draw(3), count - 1));
  }
}

// Makes a chain of channels where that is asked for and possible; else one of rows.
std::optional<Change> RandomChanges::in_chain(ir::NodeId first, ir::NodeId last,
                                              RunSpec spec) const {
  if (spec.assignment == Assignment::OutputChannel)
    if (auto change = changes_.placed(first, last, spec)) return change;
  spec.assignment = Assignment::Height;
  return changes_.placed(first, last, spec);
}

RunSpec RandomChanges::any_spec() {
  constexpr Assignment kAssignments[] = {Assignment::Cpu, Assignment::Gpu, Assignment::Height,
                                         Assignment::OutputChannel};
  const Assignment assignment = kAssignments[draw(4)];
  const double gpu_share = (1 + draw(7)) / 8.0;
  const llvm::ArrayRef<FormPair> pairs = costs_.form_pairs();
  const auto count = static_cast<ir::NodeId>(pairs.size());
  return {assignment, gpu_share, pairs[count > 1 ? draw(count) : 0]};
}

// Rows at a cut may come first or not. Small changes have both come first: drawn there, too,
// plans are 0.2 % slower in the mean (simulated, 14 networks on three phones).
RunSpec RandomChanges::any_spec_and_boundary() {
  RunSpec spec = any_spec();
  if (spec.assignment == Assignment::Height)
    for (bool& is_first : spec.boundary_first) is_first = draw(2) == 0;
  return spec;
}

std::optional<Change> RandomChanges::elsewhere(ir::NodeId first, ir::NodeId last) {
  return changes_.apart(first, last, any_spec());
}

RandomChanges::Kick RandomChanges::kick() {
  Kick kick;
  kick.first = draw(list_.node_count());
  kick.last = std::min(kick.first + draw(kMaxOfKick), list_.node_count() - 1);
  if (draw(2) == 0) {
    kick.change = changes_.apart(kick.first, kick.last, any_spec_and_boundary());
    return kick;
  }
  std::array<RunSpec, kMaxOfKick> specs;
  for (RunSpec& spec : specs) spec = any_spec_and_boundary();
  kick.change = changes_.each_placed(kick.first, kick.last, [&](ir::NodeId node) {
    return node < kick.first || node > kick.last ? nullptr : &specs[node - kick.first];
  });
  return kick;
}

}  // namespace codl::compiler
