#include "compiler/cost/transfer.h"

#include "test/support/catch.h"

namespace codl::compiler {
namespace {

TEST_CASE("a synchronisation costs what its kind of sharing takes") {
  TransferCosts costs;
  costs.sync_us.value = 10;
  costs.map_us.value = 5;
  costs.map_us_per_mb.value = 2;
  costs.copy_us_per_mb.value = 7;
  for (const bool to_gpu : {false, true}) {
    costs.sharing = Sharing::FineSvm;
    CHECK(costs.synchronisation_us(3e6, to_gpu) == Approx(10));
    costs.sharing = Sharing::SubBuffer;
    CHECK(costs.synchronisation_us(3e6, to_gpu) == Approx(10 + 5 + 2 * 3));
    costs.sharing = Sharing::Separate;
    CHECK(costs.synchronisation_us(3e6, to_gpu) == Approx(10 + 7 * 3));
    CHECK(costs.copy_time_us(3e6, to_gpu) == Approx(7 * 3));
    CHECK(costs.copy_call_time_us(3e6, to_gpu) == 0);
  }
  CHECK(costs.map_time_us(3e6) == Approx(5 + 2 * 3));
  CHECK(costs.enqueue_time_us() == 0);
}

TEST_CASE("where the host's calls are known, a synchronisation costs what its direction takes") {
  TransferCosts costs;
  costs.sync_us.value = costs.copy_us_per_mb.value = 1e6;  // which they take the place of
  HostCosts& host = costs.host.emplace();
  host.enqueue_us.value = 1;
  host.submit_us.value = 2;
  host.start_us.value = 4;
  host.wake_us.value = 8;
  host.queue_us.value = 16;
  host.upload.call_us_per_mb.value = 10;
  host.upload.rest_us.value = 32;
  host.download.rest_us_per_mb.value = 20;
  CHECK(costs.enqueue_time_us() == Approx(1));
  costs.sharing = Sharing::FineSvm;
  CHECK(costs.synchronisation_us(3e6, true) == Approx(2 + 4));
  CHECK(costs.synchronisation_us(3e6, false) == Approx(8));
  host.cpu_resume_us.value = 64;
  host.cpu_cold_us_per_mb.value = 100;
  host.gpu_cold_us_per_mb.value = 200;
  CHECK(costs.synchronisation_us(3e6, true) == Approx(2 + 4 + 200 * 3));
  CHECK(costs.synchronisation_us(3e6, false) == Approx(8 + 64 + 100 * 3));
  host.cpu_resume_us.value = host.cpu_cold_us_per_mb.value = host.gpu_cold_us_per_mb.value = 0;
  costs.sharing = Sharing::Separate;
  CHECK(costs.synchronisation_us(3e6, true) == Approx(2 + 4 + 16 + 10 * 3 + 32));
  CHECK(costs.synchronisation_us(3e6, false) == Approx(8 + 16 + 20 * 3));
  CHECK(costs.copy_call_time_us(3e6, true) == Approx(10 * 3));
  CHECK(costs.copy_time_us(3e6, false) == Approx(20 * 3));
}

}  // namespace
}  // namespace codl::compiler
