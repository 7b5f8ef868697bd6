// Checks the options that a host gives a session.
#include <cstring>

#include "runtime/src/affinity.h"
#include "runtime/src/diag.h"
#include "runtime/src/session.h"
#include "schema/plan_layout.h"

namespace codl::rt {
namespace {

codl_status_t check_cores(const char* option, const int32_t* cores, size_t count,
                          codl_diag_t* diag) {
  if (cores == nullptr && count != 0) {
    set_diag(diag, "%s: expected %zu core numbers, found null", option, count);
    return CODL_INVALID_ARGUMENT;
  }
  const int64_t unusable = first_unusable_core(cores, count);
  if (unusable < 0) return CODL_OK;
  set_diag(diag, "%s: expected cores that this thread may use, found %d", option,
           static_cast<int32_t>(unusable));
  return CODL_INVALID_ARGUMENT;
}

// 0 or 1.
codl_status_t check_flag(const char* option, int32_t value, codl_diag_t* diag) {
  if (value == 0 || value == 1) return CODL_OK;
  set_diag(diag, "%s: expected 0 or 1, found %d", option, value);
  return CODL_INVALID_ARGUMENT;
}

// Entries may differ in their variants: one processor alone may be better at some shapes.
bool has_variant(const codl_plan& plan, const char* name) {
  for (const plan::EntryDef* entry : *plan.def->entries())
    if (find_variant(*entry, name) != nullptr) return true;
  return false;
}

// Checks the names of the plan's variants.
codl_status_t check_variants(const codl_plan& plan, const codl_session_options_t& options,
                             codl_diag_t* diag) {
  if (!has_variant(plan, options.variant)) {
    set_diag(diag, "variant: expected one of the plan's, found %s", options.variant);
    return CODL_INVALID_ARGUMENT;
  }
  if (options.variant_count == CODL_ALL_VARIANTS) return CODL_OK;
  if (options.variants == nullptr && options.variant_count != 0)
    return refuse_null("a list of variants", diag);
  for (size_t i = 0; i < options.variant_count; ++i) {
    const char* name = options.variants[i];
    if (name == nullptr) return refuse_null("a variant's name", diag);
    if (has_variant(plan, name)) continue;
    set_diag(diag, "variants: expected names of the plan's, found %s", name);
    return CODL_INVALID_ARGUMENT;
  }
  return CODL_OK;
}

}  // namespace

const plan::VariantDef* find_variant(const plan::EntryDef& entry, const char* name) {
  if (name == nullptr) return entry.variants()->Get(0);
  for (const plan::VariantDef* variant : *entry.variants())
    if (variant->name()->string_view() == name) return variant;
  return std::strcmp(name, kCoexecVariant) == 0 ? entry.variants()->Get(0) : nullptr;
}

codl_status_t check_options(const codl_plan& plan, const codl_session_options_t& options,
                            codl_diag_t* diag) {
  if (check_allocator(options.allocator, diag) != CODL_OK ||
      check_flag("require_variant", options.require_variant, diag) != CODL_OK ||
      check_flag("record_timeline", options.record_timeline, diag) != CODL_OK)
    return CODL_INVALID_ARGUMENT;
  if (options.fallback != CODL_FALLBACK_NEVER && options.fallback != CODL_FALLBACK_PER_RUN) {
    set_diag(diag, "fallback: expected a codl_fallback_t, found %d", options.fallback);
    return CODL_INVALID_ARGUMENT;
  }
  if (options.check_every < 0) {
    set_diag(diag, "check_every: expected 0 or a number of runs, found %d", options.check_every);
    return CODL_INVALID_ARGUMENT;
  }
  if (options.deadline_ms < 0) {
    set_diag(diag, "deadline_ms: expected 0 or milliseconds, found %d", options.deadline_ms);
    return CODL_INVALID_ARGUMENT;
  }
  if (options.log != nullptr && options.log->write == nullptr)
    return refuse_null("a log's write", diag);
  const codl_program_cache_t* cache = options.program_cache;
  if (cache != nullptr && (cache->load == nullptr || cache->store == nullptr))
    return refuse_null("a program cache's load and store", diag);
  if (options.thread_count < 0 || options.thread_count > static_cast<int32_t>(kMaxThreads)) {
    set_diag(diag, "thread_count: expected 0 to %u, found %d", kMaxThreads, options.thread_count);
    return CODL_INVALID_ARGUMENT;
  }
  codl_status_t status = check_cores("cpu_cores", options.cpu_cores, options.cpu_core_count, diag);
  if (status == CODL_OK)
    status = check_cores("gpu_cores", options.gpu_cores, options.gpu_core_count, diag);
  return status == CODL_OK ? check_variants(plan, options, diag) : status;
}

}  // namespace codl::rt
