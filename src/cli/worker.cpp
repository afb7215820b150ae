// SPDX-License-Identifier: Apache-2.0
#include "gpu/worker.h"

#include <unistd.h>

#include <memory>

#include "cli/commands.h"

namespace plumb::cli {

void add_worker(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("worker", "own the GPU: read one job as JSON per line, answer with one line each");
  const auto driver = std::make_shared<std::string>();  // shared: the callback outlives this function
  command->add_option("--driver", *driver, "the CUDA driver library; default: the system's");
  command->callback([driver, &context] { context.exit_code = gpu::serve(STDIN_FILENO, STDOUT_FILENO, *driver); });
}

}  // namespace plumb::cli
