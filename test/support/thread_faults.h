// What a system does that has no core for threads: to code that is linked with
// -Wl,--wrap=pthread_create.
#pragma once

namespace codl::test {

// Threads that are created while it lives get no core until release(). It gives up in the end, so
// that a test whose threads are waited for fails and does not hang.
class HeldThreads {
 public:
  HeldThreads();
  HeldThreads(const HeldThreads&) = delete;
  HeldThreads& operator=(const HeldThreads&) = delete;
  ~HeldThreads();

  void release();
  bool gave_up() const;
};

}  // namespace codl::test
