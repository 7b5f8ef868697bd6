#include <cstring>

#include "codl/codl.h"
#include "schema/plan_layout.h"

#define CODL_STATUS(number, NAME, text) \
  static_assert(CODL_##NAME == (number), "codl.h and status.def differ in CODL_" #NAME);
#include "schema/status.def"
#undef CODL_STATUS

const char* codl_status_text(codl_status_t status) {
  // An application may pass any number, so it is not read as an enum, which has no other values.
  int32_t number = 0;
  static_assert(sizeof number == sizeof status);
  std::memcpy(&number, &status, sizeof number);
  switch (number) {
#define CODL_STATUS(number, NAME, text) \
  case CODL_##NAME:                     \
    return text;
#include "schema/status.def"
#undef CODL_STATUS
  }
  return "unknown status";
}

const char* codl_version(void) { return CODL_VERSION; }

uint32_t codl_plan_format_version(void) { return codl::kPlanVersion; }
