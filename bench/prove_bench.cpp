// SPDX-License-Identifier: Apache-2.0
// Whole proofs of the lowerings, beside the candidate's run alone in IEEE arithmetic. An argument names the cases to
// run ("softmax", "K=4096"); processor seconds are of all threads, self-checks and concrete runs included.
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <string>

#include "prove/prove.h"
#include "session/run.h"

namespace {

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace

int main(int argc, char** argv) {
  using namespace plumb;
  struct Case {
    const char* name;
    const char* shape;
  };
  const Case cases[] = {{"matmul_bf16", "M=128,N=128,K=4096,sam=4096,sbk=128,scm=128"},
                        {"matmul_bf16", "M=1024,N=1024,K=1024,sam=1024,sbk=1024,scm=1024"},
                        {"softmax", "rows=64,stride=4096,n_cols=4096"}};
  const std::string wanted = argc > 1 ? argv[1] : "";
  for (const Case& one : cases) {
    if ((std::string(one.name) + " " + one.shape).find(wanted) == std::string::npos) continue;
    const std::filesystem::path folder = std::filesystem::path(PLUMB_SOURCE_DIR) / "suite" / one.name;
    Findings findings;
    const auto task = task::load_task(folder, findings);
    const auto candidate = prove::load_candidate(folder / "sm_89" / (std::string(one.name) + ".ptx"), findings);
    const auto shape = task::parse_shape(one.shape, findings);
    if (!task || !candidate || !shape) {
      std::fputs(render(findings, false).c_str(), stderr);
      return 1;
    }
    prove::Options options;
    options.shapes = {*shape};
    const double begin = processor_seconds();
    const prove::Outcome outcome = prove::prove(*task, *candidate, options);
    const double used = processor_seconds() - begin;
    session::RunOptions run_options;
    run_options.shape = *shape;
    const session::RunOutcome run = session::run(*task, *candidate, run_options);
    std::printf("%s %s: %s, %.2f s of processor time for %zu pointer alignments\n", one.name, one.shape,
                std::string(prove::name(outcome.verdict)).c_str(), used, outcome.shapes.size());
    for (const prove::ShapeOutcome& part : outcome.shapes) {
      std::printf("    %6.2f s   %5.1f times the run alone (%.3f s)   %s\n", part.seconds, part.seconds / run.seconds,
                  run.seconds, part.label.c_str());
    }
  }
  return 0;
}
