// Fuzz target: any bytes are a file of calibration data, for a network whose input has the file's
// dims, and its labels. Samples that open must equal the array.
#include "compiler/accuracy/calibration.h"

#include <cstring>

#include "test/compiler/accuracy/calibration_folder.h"
#include "test/fuzz/no_fault.h"
#include "tools/tool_error.h"

namespace codl::test {
namespace {

// The network takes no tensor with dims beyond this.
constexpr int64_t kMaxDim = 1 << 20;

// Returns a network that copies its input to its output.
ir::Graph network_of(const tools::Npy& array) {
  ir::TensorType type{static_cast<DType>(array.dtype), {1}, Layout::Plain};
  for (size_t i = 1; i < array.dims.size(); ++i)
    type.dims.push_back(static_cast<int32_t>(std::min(array.dims[i], kMaxDim)));
  ir::Graph graph;
  graph.set_outputs({graph.add_input("x", type)});
  return graph;
}

void run(const std::string& bytes) {
  tools::Npy array;
  try {
    array = tools::parse_npy("fuzz.npy", bytes);
  } catch (const tools::ToolError&) {  // any bad file is refused
    array.dims = {1, 4};
  }
  static const Folder folder;
  for (const char* name : {"/x.npy", "/labels.npy"}) {
    std::ofstream(folder.path + name, std::ios::binary) << bytes;
    const ir::Graph graph = network_of(array);
    auto data = compiler::CalibrationData::open(folder.path, graph);
    if (!data) {
      expect_no_fault(data.takeError());
      continue;
    }
    const size_t sample_bytes = array.data.size() / data->count();
    for (const size_t sample : {size_t{0}, data->count() / 2, data->count() - 1}) {
      auto inputs = data->inputs(sample);
      if (!inputs) fail(llvm::toString(inputs.takeError()));
      if ((*inputs)[0].size() != sample_bytes ||
          (sample_bytes > 0 &&
           std::memcmp((*inputs)[0].data(), array.data.data() + sample * sample_bytes,
                       sample_bytes) != 0))
        fail("expected the array's sample, found another");
    }
  }
  std::filesystem::remove(folder.path + "/labels.npy");
}

}  // namespace
}  // namespace codl::test

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  codl::test::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
