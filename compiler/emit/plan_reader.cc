#include "compiler/emit/plan_reader.h"

#include <cstring>

#include "schema/plan_fields.h"
#include "schema/verify_plan.h"

namespace codl::compiler {

namespace {

template <typename T>
std::vector<T> numbers(const flatbuffers::Vector<T>& vector) {
  return {vector.begin(), vector.end()};
}

Tensor tensor_of(const plan::TensorDef& table) {
  return {table.name()->str(), operand_shape_of(table), storage_of(table), table.index(),
          table.offset_bytes()};
}

Step step_of(const plan::StepDef& table) {
  Step step;
  step.kind = kind_of(table);
  step.queue = queue_of(table);
  if (step.kind == StepKind::Kernel) step.kernel = find_kernel(table.kernel());
  step.params.resize(table.params()->size() / sizeof(step.params[0]));
  if (!step.params.empty())
    std::memcpy(step.params.data(), table.params()->data(), table.params()->size());
  step.operands = numbers(*table.operands());
  step.part_dim = static_cast<SplitDim>(table.part_dim());
  step.part = {table.part_begin(), table.part_end()};
  step.owned = {table.owned_begin(), table.owned_end()};
  step.tile = numbers(*table.tile());
  step.map_access = map_access_of(table);
  step.waits = numbers(*table.waits());
  if (table.wait_kinds() != nullptr)
    for (uint32_t i = 0; i < table.wait_kinds()->size(); ++i)
      step.wait_kinds.push_back(wait_kind_of(table, i));
  step.predicted_us = table.predicted_us();
  step.name = table.name()->str();
  return step;
}

Variant variant_of(const plan::VariantDef& table) {
  Variant variant;
  variant.name = table.name()->str();
  variant.sharing = sharing_of(table);
  variant.gate = gate_of(table);
  variant.host_bytes = table.host_bytes();
  variant.shared_bytes = table.shared_bytes();
  variant.device_bytes = table.device_bytes();
  for (const plan::ImageDef* image : *table.images())
    variant.images.push_back({image->width(), image->height(), static_cast<DType>(image->dtype())});
  for (const plan::TensorDef* tensor : *table.tensors())
    variant.tensors.push_back(tensor_of(*tensor));
  for (const plan::StepDef* step : *table.steps()) variant.steps.push_back(step_of(*step));
  variant.predicted_us = table.predicted_us();
  variant.max_ahead_us = table.max_ahead_us();
  variant.is_recorded = table.is_recorded();
  return variant;
}

std::vector<PlanIo> ios_of(const flatbuffers::Vector<flatbuffers::Offset<plan::IoDef>>& tables) {
  std::vector<PlanIo> ios;
  for (const plan::IoDef* io : tables)
    ios.push_back(
        {io->name()->str(), static_cast<DType>(io->dtype()), numbers(*io->dims()), io->bytes()});
  return ios;
}

PlanEntry entry_of(const plan::EntryDef& table) {
  PlanEntry entry;
  entry.name = table.name()->str();
  entry.inputs = ios_of(*table.inputs());
  entry.outputs = ios_of(*table.outputs());
  entry.visible_outputs = visible_output_count(table);
  if (table.extents() != nullptr)
    for (const plan::ExtentDef* extent : *table.extents())
      entry.extents.push_back({extent->output(), extent->dim(), extent->count_output()});
  for (uint32_t i = 0; i < state_count(table); ++i)
    entry.states.push_back({table.states()->Get(i)->input(), table.states()->Get(i)->output()});
  for (const plan::VariantDef* variant : *table.variants())
    entry.variants.push_back(variant_of(*variant));
  return entry;
}

}  // namespace

PlanModel plan_of(const plan::PlanDef& table) {
  PlanModel plan;
  plan.info = {table.device()->str(),
               table.model_hash()->str(),
               table.profile_hash()->str(),
               table.cpu_threads(),
               {}};
  if (table.worker_speeds() != nullptr) plan.info.worker_speeds = numbers(*table.worker_speeds());
  plan.codlc_version = table.codlc_version()->str();
  for (const plan::BlobDef* blob : *table.blobs())
    plan.blobs.push_back({blob->name()->str(), blob->offset_bytes(), blob->bytes()});
  for (const plan::KernelUse* use : *table.kernels())
    plan.kernels.push_back(find_kernel(use->id()));
  for (const plan::EntryDef* entry : *table.entries()) plan.entries.push_back(entry_of(*entry));
  return plan;
}

}  // namespace codl::compiler
