#include <algorithm>
#include <random>

#include "compiler/interp/interpreter.h"
#include "test/passes/pass_text.h"

namespace codl::test {
namespace {

const compiler::Pass kSinkTransposes[] = {{"sink_transposes", compiler::sink_transposes},
                                          {"eliminate_dead", compiler::eliminate_dead}};

size_t count_of(const std::string& text, const std::string& word) {
  size_t count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

// Makes random networks of Transposes and elementwise nodes, as ONNX text.
class RandomNetwork {
 public:
  explicit RandomNetwork(uint32_t seed) : random_(seed) {
    const int rank = 2 + below(4);
    for (int i = 0; i < rank; ++i) dims_.push_back(1 + below(4));
    values_.push_back({"x", dims_});
    const int count = 3 + below(12);
    for (int i = 0; i < count; ++i) add_node();
    std::string outputs;
    for (size_t i = 1; i < values_.size(); ++i)
      if (i + 1 == values_.size() || below(6) == 0)
        outputs += (outputs.empty() ? "" : ", ") + typed(values_[i]);
    model_ = "g (" + typed(values_[0]) + ") => (" + outputs + ")";
    if (!constants_.empty()) model_ += " <" + constants_ + ">";
    model_ += " { " + nodes_ + "}";
  }

  const std::string& model() const { return model_; }
  int64_t input_elements() const {
    int64_t count = 1;
    for (int dim : dims_) count *= dim;
    return count;
  }

 private:
  using Dims = std::vector<int>;
  struct Value {
    std::string name;
    Dims dims;
  };

  int below(int limit) { return static_cast<int>(random_() % static_cast<uint32_t>(limit)); }

  static std::string list(const std::vector<int>& numbers) {
    std::string text;
    for (int number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
    return "[" + text + "]";
  }
  static std::string typed(const Value& value) {
    return "float" + list(value.dims) + " " + value.name;
  }

  // Returns mostly the last value, because the pass looks for chains.
  const Value& any_value() {
    return below(4) == 0 ? values_[static_cast<size_t>(below(static_cast<int>(values_.size())))]
                         : values_.back();
  }

  void add_node() {
    const Value from = any_value();
    Value to = {"v" + std::to_string(values_.size()), from.dims};
    std::string call;
    switch (below(5)) {
      case 0:
      case 1: {
        std::vector<int> perm(from.dims.size());
        for (size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<int>(i);
        std::shuffle(perm.begin(), perm.end(), random_);
        // It often undoes the last Transpose.
        if (!last_perm_.empty() && below(2) == 0)
          for (size_t i = 0; i < perm.size(); ++i)
            perm[static_cast<size_t>(last_perm_[i])] = static_cast<int>(i);
        last_perm_ = perm;
        for (size_t i = 0; i < perm.size(); ++i)
          to.dims[i] = from.dims[static_cast<size_t>(perm[i])];
        call = "Transpose<perm = " + list(perm) + ">(" + from.name + ")";
        break;
      }
      case 2:
        call = std::string(below(2) == 0 ? "Relu" : "Neg") + "(" + from.name + ")";
        break;
      default: {
        const std::string other = other_operand(from);
        const bool is_first = below(2) == 0;
        call = std::string(below(2) == 0 ? "Sub" : "Mul") + "(" + (is_first ? from.name : other) +
               ", " + (is_first ? other : from.name) + ")";
      }
    }
    nodes_ += to.name + " = " + call + " ";
    values_.push_back(to);
  }

  // Returns a computed value of the same dims, or a constant or computed maximum that is broadcast.
  std::string other_operand(const Value& from) {
    const int kind = below(4);
    if (kind == 0)
      for (size_t i = values_.size(); i-- > 0;)
        if (values_[i].dims == from.dims && below(2) == 0) return values_[i].name;
    if (kind == 1) {
      std::vector<int> axes;
      for (int i = 0; i < static_cast<int>(from.dims.size()); ++i)
        if (below(3) != 0) axes.push_back(i);
      if (!axes.empty()) {
        const std::string name = "m" + std::to_string(values_.size());
        nodes_ += name + " = ReduceMax<axes = " + list(axes) + ">(" + from.name + ") ";
        return name;
      }
    }
    Value constant = {"c" + std::to_string(values_.size()), from.dims};
    for (int& dim : constant.dims)
      if (below(3) != 0) dim = 1;
    while (!constant.dims.empty() && constant.dims.front() == 1 && below(2) == 0)
      constant.dims.erase(constant.dims.begin());
    if (constant.dims.empty()) constant.dims.push_back(1);
    constants_ += (constants_.empty() ? "" : ", ") + typed(constant);
    return constant.name;
  }

  std::mt19937 random_;
  Dims dims_;
  std::vector<Value> values_;
  std::vector<int> last_perm_;
  std::string constants_;
  std::string nodes_;
  std::string model_;
};

}  // namespace

TEST_CASE("an activation between two Transposes is the convolution's") {
  CHECK(after(R"(
    g (float[1,1,2,3] x) => (float[1,1,2,3] y) <float[4,1,1,1] w, float[1,4,1,1] v>
    { c = Conv(x, w)
      t = Transpose<perm = [0,2,3,1]>(c)
      h = Sigmoid(t)
      u = Transpose<perm = [0,3,1,2]>(h)
      y = Conv(u, v) })",
              {{"sink_transposes", compiler::sink_transposes},
               {"eliminate_dead", compiler::eliminate_dead},
               {"fuse_activation", compiler::fuse_activation}})
            .find("%t c = Conv2d(%x, %w, %c.bias) {stride_h=1, stride_w=1, dilation_h=1, "
                  "dilation_w=1, groups=1, activation=Sigmoid}") != std::string::npos);
}

TEST_CASE("a gate of channels stands between two Transposes") {
  const std::string text = after(R"(
    g (float[1,4,2,3] x) => (float[1,4,2,3] y) <int64[4] d = {1, 1, 1, 4}>
    { t = Transpose<perm = [0,2,3,1]>(x)
      h = Sigmoid(t)
      u = Transpose<perm = [0,3,1,2]>(h)
      p = GlobalAveragePool(u)
      r = Reshape(p, d)
      s = Sigmoid(r)
      m = Mul(h, s)
      y = Transpose<perm = [0,3,1,2]>(m) })",
                                 kSinkTransposes);
  INFO(text);
  CHECK(count_of(text, "Transpose(") == 0);
}

TEST_CASE("two Transposes by the same order in front of a sum are one or none") {
  CHECK(count_of(after(R"(
    g (float[2,3,4] x, float[2,3,4] z) => (float[2,4,3] y)
    { s = Transpose<perm = [0,2,1]>(x)
      t = Transpose<perm = [0,2,1]>(z)
      y = Add(s, t) })",
                       kSinkTransposes),
                 "Transpose(") == 1);
  CHECK(count_of(after(R"(
    g (float[2,3,4] x, float[2,3,4] z) => (float[2,3,4] y)
    { s = Transpose<perm = [0,2,1]>(x)
      t = Transpose<perm = [0,2,1]>(z)
      a = Add(s, t)
      r = Relu(a)
      y = Transpose<perm = [0,2,1]>(r) })",
                       kSinkTransposes),
                 "Transpose(") == 0);
}

