// SPDX-License-Identifier: Apache-2.0
// The command line: a thin door over the libraries. Exit codes: 0 holds, 1 does not hold, 2 wrong use or bad input,
// 3 a fault of plumb.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "check/codes.h"
#include "domain/codes.h"
#include "machine/codes.h"
#include "prove/codes.h"
#include "prove/prove.h"
#include "ptx/codes.h"
#include "ptx/format.h"
#include "ptx/isa.h"
#include "ptx/module.h"
#include "task/codes.h"
#include "triton/codes.h"

namespace plumb::cli {
namespace {

constexpr int kHolds = 0, kDoesNotHold = 1, kBadInput = 2;

bool wants_colour(int descriptor) { return ::isatty(descriptor) != 0 && std::getenv("NO_COLOR") == nullptr; }

int refuse(const Findings& findings, bool as_json) {
  if (as_json) {
    fmt::print("{}\n", nlohmann::json{{"findings", to_json(findings)}}.dump(2));
  } else {
    fmt::print(stderr, "{}", render(findings, wants_colour(STDERR_FILENO)));
  }
  return kBadInput;
}

std::filesystem::path cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != 0) {
    return std::filesystem::path(cache) / "plumb";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != 0) {
    return std::filesystem::path(home) / ".cache" / "plumb";
  }
  return {};
}

