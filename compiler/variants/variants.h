// Makes the variants of a plan: which candidate each of them is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/partition/options.h"
#include "compiler/partition/weight_forms.h"
#include "compiler/simulate/measured/uncertainty.h"
#include "compiler/variants/candidate.h"
#include "compiler/variants/fit_weights.h"
#include "llvm/Support/Error.h"

namespace codl::compiler {

// Describes a variant of the plan, as it is asked for.
struct VariantRequest {
  enum Kind {
    Coexec,   // as the options of the partition say; its name: see make()
    Cpu,      // CPU only
    Gpu,      // all that it can on the GPU
    Limited,  // the best that is found with the GPU busy for at most gpu_share of the time
    Busy,     // the best that is found for a CPU that other programs use (busy_profile.h)
  };
  Kind kind = Coexec;
  std::string name = "coexec";
  double gpu_share = 1;  // for Limited
};

struct MadeVariant {
  Candidate candidate;
  std::string one_processor_reason = {};  // CompileReport::Variant's
  std::string exempt = {};                // likewise
  // Points to the same with all the weights of PlanLimits::max_weights to itself, of which others
  // leave it too few; null where it is that. The maker owns it.
  const Candidate* with_all_weights = nullptr;
  std::vector<LimitCheck> limits = {};  // all that hold for it
};

// Moves the schedules out of the variants.
std::vector<Schedule> take_schedules(llvm::MutableArrayRef<MadeVariant> variants);

// A plan without PlanLimits::max_weights that keeps all other limits, as a short search finds it: a
// search with the whole budget may find a better one.
struct FreePlan {
  PlanFigures figures;        // those of its first variant
  uint64_t weight_bytes = 0;  // those of all variants
};

// Makes the variants of one graph on one device. Borrows everything that it is given.
class VariantMaker {
 public:
  // `others` are the weights of the plan's other entries, which its limit concerns, too.
  VariantMaker(const ir::Graph& graph, const LatencyPredictor& predictor,
               const PartitionOptions& options, const WeightsOfEntries& others = {});

  // A Coexec variant has the name that make_candidate() gives it: if the search kept or found the
  // plan of one processor alone, that one's. Limits are reported, not enforced: see
  // expect_limits(). Errors: those of make_candidate(), and Input if a variant asks for a GPU and
  // there is none.
  llvm::Expected<MadeVariant> make(const VariantRequest& request);

  // Makes all variants of a plan, `first` being made of the first request; of two of a name only
  // one. Adds the others' limits to `checks`. Returns the Limit error of the first variant that
  // does not keep its limits.
  llvm::Expected<std::vector<MadeVariant>> make_all(MadeVariant first,
                                                    llvm::ArrayRef<VariantRequest> requests,
                                                    std::vector<LimitCheck>& checks);

  // Estimates the figures of the first variant from three plans, where its search would judge
  // thousands: the plans of one processor and that of `segments`, one of which is kept by the
  // search's rule. Without a search these are the figures. Errors: those of make_candidate().
  llvm::Expected<PlanFigures> estimate();

  // Returns the plan of all that the processor can compute, without forced places and with all
  // weights that there may be. It is made once: a variant, the fallback and the reports use it,
  // too.
  llvm::Expected<const Candidate*> alone_on(Processor processor);

  // Returns the figures of that plan without limits, except that on weights: gains are over these.
  llvm::Expected<PlanFigures> unlimited_alone_on(Processor processor);

  // Returns true if the GPU has a kernel for a node of the network itself, beside conversions.
  bool has_gpu_work() const;

  const StoredWeights& stored() const { return stored_; }

  // The variants that were made, as they would be with weights of any size; nothing where no better
  // first one was found with these.
  std::optional<FreePlan> without_weight_limit() const;

 private:
  struct BestSingle;
  struct Found;

  // The plan has as many bytes of weights as the first constructor says, but at most `most_bytes`.
  VariantMaker(const ir::Graph& graph, const LatencyPredictor& predictor,
               const PartitionOptions& options, StoredWeights others,
               std::optional<uint64_t> most_bytes);

  llvm::Expected<std::optional<MadeVariant>> without_search();
  llvm::Expected<MadeVariant> make_one(const VariantRequest& request);
  llvm::Expected<MadeVariant> make_first();
  llvm::Expected<MadeVariant> make_searched();
  bool chooses_precision() const;
  llvm::Expected<MadeVariant> make_of_precisions();
  llvm::Expected<Found> search(const BestSingle* alone, uint32_t budget) const;
  llvm::Expected<Found> search_once(const BestSingle* alone, uint32_t budget) const;
  llvm::Expected<double> go_on(Candidate& plan, const BestSingle& alone, uint32_t budget) const;
  llvm::Expected<std::string> why_not_both(Candidate& taken, std::string doubt);
  llvm::Expected<std::vector<std::string>> flags_against(const Candidate& plan) const;
  bool has_limits() const;  // beside that on weights
  uint32_t budget_of_reason() const;
  llvm::Expected<std::optional<BestSingle>> best_single();
  llvm::Expected<Candidate> fit(const PartitionOptions& options, const StoredWeights& stored,
                                MakeCandidate make, const BestSingle* alone = nullptr) const;
  llvm::Expected<Candidate> make_alone(Processor processor, const StoredWeights& stored,
                                       const PlanLimits& limits) const;
  llvm::Expected<MadeVariant> alone_in_plan(Processor processor);
  llvm::Expected<Candidate> make_busy(const PartitionOptions& options,
                                      const SearchStart& start) const;
  PartitionOptions options_of(const VariantRequest& request) const;

  const ir::Graph& graph_;
  const LatencyPredictor& predictor_;
  const PartitionOptions options_;
  const std::optional<uint64_t> most_weight_bytes_;
  const bool needs_choice_;  // with all that its kernels could read, the plan has more than that
  const StoredWeights of_others_;  // weights of the plan's other entries
  StoredWeights stored_;           // likewise, and of the variants that were made
  StoredWeights free_;             // likewise, with weights of any size
  bool is_limited_ = false;        // these differ
  // The first variant's figures, as it is and with weights of any size.
  std::optional<PlanFigures> first_;
  PlanFigures first_free_;
  // Indexed by processor.
  std::optional<Candidate> alone_[2];
  std::optional<PlanFigures> unlimited_alone_[2];
};

}  // namespace codl::compiler
