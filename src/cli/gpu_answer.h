// SPDX-License-Identifier: Apache-2.0
// How the commands that need a GPU end: the outcome as a file where one is asked for, the answer, the exit code.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/file.h"
#include "cli/context.h"

namespace plumb::cli {

template <class Outcome>
void answer_from_gpu(Context& context, const Outcome& outcome, const std::string& out) {
  if (outcome.is_bad_input) return refuse(context, outcome.findings);
  const nlohmann::json object = to_json(outcome);
  Findings findings;
  if (!out.empty() && !write_file(out, object.dump(2) + "\n", findings)) return refuse(context, findings);
  answer(context, object, to_text(outcome, context.has_colour_out), outcome.holds());
  if (!outcome.has_gpu) context.exit_code = kNoGpu;
}

}  // namespace plumb::cli
