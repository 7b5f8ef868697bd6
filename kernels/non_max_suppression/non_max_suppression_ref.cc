#include "kernels/common/contract/move_elements.h"
#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/non_max_suppression/non_max_suppression.h"

namespace codl::kernels {
namespace {

struct Box {
  float begin[2];
  float end[2];

  float area() const { return (end[0] - begin[0]) * (end[1] - begin[1]); }
};

Box box_at(const float* box, bool is_center_point) {
  Box corners;
  for (int32_t i = 0; i < 2; ++i) {
    const float a = is_center_point ? box[i] - box[i + 2] / 2 : box[i];
    const float b = is_center_point ? box[i] + box[i + 2] / 2 : box[i + 2];
    corners.begin[i] = a < b ? a : b;
    corners.end[i] = a < b ? b : a;
  }
  return corners;
}

// Returns whether the intersection over union is greater than the threshold; false for an empty
// box.
bool overlaps(const Box& a, const Box& b, float threshold) {
  float intersection = 1.0f;
  for (int32_t i = 0; i < 2; ++i) {
    const float begin = a.begin[i] > b.begin[i] ? a.begin[i] : b.begin[i];
    const float end = a.end[i] < b.end[i] ? a.end[i] : b.end[i];
    if (!(begin < end)) return false;
    intersection *= end - begin;
  }
  return intersection / (a.area() + b.area() - intersection) > threshold;
}

// Returns whether box `a` is taken before box `b`.
bool is_better(const float* scores, int32_t a, int32_t b) {
  if (scores[a] > scores[b]) return true;
  if (scores[a] < scores[b] || scores[a] != scores[a]) return scores[b] != scores[b] && a < b;
  return scores[b] != scores[b] || a < b;
}

// Moves the element at `root` down until no child of it is worse: the worst comes to the top.
void sift_down(const float* scores, int32_t* order, int64_t root, int64_t count) {
  while (2 * root + 1 < count) {
    int64_t child = 2 * root + 1;
    if (child + 1 < count && is_better(scores, order[child], order[child + 1])) ++child;
    if (!is_better(scores, order[root], order[child])) return;
    const int32_t better = order[root];
    order[root] = order[child];
    order[child] = better;
    root = child;
  }
}

// Sorts by heapsort, the best first: no recursion, and no memory but the order's.
void sort_by_score(const float* scores, int32_t* order, int64_t count) {
  for (int64_t root = count / 2 - 1; root >= 0; --root) sift_down(scores, order, root, count);
  for (int64_t end = count - 1; end > 0; --end) {
    const int32_t worst = order[0];
    order[0] = order[end];
    order[end] = worst;
    sift_down(scores, order, 0, end);
  }
}

// Puts the boxes of one batch and class that are taken in front of `order`; returns how many.
int64_t select_boxes(const KernelArgs& args, const float* boxes, const float* scores, int64_t count,
                     int32_t* order) {
  const auto& params = args.params_as<NonMaxSuppressionParams>();
  const int64_t max_per_class = *args.operands[2].as<const int64_t>();
  const float iou_threshold = *args.operands[3].as<const float>();
  const float score_threshold = *args.operands[4].as<const float>();
  const bool is_center_point = params.is_center_point_box != 0;
  int64_t candidates = 0;
  for (int64_t i = 0; i < count; ++i)
    if (params.has_score_threshold == 0 || scores[i] > score_threshold)
      order[candidates++] = static_cast<int32_t>(i);
  sort_by_score(scores, order, candidates);
  int64_t taken = 0;
  for (int64_t i = 0; i < candidates && taken < max_per_class; ++i) {
    const Box box = box_at(boxes + 4 * int64_t{order[i]}, is_center_point);
    bool is_free = true;
    for (int64_t k = 0; k < taken && is_free; ++k)
      is_free =
          !overlaps(box, box_at(boxes + 4 * int64_t{order[k]}, is_center_point), iou_threshold);
    if (is_free) order[taken++] = order[i];
  }
  return taken;
}

}  // namespace

void non_max_suppression_ref(const KernelArgs& args) {
  const OperandShape& scores = args.operands[1].shape;
  const int64_t count = scores.dims[2];
  int32_t* const order = static_cast<int32_t*>(args.scratch);
  int64_t* row = args.output().as<int64_t>();
  int64_t* const end = row + element_count(args.output().shape);
  for (int64_t batch = 0; batch < scores.dims[0]; ++batch)
    for (int64_t label = 0; label < scores.dims[1]; ++label) {
      const int64_t taken = select_boxes(
          args, args.operands[0].as<const float>() + batch * count * 4,
          args.operands[1].as<const float>() + (batch * scores.dims[1] + label) * count, count,
          order);
      for (int64_t i = 0; i < taken; ++i, row += 3) {
        row[0] = batch;
        row[1] = label;
        row[2] = order[i];
      }
    }
  while (row < end) *row++ = -1;
}

CODL_CPU_KERNEL_PLAIN(non_max_suppression_any_cpu, non_max_suppression_ref);

}  // namespace codl::kernels
