// How the features of a CPU step are counted: what cpu_features.cc and the files beside it share.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

#include "kernels/common/step_work.h"
#include "kernels/kernel_table.h"

namespace codl::kernels {

// How long a lane takes, in tasks of a worker that has its core to itself, where one worker has not
// and is slower: the mean over slownesses up to a quarter. Whoever is done takes the next task, so
// one that is left over costs less than its time, and an even share more.
inline double crowded_time(int32_t task_count, int32_t thread_count) {
  if (task_count == 1 || thread_count == 1) return task_count;
  constexpr int kSlownesses = 8;
  double sum = 0;
  for (int i = 0; i < kSlownesses; ++i) {
    const double slow = 1 + 0.25 * (i + 0.5) / kSlownesses;
    // What the slow one takes: a task if some are left when it has done those before.
    const int32_t others = thread_count - 1;
    auto taken = static_cast<int32_t>((task_count - 1) / (others * slow + 1)) + 1;
    while (others * std::ceil((taken - 1) * slow) + (taken - 1) >= task_count) --taken;
    sum += std::max(taken * slow, static_cast<double>(ceil_div(task_count - taken, others)));
  }
  return sum / kSlownesses;
}

// The features of one step in the making. Numbers are given as counts of the whole step.
class CpuFeatures {
 public:
  CpuFeatures(const StepShape& step, int32_t thread_count, int32_t vector_lanes, Features* features)
      : step_(step), features_(features), thread_count_(thread_count), vector_lanes_(vector_lanes) {
    StepNeeds needs;
    check_step(step, &needs);
    task_count_ = needs.task_count;
    factor_ = crowded_time(needs.task_count, thread_count) * thread_count / needs.task_count;
    is_shared_ = needs.task_count > 1 && thread_count > 1;
    is_alone_ = needs.task_count == 1 && thread_count > 1;
    for (uint32_t i = 0; i < features->count; ++i) {
      const std::string_view name = features->items[i].name;
      if (name == "steps") continue;
      if (name == "mbytes" || name == "weight_mbytes") mbytes_ += features->items[i].value;
      features->items[i].value *= factor_;
    }
    once("shares", is_shared_ ? 1 : 0);
  }

  const StepShape& step() const { return step_; }
  int32_t vector_lanes() const { return vector_lanes_; }
  // Vectors of a pixel's channels lie across two cache lines: where pixels do not begin with whole
  // vectors.
  bool is_unaligned(const OperandShape& map) const {
    return padded_channels(map) % vector_lanes_ != 0;
  }
  // The share of a run's vectors that lie across two cache lines where runs of so many elements
  // follow each other: off the lines, each of 16 lanes, and every second of 8.
  double crossing_share(int64_t run_elements) const {
    const auto vector = static_cast<double>(vector_lanes_);
    const auto step = static_cast<double>(std::gcd(run_elements, int64_t{kChannelPanel}));
    return std::max(1 - step / vector, 0.0) * vector / kChannelPanel;
  }
  double crossing_share(const OperandShape& map) const {
    return crossing_share(padded_channels(map));
  }
  // Of the first-level cache, whose sets are 64 lines of 64 bytes: processors with vectors of 16
  // lanes have 48 KiB, the others 32.
  int32_t first_level_ways() const { return vector_lanes_ == 16 ? 12 : 8; }
  // Million bytes of the whole step, as its operator counts them.
  double mbytes() const { return mbytes_; }
  // More than one worker has tasks.
  bool is_shared() const { return is_shared_; }

  // The consecutive tasks of each worker where none steals, and the pieces in which it takes them:
  // CpuPool::run().
  template <typename Visit>
  void each_share(Visit visit) const {
    for (int32_t worker = 0; worker < thread_count_; ++worker) {
      const auto begin = static_cast<int32_t>(int64_t{task_count_} * worker / thread_count_);
      const auto end = static_cast<int32_t>(int64_t{task_count_} * (worker + 1) / thread_count_);
      if (begin < end) visit(begin, end);
    }
  }
  template <typename Visit>
  void each_piece(Visit visit) const {
    each_share([&](int32_t begin, int32_t end) {
      while (begin < end) {
        // One worker takes all at once.
        const int32_t next = thread_count_ == 1 ? end : end - (end - begin) / 2;
        visit(begin, next);
        begin = next;
      }
    });
  }

