// SPDX-License-Identifier: Apache-2.0
// The CUDA pairs of tests/cuda_pairs at full size, one worker: the time of each proof, how many runs of a fixed loop
// that is (2^24 times eight modular products of 32 bits, one abstract multiplication each), and the most memory that it
// took. Every pair is a process of its own. An argument names the candidates to prove.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "prove/prove.h"

namespace {

using namespace plumb;
double seconds(const rusage& usage) {
  const auto of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

double own_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return seconds(usage);
}

// So long does plain arithmetic of the kind take here and now.
double reference_seconds() {
  constexpr std::uint32_t kPrimes[8] = {536870909, 536870879, 536870869, 536870849,
                                        268435399, 268435367, 268435361, 268435337};
  std::vector<std::uint32_t> a(1 << 16), b(1 << 16);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = b[i] = static_cast<std::uint32_t>(i * 2654435761U >> 4);
  const double begin = own_seconds();
  for (unsigned round = 0; round < 1 << 11; ++round) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      a[i] = static_cast<std::uint32_t>(std::uint64_t{a[i]} * b[i] % kPrimes[i % 8]);
    }
    asm volatile("" ::"r"(a.data()) : "memory");
  }
  return own_seconds() - begin;
}

// The exit code: 0 where the answer is as it should be.
int prove_one(const std::filesystem::path& folder, const nlohmann::json& pair) {
  Findings findings;
  const auto task = task::load_task(folder / pair["task"].get<std::string>(), findings, false);
  auto candidate = prove::load_candidate(folder / pair["candidate"].get<std::string>(), findings);
  auto spec = prove::load_candidate(folder / pair["spec"].get<std::string>(), findings);
  const auto shape = task::parse_shape(pair["shape"].get<std::string>(), findings);
  if (!task || !candidate || !spec || !shape) {
    std::fputs(render(findings, false).c_str(), stderr);
    return 1;
  }
  prove::Options options;
  options.workers = 1;
  options.shapes = {*shape};
  options.spec = std::make_shared<const prove::Candidate>(std::move(*spec));
  const prove::Outcome outcome = prove::prove(*task, *candidate, options);
  std::uint64_t elements = 0;
  for (const prove::ShapeOutcome& part : outcome.shapes) elements += part.elements;
  std::printf("%-26s %-18s %-10s %9llu elements", candidate->launch.entry.c_str(), shape->label.c_str(),
              std::string(prove::name(outcome.verdict)).c_str(), static_cast<unsigned long long>(elements));
  std::fflush(stdout);
  return outcome.holds() != pair.contains("finding") ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string wanted = argc > 1 ? argv[1] : "";
  const std::filesystem::path folder = std::filesystem::path(PLUMB_SOURCE_DIR) / "tests/cuda_pairs";
  Findings findings;
  const auto text = read_file(folder / "pairs.json", findings);
  const nlohmann::json list = nlohmann::json::parse(text.value_or("{}"));
  const double reference = reference_seconds();
  std::printf("the reference loop: %.2f s\n", reference);
  double all = 0;
  int bad = 0;
  for (const nlohmann::json& pair : list["pairs"]) {
    if (!pair.contains("shape") || pair["candidate"].get<std::string>().find(wanted) == std::string::npos) continue;
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) _exit(prove_one(folder, pair));
    int status = 0;
    rusage usage{};
    if (child < 0 || wait4(child, &status, 0, &usage) != child) return 1;
    const double took = seconds(usage);
    const bool is_right = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    bad += is_right ? 0 : 1;
    all += took;
    std::printf(" %7.2f s %7.2f times the loop %6ld MB%s\n", took, took / reference, usage.ru_maxrss / 1024,
                is_right ? "" : "   not what it should be");
  }
  std::printf("all: %.2f s, %.2f times the loop\n", all, all / reference);
  return bad == 0 ? 0 : 1;
}