// One line on stderr, on a terminal only, for whatever takes longer than two seconds.
class ProgressLine {
 public:
  ~ProgressLine() {
    if (is_shown_) fmt::print(stderr, "\r\x1b[K");
  }
  bool operator()(const prove::Progress& progress) {
    const std::lock_guard lock(mutex_);
    const auto now = Clock::now();
    if (!is_terminal_ || now - begin_ < std::chrono::seconds(2) || now - last_ < std::chrono::milliseconds(100)) {
      return true;
    }
    last_ = now;
    is_shown_ = true;
    fmt::print(stderr, "\r\x1b[K{}: {} {} of {}", progress.shape, progress.phase, progress.done, progress.all);
    std::fflush(stderr);
    return true;
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::mutex mutex_;
  Clock::time_point begin_ = Clock::now(), last_ = begin_;
  bool is_terminal_ = ::isatty(STDERR_FILENO) != 0;
  bool is_shown_ = false;
};

struct ProveArgs {
  std::string task, ptx, certificate, recheck;
  std::vector<std::string> shapes;
  std::uint64_t seed = 0;
  unsigned workers = 0;
  bool as_json = false;
};

int run_prove(const ProveArgs& args, bool has_spec) {
  Findings findings;
  const std::optional<task::Task> task = task::load_task(args.task, findings);
  if (!task) return refuse(findings, args.as_json);
  const std::optional<prove::Candidate> candidate = prove::load_candidate(args.ptx, findings);
  if (!candidate) return refuse(findings, args.as_json);
  prove::Options options;
  options.seed = args.seed;
  options.workers = args.workers;
  options.python.cache = cache_folder();
  for (const std::string& text : args.shapes) {
    const std::optional<task::Shape> shape = task::parse_shape(text, findings);
    if (!shape) return refuse(findings, args.as_json);
    options.shapes.push_back(*shape);
  }
  ProgressLine line;
  options.progress = [&](const prove::Progress& progress) { return line(progress); };
  prove::Outcome outcome;
  if (!args.recheck.empty()) {
    const std::optional<std::string> text = read_file(args.recheck, findings);
    if (!text) return refuse(findings, args.as_json);
    const nlohmann::json certificate = nlohmann::json::parse(*text, nullptr, false);
    outcome =
        prove::recheck(certificate.is_discarded() ? nlohmann::json::object() : certificate, *task, *candidate, options);
  } else {
    outcome = has_spec ? prove::prove(*task, *candidate, options) : prove::check(*task, *candidate, options);
  }
  if (outcome.is_bad_input) return refuse(outcome.findings, args.as_json);
  if (!args.certificate.empty() &&
      !write_file(args.certificate, prove::certificate(*task, *candidate, outcome).dump(2) + "\n", findings)) {
    return refuse(findings, args.as_json);
  }
  if (args.as_json) {
    fmt::print("{}\n", prove::to_json(outcome).dump(2));
  } else {
    fmt::print("{}", prove::to_text(outcome, wants_colour(STDOUT_FILENO)));
  }
  return outcome.holds() ? kHolds : kDoesNotHold;
}

// A file alone: is it legal PTX?
int run_read(const std::string& file, bool as_json) {
  Findings findings;
  const SourcePtr source = read_source(file, findings);
  if (!source) return refuse(findings, as_json);
  const std::optional<ptx::CheckedModule> module = ptx::load(source, findings);
  if (!module) return refuse(findings, as_json);
  std::size_t instrs = 0;
  for (const ptx::Function& function : (*module)->functions) instrs += function.instrs.size();
  if (as_json) {
    fmt::print("{}\n", nlohmann::json{{"findings", to_json(findings)}, {"instructions", instrs}}.dump(2));
  } else {
    fmt::print("legal PTX for {}: {} functions, {} instructions\n", (*module)->target.text, (*module)->functions.size(),
               instrs);
  }
  return kHolds;
}

int run_fmt(const std::string& file, bool is_check, bool is_write) {
  Findings findings;
  const SourcePtr source = read_source(file, findings);
  if (!source) return refuse(findings, false);
  const std::optional<std::string> text = ptx::format(source, findings);
  if (!text) return refuse(findings, false);
  const bool is_same = *text == source->text();
  if (is_check) {
    if (!is_same) fmt::print("{} is not formatted\n", file);
    return is_same ? kHolds : kDoesNotHold;
  }
  if (!is_write) {
    fmt::print("{}", *text);
    return kHolds;
  }
  if (!is_same && !write_file(file, *text, findings)) return refuse(findings, false);
  return kHolds;
}

int run_isa(const std::string& query, bool as_json) {
  const std::vector<ptx::IsaEntry> entries = ptx::look_up(query);
  if (as_json) {
    nlohmann::json out = nlohmann::json::array();
    for (const ptx::IsaEntry& entry : entries) {
      out.push_back({{"form", entry.name},
                     {"syntax", entry.syntax},
                     {"since", entry.since},
                     {"targets", entry.targets},
                     {"manual", entry.manual}});
    }
    fmt::print("{}\n", out.dump(2));
  } else {
    for (const ptx::IsaEntry& entry : entries) {
      fmt::print("{}  ({}{}{}, manual: {})\n", entry.name, entry.since, entry.targets.empty() ? "" : ", ",
                 entry.targets, entry.manual);
      for (const std::string& line : entry.syntax) fmt::print("    {}\n", line);
    }
  }
  if (entries.empty()) fmt::print(stderr, "plumb: no form matches `{}`\n", query);
  return entries.empty() ? kBadInput : kHolds;
}

int run_explain(const std::string& id) {
  const std::span<const Code* const> folders[] = {ptx::codes(),  domain::codes(), machine::codes(), triton::codes(),
                                                  task::codes(), check::codes(),  prove::codes()};
  for (const std::span<const Code* const> codes : folders) {
    for (const Code* code : codes) {
      if (code->id != id) continue;
      fmt::print("{}: {}\n\n{}\n", code->id, code->summary, code->explanation);
      return kHolds;
    }
  }
  fmt::print(stderr, "plumb: there is no finding `{}`\n", id);
  return kBadInput;
}

int run(int argc, char** argv) {
  CLI::App app{"plumb: is this PTX the Triton kernel? Proofs, checks and a CPU machine for PTX."};
  app.set_version_flag("--version", "plumb 0.1.0");
  app.require_subcommand(1);
  int status = kBadInput;

  ProveArgs args;
  CLI::App* prove = app.add_subcommand("prove", "prove a PTX file equal to a task's Triton source");
  prove->add_option("task", args.task, "task folder or task.toml")->required();
  prove->add_option("ptx", args.ptx, "candidate: PTX with a launch header, or with Triton's launch JSON beside it")
      ->required();
  prove->add_option("--shape", args.shapes, "sizes instead of the task's: n=1000,k=3; may be repeated");
  prove->add_option("--seed", args.seed, "seed of the random primes and points");
  prove->add_option("--workers", args.workers, "threads; 0: all cores");
  prove->add_option("--certificate", args.certificate, "write a certificate to this file");
  prove->add_option("--recheck", args.recheck, "repeat the proof of this certificate with a fresh seed");
  prove->add_flag("--json", args.as_json, "print one JSON object");
  prove->callback([&] { status = run_prove(args, true); });

  std::string check_task;
  CLI::App* check = app.add_subcommand("check", "is a file legal PTX; with a task: does it race, hang or go astray");
  check->add_option("ptx", args.ptx)->required();
  check->add_option("--task", check_task, "run it as this task calls it");
  check->add_flag("--json", args.as_json);
  check->callback([&] {
    args.task = check_task;
    status = check_task.empty() ? run_read(args.ptx, args.as_json) : run_prove(args, false);
  });

  std::string file, query;
  bool is_check = false, is_write = false, as_json = false;
  CLI::App* format = app.add_subcommand("fmt", "format a PTX file");
  format->add_option("file", file)->required();
  format->add_flag("--check", is_check, "say whether it is formatted");
  format->add_flag("--write", is_write, "write the file");
  format->callback([&] { status = run_fmt(file, is_check, is_write); });

  CLI::App* isa = app.add_subcommand("isa", "look up instructions");
  isa->add_option("query", query, "an opcode, then modifiers: `mma m16n8k16`")->required();
  isa->add_flag("--json", as_json);
  isa->callback([&] { status = run_isa(query, as_json); });

  CLI::App* explain = app.add_subcommand("explain", "explain a finding's code");
  explain->add_option("code", query)->required();
  explain->callback([&] { status = run_explain(query); });

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kHolds : kBadInput;
  }
  return status;
}

}  // namespace
}  // namespace plumb::cli

int main(int argc, char** argv) { return plumb::cli::run(argc, argv); }
