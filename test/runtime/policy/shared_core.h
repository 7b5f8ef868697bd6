// Simulates a core that a thread shares with other processes, for tests of the adaptive policy.
#pragma once

#include <algorithm>

namespace codl::test {

// Describes a core that the host's thread shares with other processes as a scheduler does: each
// computes for a slice in its turn, so a run's time jumps by whole slices. The thread polls for the
// GPU, which uses up its slice, too.
class SharedCore {
 public:
  // `left_us` is the rest of the thread's present slice.
  SharedCore(float slice_us, float left_us) : slice_us_(slice_us), left_us_(left_us) {}
  void set_others(int others) { others_ = others; }

  // Returns the time that passes until the thread has had the core for `us`.
  float compute_us(float us) {
    float wall_us = 0;
    while (us > left_us_) {
      us -= left_us_;
      wall_us += left_us_ + wait_for_turn();
    }
    left_us_ -= us;
    return wall_us + us;
  }

  // Returns the time that passes until `us` are over and the thread has its turn.
  float poll_us(float us) {
    float wall_us = 0;
    while (wall_us < us) {
      const float used_us = std::min(us - wall_us, left_us_);
      wall_us += used_us;
      left_us_ -= used_us;
      if (left_us_ <= 0) wall_us += wait_for_turn();
    }
    return wall_us;
  }

 private:
  float wait_for_turn() {
    left_us_ = slice_us_;
    return static_cast<float>(others_) * slice_us_;
  }

  float slice_us_;
  float left_us_;
  int others_ = 0;
};

}  // namespace codl::test
