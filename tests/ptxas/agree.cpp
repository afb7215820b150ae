// SPDX-License-Identifier: Apache-2.0
// Compares plumb with ptxas on instructions made from the table. Every disagreement is printed with both messages.
//   agree_ptxas [--seed N] [--legal N] [--misses N] [--only OPCODE]     forms of the table, and near-misses
//     with --json FILE: what was asked and what differs, with the reason of each; one without a reason fails the run
//   agree_ptxas --mutate N --corpus FOLDER [--seed N]                   N damaged instructions of real files
//   agree_ptxas --files FOLDER        whole files, which are also printed and re-read: the same lines are refused
// Exit status: 0 within the bounds (legal forms 0 apart, near-misses 0.5%, damaged instructions 0.5%), 1 beyond them,
// 2 wrong arguments, 77 no ptxas here.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>

#include "assembler.h"
#include "base/file.h"
#include "bench.h"
#include "generate.h"
#include "mutate.h"
#include "reasons.h"

namespace {

using namespace plumb::agreement;

struct Options {
  unsigned seed = 1, legal = 6, misses = 20, mutations = 0;
  std::string only, corpus, files, json, command;
};

// One that the two judge differently.
struct Difference {
  std::string kind, where, text, plumb, ptxas;  // a side that accepts has no words
};

struct Tally {
  std::size_t asked = 0, apart = 0;
  std::vector<Difference> differences;
};

std::optional<Options> read(int argc, char** argv) {
  Options out;
  out.command = "agree_ptxas";
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--json") ++i;
    else out.command += fmt::format(" {}", argv[i]);
  }
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--seed") {
      out.seed = static_cast<unsigned>(std::atoi(argv[i + 1]));
    } else if (name == "--legal") {
      out.legal = static_cast<unsigned>(std::atoi(argv[i + 1]));
    } else if (name == "--misses") {
      out.misses = static_cast<unsigned>(std::atoi(argv[i + 1]));
    } else if (name == "--only") {
      out.only = argv[i + 1];
    } else if (name == "--json") {
      out.json = argv[i + 1];
    } else if (name == "--files") {
      out.files = argv[i + 1];
    } else if (name == "--mutate") {
      out.mutations = static_cast<unsigned>(std::atoi(argv[i + 1]));
    } else if (name == "--corpus") {
      out.corpus = argv[i + 1];
    } else {
      return std::nullopt;
    }
  }
  return out;
}

constexpr std::size_t kBatch = 1000;

void compare(const Assembler& assembler, const Setting& setting, const std::vector<Case>& cases, Tally& legal,
             Tally& misses) {
  for (std::size_t first = 0; first < cases.size(); first += kBatch) {
    Batch batch{setting.target, head(setting), {}, tail()};
    const std::size_t end = std::min(first + kBatch, cases.size());
    for (std::size_t i = first; i < end; ++i) batch.lines.push_back(cases[i].text);
    const std::map<int, std::string> rejected = assembler.rejected(batch);
    if (const auto broken = rejected.find(-1); broken != rejected.end()) {
      fmt::print("BROKEN BATCH {} {}\n", setting.target, broken->second);
    }
    for (std::size_t i = first; i < end; ++i) {
      const Case& one = cases[i];
      Tally& tally = one.change.empty() ? legal : misses;
      ++tally.asked;
      const std::string ours = judge(setting, one.text);
      const auto theirs = rejected.find(static_cast<int>(i - first));
      if (ours.empty() == (theirs == rejected.end())) continue;
      if (theirs != rejected.end() && theirs->second == kNoAnswer) continue;  // ptxas crashed: that is no judgement
      ++tally.apart;
      fmt::print("{}\t{}\t{}.{} {}\t{}\n\t{}\n", one.change.empty() ? "LEGAL" : "MISS",
                 plumb::ptx::spec(one.line->form).name, setting.version.major, setting.version.minor, setting.target,
                 one.text, ours.empty() ? "ptxas " + theirs->second : "plumb " + ours);
      if (!one.change.empty()) fmt::print("\t({})\n", one.change);
      tally.differences.push_back(
          {one.change.empty() ? "legal" : "near-miss",
           fmt::format("PTX {}.{} {}", setting.version.major, setting.version.minor, setting.target), one.text, ours,
           theirs == rejected.end() ? "" : theirs->second});
    }
  }
}

