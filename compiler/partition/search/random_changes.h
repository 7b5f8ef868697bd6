// Changes a plan at random places, which a search does where no single change in turn helps.
#pragma once

#include <optional>
#include <random>

#include "compiler/partition/search/plan_changes.h"

namespace codl::compiler {

// Draws the same changes for the same plans, whatever becomes of them and on every machine.
class RandomChanges {
 public:
  // Borrows all.
  RandomChanges(const CostModel& costs, const PlanChanges& changes, const RunList& list)
      : costs_(costs), changes_(changes), list_(list) {}

  // Draws a small change: another cut, a chain longer or shorter, or a few nodes elsewhere. Returns
  // nothing if the drawn change cannot be made.
  std::optional<Change> small();

  // Moves some nodes elsewhere: all in one way, or each in its own, because nodes on different
  // processors in turn may only pay together.
  struct Kick {
    ir::NodeId first = 0;
    ir::NodeId last = 0;
    std::optional<Change> change;
  };
  Kick kick();

 private:
  static constexpr ir::NodeId kMaxOfKick = 4;

  // Draws a number below `count`. The engine's numbers are the standard's, those of its
  // distributions are not.
  ir::NodeId draw(ir::NodeId count) { return static_cast<ir::NodeId>(random_() % count); }
  RunSpec any_spec();
  RunSpec any_spec_and_boundary();
  std::optional<Change> in_chain(ir::NodeId first, ir::NodeId last, RunSpec spec) const;
  std::optional<Change> elsewhere(ir::NodeId first, ir::NodeId last);

  const CostModel& costs_;
  const PlanChanges& changes_;
  const RunList& list_;
  std::mt19937 random_;  // has a fixed seed
};

// Draws a number in [0, 1).
inline double draw_share(std::mt19937& random) {
  return static_cast<double>(random() >> 8) / 16777216.0;
}

}  // namespace codl::compiler
