// Fuzz target: any bytes are an .npy file. An accepted file, written and read again, must be the
// same.
#include "tools/npy.h"

#include "test/fuzz/target.h"
#include "tools/tool_error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace codl::tools;
  Npy array;
  try {
    array = parse_npy("fuzz.npy", {reinterpret_cast<const char*>(data), size});
  } catch (const ToolError&) {
    return 0;
  }
  const Npy again = parse_npy("again.npy", format_npy(array.dtype, array.dims, array.data));
  if (again.dtype != array.dtype || again.dims != array.dims || again.data != array.data)
    codl::test::fail("expected the array that was written, found another");
  return 0;
}
