// Simulates a system that has few threads, or no core for them, for code that is linked with
// -Wl,--wrap=pthread_create.
#pragma once

namespace codl::test {

// While it lives, the system grants only so many more threads.
class GrantedThreads {
 public:
  explicit GrantedThreads(int count);
  GrantedThreads(const GrantedThreads&) = delete;
  GrantedThreads& operator=(const GrantedThreads&) = delete;
  ~GrantedThreads();
};

// Threads that are created while it lives get no core until release(). It gives up in the end, so
// that a test that waits for the threads fails and does not hang.
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
