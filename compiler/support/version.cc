#include "compiler/support/version.h"

namespace codl::compiler {

const char* codlc_version() { return CODL_VERSION; }

}  // namespace codl::compiler
