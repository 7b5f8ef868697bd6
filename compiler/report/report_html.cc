#include "compiler/report/plan_report.h"

namespace codl::compiler {

// cmake/codl_embed_text.cmake makes these from report.html.
extern const char kReportPage[];
extern const size_t kReportPageBytes;

// In a page "</script>" would end the data; inside of JSON's strings "<" may be written so.
std::string report_html(llvm::StringRef json) {
  std::string data;
  for (const char c : json.rtrim()) c == '<' ? data.append("\\u003c") : data.append(1, c);
  constexpr llvm::StringLiteral kPlace = "@REPORT@";
  const llvm::StringRef page(kReportPage, kReportPageBytes);
  const size_t at = page.find(kPlace);
  return page.take_front(at).str() + data + page.drop_front(at + kPlace.size()).str();
}

}  // namespace codl::compiler
