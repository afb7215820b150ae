// SPDX-License-Identifier: Apache-2.0
// Compares plumb with ptxas on instructions made from the table. Every disagreement is printed with both messages.
//   agree_ptxas [--seed N] [--legal N] [--misses N] [--only OPCODE] [--verbose]
// Exit status: 0 agreed (or within the stated bounds), 1 disagreements, 77 no ptxas here.
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <map>

#include "assembler.h"
#include "bench.h"
#include "generate.h"

namespace {

using namespace plumb::agreement;

struct Options {
  unsigned seed = 1, legal = 6, misses = 20;
  std::string only;
};

struct Tally {
  std::size_t asked = 0, apart = 0;
};

std::optional<Options> read(int argc, char** argv) {
  Options out;
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
      ++tally.apart;
      fmt::print("{}\t{}\t{}.{} {}\t{}\n\t{}\n", one.change.empty() ? "LEGAL" : "MISS",
                 plumb::ptx::spec(one.line->form).name, setting.version.major, setting.version.minor, setting.target,
                 one.text, ours.empty() ? "ptxas " + theirs->second : "plumb " + ours);
      if (!one.change.empty()) fmt::print("\t({})\n", one.change);
    }
  }
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
  fmt::print("legal {} of {} apart, near-misses {} of {} apart ({:.2f}%)\n", legal.apart, legal.asked, misses.apart,
             misses.asked,
             100.0 * static_cast<double>(misses.apart) / static_cast<double>(std::max<std::size_t>(1, misses.asked)));
  return legal.apart + misses.apart == 0 ? 0 : 1;
}
