#include "tools/depfile.h"

#include "test/support/catch.h"
#include "tools/tool_error.h"

namespace codl::tools {

TEST_CASE("a rule names each prerequisite once, in order") {
  CHECK(make_rule("a.codl", {"m.onnx", "p.json", "m.onnx"}) ==
        "a.codl: \\\n  m.onnx \\\n  p.json\n");
  CHECK(make_rule("a", {}) == "a:\n");
}

TEST_CASE("names in a rule are written as Make reads them") {
  CHECK(make_rule("a b", {"c#d", "e$f", "g\\h", "i\\ j"}) ==
        "a\\ b: \\\n  c\\#d \\\n  e$$f \\\n  g\\h \\\n  i\\\\\\ j\n");
  CHECK_THROWS_AS(make_rule("a", {"b\nc"}), ToolError);
}

}  // namespace codl::tools
