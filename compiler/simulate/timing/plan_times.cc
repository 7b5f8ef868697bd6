#include "compiler/simulate/timing/plan_times.h"

#include <algorithm>
#include <array>
#include <vector>

#include "compiler/partition/segment_steps.h"
#include "compiler/partition/step_times.h"
#include "compiler/schedule/step_access.h"
#include "compiler/simulate/timing/host_steps.h"
#include "compiler/simulate/timing/known_value_tensors.h"
#include "compiler/simulate/timing/queue_clock.h"
#include "compiler/simulate/timing/weight_count.h"
#include "compiler/support/error.h"
#include "schema/mix_bits.h"

namespace codl::compiler {

class PlanTimes::State {
 public:
  State(const ir::Graph& graph, const LatencyPredictor& predictor)
      : graph_(graph),
        times_(graph, predictor, value_tensors_),
        weights_(graph, predictor.profile()),
        conditions_(predictor.profile(), {}),
        sync_us_{sync_us(predictor, Queue::Cpu), sync_us(predictor, Queue::Gpu),
                 sync_us(predictor, Queue::Transfer)},
        placer_(graph, predictor.profile()),
        value_tensors_(graph.values().size()),
        tensors_ids_(graph.values().size()),
        known_places_(placer_, graph.values().size()),
        states_(graph.values().size()),
        touches_(graph.values().size()),
        is_changed_(graph.values().size()),
        segments_(graph.nodes().size()),
        begins_(graph.nodes().size()),
        emitter_(graph, predictor.profile(), value_tensors_, states_),
        host_(graph, predictor) {}

  llvm::Expected<double> time_us(const PartitionPlan& plan) {
    if (times_.set_weight_mbytes(weights_.mbytes_of(plan))) forget();
    if (llvm::Error error = update_fragments(plan)) {
      forget();
      return error;
    }
    order_steps();
    return host_.has_calls() ? host_.time_us(queues_) : simulate();
  }

 private:
  // At most this many are kept per segment: more are seldom asked for again.
  static constexpr size_t kKnownFragments = 8;

  // Says where a step is: the first node of its segment, and its number among that segment's steps
  // of its queue.
  struct StepRef {
    ir::NodeId segment = ir::kNoId;
    uint32_t index = 0;
    friend bool operator==(const StepRef&, const StepRef&) = default;
  };

  // Holds, by queue, the last step there that must be done before, or kNoId.
  using Needs = std::array<StepRef, kQueueCount>;

  struct TimedStep {
    uint8_t queue = 0;
    StepTime time;
    llvm::SmallVector<Access, 6> accesses;
    Needs needs;
    Step listed;  // HostSteps::step_of(), where the host's calls have a time
  };

  // Holds the steps of a segment. They follow from its nodes' parts, from where the values live
  // that it touches, and from the states of these before it.
  struct Fragment {
    uint64_t key = 0;  // key of the parts
    std::vector<TimedStep> steps;
    std::array<uint32_t, kQueueCount> queue_counts = {};
    llvm::SmallVector<ir::ValueId, 8> values;    // that it touches
    llvm::SmallVector<uint32_t, 8> tensors_ids;  // theirs
    llvm::SmallVector<ValueState, 8> before;
    llvm::SmallVector<ValueState, 8> behind;
  };

  // Holds the segments that have begun with a node, the last one first. A search goes back from
  // most of the plans that it looks at, and comes again to some of them.
  struct SegmentAt {
    bool is_there = false;  // in the plan at hand, or in the one before
    bool is_new = false;    // made, or with other needs, for the plan at hand
    llvm::SmallVector<std::unique_ptr<Fragment>, kKnownFragments> known;
    Fragment& now() const { return *known.front(); }
  };

  // Records one access to a value, in the order of the list.
  struct ValueTouch {
    ir::NodeId segment;
    uint32_t step;   // number among the segment's steps
    uint32_t index;  // number among its queue's
    uint8_t queue;
    Access access;
  };

  // ---- segments

  static ir::NodeId segment_of(llvm::ArrayRef<ir::NodeId> firsts, ir::NodeId node) {
    return *std::prev(std::upper_bound(firsts.begin(), firsts.end(), node));
  }

