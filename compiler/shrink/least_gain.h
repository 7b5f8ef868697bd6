// Says for which least gain a rewrite that changes a network's results is worth it.
#pragma once

namespace codl::compiler {

// Share of the untouched plan's predicted latency. Every rewrite costs accuracy, and a smaller gain
// is nothing that a prediction can tell. Assumed: of a hundred rewrites each may be this small and
// all of them save a fifth.
inline constexpr double kMinGain = 0.002;

// `least` is the share asked for; 0 where whatever saves time may be needed, as for a latency cut.
inline bool is_worth_it(double before_us, double after_us, double untouched_us,
                        double least = kMinGain) {
  return before_us - after_us >= least * untouched_us;
}

}  // namespace codl::compiler
