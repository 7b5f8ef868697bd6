// Which of its variants a session uses next.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "runtime/src/diag.h"
#include "runtime/src/session.h"

namespace codl::rt {
namespace {

codl_status_t refuse_given_up(codl_diag_t* diag) {
  set_diag(diag, "session: expected one that uses its device, found that it goes on without");
  return CODL_DEVICE_ERROR;
}

// NN of "gpuNN"; 0: another name.
uint32_t gpu_percent_of(const char* name) {
  uint32_t percent = 0;
  if (std::strncmp(name, "gpu", 3) != 0) return 0;
  for (name += 3; *name >= '0' && *name <= '9' && percent < 100; ++name)
    percent = percent * 10 + static_cast<uint32_t>(*name - '0');
  return *name == 0 ? percent : 0;
}

bool suits(const codl_session& session, const PreparedVariant& one, int32_t load) {
  switch (load) {
    case CODL_LOAD_IDLE:
      return &one.def() == session.plan->def->variants()->Get(0);
    case CODL_LOAD_INTERACTIVE:
      return gpu_percent_of(one.name()) != 0;
    default:
      return std::strcmp(one.name(), "busy") == 0;
  }
}

// Null: there is none.
PreparedVariant* variant_for(const codl_session& session, int32_t load) {
  PreparedVariant* found = nullptr;
  for (PreparedVariant* one : session.prepared)
    if (suits(session, *one, load) &&
        (found == nullptr || gpu_percent_of(one->name()) < gpu_percent_of(found->name())))
      found = one;
  for (PreparedVariant* one : session.prepared)
    if (found == nullptr && !one->has_gpu()) found = one;
  return found;
}

// The next run is to use another variant than the last one that was chosen.
void note_switch(codl_session& session, const char* reason) {
  session.switch_reason = reason;
  session.switch_count.fetch_add(1, std::memory_order_relaxed);
}

void switch_to(codl_session& session, PreparedVariant* variant, const char* reason) {
  if (session.current.exchange(variant) != variant) note_switch(session, reason);
}

void follow_hint(codl_session& session, int32_t load) {
  PreparedVariant* variant = load == CODL_LOAD_UNKNOWN ? nullptr : variant_for(session, load);
  if (variant != nullptr) switch_to(session, variant, "the host told of the load");
}

}  // namespace

void switch_unless_hinted(codl_session& session, PreparedVariant* used, PreparedVariant* next) {
  if (session.load != CODL_LOAD_UNKNOWN || !session.current.compare_exchange_strong(used, next))
    return;
  note_switch(session, session.chooser.reason());
  // A hint between the two that named the variant in use has left nothing by which to tell. So
  // hints are looked at again, until there was none since the last look.
  for (int32_t seen = CODL_LOAD_UNKNOWN, load = session.load; load != seen; load = session.load) {
    follow_hint(session, load);
    seen = load;
  }
}

}  // namespace codl::rt

codl_status_t codl_session_set_variant(codl_session_t* session, const char* name,
                                       codl_diag_t* diag) {
  codl::rt::clear_diag(diag);
  if (session == nullptr) return codl::rt::refuse_null("a session", diag);
  if (name == nullptr) return codl::rt::refuse_null("a variant's name", diag);
  if (session->record.has_given_up()) return codl::rt::refuse_given_up(diag);
  char names[128] = "";
  size_t length = 0;
  const codl::plan::VariantDef* asked = codl::rt::find_variant(*session->plan, name);
  for (codl::rt::PreparedVariant* one : session->prepared) {
    if (&one->def() == asked) {
      codl::rt::switch_to(*session, one, "the host asked for it");
      return CODL_OK;
    }
    const int added = std::snprintf(names + length, sizeof(names) - length, "%s%s",
                                    length == 0 ? "" : ", ", one->name());
    length = std::min(length + static_cast<size_t>(added), sizeof(names) - 1);
  }
  codl::rt::set_diag(diag, "variant: expected one that is prepared (%s), found %s", names, name);
  return CODL_INVALID_ARGUMENT;
}

codl_status_t codl_session_hint(codl_session_t* session, int32_t load) {
  if (session == nullptr || load < CODL_LOAD_UNKNOWN || load > CODL_LOAD_BACKGROUND)
    return CODL_INVALID_ARGUMENT;
  if (session->record.has_given_up()) return CODL_DEVICE_ERROR;
  session->load = load;
  codl::rt::follow_hint(*session, load);
  return CODL_OK;
}

codl_status_t codl_session_variant(const codl_session_t* session, size_t index,
                                   codl_variant_state_t* out_variant) {
  if (out_variant == nullptr) return CODL_INVALID_ARGUMENT;
  *out_variant = {};
  if (session == nullptr || index >= session->prepared.count()) return CODL_INVALID_ARGUMENT;
  const codl::rt::PreparedVariant& one = *session->prepared[index];
  out_variant->name = one.name();
  out_variant->run_count = one.run_count.load(std::memory_order_relaxed);
  out_variant->predicted_us = one.def().predicted_us();
  if (!session->chooser.is_created()) return CODL_OK;
  out_variant->expected_us = session->chooser.expected_us(index);
  const float slowdown = out_variant->expected_us / out_variant->predicted_us;
  if (out_variant->predicted_us > 0 && std::isfinite(slowdown)) out_variant->slowdown = slowdown;
  return CODL_OK;
}