  // What the busiest worker reads of something that tasks share if they are the same of `count`
  // blocks of it, in the step's whole: times the workers, as all counts are.
  double sharers(double count) const {
    const double busy = is_shared_ ? thread_count_ : 1;
    return std::ceil(count / busy) * thread_count_ / count;
  }

  // Of the step, however it is cut.
  void once(const char* name, double count) { put(name, count); }
  void thousands(const char* name, double count) { put(name, count * factor_ * 1e-3); }
  void millions(const char* name, double count) { put(name, count * factor_ * 1e-6); }

  // `mbytes` in runs of `run_bytes` each, read and written: what a run costs before its first byte
  // is hidden behind the bytes of a long one, so short ones count as if they had some more.
  void runs(double mbytes, double run_bytes) {
    thousands("kruns", mbytes / run_bytes * 1e3);
    struct Least {
      double bytes;
      const char* name;
    };
    constexpr Least kLeasts[] = {{256, "mbytes_by_256"},
                                 {512, "mbytes_by_512"},
                                 {768, "mbytes_by_768"},
                                 {1024, "mbytes_by_1024"}};
    for (const Least& least : kLeasts)
      millions(least.name, mbytes * 1e6 * std::max(1.0, least.bytes / run_bytes));
  }

  // A step that waits for memory: how much of it lies beyond what caches may hold, times the share
  // of its time that computing does not hide. One task finds half of its inputs in the other cores'
  // caches, which shows unless all is one run. Caches below `least_mbytes` do not show where steps
  // wait for other things.
  void traffic(double share = 1, bool is_run = false, double least_mbytes = 0.25) {
    struct Level {
      double mbytes;
      const char* name;
    };
    constexpr Level kLevels[] = {
        {0.1, "mbytes_over_0.1"}, {0.25, "mbytes_over_0.25"}, {0.5, "mbytes_over_0.5"},
        {1, "mbytes_over_1"},     {2, "mbytes_over_2"},       {4, "mbytes_over_4"},
        {8, "mbytes_over_8"},     {16, "mbytes_over_16"},     {32, "mbytes_over_32"},
    };
    for (const Level& level : kLevels)
      if (level.mbytes >= least_mbytes) over(level.mbytes, level.name, share);
    put("alone_mbytes", is_alone_ && !is_run ? mbytes_ * factor_ : 0);
  }

  // What a cache of so many bytes does not hold of a step's, times `share`: what is touched in the
  // same order again and again, so one byte too many costs two, and from twice the size on nothing
  // is left of the time before.
  void over(double mbytes, const char* name, double share = 1) {
    const double beyond = std::min(footprint_mbytes() / mbytes - 1, 1.0);
    put(name, share * mbytes_ * swept_ * factor_ * beyond);
  }

  // Bytes that come from beyond the caches for each that is touched: lines are among others, of
  // which what fetches ahead fetches some. Before traffic().
  void sweep(double bytes_per_byte) {
    swept_ = bytes_per_byte;
    is_swept_ = true;
  }

  // Of `count`, what the busiest worker has more than an even cut into tasks gives it, if it has
  // `busy_share` of all: times the workers, as all counts are.
  void uneven(const char* name, double count, double busy_share) {
    if (is_shared_) put(name, count * 1e-6 * std::max(busy_share * thread_count_ - factor_, 0.0));
  }

  // Bytes of the busiest worker as far as nothing fetches them ahead of time yet.
  void first_bytes() {
    constexpr double kFirstMbytes = 0.02;
    put("first_mbytes",
        std::min(mbytes_ * factor_, kFirstMbytes * static_cast<double>(thread_count_)));
  }

  // Of workers that take tasks again and again: how often each begins anew.
  void begins() {
    int32_t pieces = 0;
    each_piece([&](int32_t, int32_t) { ++pieces; });
    if (is_shared_) put("begins", static_cast<double>(pieces) / thread_count_);
  }

  // Bytes of inputs that are counted as read, and are not.
  void skip(double bytes) {
    for (uint32_t i = 0; i < features_->count; ++i)
      if (std::string_view(features_->items[i].name) == "mbytes")
        features_->items[i].value -= bytes * factor_ * 1e-6;
    mbytes_ -= bytes * 1e-6;
  }

  // A feature of the operator that says nothing more of this row.
  void leave_out(std::string_view name) {
    for (uint32_t i = 0; i < features_->count; ++i)
      if (features_->items[i].name == name) features_->items[i].value = 0;
  }

