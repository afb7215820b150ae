// SPDX-License-Identifier: Apache-2.0
#include "session/gpu_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/file.h"
#include "base/scratch.h"
#include "session/gpu_testing.h"
#include "session/process.h"

namespace plumb::session {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr double kToolSeconds = 60, kAnswerSeconds = 120;
constexpr std::size_t kMostLines = 30;

// What is asked of ncu, and how it is shown.
struct Counter {
  const char* name;
  const char* text;
  double scale;
};
constexpr Counter kCounters[] = {
    {"gpu__time_duration.sum", "duration: {:.2f} us", 1e-3},
    {"dram__throughput.avg.pct_of_peak_sustained_elapsed", "memory: {:.0f}% of its peak", 1},
    {"lts__t_sector_hit_rate.pct", "L2: {:.0f}% of sectors hit", 1},
    {"l1tex__t_sector_hit_rate.pct", "L1: {:.0f}% of sectors hit", 1},
    {"sm__throughput.avg.pct_of_peak_sustained_elapsed", "multiprocessors: {:.0f}% of their peak", 1},
    // Cycles, not instructions: one wgmma keeps the tensor cores busy for more than a hundred cycles.
    {"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", "tensor cores: {:.0f}% of active cycles", 1},
    {"sm__warps_active.avg.pct_of_peak_sustained_active", "warps: {:.0f}% of the most that fit", 1},
    {"smsp__issue_active.avg.pct_of_peak_sustained_active", "issue slots: {:.0f}% used", 1},
    {"l1tex__data_bank_conflicts_pipe_lsu.sum", "shared memory: {:.0f} bank conflicts", 1},
};

unsigned count_of(const std::map<std::string, unsigned>& counts, std::string_view prefix) {
  unsigned out = 0;
  for (const auto& [opcode, count] : counts) {
    if (opcode.starts_with(prefix) && (opcode.size() == prefix.size() || opcode[prefix.size()] == '.')) out += count;
  }
  return out;
}

// Lines of global loads and stores of fewer than 16 bytes per thread.
std::vector<std::uint32_t> narrow_lines(const prove::Candidate& candidate, std::string_view opcode) {
  std::vector<std::uint32_t> out;
  for (const ptx::Function& function : candidate.module->functions) {
    for (const ptx::Instr& instr : function.instrs) {
      if (instr.opcode != opcode) continue;
      const std::string_view text = candidate.module->source->slice(instr.span);
      const bool is_global = text.find(".global") != std::string_view::npos;
      const bool is_wide = text.find(".v4.") != std::string_view::npos || text.find(".v8.") != std::string_view::npos ||
                           text.find(".b128") != std::string_view::npos ||
                           (text.find(".v2.") != std::string_view::npos && text.find("64") != std::string_view::npos);
      if (is_global && !is_wide) out.push_back(candidate.module->source->locate(instr.span.begin).line);
    }
  }
  return out;
}

void disassemble(const prove::Candidate& candidate, const std::string& compute, const ProfileOptions& options,
                 ProfileOutcome& out) {
  if (options.ptxas.empty() || options.cuobjdump.empty()) return;
  const Scratch scratch;
  const fs::path ptx = scratch.path() / "candidate.ptx", cubin = scratch.path() / "candidate.cubin";
  Findings ignored;
  if (scratch.path().empty() || !write_file(ptx, candidate.module->source->text(), ignored)) return;
  const std::string& wanted = candidate.module->target.text;
  std::string arch = candidate.module->target.suffix != 0 ? wanted : "sm_" + compute;
  std::erase(arch, '.');
  if (run_process({options.ptxas.string(), "-arch=" + arch, "-o", cubin.string(), ptx.string()}, kToolSeconds)
          .exit_code != 0) {
    return;
  }
  const ProcessResult sass = run_process({options.cuobjdump.string(), "-sass", cubin.string()}, kToolSeconds);
  if (sass.exit_code != 0) return;
  const auto counts = count_instructions(sass.output);
  unsigned all = 0;
  for (const auto& [opcode, count] : counts) all += count;
  out.machine = {{"instructions", all}, {"by_opcode", counts}};
  out.lines.push_back(
      fmt::format("machine code: {} instructions; {} global loads, {} of 16 bytes; {} stores; {} shared; "
                  "{} local; {} barriers; {} tensor-core",
                  all, count_of(counts, "LDG"), count_of(counts, "LDG.E.128"), count_of(counts, "STG"),
                  count_of(counts, "LDS") + count_of(counts, "STS") + count_of(counts, "LDSM"),
                  count_of(counts, "LDL") + count_of(counts, "STL"), count_of(counts, "BAR"),
                  count_of(counts, "HMMA") + count_of(counts, "HGMMA") + count_of(counts, "IMMA") +
                      count_of(counts, "QGMMA") + count_of(counts, "IGMMA")));
}

void read_ncu(const std::string& entry, const ProfileOptions& options, ProfileOutcome& out) {
  if (options.ncu.empty() || options.bench_command.empty()) return;
  std::string metrics;
  for (const Counter& counter : kCounters) metrics += (metrics.empty() ? "" : ",") + std::string(counter.name);
  std::vector<std::string> command = {
      options.ncu.string(), "--csv", "--page",        "raw", "--target-processes", "all",  "--clock-control", "none",
      "--launch-count",     "1",     "--kernel-name", entry, "--metrics",          metrics};
  command.insert(command.end(), options.bench_command.begin(), options.bench_command.end());
  const ProcessResult result = run_process(command, options.ncu_seconds);
  const auto values = read_counters(result.output);
  if (values.empty()) {
    out.lines.push_back("hardware counters: cannot be read here");
    return;
  }
  out.counters = values;
  for (const Counter& counter : kCounters) {
    const auto at = values.find(counter.name);
    if (at != values.end()) out.lines.push_back(fmt::format(fmt::runtime(counter.text), at->second * counter.scale));
  }
}

void read_code(const prove::Candidate& candidate, ProfileOutcome& out) {
  const auto number = [&](const char* name) { return out.code.value(name, 0); };
  out.lines.push_back(
      fmt::format("{} registers, {} static and {} dynamic bytes of shared memory; {} CTAs of {} threads per "
                  "multiprocessor, {:.0f}% of its threads",
                  number("registers"), number("static_shared"), number("dynamic_shared"), number("ctas_per_sm"),
                  number("threads"), 100 * out.code.value("occupancy", 0.0)));
  if (number("local_bytes") != 0) {
    out.lines.push_back(fmt::format("spills: {} bytes of local memory per thread", number("local_bytes")));
  }
  for (const char* opcode : {"ld", "st"}) {
    const auto lines = narrow_lines(candidate, opcode);
    if (lines.empty()) continue;
    std::string shown;
    for (std::size_t i = 0; i < std::min<std::size_t>(lines.size(), 5); ++i) {
      shown += fmt::format("{}{}", shown.empty() ? "" : ", ", lines[i]);
    }
    out.lines.push_back(fmt::format("{} global {}s of fewer than 16 bytes, PTX lines {}{}", lines.size(), opcode, shown,
                                    lines.size() > 5 ? ", ..." : ""));
  }
}

// The fields of one CSV line; quotes are doubled inside quotes.
std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> out(1);
  bool is_quoted = false;
  for (const char c : line) {
    if (c == '"') is_quoted = !is_quoted;
    else if (c == ',' && !is_quoted) out.emplace_back();
    else out.back() += c;
  }
  return out;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace

std::map<std::string, unsigned> count_instructions(std::string_view sass) {
  std::map<std::string, unsigned> out;
  for (std::string_view line : lines_of(sass)) {
    // "        /*0010*/                   LDG.E.128 R4, [R2.64] ;   /* 0x... */", behind an optional predicate.
    const std::size_t begin = line.find("/*");
    const std::size_t end = line.find("*/");
    if (begin == std::string_view::npos || end == std::string_view::npos || end - begin != 6) continue;
    line.remove_prefix(end + 2);
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (line.starts_with('@')) {
      line.remove_prefix(std::min(line.find(' '), line.size()));
      line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    }
    const std::string_view opcode = line.substr(0, line.find_first_of(" ;"));
    if (opcode.empty() || opcode[0] < 'A' || opcode[0] > 'Z') continue;
    ++out[std::string(opcode)];
  }
  return out;
}

std::map<std::string, double> read_counters(std::string_view csv) {
  std::map<std::string, double> out;
  std::vector<std::string> names;
  unsigned rows = 0;
  for (const std::string_view line : lines_of(csv)) {
    if (!line.starts_with('"')) continue;
    const std::vector<std::string> fields = fields_of(line);
    if (names.empty()) {
      names = fields;
      continue;
    }
    // The line below the names holds units.
    if (++rows == 1) continue;
    for (std::size_t i = 0; i < std::min(names.size(), fields.size()); ++i) {
      // ncu adds the device's attributes and further roll-ups of its own accord.
      if (std::ranges::none_of(kCounters, [&](const Counter& asked) { return names[i] == asked.name; })) continue;
      std::string text = fields[i];
      std::erase(text, ',');
      char* end = nullptr;
      const double value = std::strtod(text.c_str(), &end);
      if (end != text.c_str()) out[names[i]] = value;
    }
    break;
  }
  return out;
}

ProfileOutcome profile_on_gpu(const task::Task& task, const prove::Candidate& candidate, gpu::WorkerProcess& worker,
                              const ProfileOptions& options) {
  ProfileOutcome out;
  Findings skipped;
  const auto shape = bind_gpu_shape(task, candidate, options.shape, out.findings, skipped);
  const auto launch = shape ? make_gpu_launch(candidate, *shape, out.findings) : std::nullopt;
  if (!launch) {
    out.findings.append(std::move(skipped));
    out.is_bad_input = true;
    return out;
  }
  const Json facts = worker.ask({{"op", "facts"}}, kAnswerSeconds);
  const Json answer = facts.value("status", "") == "done"
                          ? worker.ask({{"op", "compile"}, {"launch", gpu::to_json(*launch)}}, kAnswerSeconds)
                          : facts;
  if (answer.value("status", "") != "done") {
    out.has_gpu = answer.value("status", "") != "none";
    out.findings.add(worker_finding(answer, fmt::format("at the shape {}", options.shape.label)));
    return out;
  }
  out.code = answer["facts"];
  read_code(candidate, out);
  disassemble(candidate, facts["card"].value("compute", ""), options, out);
  read_ncu(launch->entry, options, out);
  if (out.lines.size() > kMostLines) out.lines.resize(kMostLines);
  return out;
}

Json to_json(const ProfileOutcome& outcome) {
  return {{"holds", outcome.holds()},     {"code", outcome.code},   {"machine", outcome.machine},
          {"counters", outcome.counters}, {"lines", outcome.lines}, {"findings", plumb::to_json(outcome.findings)}};
}

std::string to_text(const ProfileOutcome& outcome, bool colour) {
  std::string out = render(outcome.findings, colour);
  for (const std::string& line : outcome.lines) out += "  " + line + "\n";
  return out;
}

}  // namespace plumb::session
