#include "compiler/cost/transfer.h"

namespace codl::compiler {

double TransferCosts::copy_call_time_us(double bytes, bool to_gpu) const {
  if (!host) return 0;
  const CopyCosts& copy = to_gpu ? host->upload : host->download;
  return copy.call_us.value + copy.call_us_per_mb.value * bytes * 1e-6;
}

double TransferCosts::copy_time_us(double bytes, bool to_gpu) const {
  if (!host) return copy_us_per_mb.value * bytes * 1e-6;
  const CopyCosts& copy = to_gpu ? host->upload : host->download;
  return copy.rest_us.value + copy.rest_us_per_mb.value * bytes * 1e-6;
}

double TransferCosts::map_time_us(double bytes) const {
  return map_us.value + map_us_per_mb.value * bytes * 1e-6;
}

double TransferCosts::wait_us(double bytes, bool to_gpu) const {
  if (!host) return sync_us.value;
  const double cold_us_per_mb =
      (to_gpu ? host->gpu_cold_us_per_mb : host->cpu_cold_us_per_mb).value;
  const double us =
      cold_us_per_mb * bytes * 1e-6 + (to_gpu ? host->submit_us.value + host->start_us.value
                                              : host->wake_us.value + host->cpu_resume_us.value);
  // A copy is in a queue of its own.
  return sharing == Sharing::Separate ? us + copy_call_time_us(bytes, to_gpu) + host->queue_us.value
                                      : us;
}

double TransferCosts::synchronisation_us(double bytes, bool to_gpu) const {
  const double us = wait_us(bytes, to_gpu);
  switch (sharing) {
    case Sharing::None:
    case Sharing::FineSvm:
      return us;
    case Sharing::SubBuffer:
      return us + map_time_us(bytes);
    case Sharing::Separate:
      return us + copy_time_us(bytes, to_gpu);
  }
  __builtin_unreachable();
}

}  // namespace codl::compiler
