// SPDX-License-Identifier: Apache-2.0
// Reading and validating PTX, beside a loop that only splits the same bytes into lines. In processor time, so that
// other work on the machine does not count.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "ptx/module.h"

namespace {

template <class Fn>
double seconds_of(Fn&& fn) {
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const std::clock_t begin = std::clock();
    fn();
    best = std::min(best, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return best;
}

}  // namespace

int main() {
  plumb::Findings findings;
  std::vector<plumb::SourcePtr> sources;
  std::size_t bytes = 0, lines = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::filesystem::path(PLUMB_SOURCE_DIR) / "tests" / "corpus")) {
    if (entry.path().extension() != ".ptx") continue;
    sources.push_back(plumb::read_source(entry.path(), findings));
    bytes += sources.back()->text().size();
  }
  bool is_good = true;
  const double parse = seconds_of([&] {
    for (const plumb::SourcePtr& source : sources) is_good = plumb::ptx::parse(source, findings).has_value() && is_good;
  });
  const double load = seconds_of([&] {
    for (const plumb::SourcePtr& source : sources) is_good = plumb::ptx::load(source, findings).has_value() && is_good;
  });
  const double split = seconds_of([&] {
    lines = 0;
    for (const plumb::SourcePtr& source : sources) {
      std::istringstream stream{std::string(source->text())};
      for (std::string line; std::getline(stream, line);) ++lines;
    }
  });
  const double megabytes = static_cast<double>(bytes) / 1e6;
  std::printf("%zu files, %.1f MB, %zu lines, %s\n", sources.size(), megabytes, lines,
              is_good ? "all legal" : "NOT ALL LEGAL");
  std::printf("parse              %7.1f MB/s   %5.1f times the time of std::getline\n", megabytes / parse,
              parse / split);
  std::printf("parse and validate %7.1f MB/s   %5.1f times the time of std::getline\n", megabytes / load, load / split);
  std::printf("5,000 lines        %7.2f ms, read and validated\n", load / static_cast<double>(lines) * 5000 * 1e3);
  return is_good ? 0 : 1;
}