  // Forgets all after an error: the next plan is timed from the start.
  void forget() {
    std::vector<SegmentAt>(segments_.size()).swap(segments_);
    for (std::vector<ValueTouch>& touches : touches_) touches.clear();
    node_partitions_.clear();
    firsts_.clear();
    checkpoints_.clear();
  }

  llvm::Error update_fragments(const PartitionPlan& plan) {
    const auto node_count = static_cast<ir::NodeId>(plan.node_partitions.size());
    changed_values_.clear();
    std::fill(is_changed_.begin(), is_changed_.end(), 0);
    const bool is_first = node_partitions_.empty();
    if (is_first) {
      node_partitions_ = plan.node_partitions;
      for (ir::ValueId value = 0; value < graph_.values().size(); ++value)
        if (!graph_.value(value).is_constant) {
          place(plan, value);
          note_changed(value);
          states_[value] = ValueState(value_tensors_[value]);
        }
    }
    std::vector<ir::NodeId> firsts;
    for (ir::NodeId first = 0; first < node_count; first = last_of_segment(plan, first) + 1)
      firsts.push_back(first);
    if (!is_first) drop_changed(plan, firsts);
    firsts_ = std::move(firsts);
    // Values of segments that are dropped are changed; so are those of segments that see another
    // state of them.
    for (ir::NodeId first : firsts_) {
      SegmentAt& segment = segments_[first];
      segment.is_new = false;
      if (segment.is_there) {
        const Fragment& fragment = segment.now();
        if (has_same_states(fragment)) {
          for (size_t i = 0; i < fragment.values.size(); ++i)
            if (is_changed_[fragment.values[i]]) states_[fragment.values[i]] = fragment.behind[i];
          continue;
        }
        for (size_t i = 0; i < fragment.values.size(); ++i)
          if (!is_changed_[fragment.values[i]]) states_[fragment.values[i]] = fragment.before[i];
        drop(first);
      }
      if (llvm::Error error = take_fragment(plan, first)) return error;
    }
    for (ir::NodeId first : firsts_)
      if (llvm::any_of(segments_[first].now().values,
                       [&](ir::ValueId value) { return is_changed_[value] != 0; }))
        find_needs(first);
    return llvm::Error::success();
  }

  bool has_same_states(const Fragment& fragment) const {
    for (size_t i = 0; i < fragment.values.size(); ++i)
      if (is_changed_[fragment.values[i]] && !(states_[fragment.values[i]] == fragment.before[i]))
        return false;
    return true;
  }

  // A value that is changed has the state before the first step, until segments have changed it.
  void note_changed(ir::ValueId value) {
    if (is_changed_[value]) return;
    is_changed_[value] = 1;
    changed_values_.push_back(value);
  }

  // Returns false if the value lives where it did.
  bool place(const PartitionPlan& plan, ir::ValueId value) {
    const KnownValueTensors::Known& known = known_places_.of(value, placer_.use_of(plan, value));
    if (known.id == tensors_ids_[value]) return false;
    value_tensors_[value] = known.value_tensors;
    tensors_ids_[value] = known.id;
    if (host_.has_calls()) host_.place(value, known.value_tensors);
    return true;
  }

