// Says which of the variants that a session has prepared its next run uses, and how they did.
#include <algorithm>
#include <cstdio>

#include "runtime/src/diag.h"
#include "runtime/src/session.h"

codl_status_t codl_session_set_variant(codl_session_t* session, const char* name,
                                       codl_diag_t* diag) {
  codl::rt::clear_diag(diag);
  if (session == nullptr) return codl::rt::refuse_null("a session", diag);
  if (name == nullptr) return codl::rt::refuse_null("a variant's name", diag);
  if (session->record.has_given_up()) {
    codl::rt::set_diag(diag,
                       "session: expected one that uses its device, found that it goes on without");
    return CODL_DEVICE_ERROR;
  }
  char names[128] = "";
  size_t length = 0;
  const codl::plan::VariantDef* asked = codl::rt::find_variant(*session->plan, name);
  for (codl::rt::PreparedVariant* one : session->prepared) {
    if (&one->def() == asked) {
      session->current = one;
      return CODL_OK;
    }
    const int added = std::snprintf(names + length, sizeof(names) - length, "%s%s",
                                    length == 0 ? "" : ", ", one->name());
    length = std::min(length + static_cast<size_t>(added), sizeof(names) - 1);
  }
  codl::rt::set_diag(diag, "variant: expected one that is prepared (%s), found %s", names, name);
  return CODL_INVALID_ARGUMENT;
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
  out_variant->cpu_us = one.cpu_us.load(std::memory_order_relaxed);
  out_variant->needs_gpu = one.has_gpu() ? 1 : 0;
  return CODL_OK;
}
