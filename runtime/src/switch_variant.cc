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
  bool is_found = false;
  // Every entry takes it, so that it holds for whatever shapes come next.
  for (codl::rt::PreparedVariant* one : session->prepared) {
    if (&one->def() == codl::rt::find_variant(*one->entry->def, name)) {
      one->entry->current = one;
      is_found = true;
    }
    if (one->entry != session->entry.load()) continue;
    const int added = std::snprintf(names + length, sizeof(names) - length, "%s%s",
                                    length == 0 ? "" : ", ", one->name());
    length = std::min(length + static_cast<size_t>(added), sizeof(names) - 1);
  }
  if (is_found) return CODL_OK;
  codl::rt::set_diag(diag, "variant: expected one that is prepared (%s), found %s", names, name);
  return CODL_INVALID_ARGUMENT;
}

codl_status_t codl_session_variant(const codl_session_t* session, size_t index,
                                   codl_variant_state_t* out_variant) {
  if (out_variant == nullptr) return CODL_INVALID_ARGUMENT;
  *out_variant = {};
  if (session == nullptr) return CODL_INVALID_ARGUMENT;
  const codl::rt::PreparedVariant* found = nullptr;
  for (const codl::rt::PreparedVariant* of_any : session->prepared) {
    if (of_any->entry != session->entry.load() || index-- != 0) continue;
    found = of_any;
    break;
  }
  if (found == nullptr) return CODL_INVALID_ARGUMENT;
  const codl::rt::PreparedVariant& one = *found;
  out_variant->name = one.name();
  out_variant->run_count = one.run_count.load(std::memory_order_relaxed);
  out_variant->predicted_us = one.def().predicted_us();
  out_variant->cpu_us = one.cpu_us.load(std::memory_order_relaxed);
  out_variant->needs_gpu = one.has_gpu() ? 1 : 0;
  return CODL_OK;
}
