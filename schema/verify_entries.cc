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
    if (!c.expect(ios.Get(i)->name()->string_view() == first.Get(i)->name()->string_view(),
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
    if (!c.expect(c.entry->name()->string_view() != other.name()->string_view(),
                  "a name that no other entry has", i) ||
        !c.expect(!have_same_shapes(*c.entry, other), "shapes that no other entry has", i))
      return false;
  }
  return true;
}

}  // namespace codl
