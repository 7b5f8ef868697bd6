#include <cstdio>
#include <cstdlib>

#include "test/fuzz/target.h"

namespace codl::test {

void fail(const std::string& text) {
  std::fprintf(stderr, "fuzz target: %s\n", text.c_str());
  std::abort();
}

}  // namespace codl::test