  // Drops the segments that are no longer as they were, and all that touch a value that lives
  // elsewhere now.
  void drop_changed(const PartitionPlan& plan, llvm::ArrayRef<ir::NodeId> firsts) {
    std::vector<ir::ValueId> touched;
    const auto touch = [&](ir::NodeId node) {
      for (ir::ValueId input : graph_.node(node).inputs)
        if (!graph_.value(input).is_constant) touched.push_back(input);
      touched.push_back(graph_.node(node).output);
    };
    // Chains count as well: what is read inside one is not transferred.
    auto now = firsts.begin();
    auto before = firsts_.begin();
    for (ir::NodeId node = 0; node < plan.node_partitions.size(); ++node) {
      if (now != firsts.end() && *now <= node) ++now;
      if (before != firsts_.end() && *before <= node) ++before;
      const ir::NodeId last_now = now == firsts.end() ? ir::kNoId : *now;
      const ir::NodeId last_before = before == firsts_.end() ? ir::kNoId : *before;
      const ir::NodeId first_now = *std::prev(now);
      const ir::NodeId first_before = *std::prev(before);
      if (first_now == first_before && last_now == last_before &&
          is_alike(plan.node_partitions[node], node_partitions_[node]))
        continue;
      node_partitions_[node] = plan.node_partitions[node];
      touch(node);
      if (segments_[first_before].is_there) drop(first_before);
    }
    llvm::sort(touched);
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    for (ir::ValueId value : touched) {
      note_changed(value);
      if (place(plan, value)) {
        for (const TensorPlacer::Reader& reader : placer_.readers(value))
          drop_old_segment_of(reader.node);
        if (graph_.value(value).producer != ir::kNoId)
          drop_old_segment_of(graph_.value(value).producer);
      }
    }
    for (ir::ValueId value : changed_values_) states_[value] = ValueState(value_tensors_[value]);
  }

  void drop_old_segment_of(ir::NodeId node) {
    const ir::NodeId first = segment_of(firsts_, node);
    if (segments_[first].is_there) drop(first);
  }

  void drop(ir::NodeId first) {
    for (ir::ValueId value : segments_[first].now().values) {
      llvm::erase_if(touches_[value],
                     [&](const ValueTouch& touch) { return touch.segment == first; });
      note_changed(value);
    }
    segments_[first].is_there = false;
  }

  // Takes the segment as it is now: known, or made.
  llvm::Error take_fragment(const PartitionPlan& plan, ir::NodeId first) {
    SegmentAt& segment = segments_[first];
    segment.is_there = segment.is_new = true;
    const ir::NodeId last = last_of_segment(plan, first);
    uint64_t key = last;
    for (ir::NodeId node = first; node <= last; ++node)
      key = mix_bits(key ^ key_of(plan.node_partitions[node]));
    auto& known = segment.known;
    auto at = llvm::find_if(
        known, [&](const auto& fragment) { return fragment->key == key && is_as_now(*fragment); });
    if (at == known.end()) {
      if (known.size() < kKnownFragments) known.push_back(std::make_unique<Fragment>());
      at = known.end() - 1;
      (*at)->key = key;
      if (llvm::Error error = make_fragment(plan, first, last, **at)) return error;
    }
    std::rotate(known.begin(), at, at + 1);
    const Fragment& fragment = segment.now();
    for (size_t i = 0; i < fragment.values.size(); ++i) {
      note_changed(fragment.values[i]);
      states_[fragment.values[i]] = fragment.behind[i];
    }
    std::array<uint32_t, kQueueCount> counts = {};
    for (uint32_t i = 0; i < fragment.steps.size(); ++i) {
      const TimedStep& step = fragment.steps[i];
      for (const Access& access : step.accesses)
        add_touch({first, i, counts[step.queue], step.queue, access});
      ++counts[step.queue];
    }
    return llvm::Error::success();
  }

  bool is_as_now(const Fragment& fragment) const {
    for (size_t i = 0; i < fragment.values.size(); ++i)
      if (fragment.tensors_ids[i] != tensors_ids_[fragment.values[i]] ||
          !(fragment.before[i] == states_[fragment.values[i]]))
        return false;
    return true;
  }

  llvm::Error make_fragment(const PartitionPlan& plan, ir::NodeId first, ir::NodeId last,
                            Fragment& fragment) {
    fragment.steps.clear();
    fragment.queue_counts = {};
    fragment.values = SegmentSteps::values_of(graph_, first, last);
    fragment.tensors_ids.clear();
    fragment.before.clear();
    for (ir::ValueId value : fragment.values) {
      fragment.tensors_ids.push_back(tensors_ids_[value]);
      fragment.before.push_back(states_[value]);
    }
    const auto add = [&](const PlannedStep& planned) -> llvm::Error {
      TimedStep& step = fragment.steps.emplace_back();
      step.queue = static_cast<uint8_t>(planned.queue);
      CODL_ASSIGN_OR_RETURN(time, times_.time(planned));
      step.time = time;
      step.accesses = accesses_of(graph_, planned);
      if (host_.has_calls()) step.listed = host_.step_of(planned);
      ++fragment.queue_counts[step.queue];
      return llvm::Error::success();
    };
    if (llvm::Error error = emitter_.emit(plan, first, last, add)) return error;
    fragment.behind.clear();
    for (ir::ValueId value : fragment.values) fragment.behind.push_back(states_[value]);
    return llvm::Error::success();
  }