  // What workers take from each other's second-level caches: the rest lies in the cache that they
  // share, which is faster.
  void near() {
    constexpr double kNearMbytes = 1.5;  // of a worker
    if (thread_count_ > 1)
      put("near_mbytes", std::min(mbytes_ * factor_, kNearMbytes * thread_count_));
  }

  // Pixels of which a part of channels is read and written: what fetches lines ahead fetches those
  // of the other channels, too, as far as they are near.
  void swept(double pixels, double most_bytes = 512) {
    const double pixel_bytes = padded_channels(step_.output()) * static_cast<double>(sizeof(float));
    millions("swept_mbytes", 2 * pixels * std::min(pixel_bytes, most_bytes));
  }

  // Bytes of runs, or of a part of each pixel's channels: workers find them among lines that lie in
  // the other cores' caches.
  void apart(const char* name = "apart_mbytes") {
    put(name, thread_count_ > 1 ? mbytes_ * factor_ : 0);
  }
  void apart_channels() {
    if (has_pixels(step_.output()) && step_.part_dim == SplitDim::OutputChannel) apart();
  }

  // Pixels of which a part of channels touches some: beyond the caches each is a place of its own
  // in memory.
  void pieces(double count) {
    const double over = footprint_mbytes() - 1;
    if (over > 0) thousands("kpieces_over_1", count * std::min(over, 1.0));
  }

 private:
  // Of a part of a pixel's channels, or of a row's columns, the lines lie among those of the
  // others.
  double footprint_mbytes() const {
    if (is_swept_) return mbytes_ * swept_;
    const OperandShape& y = step_.output();
    if (step_.part_dim != SplitDim::OutputChannel || !(has_pixels(y) || y.rank == 2))
      return mbytes_;
    return mbytes_ * y.dims[1] / channels_of_part(step_.part_dim, step_.part, y).count();
  }

  void put(const char* name, double value) {
    if (value > 0) features_->add(name, value);
  }

  const StepShape& step_;
  Features* features_;
  int32_t thread_count_;
  int32_t vector_lanes_;
  int32_t task_count_ = 1;
  double factor_ = 1;
  double mbytes_ = 0;
  double swept_ = 1;
  bool is_swept_ = false;
  bool is_shared_ = false;
  bool is_alone_ = false;
};

// What a part of a map has.
struct MapPart {
  double pixels;
  double channels;
  bool is_whole;  // every channel
};

inline MapPart map_part(const StepShape& step) {
  const OperandShape& y = step.output();
  const Range channels = channels_of_part(step.part_dim, step.part, y);
  return {static_cast<double>(y.dims[0]) * rows_of_part(step.part_dim, step.part, y).count() *
              y.dims[3],
          static_cast<double>(channels.count()), channels.count() == y.dims[1]};
}

// Channels as loops along them have them: so many vectors at once, single vectors, and what is left
// in vectors of four.
struct Strips {
  double groups;
  double singles;
  double narrow;

  double count() const { return groups + singles + narrow; }
};

inline Strips strips_of(double channels, int32_t vectors, int32_t vector_lanes) {
  const double groups = std::floor(channels / (vectors * vector_lanes));
  const double rest = channels - groups * vectors * vector_lanes;
  const double singles = std::floor(rest / vector_lanes);
  return {groups, singles, std::ceil((rest - singles * vector_lanes) / kChannelPad)};
}

// Elements that the step writes.
inline double count_of(const StepShape& step) { return static_cast<double>(part_elements(step)); }

// Names under which the members of Unary count that are more than limits.
struct CurveNames {
  const char* elements;
  const char* step;
};

// Null names: limits.
CurveNames curve_names(int32_t kind);

// The activation of an operator that has one.
int32_t activation_of(const StepShape& step);

// By kernel: cpu_features_copies.cc, cpu_features_loops.cc, cpu_features_tiles.cc.
void count_concat(CpuFeatures& out);
void count_transpose(CpuFeatures& out);
void count_convert(CpuFeatures& out);
void count_depth_to_space(CpuFeatures& out);
void count_pad(CpuFeatures& out);
void count_pool2d(CpuFeatures& out);
void count_softmax(CpuFeatures& out);
void count_normalize(CpuFeatures& out);
void count_resize(CpuFeatures& out);
void count_depthwise_conv2d(CpuFeatures& out);
void count_conv2d(CpuFeatures& out);
void count_matmul(CpuFeatures& out);
void count_batch_matmul(CpuFeatures& out);

}  // namespace codl::kernels