TEST_CASE("two Transposes that meet are one, and of dims of 1 a Reshape") {
  CHECK(after(R"(
    g (float[2,3,4] x) => (float[4,2,3] y)
    { s = Transpose<perm = [1,0,2]>(x)
      y = Transpose<perm = [2,1,0]>(s) })",
              kSinkTransposes) ==
        "input %x : f32[2,3,4]\n"
        "%y y = Transpose(%x) {perm_0=2, perm_2=1} : f32[4,2,3]\n"
        "output %y : f32[4,2,3]\n");
  CHECK(after("g (float[1,1,5,4] x) => (float[1,5,4,1] y) "
              "{ y = Transpose<perm = [0,2,3,1]>(x) }",
              kSinkTransposes) ==
        "input %x : f32[1,1,5,4]\n"
        "%y y = Reshape(%x) : f32[1,5,4,1]\n"
        "output %y : f32[1,5,4,1]\n");
}

TEST_CASE("a Transpose stays where nothing takes it back, or something else reads it") {
  const auto is_unchanged = [](const std::string& model) {
    return after(model, kSinkTransposes) == after(model, {});
  };
  CHECK(is_unchanged("g (float[2,3] x) => (float[3,2] y) { t = Transpose(x) y = Relu(t) }"));
  CHECK(
      is_unchanged("g (float[2,3] x) => (float[2,3] y, float[3,2] z) "
                   "{ t = Transpose(x) r = Relu(t) y = Transpose(r) z = Tanh(t) }"));
  CHECK(
      is_unchanged("g (float[2,3] x) => (float[2,3] y, float[3,2] t) "
                   "{ t = Transpose(x) r = Relu(t) y = Transpose(r) }"));
  // The first is a vector that would lie along a map's columns, the second a factor of its own for
  // each element.
  CHECK(
      is_unchanged("g (float[1,4,2,3] x) => (float[1,4,2,3] y) <float[2,1,1] c> "
                   "{ t = Transpose<perm = [0,2,3,1]>(x) a = Mul(t, c) "
                   "y = Transpose<perm = [0,3,1,2]>(a) }"));
  CHECK(
      is_unchanged("g (float[2,3] x, float[3,2] z) => (float[2,3] y) "
                   "{ t = Transpose(x) a = Mul(t, z) y = Transpose(a) }"));
}

TEST_CASE("sinking Transposes changes no result") {
  size_t before = 0, left = 0;
  for (uint32_t seed = 0; seed < 400; ++seed) {
    const RandomNetwork network(seed);
    INFO("seed " << seed << ": " << network.model());
    const ir::Graph plain = value_of(compiler::import_onnx(onnx_model(network.model()), "test"));
    ir::Graph sunk = plain;
    REQUIRE(error_of(compiler::run_passes(sunk, kSinkTransposes, {})) == "");
    std::vector<float> x(static_cast<size_t>(network.input_elements()));
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) - 2.5f;
    const auto* first = reinterpret_cast<const uint8_t*>(x.data());
    const compiler::Bytes input(first, first + x.size() * sizeof(float));
    CHECK(value_of(compiler::interpret(plain, {input})) ==
          value_of(compiler::interpret(sunk, {input})));
    before += count_of(ir::print(plain), "Transpose(");
    left += count_of(ir::print(sunk), "Transpose(");
  }
  CHECK(left < before);
}

}  // namespace codl::test