  void add_touch(const ValueTouch& touch) {
    std::vector<ValueTouch>& touches = touches_[value_of_tensor(touch.access.tensor)];
    auto at = touches.end();
    while (at != touches.begin() && std::prev(at)->segment > touch.segment) --at;
    touches.insert(at, touch);
  }

  // Finds for each step of the segment the steps of other queues that touch what it touches, if one
  // of both writes.
  void find_needs(ir::NodeId first) {
    Fragment& fragment = segments_[first].now();
    for (uint32_t i = 0; i < fragment.steps.size(); ++i) {
      TimedStep& step = fragment.steps[i];
      Needs needs;
      for (const Access& access : step.accesses)
        for (const ValueTouch& touch : touches_[value_of_tensor(access.tensor)]) {
          if (touch.segment > first || (touch.segment == first && touch.step >= i)) break;
          if (touch.access.tensor != access.tensor || touch.queue == step.queue ||
              !(access.is_write || touch.access.is_write) ||
              !access.region.overlaps(touch.access.region))
            continue;
          StepRef& need = needs[touch.queue];
          if (need.segment == ir::kNoId || need.segment < touch.segment ||
              (need.segment == touch.segment && need.index < touch.index))
            need = {touch.segment, touch.index};
        }
      if (needs == step.needs) continue;
      step.needs = needs;
      segments_[first].is_new = true;
    }
  }

  // ---- queues

  // Orders the steps of each queue, from the first segment that is new on; those before are as they
  // were.
  void order_steps() {
    std::array<uint32_t, kQueueCount> begin = {};
    for (size_t queue = 0; queue < kQueueCount; ++queue)
      counts_before_[queue] = static_cast<uint32_t>(queues_[queue].size());
    bool is_as_before = true;
    for (ir::NodeId first : firsts_) {
      const Fragment& fragment = segments_[first].now();
      if (is_as_before && segments_[first].is_new) {
        is_as_before = false;
        unchanged_ = begin;
        for (size_t queue = 0; queue < kQueueCount; ++queue) queues_[queue].resize(begin[queue]);
      }
      begins_[first] = begin;
      if (!is_as_before) append_steps(fragment);
      for (size_t queue = 0; queue < kQueueCount; ++queue)
        begin[queue] += fragment.queue_counts[queue];
    }
    if (is_as_before) unchanged_ = begin;
    for (size_t queue = 0; queue < kQueueCount; ++queue) ends_us_[queue].resize(begin[queue]);
  }

  void append_steps(const Fragment& fragment) {
    for (const TimedStep& step : fragment.steps) {
      QueueItem& item = queues_[step.queue].emplace_back();
      item.time = step.time;
      item.listed = &step.listed;
      for (size_t other = 0; other < kQueueCount; ++other) {
        const StepRef& need = step.needs[other];
        item.needs[other] =
            need.segment == ir::kNoId ? kNoNeed : begins_[need.segment][other] + need.index;
      }
    }
  }

  // ---- the simulation

  double sync_us(const LatencyPredictor& predictor, Queue waiting) const {
    return conditions_.with_interference_us(
        predictor.profile().transfer.sync_us_of(waiting == Queue::Gpu));
  }

  struct Point {
    QueueClock clock;
    std::array<uint32_t, kQueueCount> at = {};  // the queue's step that is not done
    // Holds, by [queue][other], how many steps of the other queue the queue is known to run after.
    std::array<std::array<uint32_t, kQueueCount>, kQueueCount> behind = {};
  };

  class Run {
   public:
    Run(State& state, Point& point) : state_(state), point_(point) {}

    bool has_next(size_t queue) const { return point_.at[queue] < state_.queues_[queue].size(); }

