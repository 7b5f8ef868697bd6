#include "profiler/measure/transfer.h"

#include "test/support/catch.h"

namespace codl::profiler {
namespace {

// A device where an empty kernel takes 3 us, an idle one starts and reports in 4 us, calls take 1
// and 2 us, and the other queue is 5 us away; copies take 10 us + 100 us/MB, a fifth of it in the
// call.
std::vector<TransferPoint> points() {
  std::vector<TransferPoint> all = {{"enqueue", 0, 1},
                                    {"few_launches", 0, 10 + 16 * 3},
                                    {"many_launches", 0, 10 + 100 * 3},
                                    {"turn_call", 0, 2},
                                    {"turn", 0, 2 + 3 + 4},
                                    {"behind_kernel_call", 4096, 5},
                                    {"behind_kernel", 4096, 200}};
  for (double bytes : {4096.0, 65536.0, 1e6, 8e6}) {
    const double us = 10 + 100 * bytes * 1e-6;
    for (const char* name : {"upload", "download"}) {
      all.push_back({std::string(name) + "_call", bytes, us / 5});
      all.push_back({name, bytes, us + 4});
    }
    all.push_back({"map", bytes, 7});
  }
  // The CPU wakes up in 9 us, and needs 30 us/MB for the GPU's data; the other way it is 40.
  for (double bytes : {32768.0, 524288.0, 2097152.0}) {
    const double mb = bytes * 1e-6;
    all.push_back({"copy_from_caches", bytes, 1 + 20 * mb});
    all.push_back({"copy_behind_gpu", bytes, 1 + 20 * mb + 9 + 30 * mb});
    all.push_back({"read_from_caches", bytes, 2 + 15 * mb});
    all.push_back({"read_behind_cpu", bytes, 2 + 15 * mb + 40 * mb});
  }
  const double copy_us = 10 + 100 * 4096e-6;
  all.push_back({"chain", 4096, copy_us + 5 + 3 + 5 + 4.0 / 5 * copy_us + 4});
  return all;
}

TEST_CASE("what synchronisations cost follows from what was timed") {
  const TransferTimes times = transfer_times_of(points());
  CHECK(times.launch_us == Approx(3));
  CHECK(times.enqueue_us == Approx(1));
  CHECK(times.submit_us == Approx(2));
  CHECK(times.start_us == Approx(2));
  CHECK(times.wake_us == Approx(2));
  CHECK(times.sync_us() == Approx(3));
  CHECK(times.queue_us == Approx(5));
  CHECK(times.upload.call.fixed_us == Approx(2));
  CHECK(times.upload.call.us_per_mb == Approx(20));
  CHECK(times.download.rest.fixed_us == Approx(8));
  CHECK(times.download.rest.us_per_mb == Approx(80));
  CHECK(times.map.fixed_us == Approx(7));
  CHECK(times.cpu_resume.fixed_us == Approx(9));
  CHECK(times.cpu_resume.us_per_mb == Approx(30));
  CHECK(times.gpu_cold_us_per_mb == Approx(40));
  CHECK_FALSE(times.download_call_waits);
  CHECK(times.flag_us == 0);
  CHECK(times.recorded_us == 0);
}

TEST_CASE("a wait by flag takes half of there and back, and of the launch between") {
  std::vector<TransferPoint> all = points();
  all.push_back({"flag_turn", 0, 5});
  CHECK(transfer_times_of(all).flag_us == Approx((5 + 3) / 2));
}

TEST_CASE("a call that lasts as long as the kernel before it has waited for it") {
  std::vector<TransferPoint> all = points();
  for (TransferPoint& point : all)
    if (point.name == "behind_kernel_call") point.us = 190;
  CHECK(transfer_times_of(all).download_call_waits);
}

TEST_CASE("what no cache holds says nothing of reads behind another core") {
  std::vector<TransferPoint> all = points();
  for (TransferPoint& point : all)
    if (point.name == "copy_behind_gpu" && point.bytes > 2e6) point.us = 20;
  const TransferTimes times = transfer_times_of(all);
  CHECK(times.cpu_resume.fixed_us == Approx(9));
  CHECK(times.cpu_resume.us_per_mb == Approx(30));
}

TEST_CASE("without points nothing is known and nothing is negative") {
  const TransferTimes times = transfer_times_of({});
  CHECK(times.sync_us() == 0);
  CHECK(times.queue_us == 0);
  CHECK(times.upload.rest.us_per_mb == 0);
  CHECK(times.cpu_resume.fixed_us == 0);
}

}  // namespace
}  // namespace codl::profiler
