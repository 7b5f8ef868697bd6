#include "compiler/device/busy_profile.h"

namespace codl::compiler {

DeviceProfile busy_profile(DeviceProfile profile) {
  const auto slow_down = [](Quantity& us) { us.value *= kBusySlowdown; };
  for (const KernelInfo& kernel : kKernelInfos) {
    if (kernel.processor != Processor::Cpu) continue;
    Shares& shares = profile.kernels[kernel.id - 1].shares;
    for (double& share : shares.of) share *= kBusySlowdown;
    for (int32_t i = 0; i < shares.joint_count; ++i) shares.joint[i].share *= kBusySlowdown;
  }
  profile.cpu_slow_down *= kBusySlowdown;
  slow_down(profile.launch_us);  // the host enqueues
  profile.transfer.sync_us.value += kBusySyncUs;
  if (profile.transfer.host) {
    HostCosts& host = *profile.transfer.host;
    for (Quantity* us : {&host.enqueue_us, &host.submit_us, &host.cpu_resume_us,
                         &host.upload.call_us, &host.download.call_us})
      slow_down(*us);
    if (host.recorded_us) slow_down(*host.recorded_us);
    host.wake_us.value += kBusySyncUs;
  }
  if (profile.transfer.flags) profile.transfer.flags->to_cpu_us.value += kBusySyncUs;
  return profile;
}

}  // namespace codl::compiler
