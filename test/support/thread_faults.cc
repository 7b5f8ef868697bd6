#include "test/support/thread_faults.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <memory>

namespace codl::test {
namespace {

constexpr std::chrono::seconds kMaxHeld(5);

std::atomic<int> granted_count = INT_MAX;
std::atomic<bool> is_holding = false;
std::atomic<bool> has_given_up = false;

struct Start {
  void* (*routine)(void*);
  void* argument;
};

void* begin_when_released(void* argument) {
  const Start start = *std::unique_ptr<Start>(static_cast<Start*>(argument));
  const auto end = std::chrono::steady_clock::now() + kMaxHeld;
  while (is_holding && !has_given_up) {
    sched_yield();
    if (std::chrono::steady_clock::now() > end) has_given_up = true;
  }
  return start.routine(start.argument);
}

}  // namespace

GrantedThreads::GrantedThreads(int count) { granted_count = count; }
GrantedThreads::~GrantedThreads() { granted_count = INT_MAX; }

HeldThreads::HeldThreads() {
  has_given_up = false;
  is_holding = true;
}
HeldThreads::~HeldThreads() { release(); }
void HeldThreads::release() { is_holding = false; }
bool HeldThreads::gave_up() const { return has_given_up; }

}  // namespace codl::test

// The linker defines these names.
extern "C" {
int __real_pthread_create(pthread_t* out_thread, const pthread_attr_t* attributes,
                          void* (*routine)(void*), void* argument);

int __wrap_pthread_create(pthread_t* out_thread, const pthread_attr_t* attributes,
                          void* (*routine)(void*), void* argument) {
  using namespace codl::test;
  if (granted_count-- <= 0) return EAGAIN;
  if (!is_holding) return __real_pthread_create(out_thread, attributes, routine, argument);
  auto start = std::make_unique<Start>(Start{routine, argument});
  const int error = __real_pthread_create(out_thread, attributes, begin_when_released, start.get());
  if (error == 0) start.release();
  return error;
}
}
