// SPDX-License-Identifier: Apache-2.0
#include "session/mutation.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/parallel.h"
#include "session/codes.h"
#include "session/run.h"

namespace plumb::session {
namespace {

using Clock = std::chrono::steady_clock;
using End = JudgedMutant::End;

constexpr std::uint64_t kProofSeed = 1;  // where a fault is found first depends on the data drawn
constexpr std::size_t kShownCharacters = 100;

class Judge {
 public:
  Judge(const task::Task& task, const prove::Candidate& candidate, const std::filesystem::path& path,
        const MutationOptions& options)
      : task_(task), candidate_(candidate), path_(path), options_(options) {}

  MutationOutcome run() {
    out_.seed = options_.draw.seed;
    out_.schedules = options_.schedules;
    if (!settle_shapes() || !holds_itself()) {
      out_.is_bad_input = true;
      return std::move(out_);
    }
    mutate::Options draw = options_.draw;
    draw.skipped_lines = not_executed_;
    std::vector<mutate::Mutant> drawn = mutate::mutants(candidate_.module, draw);
    out_.lines_skipped = not_executed_.size();
    for (mutate::Mutant& mutant : drawn) out_.mutants.emplace_back().mutant = std::move(mutant);
    std::mutex mutex;
    std::size_t done = 0;
    parallel_for(worker_count(options_.workers), out_.mutants.size(), [&](unsigned, std::size_t index) {
      judge(out_.mutants[index]);
      const std::lock_guard lock(mutex);
      out_.was_stopped = options_.progress && !options_.progress(++done, out_.mutants.size());
      return !out_.was_stopped;
    });
    return std::move(out_);
  }

 private:
  bool settle_shapes() {
    shapes_ = options_.shapes.empty() ? task_.prove_shapes : options_.shapes;
    Findings skipped;
    std::erase_if(shapes_, [&](const task::Shape& shape) {
      const auto bound = task::bind(task_, shape, candidate_.launch.constexprs, out_.findings);
      std::optional<Finding> broken;
      if (bound) broken = task::broken_promise(candidate_.launch, *bound, out_.findings);
      if (broken) skipped.add(std::move(*broken));
      return !bound || broken;
    });
    if (shapes_.empty()) out_.findings.append(std::move(skipped));
    for (const task::Shape& shape : shapes_) out_.shapes.push_back(shape.label);
    return !shapes_.empty() && !out_.findings.has_error();
  }

  prove::Options proof(unsigned workers, std::function<bool(const prove::Progress&)> progress) const {
    prove::Options options;
    options.seed = kProofSeed;
    options.workers = workers;
    options.memory = options_.memory;
    options.shapes = shapes_;
    options.python = options_.python;
    options.witness_seconds = 1;
    options.progress = std::move(progress);
    return options;
  }

  // Run `number` of a candidate: every shape in every order.
  RunOutcome execute(const prove::Candidate& candidate, std::size_t number, unsigned workers,
                     bool has_spec = false) const {
    const std::size_t order = number / shapes_.size();
    RunOptions options;
    options.shape = shapes_[number % shapes_.size()];
    options.workers = workers;
    if (order != 0) options.schedule = order;  // the first order is the machine's own: in turn, and as late as legal
    options.has_spec = has_spec;
    options.python = options_.python;
    return session::run(task_, candidate, options);
  }

  // A mutant's verdict means something where the candidate's own is known.
  bool holds_itself() {
    const prove::Outcome whole =
        prove::prove(task_, candidate_, proof(options_.workers, [this](const prove::Progress&) {
                       return !options_.progress || options_.progress(0, 0);
                     }));
    if (!whole.holds()) {
      out_.findings.append(whole.findings);
      out_.findings.add(kMutationOfUnproved, "the candidate is not proved itself, so that its mutants show nothing",
                        {candidate_.module->source, {0, 1}});
      return false;
    }
    not_executed_ = whole.lines_not_executed;
    for (std::size_t number = 0; options_.schedules != 0 && number < shapes_.size(); ++number) {
      RunOutcome one = execute(candidate_, number, options_.workers);
      if (one.findings.has_error()) {
        out_.findings.append(std::move(one.findings));
        return false;
      }
      std::vector<std::string>& bits = bits_.emplace_back();
      for (RunOutput& output : one.outputs) bits.push_back(std::move(output.array.bytes));
    }
    return true;
  }

  bool same_bits(const RunOutcome& run, std::size_t number) const {
    const std::vector<std::string>& bits = bits_[number % shapes_.size()];
    if (run.outputs.size() != bits.size()) return false;
    for (std::size_t i = 0; i < bits.size(); ++i) {
      if (run.outputs[i].array.bytes != bits[i]) return false;
    }
    return true;
  }

  void judge(JudgedMutant& judged) const {
    const Clock::time_point begin = Clock::now();
    const Source& source = *candidate_.module->source;
    Findings findings;
    const SourcePtr text = std::make_shared<const Source>(source.name(), mutate::apply(judged.mutant, source));
    const auto mutant = prove::make_candidate(text, path_, findings);
    bool is_late = false;
    std::optional<prove::Outcome> outcome;
    if (mutant) {
      outcome = prove::prove(task_, *mutant, proof(1, [&](const prove::Progress&) {
                               is_late = is_late ||
                                         std::chrono::duration<double>(Clock::now() - begin).count() > options_.seconds;
                               return !is_late;
                             }));
      findings.append(std::move(outcome->findings));
    }
    judged.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (outcome && outcome->holds()) return compare(*mutant, judged);
    for (const Finding& finding : findings.list()) {
      if (finding.severity != Severity::Error) continue;
      judged.code = finding.code->id;
      judged.message = finding.message;
      const bool is_of_text = finding.place.source == text;
      judged.found_line = is_of_text ? text->locate(finding.place.span.begin).line : 0;
      break;
    }
    if (is_late) judged.end = End::Unfinished;
    else if (outcome && outcome->verdict == prove::Verdict::Unknown) judged.end = End::Unknown;
    else judged.end = End::Caught;
  }