// Many lines of a file are damaged at once for ptxas, which judges each alone; plumb is given one at a time.
void compare(const Assembler& assembler, const File& file, Mutator& mutator, std::size_t count, std::mt19937& random,
             Tally& tally) {
  if (file.instrs.empty() || file.arch.empty()) return;
  std::map<std::size_t, std::string> damaged;
  const std::size_t most_tries = 8 * count;  // a short file has few lines, and each is damaged once
  for (std::size_t i = 0; i < most_tries && damaged.size() < count; ++i) {
    const std::size_t line = file.instrs[random() % file.instrs.size()];
    if (damaged.contains(line)) continue;
    std::string text = mutator.mutate(file, line);
    if (text.find(':') == std::string::npos) damaged.emplace(line, std::move(text));  // no new labels
  }
  Batch batch{file.arch, "", file.lines, ""};
  for (const auto& [line, text] : damaged) batch.lines[line] = text;
  const std::map<int, std::string> rejected = assembler.rejected(batch);
  for (const auto& [line, text] : damaged) {
    std::string whole;
    for (std::size_t i = 0; i < file.lines.size(); ++i) whole += (i == line ? text : file.lines[i]) + "\n";
    plumb::Findings findings;
    const bool ours = plumb::ptx::load(std::make_shared<plumb::Source>(file.path, whole), findings).has_value();
    ++tally.asked;
    if (ours != rejected.contains(static_cast<int>(line))) continue;
    // ptxas may have meant a damaged line nearby; asked about this one alone, it cannot.
    Batch alone{file.arch, "", file.lines, ""};
    alone.lines[line] = text;
    const std::map<int, std::string> judged = assembler.rejected(alone);
    if (ours == judged.empty()) continue;
    ++tally.apart;
    const std::string said = ours ? "" : fmt::format("{}: {}", findings.list()[0].code->id, findings.list()[0].message);
    const std::string theirs = judged.empty() ? "" : judged.begin()->second;
    fmt::print("MUTANT\t{}:{}\t{}\n\t{}\n", file.path, line + 1, text, ours ? "ptxas " + theirs : "plumb " + said);
    const std::filesystem::path path(file.path);
    tally.differences.push_back(
        {"damaged", fmt::format("{}:{}", (path.parent_path().filename() / path.filename()).string(), line + 1), text,
         said, theirs});
  }
}

std::vector<File> read_files(const std::string& folder) {
  std::vector<File> files;
  plumb::Findings findings;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".ptx") continue;
    const std::optional<std::string> text = plumb::read_file(entry.path(), findings);
    if (text) files.push_back(split(entry.path().string(), *text));
  }
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.path < b.path; });
  return files;
}

// The lines that plumb refuses, by index, with its words; under -1 that the file does not print to a text that reads to
// the same tree.
std::map<int, std::string> refused(const File& file) {
  std::string text;
  for (const std::string& line : file.lines) text += line + "\n";
  plumb::Findings findings;
  const auto module = plumb::ptx::parse(std::make_shared<plumb::Source>(file.path, text), findings);
  if (!module) return {{-1, plumb::render(findings, false)}};
  const auto printed = std::make_shared<plumb::Source>("printed", plumb::ptx::print(*module));
  const auto again = plumb::ptx::parse(printed, findings);
  if (!again) return {{-1, "printed text:\n" + plumb::render(findings, false)}};
  if (!plumb::ptx::equal(*module, *again)) return {{-1, "the printed text reads to another tree\n"}};
  std::map<int, std::string> out;
  plumb::ptx::check(*module, findings);
  for (const plumb::Finding& finding : findings.list()) {
    const auto line = static_cast<int>(finding.place.source->locate(finding.place.span.begin).line);
    out.emplace(line - 1, plumb::render(finding, false));
  }
  return out;
}

int run_files(const Assembler& assembler, const Options& options) {
  const std::vector<File> files = read_files(options.files);
  if (files.empty()) return 2;
  std::size_t apart = 0, refused_by_both = 0;
  for (const File& file : files) {
    const std::map<int, std::string> ours = refused(file), theirs = assembler.rejected({file.arch, "", file.lines, ""});
    std::string report;
    for (const auto& [line, message] : ours) {
      if (!theirs.contains(line)) report += "plumb " + message;
    }
    for (const auto& [line, message] : theirs) {
      if (!ours.contains(line)) report += fmt::format("ptxas {}: {}\n", line + 1, message);
    }
    refused_by_both += theirs.size();
    if (report.empty()) continue;
    ++apart;
    fmt::print("{}\n{}", file.path, report);
  }
  fmt::print("{} of {} files apart; {} lines refused\n", apart, files.size(), refused_by_both);
  return apart == 0 ? 0 : 1;
}

