// Runs a plan once on zeros, and prints the processors used and the first value of each output.
//
//   hello_cc PLAN.codl
#include <codl/codl.hpp>
#include <cstdio>
#include <vector>

namespace {

int fail(const codl::Status& status) {
  std::fprintf(stderr, "%s\n", status.message());
  return 1;
}

// Returns zeros for every input or output, of which info_of(i) tells; `buffers` points into the
// result.
template <typename InfoOf>
std::vector<std::vector<float>> allocate(std::size_t count, InfoOf info_of,
                                         std::vector<codl_buffer_t>& buffers) {
  std::vector<std::vector<float>> tensors(count);
  for (std::size_t i = 0; i < count; ++i) {
    tensors[i].resize(info_of(i).bytes / sizeof(float));
    buffers.push_back(codl::buffer_of(tensors[i]));
  }
  return tensors;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 1;
  auto plan = codl::Plan::open_file(argv[1]);
  if (!plan) return fail(plan.status());
  auto session = codl::Session::create(*plan);
  if (!session) return fail(session.status());

  std::vector<codl_buffer_t> inputs;
  std::vector<codl_buffer_t> outputs;
  const auto x = allocate(
      plan->input_count(), [&](std::size_t i) { return plan->input(i); }, inputs);
  const auto y = allocate(
      plan->output_count(), [&](std::size_t i) { return plan->output(i); }, outputs);
  if (codl::Status status = session->run(inputs, outputs); !status.ok()) return fail(status);

  std::printf("variant %s\n", session->info().variant);
  for (std::size_t i = 0; i < y.size(); ++i)
    std::printf("%s[0] = %g\n", plan->output(i).name, static_cast<double>(y[i][0]));
  return 0;
}
