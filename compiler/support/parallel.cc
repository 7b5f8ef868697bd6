#include "compiler/support/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace codl::compiler {
namespace {

// Keeps, of the failures of several threads, the one of the least number.
class FirstFailure {
 public:
  void add(size_t number, llvm::Error error, std::exception_ptr exception) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (number >= number_) return llvm::consumeError(std::move(error));
    llvm::consumeError(std::move(error_));
    number_ = number;
    error_ = std::move(error);
    exception_ = std::move(exception);
  }
  llvm::Error take() {
    if (!exception_) return std::move(error_);
    llvm::consumeError(std::move(error_));
    std::rethrow_exception(exception_);
  }

 private:
  std::mutex mutex_;
  size_t number_ = SIZE_MAX;
  llvm::Error error_ = llvm::Error::success();
  std::exception_ptr exception_;
};

}  // namespace

llvm::Error for_each_at_once(size_t count, llvm::function_ref<llvm::Error(size_t i)> work) {
  std::atomic<size_t> next = 0;
  std::atomic<bool> has_failed = false;
  FirstFailure failure;
  const auto run = [&] {
    for (size_t i; !has_failed && (i = next++) < count;) {
      try {
        llvm::Error error = work(i);
        if (!error) continue;
        failure.add(i, std::move(error), nullptr);
      } catch (...) {
        failure.add(i, llvm::Error::success(), std::current_exception());
      }
      has_failed = true;
    }
  };
  const size_t most = std::max<size_t>(std::thread::hardware_concurrency(), 1);
  std::vector<std::thread> helpers;
  try {
    while (helpers.size() + 1 < std::min(most, count)) helpers.emplace_back(run);
  } catch (const std::system_error&) {
    // The system gives no more threads: the present ones do the work.
  }
  run();
  for (std::thread& helper : helpers) helper.join();
  return failure.take();
}

}  // namespace codl::compiler
