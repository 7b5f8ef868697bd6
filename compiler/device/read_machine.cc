// Reads "machine" of a profile's processors, and "families" and "kernels": the times of steps
// there.
#include "compiler/device/profile_parts.h"
#include "kernels/kernel_table.h"
#include "kernels/work_table.h"
#include "llvm/Support/FormatVariadic.h"

namespace codl::compiler {
namespace {

// Holds a fact of a machine with its origin: its own, or that of the object it is in.
struct Fact {
  double value = 0;
  Origin origin = Origin::Assumed;
};

Fact read_fact(const JsonValue& json, Origin origin, const Sources& sources) {
  if (!json.has_member("value")) return {json.as_number(), origin};
  return {json.member("value").as_number(), read_origin(json, sources).origin};
}

template <typename Fields, typename Part>
void read_fields(const JsonValue& json, llvm::StringRef owner, const Fields& fields,
                 const Sources& sources, Part& part, DeviceProfile& profile) {
  const Origin origin = read_origin(json, sources).origin;
  for (const auto& field : fields) {
    if (field.is_optional && !json.has_member(field.name)) continue;
    const JsonValue number = json.member(field.name);
    const Fact fact = read_fact(number, origin, sources);
    if (!(fact.value >= field.least && fact.value <= field.most) ||
        (field.is_whole && fact.value != static_cast<double>(static_cast<int64_t>(fact.value)))) {
      number.expected(llvm::formatv("a {0}number from {1} to {2}", field.is_whole ? "whole " : "",
                                    llvm::format("%g", field.least), llvm::format("%g", field.most))
                          .str());
      continue;
    }
    part.*field.value = fact.value;
    profile.facts.push_back({(owner + " " + field.name).str(),
                             llvm::formatv("{0} {1}", fact.value, name_of(fact.origin)).str()});
  }
}

// Reads ["compute", "l2", 0.75, 0.4]; Term::Step is the last of the names.
JointShare read_joint_share(const JsonValue& json) {
  JointShare joint;
  const std::vector<JsonValue> parts = json.elements();
  if (parts.size() != 4) {
    json.expected("two terms, a factor and a share");
    return joint;
  }
  const std::vector<llvm::StringRef> names(std::begin(kTermNames), std::end(kTermNames));
  joint.term = static_cast<Term>(parts[0].as_choice(llvm::ArrayRef(names).drop_back()));
  joint.other = static_cast<Term>(parts[1].as_choice(names));
  if (joint.term == joint.other) parts[1].expected("another term");
  joint.factor = parts[2].as_number(kMaxSharePower);
  if (!(joint.factor > 0)) parts[2].expected("a number over 0");
  joint.share = parts[3].as_number(kMaxSharePower);
  return joint;
}

void read_joint_shares(const JsonValue& json, Shares& shares) {
  const std::vector<JsonValue> joints = json.elements();
  if (joints.empty() || joints.size() > kMaxJointShares) {
    json.expected(llvm::formatv("1 to {0} arrays", kMaxJointShares));
    return;
  }
  for (const JsonValue& joint : joints)
    shares.joint[shares.joint_count++] = read_joint_share(joint);
}

Calibration read_calibration(const JsonValue& json, const Sources& sources) {
  Calibration calibration;
  calibration.level = static_cast<Level>(
      json.member("level").as_choice({kLevelNames[0], kLevelNames[1], kLevelNames[2]}));
  const Quantity origin = read_origin(json, sources);
  calibration.origin = origin.origin;
  calibration.source = origin.source;
  const JsonValue shares = json.member("shares");
  bool is_empty = true;
  for (int term = 0; term < kTermCount; ++term) {
    const JsonValue share = shares.optional_member(kTermNames[term]);
    if (!share) continue;
    calibration.shares.of[term] = share.as_number(kMaxSharePower);
    is_empty = false;
  }
  if (is_empty) shares.expected("one term or more");
  if (const JsonValue joint = json.optional_member("joint"))
    read_joint_shares(joint, calibration.shares);
  const JsonValue interval = json.member("interval");
  const std::vector<JsonValue> ends = interval.elements();
  if (ends.size() == 2) {
    calibration.interval_low = ends[0].as_number(kMaxSharePower);
    calibration.interval_high = ends[1].as_number(kMaxSharePower);
  }
  if (ends.size() != 2 || !(calibration.interval_low > 0) ||
      calibration.interval_low > calibration.interval_high)
    interval.expected("two numbers over 0, the lower one first");
  if (const JsonValue fit = json.optional_member("fit")) {
    if (const JsonValue revision = fit.optional_member("revision"))
      calibration.revision = static_cast<int32_t>(revision.as_integer(1, UINT16_MAX));
    // The number is for people.
    fit.member("samples").as_integer(1, INT32_MAX);
    fit.member("median_error_percent").as_number();
    fit.member("within_10_percent").as_number();
  }
  return calibration;
}

}  // namespace

void read_machine(const JsonValue& json, Processor processor, const Sources& sources,
                  DeviceProfile& profile) {
  if (processor == Processor::Cpu)
    read_fields(json, "cpu", kCpuMachineFields, sources, profile.machine.cpu, profile);
  else
    read_fields(json, "gpu", kGpuMachineFields, sources, profile.machine.gpu, profile);
}

void read_calibrations(const JsonValue& root, const Sources& sources, DeviceProfile& profile) {
  // Holds the calibration of families on this device, by processor.
  std::optional<Calibration> families[2][kernels::kFamilyCount];
  if (const JsonValue json = root.optional_member("families"))
    for (const Processor processor : {Processor::Cpu, Processor::Gpu}) {
      const JsonValue own = json.optional_member(processor == Processor::Cpu ? "cpu" : "gpu");
      if (!own) continue;
      for (int family = 0; family < kernels::kFamilyCount; ++family)
        if (const JsonValue calibration = own.optional_member(kernels::kFamilyNames[family]))
          families[static_cast<size_t>(processor)][family] = read_calibration(calibration, sources);
    }
  for (const KernelInfo& info : kKernelInfos) {
    const kernels::KernelFamily family = kernels::family_of(info);
    const auto& own = families[static_cast<size_t>(info.processor)];
    // For tiled kernels, a rate that this device gives the operator's other kernels says more than
    // the family's rate on another device.
    const bool is_said = family != kernels::KernelFamily::Tiled || own[static_cast<size_t>(family)];
    const auto& known =
        own[static_cast<size_t>(is_said ? family : kernels::work_of(info.op).family)];
    profile.kernels[info.id - 1] =
        known ? *known
              : family_calibration(family, info.processor, profile.machine.is_gpu_a_processor);
  }
  const JsonValue json = root.optional_member("kernels");
  if (!json) return;
  for (const std::string& symbol : json.keys()) {
    const JsonValue calibration = json.member(symbol);
    const KernelInfo* info = find_symbol(symbol);
    if (info == nullptr)
      calibration.expected("the key to be the symbol of a kernel (codlc --list-ops)");
    else if (info->processor == Processor::Gpu && !profile.has_gpu)
      calibration.expected("kernels of the CPU only, as the profile has no \"gpu\"");
    else
      profile.kernels[info->id - 1] = read_calibration(calibration, sources);
  }
}

}  // namespace codl::compiler
