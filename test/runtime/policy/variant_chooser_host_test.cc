// Tests the adaptive policy where the host chooses, too, and where plans predict absurd times. Runs
// take the times that the tests give, without noise.
#include <cmath>
#include <string>
#include <vector>

#include "test/runtime/policy/planned_chooser.h"

namespace codl::test {
namespace {

constexpr float kUs = 20000;  // each run is a look

class Chooser {
 public:
  explicit Chooser(const std::vector<float>& predicted_us) : chooser_(predicted_us) {}

  // The host names a variant. `is_held`: it refuses to leave it, as a hint makes it do.
  void set(size_t variant, bool is_held) {
    used_ = variant;
    is_held_ = is_held;
  }
  void release() { is_held_ = false; }

  // Returns how many of the runs use `variant`.
  int run(const std::vector<float>& us, int count, size_t variant) {
    int runs = 0;
    for (int i = 0; i < count; ++i) {
      runs += used_ == variant ? 1 : 0;
      const size_t next = chooser_->next(used_, {us[used_], 0});
      if (!is_held_) used_ = next;
    }
    return runs;
  }
  const policy::VariantChooser& chooser() const { return *chooser_; }

 private:
  PlannedChooser chooser_;
  size_t used_ = 0;
  bool is_held_ = false;
};

TEST_CASE("the session goes on from the variant that the host names") {
  Chooser chooser({kUs, kUs});
  chooser.run({kUs, kUs}, 100, 0);
  chooser.set(1, false);
  CHECK(chooser.run({kUs, kUs}, 200, 1) >= 150);
}

TEST_CASE("that a variant takes more than predicted when the host first names it is no load") {
  Chooser chooser({kUs, 5 * kUs});
  CHECK(chooser.run({kUs, 25 * kUs}, 100, 0) == 100);
  chooser.set(1, false);
  CHECK(chooser.run({kUs, 25 * kUs}, 2, 1) == 2);
  CHECK(chooser.chooser().expected_us(1) == 25 * kUs);
  CHECK(chooser.chooser().expected_us(0) == kUs);
  CHECK(chooser.run({kUs, 25 * kUs}, 100, 0) == 100);
}

TEST_CASE("a variant that was hinted for long is looked at again soon, and left for a better one") {
  Chooser chooser({kUs, 1.2f * kUs});
  chooser.run({kUs, 1.2f * kUs}, 100, 0);
  chooser.set(1, true);
  CHECK(chooser.run({kUs, 1.2f * kUs}, 20000, 1) == 20000);
  chooser.release();
  CHECK(chooser.run({kUs, 1.2f * kUs}, 100, 0) >= 90);
  CHECK(chooser.run({kUs, kUs / 2}, 2000, 1) >= 1000);
}

TEST_CASE("that a hint refused a variant is no reason to look at it later") {
  Chooser chooser({kUs, 1.2f * kUs});
  chooser.run({kUs, 1.2f * kUs}, 1000, 0);
  chooser.set(0, true);
  chooser.run({kUs, 1.2f * kUs}, 20000, 0);
  chooser.release();
  CHECK(chooser.run({kUs, kUs / 2}, 100, 1) >= 90);
}

TEST_CASE("load on a variant that was hinted is noticed while the hint holds") {
  Chooser chooser({kUs, 1.2f * kUs});
  chooser.run({kUs, 1.2f * kUs}, 100, 0);
  chooser.set(1, true);
  chooser.run({kUs, 1.2f * kUs}, 1000, 0);
  chooser.run({2 * kUs, 2.4f * kUs}, 1000, 0);
  CHECK(chooser.chooser().expected_us(0) > 1.9f * kUs);
}

TEST_CASE("whatever is predicted, what is expected is finite") {
  const std::vector<float> predictions = {1e-45f, 0, 2.9e38f, 1e-30f, 1};
  for (size_t first = 0; first < predictions.size(); ++first) {
    Chooser chooser(predictions);
    chooser.set(first, false);
    for (const float us : {kUs, 0.0f, 1e6f, kUs})
      for (int i = 0; i < 50; ++i) {
        chooser.run(std::vector<float>(predictions.size(), us), 1, 0);
        for (size_t k = 0; k < predictions.size(); ++k) {
          CAPTURE(first, us, i, k);
          REQUIRE(std::isfinite(chooser.chooser().expected_us(k)));
        }
      }
  }
}

}  // namespace
}  // namespace codl::test
