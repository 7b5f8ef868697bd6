#include "compiler/frontend/suggestions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace codl::compiler {
namespace {

struct Suggestion {
  const char* operators;    // separated by spaces; empty: any, and inputs
  const char* reason_part;  // a part of the error's reason; empty: any reason
  const char* text;
};

constexpr const char* kFold =
    "fold the model's constants (onnxsim MODEL OUT), and give dimensions that are not fixed with "
    "--input-shape=NAME:DIMS";
constexpr const char* kFloatModel =
    "compile the float model, or one with QuantizeLinear and DequantizeLinear around float "
    "operators and constant scales (QDQ form)";
constexpr const char* kBefore = "do this step before or behind the network, in the application";

// The first match counts: reasons that say what is missing come before operators.
constexpr Suggestion kSuggestions[] = {
    {"", "--input-shape", "give the input's dimensions with --input-shape=NAME:DIMS"},
    {"", "--input-value",
     "give the value of the input that decides with --input-value=NAME:VALUE: the plan then holds "
     "for "
     "this value"},
    {"", "domain",
     "export the model with operators of the ONNX domain only (without vendor fusions and custom "
     "operators)"},
    {"", "at this opset",
     "convert the model to another opset (onnx.version_converter.convert_version)"},
    {"", "not a tensor",
     "export tensors in place of the sequence, optional or map that enters or leaves the network"},
    {"Loop Scan", "",
     "unroll the loop at export (fixed sizes), or express a recurrent cell as LSTM, GRU or RNN"},
    {"If", "",
     "make the condition a constant (onnxsim MODEL OUT), or export only the branch that is taken"},
    {"QLinearConv QLinearMatMul ConvInteger MatMulInteger DynamicQuantizeLinear "
     "com.microsoft.QAttention com.microsoft.QEmbedLayerNormalization com.microsoft.MatMulNBits "
     "com.microsoft.GatherBlockQuantized com.microsoft.QMoE com.microsoft.MatMulBnb4",
     "", kFloatModel},
    {"STFT DFT MelWeightMatrix", "", "replace the transform by a MatMul with its constant matrix"},
    {"MaxRoiPool", "", "replace MaxRoiPool by RoiAlign"},
    {"MaxUnpool", "", "replace MaxUnpool by ScatterElements at the pool's indices"},
    {"Bernoulli Multinomial", "", "make the random numbers an input of the model"},
    {"SequenceConstruct SequenceEmpty SequenceInsert SequenceErase SequenceAt SequenceLength "
     "SequenceMap SplitToSequence ConcatFromSequence Optional "
     "OptionalHasElement OptionalGetElement",
     "", "export a fixed number of tensors in place of the sequence or optional"},
    {"StringNormalizer StringConcat StringSplit RegexFullMatch TfIdfVectorizer LabelEncoder "
     "ImageDecoder Unique",
     "", kBefore},
    {"", "as a constant", kFold},
    {"", "expected a constant", kFold},
    {"", "known before the network runs", kFold},
    {"", "data type STRING", kBefore},
};

bool names(llvm::StringRef operators, llvm::StringRef op_type) {
  llvm::SmallVector<llvm::StringRef, 8> words;
  operators.split(words, ' ');
  return llvm::is_contained(words, op_type);
}

}  // namespace

llvm::StringRef suggestion_for(llvm::StringRef op_type, llvm::StringRef reason) {
  for (const Suggestion& suggestion : kSuggestions) {
    const llvm::StringRef operators = suggestion.operators;
    if ((operators.empty() || names(operators, op_type)) && reason.contains(suggestion.reason_part))
      return suggestion.text;
  }
  return {};
}

}  // namespace codl::compiler
