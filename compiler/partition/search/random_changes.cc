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
  How how = run.how;
  switch (draw(6)) {
    case 0:
    case 1:  // another cut
      if (!how.is_split()) return std::nullopt;
      if (const auto share = changes_.moved_share(run, 0.16 * (draw_share(random_) - 0.5))) {
        how.gpu_share = *share;
        return changes_.placed(run.first, run.last, how);
      }
      return std::nullopt;
    case 2:  // nodes of the next run, or all of it
      if (next == nullptr) return std::nullopt;
      if (!how.is_split()) how = next->how;
      return in_chain(run.first,
                      draw(2) == 0 ? next->last : std::min(run.last + 1 + draw(3), count - 1), how);
    case 3:  // two runs of one
      if (length < 2) return std::nullopt;
      return changes_.placed(run.first, run.first + draw(length - 1), how);
    case 4:  // the last nodes to the next
      if (next == nullptr || !next->how.is_split()) return std::nullopt;
      return in_chain(run.last - std::min(draw(3), length - 1), next->last, next->how);
    default:
      return elsewhere(node, std::min(node + draw(3), count - 1));
  }
}

// Makes a chain of channels where that is asked for and possible; else one of rows.
std::optional<Change> RandomChanges::in_chain(ir::NodeId first, ir::NodeId last, How how) const {
  if (how.placement == Placement::OutputChannel)
    if (auto change = changes_.placed(first, last, how)) return change;
  how.placement = Placement::Height;
  return changes_.placed(first, last, how);
}

How RandomChanges::any_how() {
  constexpr Placement kPlacements[] = {Placement::Cpu, Placement::Gpu, Placement::Height,
                                       Placement::OutputChannel};
  const Placement placement = kPlacements[draw(4)];
  const double gpu_share = (1 + draw(7)) / 8.0;
  const llvm::ArrayRef<Layout> layouts = costs_.gpu_maps();
  return {placement, gpu_share, layouts[layouts.size() > 1 ? draw(2) : 0]};
}

// Rows at a cut may come first or not. Small changes have both come first: drawn there, too,
// plans are 0.2 % slower in the mean (simulated, 14 networks on three phones).
How RandomChanges::any_how_and_boundary() {
  How how = any_how();
  if (how.placement == Placement::Height)
    for (bool& is_first : how.boundary_first) is_first = draw(2) == 0;
  return how;
}

std::optional<Change> RandomChanges::elsewhere(ir::NodeId first, ir::NodeId last) {
  return changes_.apart(first, last, any_how());
}

RandomChanges::Kick RandomChanges::kick() {
  Kick kick;
  kick.first = draw(list_.node_count());
  kick.last = std::min(kick.first + draw(kMaxOfKick), list_.node_count() - 1);
  if (draw(2) == 0) {
    kick.change = changes_.apart(kick.first, kick.last, any_how_and_boundary());
    return kick;
  }
  std::array<How, kMaxOfKick> hows;
  for (How& how : hows) how = any_how_and_boundary();
  kick.change = changes_.each_placed(kick.first, kick.last, [&](ir::NodeId node) {
    return node < kick.first || node > kick.last ? nullptr : &hows[node - kick.first];
  });
  return kick;
}

}  // namespace codl::compiler
