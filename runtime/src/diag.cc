#include "runtime/src/diag.h"

#include <cstdarg>
#include <cstdio>

namespace codl::rt {

void set_diag(codl_diag_t* diag, const char* format, ...) {
  if (diag == nullptr) return;
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(diag->message, sizeof(diag->message), format, arguments);
  va_end(arguments);
  for (char* c = diag->message; *c != 0; ++c)
    if (*c == '\n' || *c == '\r') *c = ' ';
}

}  // namespace codl::rt
