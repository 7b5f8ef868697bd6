// Tests the possible contents of a model's file: open dims, external data, element types.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>

#include "test/compiler/frontend/import_text.h"

namespace codl::test {
namespace {

namespace fs = std::filesystem;
using compiler::ImportOptions;

std::string shape_error(const std::string& text, const ImportOptions& options = {}) {
  return error_of(compiler::import_onnx(onnx_model(text), "m.onnx", options));
}

// Makes a folder of this test, which is removed with it.
struct Folder {
  Folder() : path(fs::temp_directory_path() / ("codl_model_files_" + std::to_string(getpid()))) {
    fs::create_directories(path / "model");
  }
  ~Folder() { fs::remove_all(path); }
  void write(const std::string& name, const std::vector<float>& elements) const {
    std::ofstream file(path / name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(elements.data()),
               static_cast<std::streamsize>(elements.size() * sizeof(float)));
  }
  fs::path path;
};

using Entries = std::vector<std::pair<std::string, std::string>>;

// Imports y = x + w, with w [2] in another file.
std::string external_error(const Folder& folder, const Entries& entries) {
  onnx::ModelProto model;
  REQUIRE(model.ParseFromString(
      onnx_model("g (float[2] x) => (float[2] y) <float[2] w> { y = Add(x, w) }")));
  auto* w = model.mutable_graph()->mutable_initializer(0);
  w->clear_float_data();
  w->set_data_location(onnx::TensorProto::EXTERNAL);
  for (const auto& [key, value] : entries) {
    auto* entry = w->add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
  const std::string path = (folder.path / "model" / "m.onnx").string();
  auto graph = compiler::import_onnx(model.SerializeAsString(), path);
  if (!graph) return error_of(std::move(graph));
  const std::vector<float> ones = {1, 1};
  const auto* first = reinterpret_cast<const uint8_t*>(ones.data());
  const auto outputs = value_of(compiler::interpret(*graph, {compiler::Bytes(first, first + 8)}));
  const auto* y = reinterpret_cast<const float*>(outputs[0].data());
  return std::to_string(int(y[0])) + " " + std::to_string(int(y[1]));
}

}  // namespace

TEST_CASE("dims that stay open are an error with the flag to use, for all inputs at once") {
  CHECK(
      shape_error("g (float[N,3,H] x, float[?,2] z, float[2] k) => (float[] y) { y = Relu(x) }") ==
      "m.onnx: expected inputs with a number for every dim, found 'x' [N,3,H] (use "
      "--input-shape=x:<N>x3x<H>); 'z' [?,2] (use --input-shape=z:<dim>x2)");
}

TEST_CASE("--input-shape fixes dims, and those with the same name elsewhere") {
  ImportOptions options;
  options.input_shapes["x"] = {4, 3};
  const ir::Graph graph = value_of(compiler::import_onnx(
      onnx_model("g (float[N,3] x, float[N,1] z) => (float[N,3] y) { y = Add(x, z) }"), "m.onnx",
      options));
  CHECK(graph.value(graph.inputs()[1]).type.dims == ir::Dims{4, 1});
  CHECK(graph.value(graph.outputs()[0]).type.dims == ir::Dims{4, 3});
}

TEST_CASE("--input-shape makes a decoder's cache empty, as it is before the first token") {
  ImportOptions options;
  options.input_shapes["past"] = {1, 2, 0, 8};
  const ir::Graph graph = value_of(compiler::import_onnx(
      onnx_model("g (float[1,2,P,8] past, float[1,2,1,8] k) => (float[1,2,T,8] all) "
                 "{ all = Concat<axis = 2>(past, k) }"),
      "m.onnx", options));
  CHECK(graph.value(graph.inputs()[0]).type.dims == ir::Dims{1, 2, 0, 8});
  CHECK(graph.value(graph.outputs()[0]).type.dims == ir::Dims{1, 2, 1, 8});
}

TEST_CASE("--input-shape that does not fit the model") {
  const std::string text = "g (float[N,3] x, float[N] z) => (float[] y) { y = Relu(x) }";
  auto error = [&](const std::string& name, std::vector<int64_t> dims) {
    ImportOptions options;
    options.input_shapes[name] = std::move(dims);
    return shape_error(text, options);
  };
  CHECK(error("q", {1}) == "--input-shape: expected an input of the model (x, z), found q");
  CHECK(error("x", {1}) == "--input-shape=x: expected 2 dims as in [N,3], found 1");
  CHECK(error("x", {1, 4}) ==
        "--input-shape=x: expected 3 as dim 1, which the model fixes, found 4");
  CHECK(error("x", {-1, 3}) == "--input-shape=x: expected dims of 0 or more, found -1");
  ImportOptions both;
  both.input_shapes["x"] = {1, 3};
  both.input_shapes["z"] = {2};
  CHECK(shape_error(text, both) ==
        "--input-shape=z: expected 1 as dim 0 ('N', dim 0 of --input-shape=x), found 2");
  ImportOptions square;
  square.input_shapes["x"] = {4, 5};
  CHECK(shape_error("g (float[N,N] x) => (float[] y) { y = Relu(x) }", square) ==
        "--input-shape=x: expected 4 as dim 1 ('N', dim 0 of this flag), found 5");
}

TEST_CASE("names that stand for no name are not one symbol") {
  for (const std::string name : {"?", "", "??", "-1", " ", "*", "None"}) {
    CAPTURE(name);
    onnx::ModelProto model;
    REQUIRE(model.ParseFromString(onnx_model(
        "g (float[1,A,A] x, float[A] z) => (float[A] y, float[1,A,A] r) <int64[1] s = {-1}> "
        "{ y = Reshape(x, s) r = Relu(x) }")));
    for (auto* infos :
         {model.mutable_graph()->mutable_input(), model.mutable_graph()->mutable_output()})
      for (onnx::ValueInfoProto& info : *infos)
        for (auto& dim :
             *info.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim())
          if (!dim.has_dim_value()) dim.set_dim_param(name);
    ImportOptions options;
    options.input_shapes["x"] = {1, 4, 5};
    // `z` does not follow from `x`.
    CHECK(error_of(compiler::import_onnx(model.SerializeAsString(), "m.onnx", options)) ==
          "m.onnx: expected inputs with a number for every dim, found 'z' [?] (use "
          "--input-shape=z:<dim>)");
    options.input_shapes["z"] = {6};
    std::vector<std::string> notes;
    const ir::Graph graph =
        value_of(compiler::import_onnx(model.SerializeAsString(), "m.onnx", options, &notes));
    CHECK(graph.value(graph.outputs()[0]).type.dims == ir::Dims{20});
    CHECK(notes.empty());
  }
}

namespace {

ImportOptions with_value(const std::string& name, std::vector<std::string> elements) {
  ImportOptions options;
  options.input_values[name] = std::move(elements);
  return options;
}

}  // namespace

TEST_CASE("--input-value makes an input a constant of its type") {
  const auto constant = [](const std::string& type, const std::vector<std::string>& elements) {
    const ir::Graph graph =
        value_of(compiler::import_onnx(onnx_model("g (" + type + " s, float[2] x) => (" + type +
                                                  " y, float[2] z) "
                                                  "{ y = Identity(s) z = Relu(x) }"),
                                       "m.onnx", with_value("s", elements)));
    REQUIRE(graph.inputs().size() == 1);
    CHECK(graph.value(graph.inputs()[0]).name == "x");
    return value_of(compiler::interpret(graph, {compiler::Bytes(8, 0)}))[0];
  };
  const auto bytes = [](const auto& elements) {
    const auto* first = reinterpret_cast<const uint8_t*>(elements.data());
    return compiler::Bytes(first, first + elements.size() * sizeof(elements[0]));
  };
  CHECK(constant("int64", {"-9223372036854775808"}) == bytes(std::vector<int64_t>{INT64_MIN}));
  CHECK(constant("uint64", {"18446744073709551615"}) == bytes(std::vector<uint64_t>{UINT64_MAX}));
  CHECK(constant("int32[3]", {"1", "-2", "3"}) == bytes(std::vector<int32_t>{1, -2, 3}));
  CHECK(constant("uint32[1]", {"4294967295"}) == bytes(std::vector<uint32_t>{UINT32_MAX}));
  CHECK(constant("int16[2]", {"-32768", "7"}) == bytes(std::vector<int16_t>{-32768, 7}));
  CHECK(constant("uint16", {"65535"}) == bytes(std::vector<uint16_t>{65535}));
  CHECK(constant("int8", {"-128"}) == bytes(std::vector<int8_t>{-128}));
  CHECK(constant("uint8", {"255"}) == bytes(std::vector<uint8_t>{255}));
  CHECK(constant("bool[4]", {"true", "false", "0", "1"}) ==
        bytes(std::vector<uint8_t>{1, 0, 0, 1}));
  CHECK(constant("float[2,1]", {"0.5", "-1e30"}) == bytes(std::vector<float>{0.5f, -1e30f}));
  CHECK(constant("double", {"0.1"}) == bytes(std::vector<double>{0.1}));
  // 0.1 as float16 is 0x2e66.
  CHECK(constant("float16", {"0.1"}) == bytes(std::vector<uint16_t>{0x2e66}));
  CHECK(constant("float", {"inf"}) == bytes(std::vector<float>{INFINITY}));
}

TEST_CASE("--input-value that does not fit the model") {
  const std::string text =
      "g (int64 s, uint8[2] u, bool b, float[N] o, string t, float[0] none) => (float[] y) "
      "{ y = Relu(o) }";
  const auto error = [&](const std::string& name, const std::vector<std::string>& elements) {
    ImportOptions options = with_value(name, elements);
    options.input_shapes["o"] = {3};
    return shape_error(text, options);
  };
  CHECK(error("q", {"1"}) ==
        "--input-value: expected an input of the model (s, u, b, o, t, none), found q");
  CHECK(error("s", {}) == "--input-value=s: expected 1 element(s), found 0");
  CHECK(error("s", {"1", "2"}) == "--input-value=s: expected 1 element(s), found 2");
  CHECK(error("none", {"1"}) == "--input-value=none: expected 0 element(s), found 1");
  CHECK(error("s", {"1.5"}) == "--input-value=s: expected elements of type i64, found \"1.5\"");
  CHECK(error("s", {""}) == "--input-value=s: expected elements of type i64, found \"\"");
  CHECK(error("s", {"9223372036854775808"}) ==
        "--input-value=s: expected elements of type i64, found \"9223372036854775808\"");
  CHECK(error("u", {"1", "256"}) == "--input-value=u: expected elements of type u8, found \"256\"");
  CHECK(error("u", {"1", "-1"}) == "--input-value=u: expected elements of type u8, found \"-1\"");
  CHECK(error("b", {"2"}) == "--input-value=b: expected elements of type bool, found \"2\"");
  CHECK(shape_error("g (float[N] o) => (float[] y) { y = Relu(o) }", with_value("o", {"1"})) ==
        "m.onnx: expected inputs with a number for every dim, found 'o' [N] (use "
        "--input-shape=o:<N>)");
  CHECK(error("t", {"a"}) ==
        "--input-value=t: expected a tensor of a known data type, found data type STRING");
  ImportOptions options = with_value("o", {"x", "2"});
  options.input_shapes["o"] = {2};
  CHECK(shape_error(text, options) ==
        "--input-value=o: expected elements of type f32, found \"x\"");
}

TEST_CASE("external data: a part of a file in the model's folder") {
  const Folder folder;
  folder.write("model/w.bin", {5, 6, 7, 8});
  folder.write("secret.bin", {1, 2});
  fs::create_directories(folder.path / "model" / "sub");
  folder.write("model/sub/w.bin", {9, 9});
  fs::create_symlink(folder.path / "secret.bin", folder.path / "model" / "link.bin");

  CHECK(external_error(folder, {{"location", "w.bin"}}) == "6 7");
  CHECK(external_error(folder, {{"location", "w.bin"}, {"offset", "8"}, {"length", "8"}}) == "8 9");
  CHECK(external_error(folder, {{"location", "sub/w.bin"}}) == "10 10");
  CHECK(external_error(folder, {{"location", "w.bin"}, {"offset", "12"}}) ==
        "w: expected 8 bytes from byte 12 on in 'w.bin', found 16 bytes");
  CHECK(external_error(folder, {{"location", "w.bin"}, {"offset", "18446744073709551615"}}) ==
        "w: expected 8 bytes from byte 18446744073709551615 on in 'w.bin', found 16 bytes");
  CHECK(external_error(folder, {{"location", "w.bin"}, {"length", "4"}}) ==
        "w: expected 8 bytes of external data, found 4");
  CHECK(external_error(folder, {{"location", "w.bin"}, {"offset", "-1"}}) ==
        "w: expected a number as offset of external data, found '-1'");
  CHECK(external_error(folder, {{"location", "none.bin"}}) ==
        "w: expected external data in 'none.bin', found no such file");
  CHECK(external_error(folder, {{"location", "sub"}}) ==
        "w: expected external data in 'sub', found no regular file");
  for (const std::string outside : {"../secret.bin", "sub/../../secret.bin", "/etc/passwd", ""})
    CHECK(external_error(folder, {{"location", outside}}) ==
          "w: expected external data inside the model's folder, found '" + outside + "'");
  CHECK(external_error(folder, {{"location", "link.bin"}}) ==
        "w: expected external data inside the model's folder, found a link 'link.bin' that leaves "
        "it");
}

TEST_CASE("initializers that name one range of a file share its bytes") {
  const Folder folder;
  folder.write("model/w.bin", {5, 6, 7, 8});
  onnx::ModelProto model;
  REQUIRE(model.ParseFromString(
      onnx_model("g (float[2] x) => (float[2] y) <float[2] a, float[2] b, float[2] c> "
                 "{ s = Add(x, a) t = Add(s, b) y = Add(t, c) }")));
  for (auto& tensor : *model.mutable_graph()->mutable_initializer()) {
    tensor.clear_float_data();
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    auto* location = tensor.add_external_data();
    location->set_key("location");
    location->set_value("w.bin");
    auto* offset = tensor.add_external_data();
    offset->set_key("offset");
    offset->set_value(tensor.name() == "c" ? "8" : "0");
  }
  const ir::Graph graph = value_of(compiler::import_onnx(
      model.SerializeAsString(), (folder.path / "model" / "m.onnx").string()));
  std::map<std::string, const uint8_t*> at;
  for (const ir::Value& value : graph.values()) at[value.name] = value.bytes.data();
  CHECK(at["b"] == at["a"]);
  CHECK(at["c"] == at["a"] + 8);
}

TEST_CASE("ranges of a file that overlap are not many times its bytes") {
  constexpr int kCount = 1000000;  // floats in the file
  const Folder folder;
  folder.write("model/w.bin", std::vector<float>(kCount));
  // Each initializer has nearly all of the file, from an offset of its own.
  const auto error_of_offsets = [&](const std::vector<int>& offsets, const std::string& location) {
    onnx::ModelProto model;
    REQUIRE(model.ParseFromString(
        onnx_model("g (float[999990] x) => (float[999990] y) <float[2] w> { y = Add(x, w) }")));
    onnx::GraphProto& graph = *model.mutable_graph();
    graph.clear_initializer();
    graph.clear_node();
    std::string last = "x";
    for (size_t i = 0; i < offsets.size(); ++i) {
      onnx::TensorProto& tensor = *graph.add_initializer();
      tensor.set_name("w" + std::to_string(i));
      tensor.set_data_type(onnx::TensorProto::FLOAT);
      tensor.add_dims(kCount - 10);
      tensor.set_data_location(onnx::TensorProto::EXTERNAL);
      for (const auto& [key, value] :
           Entries{{"location", location}, {"offset", std::to_string(4 * offsets[i])}}) {
        auto* entry = tensor.add_external_data();
        entry->set_key(key);
        entry->set_value(value);
      }
      onnx::NodeProto& node = *graph.add_node();
      node.set_op_type("Add");
      node.add_input(last);
      node.add_input(tensor.name());
      last = i + 1 == offsets.size() ? "y" : "s" + std::to_string(i);
      node.add_output(last);
    }
    auto imported = compiler::import_onnx(model.SerializeAsString(),
                                          (folder.path / "model" / "m.onnx").string());
    return imported ? "" : error_of(std::move(imported));
  };
  CHECK(error_of_offsets({0, 0, 0, 0, 0, 0, 0, 0}, "w.bin") == "");
  CHECK(error_of_offsets({0, 10, 0, 10, 0, 10}, "w.bin") == "");
  for (const char* location : {"w.bin", "./w.bin", ".//w.bin"})
    CHECK(error_of_offsets({0, 1, 2}, location) ==
          "w2: expected different ranges of '" + std::string(location) +
              "' of 9048576 bytes or less together, 2 times the file and 1048576, found 11999880");
}

TEST_CASE("weights of other float types are converted, with one note per type") {
  onnx::ModelProto model;
  REQUIRE(model.ParseFromString(
      onnx_model("g (float[2] x) => (float[2] y) <float[2] h, float[2] b, double[2] d = {0.5, 4}> "
                 "{ s = Add(x, h) t = Add(s, b) y = Add(t, d) }")));
  for (auto& tensor : *model.mutable_graph()->mutable_initializer()) {
    if (tensor.name() == "d") continue;
    tensor.clear_float_data();
    tensor.set_data_type(tensor.name() == "h" ? onnx::TensorProto::FLOAT16
                                              : onnx::TensorProto::BFLOAT16);
    // These are 1 and the smallest subnormal; 2 and -0.
    for (int bits :
         tensor.name() == "h" ? std::vector<int>{0x3c00, 0x0001} : std::vector<int>{0x4000, 0x8000})
      tensor.add_int32_data(bits);
  }
  std::vector<std::string> notes;
  const ir::Graph graph =
      value_of(compiler::import_onnx(model.SerializeAsString(), "m.onnx", {}, &notes));
  REQUIRE(!notes.empty());
  CHECK(notes.back().find("values of type DOUBLE: ") == 0);
  notes.pop_back();
  CHECK(notes == std::vector<std::string>{"1 tensor(s) of type BFLOAT16 read as f32",
                                          "1 tensor(s) of type FLOAT16 read as f32"});
  CHECK(graph.file_float_bytes == 2);
  for (const ir::Value& value : graph.values()) {
    if (value.name == "h") CHECK(value.as<float>().vec() == std::vector<float>{1, 0x1p-24f});
    if (value.name == "b") CHECK(value.as<float>().vec() == std::vector<float>{2, -0.0f});
    if (value.name == "d.f32") CHECK(value.as<float>().vec() == std::vector<float>{0.5, 4});
  }
}

TEST_CASE("a line says that a model has doubles, wherever they are") {
  const auto has_line = [](const std::string& bytes) {
    std::vector<std::string> notes;
    value_of(compiler::import_onnx(bytes, "m.onnx", {}, &notes));
    return llvm::any_of(
        notes, [](llvm::StringRef note) { return note.startswith("values of type DOUBLE: "); });
  };
  const auto says = [&](const std::string& text) { return has_line(onnx_model(text)); };
  const std::string casts = "{ d = Cast<to = 11>(x) y = Cast<to = 1>(d) }";
  CHECK_FALSE(says("g (int64[2] x) => (float[2] y) { y = Cast<to = 1>(x) }"));
  CHECK(says("g (double[2] x) => (float[2] y) { y = Cast<to = 1>(x) }"));
  CHECK(says("g (int64[2] x) => (float[2] y) " + casts));
  CHECK(
      says("g (float[1] x) => (float[1] y) "
           "{ d = Constant<value = double[1] {1}>() e = Cast<to = 1>(d) y = Add(x, e) }"));
  CHECK(says("g (float[2] x, bool c) => (float[2] z) { z = If<then_branch = a () => (float[2] y) " +
             casts + ", else_branch = b () => (float[2] y) { y = Abs(x) }>(c) }"));
  CHECK(has_line(parse_onnx_text("<ir_version: 8, opset_import: [\"\": 13, \"f\": 1]> "
                                 "g (float[2] x) => (float[2] y) { y = f.carry(x) } "
                                 "<domain: \"f\", opset_import: [\"\": 13]> carry (x) => (y) " +
                                 casts)
                     .SerializeAsString()));
}

TEST_CASE("data that cannot be held is an error where it is read") {
  const std::string text = "g (float[2] x) => (float[2] y) <string[1] s = {\"a\"}> ";
  CHECK(shape_error(text + "{ y = Relu(x) }") == "");
  CHECK(shape_error(text + "{ y = Add(x, s) }").find("found data type STRING") !=
        std::string::npos);
}

TEST_CASE("a value without elements is computed at compile time") {
  const ir::Graph graph = import_text(
      "g (float[0,3] x) => (float[2,3] y) <float[2,3] w> { y = Concat<axis = 0>(x, w) }");
  CHECK(graph.value(graph.inputs()[0]).type.dims == ir::Dims{0, 3});
  const ir::Graph none = import_text("g (float[0,3] x) => (float[3,0] y) { y = Transpose(x) }");
  REQUIRE(none.extents().size() == 1);
  CHECK(none.extents()[0].dim == 1);
  CHECK(none.value(none.outputs()[none.extents()[0].count_output]).name == "y.extent.1");
}

// Imports x [2] + s, with a sparse s of values 5 and 7 at the indices. Returns the contents of s,
// or the error.
std::string sparse(const std::vector<int64_t>& indices, const std::vector<int64_t>& index_dims,
                   const std::vector<int64_t>& dims) {
  onnx::ModelProto model;
  REQUIRE(model.ParseFromString(onnx_model("g (float[2] x) => (float[] y) { y = MatMul(x, s) }")));
  auto& proto = *model.mutable_graph()->add_sparse_initializer();
  for (int64_t dim : dims) proto.add_dims(dim);
  auto& values = *proto.mutable_values();
  values.set_name("s");
  values.set_data_type(onnx::TensorProto::FLOAT);
  values.add_dims(2);
  values.add_float_data(5);
  values.add_float_data(7);
  proto.mutable_indices()->set_data_type(onnx::TensorProto::INT64);
  for (int64_t dim : index_dims) proto.mutable_indices()->add_dims(dim);
  for (int64_t index : indices) proto.mutable_indices()->add_int64_data(index);
  auto graph = compiler::import_onnx(model.SerializeAsString(), "m.onnx");
  if (!graph) return error_of(std::move(graph));
  std::string text;
  for (const ir::Value& value : graph->values())
    if (value.name == "s")
      for (float element : value.as<float>()) text += std::to_string(int(element)) + " ";
  return text;
}

TEST_CASE("a sparse initializer is the dense tensor, whichever form its indices have") {
  CHECK(sparse({1, 5}, {2}, {2, 3}) == "0 5 0 0 0 7 ");
  CHECK(sparse({0, 1, 1, 2}, {2, 2}, {2, 3}) == "0 5 0 0 0 7 ");
  // The index is beyond its row, but inside the flat tensor.
  CHECK(sparse({0, 4, 1, 2}, {2, 2}, {2, 3}) ==
        "s: expected indices inside [2,3] that ascend, found others at 0");
  CHECK(sparse({1, 6}, {2}, {2, 3}) ==
        "s: expected indices inside [2,3] that ascend, found others at 1");
  CHECK(sparse({-1, 5}, {2}, {2, 3}) ==
        "s: expected indices inside [2,3] that ascend, found others at 0");
  CHECK(sparse({3, 3}, {2}, {2, 3}) ==
        "s: expected indices inside [2,3] that ascend, found others at 1");
  CHECK(sparse({1, 5, 0}, {3}, {2, 3}) ==
        "s: expected a vector of values and i64 indices [2], found i64[3]");
  CHECK(sparse({1, 5, 0, 0}, {4, 1}, {2, 3}) ==
        "s: expected a vector of values and i64 indices [2,2], found i64[4,1]");
  CHECK(sparse({0, 1}, {2}, {2, -3}) == "s: expected dims of at least 0, found -3");
  CHECK(sparse({0, 1}, {2}, {2, 1 << 26}).find("found sparse data of more than 268435456 bytes") !=
        std::string::npos);
}

TEST_CASE("a few bytes do not ask for much memory or time") {
  CHECK(import_error(
            "g (float[2] x) => (float[] y) <int64[1] n = {1000000000}> "
            "{ a = ConstantOfShape(n) b = Add(a, a) s = Cast<to = 7>(b) y = Reshape(x, s) }") !=
        "");
}

}  // namespace codl::test
