// Small functions over ONNX Runtime's C API, for the files of this folder.
//
// Functions that return an OrtStatus* return null when all is well, as ONNX Runtime's own do:
//   if (OrtStatus* fault = ...) return fault;
#pragma once

#include <onnxruntime_c_api.h>

#include <string>

#include "codl/codl.h"

namespace codl::onnxruntime {

// The oldest version of the API whose functions this folder calls. Newer libraries have it, too.
inline constexpr uint32_t kApiVersion = 23;
static_assert(ORT_API_VERSION >= kApiVersion, "expected headers of ONNX Runtime 1.23 or newer");

// The name of the execution provider; codlc writes it to models that --ep-context makes.
inline constexpr char kProviderName[] = "CodlExecutionProvider";

// Returns an error that reads "codl: where: text"; `where` may be empty.
inline OrtStatus* fault_of(const OrtApi& ort, OrtErrorCode code, const std::string& where,
                           const std::string& text) {
  const std::string message = "codl: " + where + (where.empty() ? "" : ": ") + text;
  return ort.CreateStatus(code, message.c_str());
}

// Returns the error of a call of libcodl that did not return CODL_OK. `where` is empty where `diag`
// names the file.
inline OrtStatus* fault_of(const OrtApi& ort, codl_status_t status, const std::string& where,
                           const codl_diag_t& diag) {
  const OrtErrorCode code = status == CODL_NOT_FOUND          ? ORT_NO_SUCHFILE
                            : status == CODL_INVALID_ARGUMENT ? ORT_INVALID_ARGUMENT
                                                              : ORT_EP_FAIL;
  return fault_of(ort, code, where,
                  diag.message[0] != '\0' ? diag.message : codl_status_text(status));
}

inline void warn(const OrtApi& ort, const OrtLogger* logger, const std::string& text) {
  OrtStatus* fault = ort.Logger_LogMessage(logger, ORT_LOGGING_LEVEL_WARNING,
                                           ("codl: " + text).c_str(), ORT_FILE, __LINE__, "codl");
  ort.ReleaseStatus(fault);  // nobody is left to tell
}

}  // namespace codl::onnxruntime
