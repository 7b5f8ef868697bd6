#include "compiler/tools/codlc_values.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "tools/other_names.h"
#include "tools/quantity.h"
#include "tools/tool_error.h"

namespace codl::compiler {
namespace {

VariantRequest parse_variant(const std::string& flag, llvm::StringRef name) {
  const std::vector<std::string> names = {"coexec", "cpu", "gpu", "gpu50", "busy"};
  constexpr VariantRequest::Kind kinds[] = {VariantRequest::Coexec, VariantRequest::Cpu,
                                            VariantRequest::Gpu, VariantRequest::Limited,
                                            VariantRequest::Busy};
  int percent = 0;
  if (name.startswith("gpu") && !name.drop_front(3).getAsInteger(10, percent) && percent > 0 &&
      percent < 100)
    return {VariantRequest::Limited, name.str(), percent / 100.0};
  const auto found = llvm::find(names, name);
  if (found == names.end())
    tools::fail_input(
        flag, "coexec, cpu, gpu, gpuNN (the GPU busy for NN % of the time at most) and busy",
        '"' + name.str() + '"' + tools::suggestion(name, names));
  return {kinds[found - names.begin()], name.str()};
}

uint64_t parse_bytes(const std::string& flag, const std::string& value) {
  const tools::Quantity bytes = {{{"B", 1},
                                  {"kB", 1e3},
                                  {"MB", 1e6},
                                  {"GB", 1e9},
                                  {"KiB", 1 << 10},
                                  {"MiB", 1 << 20},
                                  {"GiB", 1 << 30}},
                                 0,
                                 1e18};
  return static_cast<uint64_t>(tools::parse_quantity(flag, value, bytes));
}

// Reads "NODE=cpu", "NODE=split:h:0.4". NODE may hold '=' and colons.
UserPlace parse_place(const std::string& flag, llvm::StringRef text) {
  const auto [node, where] = text.rsplit('=');
  UserPlace place;
  place.node = node.str();
  llvm::SmallVector<llvm::StringRef, 3> words;
  where.split(words, ':');
  const bool is_pair = !node.empty() && node.size() < text.size();
  if (is_pair && where == "cpu") {
    place.processor = Processor::Cpu;
    return place;
  }
  if (is_pair && where == "gpu") {
    place.processor = Processor::Gpu;
    return place;
  }
  if (!is_pair || words.size() != 3 || words[0] != "split" || (words[1] != "h" && words[1] != "oc"))
    tools::fail_input(flag, "NODE=cpu, NODE=gpu, NODE=split:h:R or NODE=split:oc:R",
                      "'" + text.str() + "'");
  place.split_dim = words[1] == "h" ? SplitDim::Height : SplitDim::OutputChannel;
  place.gpu_share = tools::parse_number(flag, words[2].str(), 0, 1);
  if (place.gpu_share == 0 || place.gpu_share == 1)
    tools::fail_input(flag, "a GPU share between 0 and 1", words[2].str());
  return place;
}

}  // namespace

tools::FlagValue name_value(std::string form, std::string* target, std::vector<std::string> names) {
  tools::FlagValue result{std::move(form), *target,
                          [=](const std::string& flag, const std::string& value) {
                            *target = names[tools::parse_choice(flag, value, names)];
                          }};
  result.choices = std::move(names);
  return result;
}

tools::FlagValue precision_value(const AskedPrecision** target) {
  std::vector<std::pair<std::string, const AskedPrecision*>> choices;
  for (const AskedPrecision& asked : kAskedPrecisions) choices.emplace_back(asked.name, &asked);
  tools::FlagValue result = tools::choice_value(target, choices);
  result.read = [read = result.read, names = result.choices](const std::string& flag,
                                                             const std::string& value) {
    // Other tools have flags of these names: --half, --int8.
    const std::string here =
        llvm::is_contained(names, value) ? "" : tools::flag_here(value, "codlc");
    if (!here.empty())
      tools::fail_input(flag, llvm::join(names, " or "), "'" + value + "' (here: " + here + ")");
    read(flag, value);
  };
  return result;
}

tools::FlagValue ratio_value(std::string form, std::optional<ShrinkRatio>* target) {
  return {std::move(form), "off", [=](const std::string& flag, const std::string& value) {
            *target = value == "auto" ? ShrinkRatio{true, 0}
                                      : ShrinkRatio{false, tools::parse_number(flag, value, 0, 1)};
          }};
}

tools::FlagValue reports_value(std::string form, std::vector<std::string>* target) {
  tools::FlagValue value{
      std::move(form), "", [=](const std::string& flag, const std::string& path) {
        if (!llvm::StringRef(path).endswith(".html") && !llvm::StringRef(path).endswith(".json"))
          tools::fail_input(flag, "FILE.html or FILE.json", "'" + path + "'");
        target->push_back(path);
      }};
  value.repeats = true;
  return value;
}

tools::FlagValue variants_value(std::string form, std::vector<VariantRequest>* target) {
  return {std::move(form), "coexec,cpu", [=](const std::string& flag, const std::string& value) {
            llvm::SmallVector<llvm::StringRef, 4> names;
            llvm::StringRef(value).split(names, ',');
            target->clear();
            for (const llvm::StringRef name : names) {
              const VariantRequest request = parse_variant(flag, name);
              if (llvm::any_of(*target, [&](const VariantRequest& other) {
                    return other.name == request.name;
                  }))
                tools::fail_input(flag, "each variant once", request.name + " twice");
              target->push_back(request);
            }
          }};
}

tools::FlagValue bytes_value(std::string form, std::optional<uint64_t>* target) {
  return {std::move(form), "no limit", [=](const std::string& flag, const std::string& value) {
            *target = parse_bytes(flag, value);
          }};
}

tools::FlagValue weights_value(std::string form, WeightLimit* target) {
  return {std::move(form), llvm::formatv("{0}x", *target->ratio).str(),
          [=](const std::string& flag, const std::string& value) {
            const llvm::StringRef text = value;
            *target = {std::nullopt, std::nullopt, true};
            if (text == "none") return;
            const bool is_number = !text.empty() && (llvm::isDigit(text[0]) || text[0] == '.');
            if (!is_number || llvm::isDigit(text.back()))
              tools::fail_input(flag, "a ratio like 1.25x, bytes like 64MiB, or none",
                                "'" + value + "'");
            if (text.endswith_insensitive("x"))
              target->ratio = tools::parse_quantity(flag, value, {{{"x", 1}}, 0, 1e6});
            else
              target->bytes = parse_bytes(flag, value);
          }};
}

tools::FlagValue places_value(std::string form, std::vector<UserPlace>* target) {
  tools::FlagValue value{std::move(form), "none",
                         [=](const std::string& flag, const std::string& text) {
                           target->push_back(parse_place(flag, text));
                         }};
  value.repeats = true;
  return value;
}

}  // namespace codl::compiler
