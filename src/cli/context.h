// SPDX-License-Identifier: Apache-2.0
// What every command shares: how to print, which exit code to leave, and what the environment offers. The environment
// is read here and nowhere else.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "prove/prove.h"
#include "task/task.h"
#include "triton/kernel.h"

namespace plumb::cli {

// Exit codes.
inline constexpr int kHolds = 0, kDoesNotHold = 1, kWrongUse = 2, kInnerFault = 3, kNoGpu = 4;

struct Context {
  bool is_json = false;
  unsigned workers = 0;
  int exit_code = kHolds;

  bool has_colour_out = false, has_colour_err = false;  // a terminal, and no NO_COLOR
  bool is_err_terminal = false;
  std::string search_path;      // PATH
  std::string mcp_token;        // PLUMB_MCP_TOKEN
  std::filesystem::path cache;  // for parsed Python; empty: none

  static Context from_environment();
  triton::PythonConfig python() const;
};

// Empty where it is not set.
std::string environment_value(const char* name);

void print(std::string_view text);        // standard output
void print_error(std::string_view text);  // standard error
void print_json(const nlohmann::json& value);

// Bad input: the findings go to standard error, or as {"findings"} to standard output under --json.
void refuse(Context& context, const Findings& findings);
// One JSON object, or a text, and the exit code.
void answer(Context& context, const nlohmann::json& object, std::string_view text, bool holds);

std::optional<std::vector<task::Shape>> parse_shapes(const std::vector<std::string>& texts, Findings& findings);
std::optional<prove::Candidate> load_candidate(const std::string& path, Findings& findings);

// A line on standard error that says how far a proof or run is, from its second second on, where that is a terminal. It
// is gone before anything else is printed.
class ProgressLine {
 public:
  explicit ProgressLine(const Context& context);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;  // callbacks point into it
  ProgressLine& operator=(const ProgressLine&) = delete;

  std::function<bool(const prove::Progress&)> callback();
  void clear();  // what is shown now; it comes back with the next step

 private:
  struct Inner;
  std::unique_ptr<Inner> inner_;
};

}  // namespace plumb::cli
