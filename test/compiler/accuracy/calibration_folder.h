// Makes a folder of .npy files, which is removed in the end.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "tools/npy.h"

namespace codl::test {

class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "codl_XXXXXX").string();
    path = ::mkdtemp(pattern.data());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path); }
  void write(const std::string& name, codl_dtype_t dtype, const std::vector<int64_t>& dims,
             std::string_view data) const {
    std::ofstream(path + "/" + name, std::ios::binary) << tools::format_npy(dtype, dims, data);
  }
  void write(const std::string& name, const std::vector<int64_t>& dims,
             const std::vector<float>& data) const {
    write(name, CODL_FLOAT32, dims,
          {reinterpret_cast<const char*>(data.data()), data.size() * sizeof(float)});
  }
  std::string path;
};

}  // namespace codl::test
