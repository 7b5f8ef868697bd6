// zero_queue PLAN (cpu or gpu) OUT makes one queue of a plan write zeros (zero_queue.h), for
// test/peers and the end-to-end scripts.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "test/support/zero_queue.h"

int main(int argc, char** argv) {
  if (argc != 4 || (std::strcmp(argv[2], "cpu") != 0 && std::strcmp(argv[2], "gpu") != 0)) {
    std::fprintf(stderr, "usage: zero_queue PLAN cpu|gpu OUT\n");
    return 1;
  }
  std::ifstream in(argv[1], std::ios::binary);
  std::vector<uint8_t> plan{std::istreambuf_iterator<char>(in), {}};
  if (plan.size() < 64) {
    std::fprintf(stderr, "%s: expected a plan\n", argv[1]);
    return 1;
  }
  const auto queue = argv[2][0] == 'c' ? codl::test::FaultQueue::Cpu : codl::test::FaultQueue::Gpu;
  std::printf("%d steps write zeros\n", codl::test::zero_queue(plan, queue));
  std::ofstream out(argv[3], std::ios::binary);
  out.write(reinterpret_cast<const char*>(plan.data()), static_cast<std::streamsize>(plan.size()));
  return out.good() ? 0 : 1;
}
