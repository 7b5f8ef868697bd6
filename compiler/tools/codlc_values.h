// Declares values of codlc's flags that no other tool has. Each is written to what `target` points
// to.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/pipeline.h"
#include "tools/flags.h"

namespace codl::compiler {

// Takes one of `names`, as text.
tools::FlagValue name_value(std::string form, std::string* target, std::vector<std::string> names);

// Takes one of kAskedPrecisions, and says of other tools' names what does the same here.
tools::FlagValue precision_value(const AskedPrecision** target);

// Reads a ratio between 0 and 1, or auto.
tools::FlagValue ratio_value(std::string form, std::optional<ShrinkRatio>* target);

// Takes paths of reports, again and again; their ends say what is written.
tools::FlagValue reports_value(std::string form, std::vector<std::string>* target);

// Takes "coexec,gpu50", each once.
tools::FlagValue variants_value(std::string form, std::vector<VariantRequest>* target);

// Takes "64MiB".
tools::FlagValue bytes_value(std::string form, std::optional<uint64_t>* target);

// Reads "1.25x", "64MiB" or "none".
tools::FlagValue weights_value(std::string form, WeightLimit* target);

// Takes "NODE=cpu", "NODE=split:h:0.4", again and again.
tools::FlagValue places_value(std::string form, std::vector<UserPlace>* target);

}  // namespace codl::compiler
