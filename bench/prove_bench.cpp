// SPDX-License-Identifier: Apache-2.0
// Whole proofs, beside the candidate's run alone in IEEE arithmetic. An argument names the cases to run ("softmax",
// "K=4096"); those that take minutes run where it begins with "long". Processor seconds are of all threads, self-checks
// and concrete runs included.
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <string>

#include "prove/prove.h"
#include "session/run.h"

namespace {

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Case {
  const char* task;
  const char* candidate;  // under the task's folder
  const char* shape;
  bool is_long = false;  // after the task's own prove shapes, at which the concrete runs are made
};

constexpr Case kCases[] = {
    {"suite/matmul_bf16", "sm_89/matmul_bf16.ptx", "M=128,N=128,K=4096,sam=4096,sbk=128,scm=128"},
    {"suite/matmul_bf16", "sm_89/matmul_bf16.ptx", "M=1024,N=1024,K=1024,sam=1024,sbk=1024,scm=1024"},
    {"suite/softmax", "sm_89/softmax.ptx", "rows=64,stride=4096,n_cols=4096"},
    {"tests/corpus/matmul_bf16", "sm_89/matmul_bf16.ptx", "M=4096,N=4096,K=4096", true},
    {"tests/corpus/flash_attention", "sm_89/flash_attention.ptx", "heads=1,S=4096", true},
};

}  // namespace

int main(int argc, char** argv) {
  using namespace plumb;
  const std::string wanted = argc > 1 ? argv[1] : "";
  for (const Case& one : kCases) {
    const std::string title = std::string(one.is_long ? "long " : "") + one.task + " " + one.shape;
    if (title.find(wanted) == std::string::npos || one.is_long != wanted.starts_with("long")) continue;
    const std::filesystem::path folder = std::filesystem::path(PLUMB_SOURCE_DIR) / one.task;
    Findings findings;
    const auto task = task::load_task(folder, findings);
    const auto candidate = prove::load_candidate(folder / one.candidate, findings);
    const auto shape = task::parse_shape(one.shape, findings);
    if (!task || !candidate || !shape) {
      std::fputs(render(findings, false).c_str(), stderr);
      return 1;
    }
    prove::Options options;
    if (one.is_long) options.shapes = task->prove_shapes;
    options.shapes.push_back(*shape);
    const double begin = processor_seconds();
    const prove::Outcome outcome = prove::prove(*task, *candidate, options);
    const double used = processor_seconds() - begin;
    session::RunOptions run_options;
    run_options.shape = *shape;
    const session::RunOutcome run = session::run(*task, *candidate, run_options);
    std::printf("%s: %s, %.2f s of processor time, %zu shapes and pointer alignments\n", title.c_str(),
                std::string(prove::name(outcome.verdict)).c_str(), used, outcome.shapes.size());
    for (const prove::ShapeOutcome& part : outcome.shapes) {
      std::printf("    %6.2f s   %5.1f times the run of %s (%.3f s)   %s\n", part.seconds, part.seconds / run.seconds,
                  one.shape, run.seconds, part.label.c_str());
    }
  }
  return 0;
}
