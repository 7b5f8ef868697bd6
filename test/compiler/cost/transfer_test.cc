// Tests properties of a synchronisation's cost: the quantities that it consists of, by kind of
// sharing and direction, and the properties that the search relies on.
#include "compiler/cost/transfer.h"

#include <string>
#include <vector>

#include "test/support/catch.h"

namespace codl::compiler {
namespace {

constexpr Sharing kSharings[] = {Sharing::FineSvm, Sharing::SubBuffer, Sharing::Separate};

// Gives every quantity that any kind consists of another number.
TransferCosts costs_of(bool has_host) {
  TransferCosts costs;
  costs.sync_us.value = 10;
  costs.map_us.value = 5;
  costs.map_us_per_mb.value = 2;
  costs.copy_us_per_mb.value = 7;
  if (!has_host) return costs;
  HostCosts& host = costs.host.emplace();
  double value = 1;
  for (Quantity* each :
       {&host.enqueue_us, &host.submit_us, &host.start_us, &host.wake_us, &host.cpu_resume_us,
        &host.cpu_cold_us_per_mb, &host.gpu_cold_us_per_mb, &host.queue_us, &host.upload.call_us,
        &host.upload.call_us_per_mb, &host.upload.rest_us, &host.upload.rest_us_per_mb,
        &host.download.call_us, &host.download.call_us_per_mb, &host.download.rest_us,
        &host.download.rest_us_per_mb})
    each->value = value += 1.5;
  return costs;
}

TEST_CASE("more bytes never cost less, and without any a synchronisation costs something") {
  for (const bool has_host : {false, true})
    for (const Sharing sharing : kSharings)
      for (const bool to_gpu : {false, true}) {
        TransferCosts costs = costs_of(has_host);
        costs.sharing = sharing;
        double previous_us = 0;
        for (const double bytes : {0.0, 1.0, 1e3, 1e6, 3e6, 1e9}) {
          const double us = costs.synchronisation_us(bytes, to_gpu);
          CAPTURE(has_host, to_gpu, bytes);
          CHECK(us > previous_us - 1e-9);
          CHECK(us > 0);
          previous_us = us;
        }
      }
}

TEST_CASE("a map and a copy are on top of what memory that both can write costs") {
  for (const bool has_host : {false, true})
    for (const bool to_gpu : {false, true}) {
      TransferCosts costs = costs_of(has_host);
      const double fine_us = costs.synchronisation_us(3e6, to_gpu);
      costs.sharing = Sharing::SubBuffer;
      CHECK(costs.synchronisation_us(3e6, to_gpu) == Approx(fine_us + costs.map_time_us(3e6)));
      costs.sharing = Sharing::Separate;
      const double queue_us = has_host ? costs.host->queue_us.value : 0;
      CHECK(costs.synchronisation_us(3e6, to_gpu) ==
            Approx(fine_us + costs.copy_call_time_us(3e6, to_gpu) +
                   costs.copy_time_us(3e6, to_gpu) + queue_us));
    }
}

TEST_CASE("what is known of the host's calls takes the place of the round trip and of the copy") {
  for (const Sharing sharing : kSharings)
    for (const bool to_gpu : {false, true}) {
      TransferCosts costs = costs_of(true);
      costs.sharing = sharing;
      const double us = costs.synchronisation_us(3e6, to_gpu);
      costs.sync_us.value = costs.copy_us_per_mb.value = 1e6;
      CHECK(costs.synchronisation_us(3e6, to_gpu) == us);
    }
  CHECK(costs_of(false).enqueue_time_us() == 0);
  CHECK(costs_of(false).copy_call_time_us(3e6, true) == 0);
}

TEST_CASE("each direction waits by the kind that takes less, where the queues share memory") {
  for (const bool has_host : {false, true})
    for (const Sharing sharing : kSharings)
      for (const bool to_gpu : {false, true}) {
        TransferCosts costs = costs_of(has_host);
        costs.sharing = sharing;
        const double event_us = costs.wait_us(3e6, to_gpu);
        CHECK(costs.wait_kind(to_gpu) == WaitKind::Event);
        costs.flags = {{to_gpu ? 1e6 : 0.5, Origin::Assumed, ""},
                       {to_gpu ? 0.5 : 1e6, Origin::Assumed, ""}};
        const bool has_flag = sharing != Sharing::Separate;
        CAPTURE(has_host, to_gpu, event_us);
        CHECK((costs.wait_kind(to_gpu) == WaitKind::Flag) == has_flag);
        CHECK(costs.wait_kind(!to_gpu) == WaitKind::Event);
        const double by_event_us = !has_host ? costs.sync_us.value
                                   : to_gpu
                                       ? costs.host->submit_us.value + costs.host->start_us.value
                                       : costs.host->wake_us.value;
        CHECK(costs.wait_us(3e6, to_gpu) ==
              Approx(has_flag ? event_us - by_event_us + 0.5 : event_us));
      }
}

TEST_CASE("what synchronisations take is as certain as the flags that plans use") {
  TransferCosts costs = costs_of(false);
  costs.sync_us.origin = Origin::Measured;
  CHECK(costs.sync_origin() == Origin::Measured);
  costs.flags = {{1, Origin::Assumed, ""}, {1, Origin::Measured, ""}};
  CHECK(costs.sync_origin() == Origin::Assumed);
  costs.flags->to_cpu_us.value = 100;  // no plan uses it
  CHECK(costs.sync_origin() == Origin::Measured);
}

TEST_CASE("a quantity of one direction counts in that one, once") {
  struct Counted {
    Quantity HostCosts::*what;
    bool to_gpu;
    bool by_bytes;
  };
  for (const Counted& counted :
       {Counted{&HostCosts::submit_us, true, false}, Counted{&HostCosts::start_us, true, false},
        Counted{&HostCosts::wake_us, false, false},
        Counted{&HostCosts::cpu_resume_us, false, false},
        Counted{&HostCosts::cpu_cold_us_per_mb, false, true},
        Counted{&HostCosts::gpu_cold_us_per_mb, true, true}})
    for (const Sharing sharing : kSharings)
      for (const bool to_gpu : {false, true}) {
        TransferCosts costs = costs_of(true);
        costs.sharing = sharing;
        const double before_us = costs.synchronisation_us(3e6, to_gpu);
        ((*costs.host).*counted.what).value += 1;
        const double more_us = costs.synchronisation_us(3e6, to_gpu) - before_us;
        const double megabytes = counted.by_bytes ? 3 : 1;
        CHECK(more_us == Approx(to_gpu == counted.to_gpu ? megabytes : 0).margin(1e-9));
      }
}

}  // namespace
}  // namespace codl::compiler