std::size_t without_reason(const Tally& tally) {
  return static_cast<std::size_t>(
      std::count_if(tally.differences.begin(), tally.differences.end(),
                    [](const Difference& one) { return reason_of(one.text, one.plumb, one.ptxas).empty(); }));
}

bool write_json(const Options& options, const Assembler& assembler,
                const std::vector<std::pair<std::string, const Tally*>>& tallies) {
  if (options.json.empty()) return true;
  nlohmann::ordered_json out;
  out["command"] = options.command;
  out["ptxas"] = assembler.version();
  out["seed"] = options.seed;
  for (const auto& [name, tally] : tallies) {
    nlohmann::ordered_json& one = out[name];
    one["asked"] = tally->asked;
    one["apart"] = tally->apart;
    one["differences"] = nlohmann::ordered_json::array();
    for (const Difference& difference : tally->differences) {
      one["differences"].push_back({{"where", difference.where},
                                    {"text", difference.text},
                                    {"plumb", difference.plumb.empty() ? "accepts" : difference.plumb},
                                    {"ptxas", difference.ptxas.empty() ? "accepts" : difference.ptxas},
                                    {"reason", reason_of(difference.text, difference.plumb, difference.ptxas)}});
    }
  }
  const std::unique_ptr<FILE, int (*)(FILE*)> file(fopen(options.json.c_str(), "w"), fclose);
  if (!file) return false;
  const std::string text = out.dump(2) + "\n";
  return fwrite(text.data(), 1, text.size(), file.get()) == text.size();
}

int run_mutations(const Assembler& assembler, const Options& options) {
  const std::vector<File> files = read_files(options.corpus);
  if (files.empty()) return 2;
  Mutator mutator(options.seed);
  std::mt19937 random(options.seed);
  Tally tally;
  for (const File& file : files) {
    compare(assembler, file, mutator, (options.mutations + files.size() - 1) / files.size(), random, tally);
  }
  const double share = 100.0 * static_cast<double>(tally.apart) / static_cast<double>(tally.asked);
  fmt::print("damaged instructions {} of {} apart ({:.2f}%), {} of no known kind\n", tally.apart, tally.asked, share,
             without_reason(tally));
  const bool is_written = write_json(options, assembler, {{"damaged", &tally}});
  const bool is_explained = options.json.empty() || without_reason(tally) == 0;
  return is_written && is_explained && share <= 0.5 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<Options> options = read(argc, argv);
  if (!options) return 2;
  const std::optional<Assembler> assembler = Assembler::find();
  if (!assembler) {
    fmt::print("skipped: there is no ptxas 13.0 on the path\n");
    return 77;
  }
  if (options->mutations != 0) return run_mutations(*assembler, *options);
  if (!options->files.empty()) return run_files(*assembler, *options);
  Generator generator(options->seed);
  std::map<Setting, std::vector<Case>> by_setting;
  for (const plumb::ptx::Line& line : plumb::ptx::table().lines) {
    if (!options->only.empty() && line.opcode != options->only) continue;
    for (Case& one : generator.cases(line, options->legal, options->misses)) {
      by_setting[one.setting].push_back(std::move(one));
    }
  }
  Tally legal, misses;
  for (const auto& [setting, cases] : by_setting) compare(*assembler, setting, cases, legal, misses);
  const double share =
      100.0 * static_cast<double>(misses.apart) / static_cast<double>(std::max<std::size_t>(1, misses.asked));
  fmt::print("legal {} of {} apart, near-misses {} of {} apart ({:.2f}%), {} of no known kind\n", legal.apart,
             legal.asked, misses.apart, misses.asked, share, without_reason(misses));
  const bool is_written = write_json(*options, *assembler, {{"legal", &legal}, {"near-misses", &misses}});
  const bool is_explained = options->json.empty() || without_reason(misses) == 0;
  return is_written && is_explained && legal.apart == 0 && share <= 0.5 ? 0 : 1;
}
