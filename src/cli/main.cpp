// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <exception>

#include "cli/commands.h"
#include "cli/version.h"

namespace {

int run(int argc, char** argv) {
  using namespace plumb::cli;
  Context context = Context::from_environment();
  CLI::App app("From a Triton kernel to PTX, and proof that both are the same function.", "plumb");
  app.set_version_flag("--version", fmt::format("plumb {}", kVersion));
  app.require_subcommand(1);
  app.footer("Exit codes: 0 holds, 1 does not hold, 2 wrong use or bad input, 3 an inner fault, 4 no GPU here.");
  for (const auto add : {add_lower,   add_prove, add_mutate,   add_check,    add_run,   add_fmt,      add_isa,
                         add_explain, add_tool,  add_doctor,   add_test,     add_bench, add_baseline, add_profile,
                         add_worker,  add_suite, add_new_task, add_scaffold, add_mcp,   add_report,   add_export}) {
    add(app, context);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForAllHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForVersion& version) {
    return app.exit(version);
  } catch (const CLI::ParseError& error) {
    print_error(fmt::format("plumb: error: {}; see `plumb --help`\n", error.what()));
    return kWrongUse;
  }
  return context.exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    plumb::cli::print_error(fmt::format("plumb: inner fault: {}; please report this with the input\n", error.what()));
    return plumb::cli::kInnerFault;
  }
}
