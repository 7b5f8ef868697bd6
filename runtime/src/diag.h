// Writes the one line of text that a failing call leaves for its caller.
#pragma once

#include "codl/codl.h"

namespace codl::rt {

// Writes one line; `diag` may be null. Line ends in the text (build logs) become spaces.
void set_diag(codl_diag_t* diag, const char* format, ...) __attribute__((format(printf, 2, 3)));

inline void clear_diag(codl_diag_t* diag) {
  if (diag != nullptr) diag->message[0] = 0;
}

}  // namespace codl::rt
