// Changes a plan the way an attacker would: any number of any table becomes another, and elements
// of lists repeat, vanish and swap. Offsets stay valid for a FlatBuffer and the checksum is right,
// so that mutants reach the checks of verify_plan that need meaning. It accepts only one in twenty
// blind mutants; so half of the mutants keep only changes that it accepts, and run.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <vector>

#include "flatbuffers/reflection.h"
#include "kernels/kernel_table.h"
#include "schema/plan_generated_objects.h"
#include "schema/plan_layout.h"
#include "schema/verify_plan.h"
#include "test/fuzz/target.h"

namespace codl::test {
namespace {

using Random = std::minstd_rand;

const reflection::Schema& schema() {
  static const std::string bytes = [] {
    std::ifstream file(CODL_PLAN_SCHEMA, std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(file), {}};
  }();
  return *reflection::GetSchema(bytes.data());
}

// Returns a number at the edges of types and limits, or near the present one.
int64_t other_number(Random& random, int64_t number) {
  constexpr int64_t kEdges[] = {0,         1,     2,         3,          255,       256,
                                65535,     65536, INT32_MAX, UINT32_MAX, INT64_MAX, INT64_MIN,
                                INT32_MIN, -1,    1 << 24,   1 << 30,    4096,      64};
  switch (random() % 5) {
    case 0:
      return kEdges[random() % std::size(kEdges)];
    case 1:  // these three wrap
      return static_cast<int64_t>(static_cast<uint64_t>(number) + 1);
    case 2:
      return static_cast<int64_t>(static_cast<uint64_t>(number) - 1);
    case 3:
      return static_cast<int64_t>(static_cast<uint64_t>(number) << (random() % 4 + 1));
    default:
      return static_cast<int64_t>(random() % 64);
  }
}

// Locates a scalar somewhere in the buffer.
struct Scalar {
  uint8_t* at;
  reflection::BaseType type;
};

void collect(flatbuffers::Table* table, const reflection::Object& object, std::vector<Scalar>& all);

void collect_vector(flatbuffers::Table* table, const reflection::Field& field,
                    std::vector<Scalar>& all) {
  auto* vector = const_cast<flatbuffers::VectorOfAny*>(flatbuffers::GetFieldAnyV(*table, field));
  if (vector == nullptr) return;
  reflection::BaseType type = field.type()->element();
  if (type == reflection::Obj) {
    const reflection::Object& object = *schema().objects()->Get(field.type()->index());
    for (uint32_t i = 0; i < vector->size(); ++i)
      collect(const_cast<flatbuffers::Table*>(
                  flatbuffers::GetAnyVectorElemPointer<const flatbuffers::Table>(vector, i)),
              object, all);
    return;
  }
  if (!flatbuffers::IsScalar(type)) return;
  uint32_t size = static_cast<uint32_t>(flatbuffers::GetTypeSize(type));
  uint32_t count = vector->size();
  // Parameters are 32-bit words.
  if (type == reflection::UByte && count % 4 == 0) {
    type = reflection::Int;
    size = 4;
    count /= 4;
  }
  for (uint32_t i = 0; i < count; ++i) all.push_back({vector->Data() + i * size, type});
}

void collect(flatbuffers::Table* table, const reflection::Object& object,
             std::vector<Scalar>& all) {
  for (const reflection::Field* field : *object.fields()) {
    const reflection::BaseType type = field->type()->base_type();
    if (type == reflection::Vector) {
      collect_vector(table, *field, all);
    } else if (flatbuffers::IsScalar(type)) {
      if (uint8_t* at = table->GetAddressOf(field->offset())) all.push_back({at, type});
    }
  }
}

template <typename T>
T copy_of(const T& element) {
  return element;
}
template <typename T>
std::unique_ptr<T> copy_of(const std::unique_ptr<T>& element) {
  return std::make_unique<T>(*element);
}

template <typename T>
void change_list(Random& random, std::vector<T>& list) {
  if (list.empty()) return;
  const size_t at = random() % list.size();
  switch (random() % 3) {
    case 0:
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    case 1:
      std::swap(list[at], list[random() % list.size()]);
      break;
    default:
      // Entries and variants hold tables, which their classes cannot copy.
      if constexpr (!std::is_same_v<T, std::unique_ptr<plan::VariantDefT>> &&
                    !std::is_same_v<T, std::unique_ptr<plan::EntryDefT>>)
        list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), copy_of(list[at]));
      break;
  }
}

// Changes one list of the plan, of a variant or of a step.
void change_structure(Random& random, plan::PlanDefT& plan) {
  if (plan.entries.empty()) return;
  plan::EntryDefT& entry = *plan.entries[random() % plan.entries.size()];
  if (entry.variants.empty()) return;
  plan::VariantDefT& variant = *entry.variants[random() % entry.variants.size()];
  plan::StepDefT* step =
      variant.steps.empty() ? nullptr : variant.steps[random() % variant.steps.size()].get();
  plan::TensorDefT* tensor =
      variant.tensors.empty() ? nullptr : variant.tensors[random() % variant.tensors.size()].get();
  switch (random() % 14) {
    case 0:
      return change_list(random, variant.steps);
    case 1:
      return change_list(random, variant.tensors);
    case 2:
      return change_list(random, variant.images);
    case 3:
      return change_list(random, entry.variants);
    case 4:
      return change_list(random, plan.blobs);
    case 5:
      return change_list(random, entry.inputs);
    case 6:
      return change_list(random, entry.extents);
    case 7:
      if (tensor != nullptr) change_list(random, tensor->dims);
      return;
    case 8:
      if (step != nullptr) change_list(random, step->waits);
      return;
    case 9:
      if (step != nullptr) change_list(random, step->tile);
      return;
    case 10:
      if (step != nullptr) change_list(random, step->params);
      return;
    case 11:
      return change_list(random, entry.states);
    case 12:
      return change_list(random, plan.entries);
    default:
      if (step != nullptr) change_list(random, step->operands);
      return;
  }
}

