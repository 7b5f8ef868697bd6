#include "tools/npy.h"

#include <cstring>

#include "test/support/catch.h"
#include "tools/tool_error.h"

namespace codl::tools {
namespace {

// Returns an .npy file with the given header text.
std::string file_of(const std::string& header, const std::string& data, char major = 1) {
  std::string file = "\x93NUMPY";
  file += major;
  file += '\0';
  const size_t length_bytes = major == 1 ? 2 : 4;
  for (size_t i = 0; i < length_bytes; ++i) file += static_cast<char>(header.size() >> (8 * i));
  return file + header + data;
}

const std::string kHeader = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";
const std::string kData(24, '\x01');

std::string message_of(const std::string& file) {
  try {
    parse_npy("x.npy", file);
  } catch (const ToolError& error) {
    CHECK(error.code == ExitCode::Input);
    return error.what();
  }
  return "accepted";
}

std::string file_of(const std::string& name) { return npy_file_names({name})[0]; }

TEST_CASE(
    "a tensor's name is a file's name with a '_' for what shells and file systems take amiss") {
  CHECK(file_of("block1/conv:0") == "block1_conv_0.npy");
  CHECK(file_of("Mean-2_b.out") == "Mean-2_b.out.npy");
  CHECK(file_of("a b*\xc3\xa4") == "a_b_\xc3\xa4.npy");
  CHECK(file_of("\xe5\x9d\x90\xe6\xa0\x87") == "\xe5\x9d\x90\xe6\xa0\x87.npy");
  CHECK(file_of("../x") == ".._x.npy");
  CHECK(file_of(std::string("\0\n", 2)) == "_u0000_u000a.npy");
  CHECK(file_of("\xe2\x80\xae"
                "fdp") == "_u202efdp.npy");  // right-to-left override
  CHECK(file_of("\xff") == "_xff.npy");
  const std::string longest(180, 'x');
  CHECK(file_of(longest) == longest + ".npy");
  CHECK(file_of(longest + "1").size() == 180 + 17 + 4);
  CHECK(file_of(longest + "1") != file_of(longest + "2"));
  // A character of two bytes is not cut in half but removed.
  CHECK(file_of(longest.substr(1) + "\xc3\xa4").substr(0, 180) == longest.substr(1) + "-");
}

TEST_CASE("tensors of different names have different files, the first the plain one") {
  const std::vector<std::string> files = npy_file_names({"a/b", "a:b", "a/b", "a_b"});
  CHECK(files[0] == "a_b.npy");
  CHECK(files[1].substr(0, 4) == "a_b-");
  CHECK(files[2] == files[0]);
  CHECK(files[3].substr(0, 4) == "a_b-");
  CHECK(files[3] != files[1]);
  // The name is already given to another file.
  const std::string given = files[1].substr(0, files[1].size() - 4);
  CHECK(npy_file_names({given, "a/b", "a:b"})[2] != files[1]);
}

TEST_CASE("what format_npy writes, parse_npy reads") {
  const std::vector<std::vector<int64_t>> shapes = {{}, {3}, {1, 3}, {2, 1, 4, 5}, {0}, {2, 0, 3}};
  for (const auto& dims : shapes) {
    for (const DTypeFacts& facts : kDTypes) {
      const codl_dtype_t dtype = facts.dtype;
      size_t bytes = element_bytes(dtype);
      for (int64_t dim : dims) bytes *= static_cast<size_t>(dim);
      std::string data(bytes, '\0');
      for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<char>(i * 7);
      const std::string file = format_npy(dtype, dims, data);
      CHECK((file.size() - bytes) % 64 == 0);
      const Npy npy = parse_npy("x.npy", file);
      CHECK(npy.dtype == dtype);
      CHECK(npy.dims == dims);
      CHECK(npy.data == data);
    }
  }
}

TEST_CASE("the header is the one that NumPy writes") {
  // NumPy 1.24's np.save of np.zeros((2, 3), np.float32) writes 128 bytes before the data.
  const std::string file = format_npy(CODL_FLOAT32, {2, 3}, kData);
  CHECK(file.substr(0, 10) == std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  CHECK(file.substr(10, 58) == "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), ");
  CHECK(file[127] == '\n');
  CHECK(file.size() == 128 + 24);
}

TEST_CASE("both versions, any order of keys and any quotes are read") {
  CHECK(message_of(file_of(kHeader, kData)) == "accepted");
  CHECK(message_of(file_of(kHeader, kData, 2)) == "accepted");
  CHECK(message_of(file_of("{\"shape\":(2,3),\"fortran_order\":False,\"descr\":\"<f4\"}", kData)) ==
        "accepted");
}

TEST_CASE("an array in Fortran order is read as the array it is") {
  // [[0, 1, 2], [3, 4, 5]] of uint8 lies column by column in the file.
  const std::string columns("\x00\x03\x01\x04\x02\x05", 6);
  const Npy npy = parse_npy(
      "x.npy", file_of("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", columns));
  CHECK(npy.data == std::string("\x00\x01\x02\x03\x04\x05", 6));
}

TEST_CASE("dims whose product no int64_t holds are refused, also beside a dim of 0") {
  const auto message = [](const std::string& dims) {
    return message_of(
        file_of("{'descr': '<f4', 'fortran_order': False, 'shape': " + dims + ", }", ""));
  };
  CHECK(message("(4611686018427387904, 0, 4)") ==
        "x.npy: expected dims with a product of bytes below 2^63, found "
        "float32[4611686018427387904,0,4]");
  CHECK(message("(0, 4294967296, 4294967296)") ==
        "x.npy: expected dims with a product of bytes below 2^63, found "
        "float32[0,4294967296,4294967296]");
  CHECK(message("(1073741824, 0, 4)") == "accepted");
}

TEST_CASE("a header is read from the beginning of a file, and its size is checked") {
  const std::string begin = file_of(kHeader, "");
  const NpyHeader header = parse_npy_header("x.npy", begin, begin.size() + kData.size());
  CHECK(header.dtype == CODL_FLOAT32);
  CHECK(header.dims == std::vector<int64_t>{2, 3});
  CHECK_FALSE(header.is_fortran);
  CHECK(header.data_offset_bytes == begin.size());
  CHECK_THROWS_AS(parse_npy_header("x.npy", begin, begin.size() + kData.size() + 1), ToolError);
}

TEST_CASE("raw 16-bit words are bfloat16, however they are declared") {
  for (const char* descr : {"|V2", "<V2"}) {
    const std::string header =
        std::string("{'descr': '") + descr + "', 'fortran_order': False, 'shape': (2,), }";
    CHECK(parse_npy("x.npy", file_of(header, "abcd")).dtype == CODL_BFLOAT16);
  }
}

TEST_CASE("everything else is refused in one line that names the file") {
  const auto header = [](const std::string& descr, const std::string& order,
                         const std::string& shape) {
    return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  };
  const std::string bad[] = {
      "",
      "\x93NUMPY",
      "not an array at all",
      file_of(kHeader, kData, 3),
      file_of(kHeader, kData).substr(0, 40),
      file_of(kHeader, kData + "x"),
      file_of(kHeader, kData.substr(1)),
      file_of("", kData),
      file_of(kHeader + "x", kData),
      file_of(header("'<f8'", "False", "(2, 3)"), kData),
      file_of(header("'<c8'", "False", "(2, 3)"), kData),
      file_of(header("'>f4'", "False", "(2, 3)"), kData),
      file_of(header("'<f4", "False", "(2, 3)"), kData),
      file_of(header("'<f4'", "Maybe", "(2, 3)"), kData),
      file_of(header("'<f4'", "False", "(2, -3)"), kData),
      file_of(header("'<f4'", "False", "(2, 0)"), kData),
      file_of(header("'<f4'", "False", "(8589934592, 8589934592, 0)"), kData),
      file_of(header("'<f4'", "False", "(2, x)"), kData),
      file_of(header("'<f4'", "False", "(2, 3"), kData),
      file_of(header("'<f4'", "False", "6"), kData),
      // 2^33 * 2^33 elements: the product wraps to 4 bytes * 0.
      file_of(header("'<f4'", "False", "(8589934592, 8589934592)"), ""),
      file_of(header("'<f4'", "False", "(99999999999999999999,)"), kData),
      file_of(header("'<f4'", "False", "(1, 1, 1, 1, 1, 1, 1, 2, 3)"), kData),
      file_of("{'descr': '<f4', 'shape': (2, 3)}", kData),
      file_of("{'descr': '<f4', 'descr': '<f4', 'shape': (2, 3)}", kData),
      file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'x': 1}", kData),
  };
  for (const std::string& file : bad) {
    const std::string message = message_of(file);
    INFO(message);
    CHECK(message.compare(0, 7, "x.npy: ") == 0);
    CHECK(message.find('\n') == std::string::npos);
  }
}

TEST_CASE("a header cut anywhere is refused") {
  const std::string file = file_of(kHeader, kData);
  for (size_t size = 0; size < file.size(); ++size)
    CHECK(message_of(file.substr(0, size)) != "accepted");
}

}  // namespace
}  // namespace codl::tools
