// SPDX-License-Identifier: Apache-2.0
#include "session/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/file.h"
#include "base/hash.h"
#include "session/codes.h"

namespace plumb::session {
namespace {

constexpr std::size_t kLongestName = 100;

bool is_plain_name(std::string_view name) {
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  };
  return !name.empty() && name.size() <= kLongestName && name[0] != '.' && name[0] != '-' &&
         std::all_of(name.begin(), name.end(), is_allowed);
}

}  // namespace

const task::Task* Session::task(Findings& findings) const {
  if (config_.task) return &*config_.task;
  findings.add(kNoTask, "this tool needs a task");
  return nullptr;
}

std::string Session::default_file() const {
  const bool has_name = config_.task && is_plain_name(config_.task->name);
  return (has_name ? config_.task->name : std::string("candidate")) + ".ptx";
}

std::optional<std::filesystem::path> Session::path_of(std::string_view name, std::string_view ending,
                                                      Findings& findings) const {
  if (!is_plain_name(name) || !name.ends_with(ending) || name.size() == ending.size()) {
    findings.add(kFileName, fmt::format("`{}` is not a plain name that ends in {}", name, ending));
    return std::nullopt;
  }
  std::filesystem::path path = config_.folder / name;
  std::error_code error;
  if (std::filesystem::is_symlink(std::filesystem::symlink_status(path, error))) {
    findings.add(kFileName, fmt::format("`{}` is a link", name));
    return std::nullopt;
  }
  return path;
}

SourcePtr Session::read(std::string_view name, Findings& findings) const {
  Findings own;
  const auto path = path_of(name, ".ptx", own);
  std::optional<std::string> text;
  if (path) {
    std::error_code error;
    if (std::filesystem::is_regular_file(*path, error)) text = read_file(*path, own);
    else own.add(kFileName, fmt::format("there is no candidate `{}` yet", name));
  }
  findings.append(std::move(own));
  if (!text) return nullptr;
  return std::make_shared<Source>(std::string(name), std::move(*text));
}

bool Session::write(std::string_view name, std::string_view text, Findings& findings) const {
  const auto path = path_of(name, ".ptx", findings);
  return path && write_file(*path, text, findings);
}

std::optional<prove::Candidate> Session::candidate(std::string_view name, Findings& findings) const {
  const SourcePtr source = read(name, findings);
  if (!source) return std::nullopt;
  std::optional<prove::Candidate> out = prove::make_candidate(source, config_.folder / name, findings);
  if (!out || !holds_entry(*out, findings) || !holds_target(*out, config_.target, findings)) return std::nullopt;
  return out;
}

bool runs_on(const ptx::Target& have, std::string_view wanted) {
  if (have.text == wanted) return true;
  if (have.suffix != 0 || !wanted.starts_with("sm_")) return false;
  int number = 0;
  std::from_chars(wanted.data() + 3, wanted.data() + wanted.size(), number);
  return have.sm <= number;
}

bool holds_target(const prove::Candidate& candidate, std::string_view wanted, Findings& findings) {
  const ptx::Target& target = candidate.module->target;
  if (wanted.empty() || runs_on(target, wanted)) return true;
  const SourcePtr& source = candidate.module->source;
  const std::size_t at = source->text().find(".target");
  const auto begin = static_cast<std::uint32_t>(at == std::string_view::npos ? 0 : at);
  findings.add(kTarget, fmt::format("`.target {}`, the lowering is for {}", target.text, wanted),
               {source, {begin, begin + static_cast<std::uint32_t>(std::string_view(".target").size())}});
  return false;
}

bool holds_entry(const prove::Candidate& candidate, Findings& findings) {
  std::string known;
  unsigned count = 0;
  for (const ptx::Function& function : candidate.module->functions) {
    if (!function.is_entry || function.is_declaration) continue;
    if (function.name == candidate.launch.entry) return true;
    known += fmt::format("{}`{}`", count++ == 0 ? "" : ", ", function.name);
  }
  const bool is_named = !candidate.launch.entry.empty();
  if (!is_named && count == 1) return true;
  const std::string message = is_named     ? fmt::format("there is no entry `{}`", candidate.launch.entry)
                              : count == 0 ? std::string("there is no `.entry` in this file")
                                           : std::string("the launch header does not say which entry to launch");
  Finding& finding = findings.add(kEntry, message, candidate.launch.place_of("/entry"));
  if (count > 0) finding.hint = "entries here: " + known;
  return false;
}

std::string task_sha256(const task::Task& task, Findings& findings) {
  const std::optional<std::string> kernel = read_file(task.kernel_file, findings);
  return sha256(sha256(task.toml.source->text()) + sha256(kernel.value_or("")));
}

}  // namespace plumb::session