// Now and then changes the head's own numbers.
void change_head(Random& random, PlanHead& head) {
  uint64_t* numbers[] = {&head.file_bytes,  &head.table_offset, &head.table_bytes,
                         &head.data_offset, &head.data_bytes,   &head.reserved};
  uint64_t& number = *numbers[random() % std::size(numbers)];
  number = static_cast<uint64_t>(other_number(random, static_cast<int64_t>(number)));
}

// Returns the file of a table and a data section, with a matching head.
std::string file_of(PlanHead* head, const flatbuffers::FlatBufferBuilder& table,
                    const std::string& data) {
  head->table_bytes = table.GetSize();
  head->data_offset =
      (kTableOffset + head->table_bytes + kDataAlignment - 1) / kDataAlignment * kDataAlignment;
  head->file_bytes = head->data_offset + head->data_bytes;
  std::string file(head->data_offset, '\0');
  std::memcpy(file.data(), head, sizeof *head);
  std::memcpy(file.data() + kTableOffset, table.GetBufferPointer(), table.GetSize());
  return file + data;
}

std::vector<Scalar> scalars_of(uint8_t* table) {
  std::vector<Scalar> scalars;
  collect(flatbuffers::GetAnyRoot(table), *schema().root_table(), scalars);
  return scalars;
}

void change(Random& random, const Scalar& scalar) {
  const int64_t number = flatbuffers::GetAnyValueI(scalar.type, scalar.at);
  flatbuffers::SetAnyValueI(scalar.type, scalar.at, other_number(random, number));
}

bool is_taken(const std::string& file) {
  const plan::PlanDef* plan = nullptr;
  return verify_plan(file.data(), file.size(), VerifyLevel::Structure, kernels::check_step, &plan)
      .ok();
}

// Weights: nothing of them is verified, and kernels take indices from them.
void change_data(Random& random, std::string& file, size_t data_offset) {
  if (file.size() <= data_offset) return;
  for (uint32_t left = random() % 8; left > 0; --left) {
    const size_t at = data_offset + random() % (file.size() - data_offset);
    file[at] = static_cast<char>(random() % 4 == 0 ? 0xff : random() % 256);
  }
}

// Changes numbers of a plan that verify_plan takes, as long as it still takes the plan.
void change_within_rules(Random& random, std::string& file, size_t data_offset) {
  constexpr uint32_t kTries = 12;  // about as long as the plan's run
  const auto scalars = scalars_of(reinterpret_cast<uint8_t*>(file.data()) + kTableOffset);
  if (random() % 2 == 0) change_data(random, file, data_offset);
  for (uint32_t tries = 0, left = random() % 3 + 1; tries < kTries && left > 0; ++tries) {
    const Scalar& scalar = scalars[random() % scalars.size()];
    uint8_t before[8];
    const size_t size = flatbuffers::GetTypeSize(scalar.type);
    std::memcpy(before, scalar.at, size);
    change(random, scalar);
    if (is_taken(file))
      --left;
    else
      std::memcpy(scalar.at, before, size);
  }
}

}  // namespace

std::string mutate(const std::string& bytes, uint32_t seed, size_t max_bytes) {
  PlanHead head;
  if (bytes.size() < sizeof head) return {};
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.table_offset != kTableOffset || head.table_bytes > bytes.size() - kTableOffset ||
      head.data_offset > bytes.size())
    return {};
  const auto* table = reinterpret_cast<const uint8_t*>(bytes.data()) + kTableOffset;
  flatbuffers::Verifier verifier(table, head.table_bytes);
  if (!verifier.VerifyBuffer<plan::PlanDef>(nullptr)) return {};

  Random random(seed + 1);
  plan::PlanDefT plan;
  flatbuffers::GetRoot<plan::PlanDef>(table)->UnPackTo(&plan);
  const bool keeps_rules = random() % 2 == 0;
  if (random() % 3 == 0) change_structure(random, plan);
  flatbuffers::FlatBufferBuilder builder;
  builder.ForceDefaults(true);  // so that every number is stored and can be changed
  builder.Finish(plan::PlanDef::Pack(builder, &plan));

  std::string file = file_of(&head, builder, bytes.substr(head.data_offset));
  if (keeps_rules && is_taken(file)) {
    change_within_rules(random, file, head.data_offset);
  } else {
    const auto scalars = scalars_of(reinterpret_cast<uint8_t*>(file.data()) + kTableOffset);
    if (!scalars.empty())
      for (uint32_t left = random() % 3; left > 0; --left)
        change(random, scalars[random() % scalars.size()]);
    if (random() % 16 == 0) change_head(random, head);
  }
  head.checksum = plan_checksum(file.data(), file.size());
  std::memcpy(file.data(), &head, sizeof head);
  return file.size() > max_bytes ? std::string() : file;
}

std::string splice(const std::string&, const std::string&, uint32_t, size_t) { return {}; }

}  // namespace codl::test
