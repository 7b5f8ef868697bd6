#include "runtime/src/states.h"

#include <cstring>

#include "runtime/src/diag.h"
#include "runtime/src/session.h"
#include "schema/plan_layout.h"

namespace codl::rt {

codl_status_t States::create(const plan::EntryDef& entry, const codl_allocator_t& allocator,
                             codl_diag_t* diag) {
  const uint32_t count = state_count(entry);
  if (count == 0) return CODL_OK;
  const auto& inputs = *entry.inputs();
  uint64_t total_bytes = 0;
  for (const plan::StateDef* state : *entry.states())
    total_bytes += 2 * round_up(inputs.Get(state->input())->bytes(), kHostAlignment);
  input_count_ = inputs.size();
  const size_t io_count = input_count_ + entry.outputs()->size();
  if (!memory_.allocate(allocator, total_bytes, kBlobAlignment) ||
      !state_of_io_.allocate(allocator, io_count) || !slots_.allocate(allocator, count)) {
    set_diag(diag, "no memory for states of %llu bytes",
             static_cast<unsigned long long>(total_bytes));
    return CODL_OUT_OF_MEMORY;
  }
  for (uint32_t& state : state_of_io_) state = count;
  uint8_t* next = memory_.data();
  for (uint32_t i = 0; i < count; ++i) {
    const plan::StateDef& state = *entry.states()->Get(i);
    state_of_io_[state.input()] = state_of_io_[input_count_ + state.output()] = i;
    slots_[i].bytes = inputs.Get(state.input())->bytes();
    for (uint8_t*& data : slots_[i].data) {
      data = next;
      next += round_up(slots_[i].bytes, kHostAlignment);
    }
  }
  return CODL_OK;
}

void States::set_zero() {
  for (uint32_t i = 0; i < count(); ++i)
    if (bytes(i) != 0) std::memset(input(i), 0, bytes(i));
}

namespace {

// Calls `use` with the bytes of a state, between two runs.
template <typename Use>
codl_status_t with_state(codl_session_t* session, size_t index, const void* data, size_t bytes,
                         codl_diag_t* diag, Use use) {
  clear_diag(diag);
  if (session == nullptr) return refuse_null("a session", diag);
  const RunScope scope(*session);
  if (!scope.is_entered()) return refuse_second_run(diag);
  const States& states = session->states;
  if (index >= states.count()) {
    set_diag(diag, "state: expected one below %u, found %zu", states.count(), index);
    return CODL_INVALID_ARGUMENT;
  }
  const auto state = static_cast<uint32_t>(index);
  if (bytes != states.bytes(state) || (data == nullptr && bytes != 0)) {
    set_diag(diag, "state %zu: expected %zu bytes, found %zu", index, states.bytes(state),
             data == nullptr ? 0 : bytes);
    return CODL_INVALID_ARGUMENT;
  }
  if (bytes != 0) use(states.input(state));
  return CODL_OK;
}

}  // namespace
}  // namespace codl::rt

codl_status_t codl_session_read_state(codl_session_t* session, size_t index, void* data,
                                      size_t bytes, codl_diag_t* diag) {
  return codl::rt::with_state(session, index, data, bytes, diag,
                              [&](const uint8_t* state) { std::memcpy(data, state, bytes); });
}

codl_status_t codl_session_write_state(codl_session_t* session, size_t index, const void* data,
                                       size_t bytes, codl_diag_t* diag) {
  return codl::rt::with_state(session, index, data, bytes, diag,
                              [&](uint8_t* state) { std::memcpy(state, data, bytes); });
}

codl_status_t codl_session_reset_states(codl_session_t* session, codl_diag_t* diag) {
  codl::rt::clear_diag(diag);
  if (session == nullptr) return codl::rt::refuse_null("a session", diag);
  const codl::rt::RunScope scope(*session);
  if (!scope.is_entered()) return codl::rt::refuse_second_run(diag);
  session->states.set_zero();
  return CODL_OK;
}