  // Other bits than the candidate's may be another order of the same sums: then the Triton source decides.
  void compare(const prove::Candidate& mutant, JudgedMutant& judged) const {
    judged.end = End::Survived;
    judged.has_same_bits = true;
    for (std::size_t number = 0; number < options_.schedules * shapes_.size(); ++number) {
      RunOutcome run = execute(mutant, number, 1);
      if (!run.findings.has_error() && same_bits(run, number)) continue;
      judged.has_same_bits = false;
      if (!run.findings.has_error()) run = execute(mutant, number, 1, true);
      if (run.holds()) continue;
      judged.end = End::Broken;
      judged.message = run.findings.has_error() ? run.findings.list().front().message : "outside of the tolerance";
      return;
    }
  }

  const task::Task& task_;
  const prove::Candidate& candidate_;
  const std::filesystem::path& path_;
  const MutationOptions& options_;
  MutationOutcome out_;
  std::vector<task::Shape> shapes_;
  std::vector<std::vector<std::string>> bits_;  // by shape: of each output
  std::vector<std::uint32_t> not_executed_;
};

std::string shortened(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool is_space = c == '\n' || c == ' ' || c == '\t';
    if (!is_space) out += c;
    else if (!out.empty() && out.back() != ' ') out += ' ';
  }
  if (out.size() > kShownCharacters) out = out.substr(0, kShownCharacters) + "...";
  return out;
}

}  // namespace

std::string_view name(End end) {
  switch (end) {
    case End::Caught:
      return "caught";
    case End::Unknown:
      return "unknown";
    case End::Unfinished:
      return "unfinished";
    case End::Survived:
      return "survived";
    case End::Broken:
      return "broken";
  }
  return "";
}

std::size_t MutationOutcome::count(End end) const {
  return static_cast<std::size_t>(
      std::count_if(mutants.begin(), mutants.end(), [end](const JudgedMutant& one) { return one.end == end; }));
}

MutationOutcome judge_mutants(const task::Task& task, const prove::Candidate& candidate,
                              const std::filesystem::path& path, const MutationOptions& options) {
  return Judge(task, candidate, path, options).run();
}

std::string describe(const mutate::Mutant& mutant, const Source& source) {
  const LineColumn at = source.locate(mutant.span.begin);
  return fmt::format("{}:{} {}: `{}` -> `{}`", at.line, at.column, mutant.op->name,
                     shortened(source.slice(mutant.span)), shortened(mutant.replacement));
}

nlohmann::json to_json(const mutate::Mutant& mutant, const Source& source) {
  const LineColumn at = source.locate(mutant.span.begin);
  return {{"operator", mutant.op->name},
          {"line", at.line},
          {"column", at.column},
          {"from", source.slice(mutant.span)},
          {"to", mutant.replacement}};
}

nlohmann::json to_json(const MutationOutcome& outcome, const Source& source) {
  nlohmann::json all = nlohmann::json::array();
  for (const JudgedMutant& one : outcome.mutants) {
    nlohmann::json row = to_json(one.mutant, source);
    row["end"] = name(one.end);
    if (!one.code.empty()) row["code"] = one.code;
    if (!one.message.empty()) row["message"] = one.message;
    if (one.end == End::Survived) row["same_bits"] = one.has_same_bits;
    if (one.found_line != 0) row["found_line"] = one.found_line;
    row["seconds"] = one.seconds;
    all.push_back(std::move(row));
  }
  nlohmann::json counts;
  for (const End end : {End::Caught, End::Unknown, End::Unfinished, End::Survived, End::Broken})
    counts[std::string(name(end))] = outcome.count(end);
  return {{"shapes", outcome.shapes},
          {"lines_not_executed", outcome.lines_skipped},
          {"seed", outcome.seed},
          {"schedules", outcome.schedules},
          {"counts", counts},
          {"mutants", all},
          {"stopped", outcome.was_stopped},
          {"findings", to_json(outcome.findings)}};
}

std::string to_text(const MutationOutcome& outcome, const Source& source, bool colour) {
  struct Tally {
    std::size_t all = 0, caught = 0;
  };
  std::map<std::string_view, Tally> tallies;
  std::string out = render(outcome.findings, colour);
  for (const JudgedMutant& one : outcome.mutants) {
    Tally& tally = tallies[one.mutant.op->name];
    ++tally.all;
    if (one.end == End::Caught) ++tally.caught;
    else
      out += fmt::format("{:<10} {}{}{}\n", name(one.end), describe(one.mutant, source), one.code.empty() ? "" : "  ",
                         one.code);
  }
  for (const auto& [op, tally] : tallies) out += fmt::format("  {:<22} {:>5} of {}\n", op, tally.caught, tally.all);
  out += fmt::format(
      "{} of {} mutants caught, {} unknown, {} unfinished, {} survived; {} lines are not executed at these shapes\n",
      outcome.count(End::Caught), outcome.mutants.size(), outcome.count(End::Unknown), outcome.count(End::Unfinished),
      outcome.count(End::Survived), outcome.lines_skipped);
  if (const std::size_t broken = outcome.count(End::Broken); broken != 0)
    out += fmt::format("{} PROVED MUTANTS ARE WRONG WHEN RUN: a fault of plumb, please report it\n", broken);
  return out;
}

}  // namespace plumb::session
