// Checks how the entries of a plan stand to each other: a part of verify_plan().
#include <algorithm>

#include "schema/plan_check.h"

namespace codl {

namespace {

// Returns whether all dims of the entries' inputs are equal.
bool have_same_shapes(const plan::EntryDef& a, const plan::EntryDef& b) {
  for (uint32_t i = 0; i < a.inputs()->size(); ++i) {
    const auto& dims = *a.inputs()->Get(i)->dims();
    const auto& other = *b.inputs()->Get(i)->dims();
    if (!std::equal(dims.begin(), dims.end(), other.begin(), other.end())) return false;
  }
  return true;
}

// Checks that the entry's inputs or outputs are those of the first: the caller's buffers stand in
// one order, whatever their shapes.
bool check_same_ios(PlanCheck& c, const char* place,
                    const flatbuffers::Vector<flatbuffers::Offset<plan::IoDef>>& ios,
                    const flatbuffers::Vector<flatbuffers::Offset<plan::IoDef>>& first) {
  for (uint32_t i = 0; i < ios.size(); ++i) {
    c.at(place, i);
    if (!c.expect(are_equal(*ios.Get(i)->name(), *first.Get(i)->name()),
                  "the name that it has in the first entry", i) ||
        !c.expect(ios.Get(i)->dtype() == first.Get(i)->dtype(),
                  "the dtype that it has in the first entry", ios.Get(i)->dtype()))
      return false;
  }
  return true;
}

}  // namespace

// Entries are chosen by the dims of their inputs, and named in messages.
bool check_entry_is_new(PlanCheck& c, uint32_t entry_index) {
  const plan::EntryDef& first = first_entry_of(*c.plan);
  c.at("entry", -1);
  if (!c.expect(c.entry->inputs()->size() == first.inputs()->size(),
                "as many inputs as the first entry", c.entry->inputs()->size()) ||
      !c.expect(c.entry->outputs()->size() == first.outputs()->size() &&
                    visible_output_count(*c.entry) == visible_output_count(first),
                "as many outputs as the first entry", c.entry->outputs()->size()) ||
      !check_same_ios(c, "input", *c.entry->inputs(), *first.inputs()) ||
      !check_same_ios(c, "output", *c.entry->outputs(), *first.outputs()))
    return false;
  c.at("entry", -1);
  for (uint32_t i = 0; i < entry_index; ++i) {
    const plan::EntryDef& other = *c.plan->entries()->Get(i);
    if (!c.expect(!are_equal(*c.entry->name(), *other.name()), "a name that no other entry has",
                  i) ||
        !c.expect(!have_same_shapes(*c.entry, other), "shapes that no other entry has", i))
      return false;
  }
  return true;
}

// A state leaves a run as it comes into the next one.
bool check_states(PlanCheck& c) {
  const plan::EntryDef& entry = *c.entry;
  const plan::EntryDef& first = *c.plan->entries()->Get(0);
  c.at("entry", c.entry_index < 0 ? 0 : -1);
  if (!c.expect(state_count(entry) <= kMaxStates, "at most 1024 states", state_count(entry)) ||
      !c.expect(state_count(entry) == state_count(first), "the first entry's states",
                state_count(entry)))
    return false;
  for (uint32_t i = 0; i < state_count(entry); ++i) {
    const plan::StateDef& state = *entry.states()->Get(i);
    c.at("state", i);
    if (!c.expect(state.input() < entry.inputs()->size(), "an input", state.input()) ||
        !c.expect(i == 0 || entry.states()->Get(i - 1)->input() < state.input(),
                  "states by ascending input", state.input()) ||
        !c.expect(state.output() < visible_output_count(entry), "a visible output",
                  state.output()) ||
        !c.expect(state_of_output(entry, state.output()) == i, "an output of its own",
                  state.output()))
      return false;
    const plan::IoDef& input = *entry.inputs()->Get(state.input());
    const plan::IoDef& output = *entry.outputs()->Get(state.output());
    if (!c.expect(output.dtype() == input.dtype(), "the input's dtype", output.dtype()) ||
        !c.expect(
            output.dims()->size() == input.dims()->size() &&
                std::equal(input.dims()->begin(), input.dims()->end(), output.dims()->begin()),
            "the input's dims", output.dims()->size()))
      return false;
    // A session has one of each, whatever the other inputs' shapes.
    if (!c.expect(first.states()->Get(i)->input() == state.input() &&
                      first.states()->Get(i)->output() == state.output() &&
                      first.inputs()->Get(state.input())->bytes() == input.bytes(),
                  "the first entry's state", state.input()))
      return false;
    if (entry.extents() == nullptr) continue;
    for (const plan::ExtentDef* extent : *entry.extents())
      if (!c.expect(extent->output() != state.output(), "an output whose dims data do not decide",
                    state.output()))
        return false;
  }
  return true;
}

}  // namespace codl
