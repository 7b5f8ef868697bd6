#include "compiler/shrink/byte_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/support/error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace codl::compiler {
namespace {

// So many are measured one by one; each takes some runs of the network.
constexpr size_t kMaxAlone = 64;

class ByteSearch {
 public:
  ByteSearch(const Quantizer& quantizer, double budget, const ByteJudge& judge, SearchLog& log,
             const std::string& network)
      : quantizer_(quantizer),
        budget_(budget),
        judge_(judge),
        log_(log),
        network_(network),
        nodes_(quantizer.nodes().size()),
        groups_(std::min(nodes_, kMaxAlone)) {}

  llvm::Expected<ChosenBytes> run() {
    if (llvm::Error error = measure_alone()) return error;
    // Finds how many groups are left out, the first of `order_` first.
    size_t low = 0, high = groups_;
    while (low < high) {
      const size_t middle = low == 0 && high == groups_ ? 0 : (low + high) / 2;
      CODL_ASSIGN_OR_RETURN(is_within, keeps_budget_without(middle));
      if (is_within)
        high = middle;
      else
        low = middle + 1;
    }
    ChosenBytes chosen{without(low), {}};
    for (size_t i = 0; i < nodes_; ++i) chosen.losses_alone.push_back(losses_[group_of(i)]);
    return chosen;
  }

 private:
  size_t group_of(size_t node) const { return node * groups_ / nodes_; }

  llvm::Expected<double> number(
      const std::string& what, const std::vector<bool>& is_in_bytes,
      const std::function<llvm::Expected<double>(const ir::Graph&)>& loss) {
    CODL_ASSIGN_OR_RETURN(found,
                          log_.number(what + " of " + network_, [&]() -> llvm::Expected<double> {
                            CODL_ASSIGN_OR_RETURN(graph, quantizer_.quantized(is_in_bytes));
                            return loss(graph);
                          }));
    if (judge_.on_step) {
      size_t halvings = 1;
      for (size_t i = 1; i <= groups_; i *= 2) ++halvings;
      judge_.on_step(groups_ + halvings, what);
    }
    return found;
  }

  llvm::Error measure_alone() {
    for (size_t group = 0; group < groups_; ++group) {
      std::vector<bool> alone(nodes_);
      for (size_t i = 0; i < nodes_; ++i) alone[i] = group_of(i) == group;
      CODL_ASSIGN_OR_RETURN(
          loss, number(llvm::formatv("loss of bytes in {0} of {1} parts", group + 1, groups_),
                       alone, judge_.loss_alone));
      losses_.push_back(std::isfinite(loss) ? loss : std::numeric_limits<double>::infinity());
      order_.push_back(group);
    }
    llvm::stable_sort(order_, [&](size_t a, size_t b) { return losses_[a] > losses_[b]; });
    return llvm::Error::success();
  }

  std::vector<bool> without(size_t count) const {
    std::vector<bool> is_left_out(groups_), is_in_bytes(nodes_);
    for (size_t i = 0; i < count; ++i) is_left_out[order_[i]] = true;
    for (size_t i = 0; i < nodes_; ++i) is_in_bytes[i] = !is_left_out[group_of(i)];
    return is_in_bytes;
  }

  llvm::Expected<bool> keeps_budget_without(size_t count) {
    CODL_ASSIGN_OR_RETURN(
        loss, number(llvm::formatv("loss of bytes without {0} of {1} parts", count, groups_),
                     without(count), judge_.loss));
    return loss <= budget_;  // false if not a number
  }

  const Quantizer& quantizer_;
  const double budget_;
  const ByteJudge& judge_;
  SearchLog& log_;
  const std::string& network_;
  const size_t nodes_, groups_;
  std::vector<double> losses_;  // indexed by group
  std::vector<size_t> order_;   // holds groups: the one that loses most is first
};

}  // namespace

llvm::Expected<ChosenBytes> choose_bytes(const Quantizer& quantizer, double budget,
                                         const ByteJudge& judge, SearchLog& log,
                                         const std::string& network) {
  return ByteSearch(quantizer, budget, judge, log, network).run();
}

}  // namespace codl::compiler
