// SPDX-License-Identifier: Apache-2.0
// ptxas as a judge: which lines of a text it rejects, and with which words. Only its front end runs (a virtual
// architecture), so that thousands of instructions cost as much as one.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plumb::agreement {

// The message for a line at which ptxas ended without a word.
inline constexpr std::string_view kNoAnswer = "ptxas failed and said nothing";

// One module whose body is a list of independent lines.
struct Batch {
  std::string arch;  // "sm_90a"
  std::string head;  // everything before the first line, whole lines
  std::vector<std::string> lines;
  std::string tail;  // everything after the last line
};

class Assembler {
 public:
  // Null where there is no ptxas 13.0 on the path.
  static std::optional<Assembler> find();

  // By index of a line: the first message against it. Lines that are not in the map were accepted. A message against
  // the head or the tail is under -1 and says that the batch itself is broken.
  std::map<int, std::string> rejected(const Batch& batch) const;

  // Whether a whole module is taken, linking left aside; `why` is the first message where it is not.
  bool takes(const std::string& arch, const std::string& text, std::string& why) const;

  // Whether code is made of a whole module, for a target that code is made for; `why` as above.
  bool assembles(const std::string& arch, const std::string& text, std::string& why) const;

  // What ptxas says of a whole module, a message a line: "12: Rounding modifier required for instruction 'fma'".
  std::string words(const std::string& arch, const std::string& text) const;

  const std::string& version() const { return version_; }

 private:
  explicit Assembler(std::string version) : version_(std::move(version)) {}
  std::string version_;
};

}  // namespace plumb::agreement