    // A need that the queue is behind already is no wait.
    double ready_us(size_t queue) const {
      const QueueItem& item = state_.queues_[queue][point_.at[queue]];
      double ready_us = 0;
      bool has_wait = false;
      for (size_t other = 0; other < kQueueCount; ++other) {
        const uint32_t need = item.needs[other];
        if (need == kNoNeed || need < point_.behind[queue][other]) continue;
        if (need >= point_.at[other]) return kNotReadyUs;
        has_wait = true;
        ready_us = std::max(ready_us, state_.ends_us_[other][need]);
      }
      return has_wait ? ready_us + state_.sync_us_[queue] : ready_us;
    }

    StepDemand start(size_t queue, double /*now_us*/) const {
      return state_.queues_[queue][point_.at[queue]].time.with_launch();
    }

    void finish(size_t queue, double now_us) {
      const QueueItem& item = state_.queues_[queue][point_.at[queue]];
      for (size_t other = 0; other < kQueueCount; ++other)
        if (item.needs[other] != kNoNeed)
          point_.behind[queue][other] =
              std::max(point_.behind[queue][other], item.needs[other] + 1);
      state_.ends_us_[queue][point_.at[queue]++] = now_us;
    }

   private:
    State& state_;
    Point& point_;
  };

  // Returns true if all that the simulation has looked at until then is as it was.
  bool is_valid(const Point& point) const {
    for (size_t queue = 0; queue < kQueueCount; ++queue) {
      const bool has_ended = point.at[queue] == counts_before_[queue] &&
                             counts_before_[queue] == queues_[queue].size() &&
                             point.at[queue] == unchanged_[queue];
      if (point.at[queue] >= unchanged_[queue] && !has_ended) return false;
    }
    return true;
  }

  double simulate() {
    while (!checkpoints_.empty() && !is_valid(checkpoints_.back())) checkpoints_.pop_back();
    Point point;
    if (!checkpoints_.empty()) point = checkpoints_.back();
    Run run(*this, point);
    uint32_t events = 0;
    while (point.clock.advance(run, conditions_))
      if (++events % kEventsBetweenPoints == 0) checkpoints_.push_back(point);
    return point.clock.now_us;
  }

  static constexpr uint32_t kEventsBetweenPoints = 16;

  const ir::Graph& graph_;
  StepTimes times_;
  WeightCount weights_;
  const QueueConditions conditions_;
  const double sync_us_[kQueueCount];  // indexed by the queue that waits
  const TensorPlacer placer_;
  std::vector<ValueTensors> value_tensors_;  // indexed by value
  std::vector<uint32_t> tensors_ids_;        // indexed by value
  KnownValueTensors known_places_;
  std::vector<ValueState> states_;                // indexed by value, while walking the segments
  std::vector<std::vector<ValueTouch>> touches_;  // indexed by value, in order
  std::vector<uint8_t> is_changed_;               // indexed by value, for the current plan
  std::vector<ir::ValueId> changed_values_;
  std::vector<NodePartition> node_partitions_;  // the previous plan's
  std::vector<ir::NodeId> firsts_;              // first nodes of its segments
  std::vector<SegmentAt> segments_;             // indexed by their first node
  // Counts, by segment and queue, the steps before.
  std::vector<std::array<uint32_t, kQueueCount>> begins_;
  std::vector<QueueItem> queues_[kQueueCount];
  std::vector<double> ends_us_[kQueueCount];
  std::array<uint32_t, kQueueCount> unchanged_ =
      {};  // indexed by queue: steps unchanged from the previous plan
  std::array<uint32_t, kQueueCount> counts_before_ = {};  // the previous plan's
  std::vector<Point> checkpoints_;
  SegmentSteps emitter_;
  HostSteps host_;
};

PlanTimes::PlanTimes(const ir::Graph& graph, const LatencyPredictor& predictor)
    : state_(std::make_unique<State>(graph, predictor)) {}

PlanTimes::~PlanTimes() = default;

llvm::Expected<double> PlanTimes::time_us(const PartitionPlan& plan) {
  return state_->time_us(plan);
}

}  // namespace codl::compiler
