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

WaitKind TransferCosts::wait_kind(bool to_gpu) const {
  if (!flags || sharing == Sharing::Separate) return WaitKind::Event;
  const double event_us = !host    ? sync_us.value
                          : to_gpu ? host->submit_us.value + host->start_us.value
                                   : host->wake_us.value;
  return flag_us_of(to_gpu).value < event_us ? WaitKind::Flag : WaitKind::Event;
}

Origin TransferCosts::sync_origin() const {
  for (const bool to_gpu : {false, true})
    if (wait_kind(to_gpu) == WaitKind::Flag && flag_us_of(to_gpu).origin == Origin::Assumed)
      return Origin::Assumed;
  return sync_us.origin;
}

double TransferCosts::sync_us_of(bool to_gpu) const {
  return wait_kind(to_gpu) == WaitKind::Flag ? flag_us_of(to_gpu).value : sync_us.value;
}

double TransferCosts::wait_us(double bytes, bool to_gpu) const {
  if (!host) return sync_us_of(to_gpu);
  const bool is_by_flag = wait_kind(to_gpu) == WaitKind::Flag;
  const double cold_us_per_mb =
      (to_gpu ? host->gpu_cold_us_per_mb : host->cpu_cold_us_per_mb).value;
  const double event_us =
      to_gpu ? host->submit_us.value + host->start_us.value : host->wake_us.value;
  const double us = cold_us_per_mb * bytes * 1e-6 +
                    (is_by_flag ? flag_us_of(to_gpu).value : event_us) +
                    (to_gpu ? 0 : host->cpu_resume_us.value);
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
