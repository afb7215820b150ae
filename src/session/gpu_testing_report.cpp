// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "gpu/codes.h"
#include "session/gpu_testing.h"

namespace plumb::session {

using Json = nlohmann::json;

Finding worker_finding(const Json& answer, const std::string& context) {
  static constexpr std::pair<std::string_view, const Code*> kKinds[] = {
      {"none", &gpu::kNoGpu},      {"worker", &gpu::kWorker}, {"protocol", &gpu::kProtocol},
      {"input", &gpu::kProtocol},  {"memory", &gpu::kMemory}, {"driver", &gpu::kDriverError},
      {"compile", &gpu::kCompile}, {"params", &gpu::kParams}, {"launch", &gpu::kLaunch},
      {"timeout", &gpu::kTimeout}, {"fault", &gpu::kFault},
  };
  const std::string status = answer.value("status", "");
  const Code* code = &gpu::kProtocol;
  for (const auto& [kind, each] : kKinds) {
    if (kind == status) code = each;
  }
  Finding out;
  out.code = code;
  const std::string message = answer.value("message", "no message");
  out.message = code == &gpu::kNoGpu ? message : fmt::format("{}: {}", context, message);
  if (code == &gpu::kTimeout || code == &gpu::kFault) out.hint = "`plumb check` names the line on the CPU";
  return out;
}

Json to_json(const TestOutcome& outcome) {
  const auto number = [](double value) { return std::isfinite(value) ? Json(value) : Json(fmt::format("{}", value)); };
  Json shapes = Json::array();
  std::uint64_t elements = 0, launches = 0;
  for (const TestShape& shape : outcome.shapes) {
    Json outputs = Json::array();
    for (const Judgement& worst : shape.worst) {
      outputs.push_back({{"name", worst.output},
                         {"worst", worst.worst},
                         {"worst_part_of_tolerance", number(worst.worst_part)},
                         {"largest_ulps", number(worst.largest_ulps)}});
    }
    // A hidden shape is named by its results only.
    shapes.push_back({{"shape", shape.is_hidden ? "hidden" : shape.label},
                      {"launches", shape.launches},
                      {"elements_compared", shape.elements},
                      {"programs_evaluated", shape.programs},
                      {"programs", shape.all_programs},
                      {"outputs", std::move(outputs)},
                      {"seconds", shape.seconds}});
    elements += shape.elements;
    launches += shape.launches;
  }
  return {{"holds", outcome.holds()},
          {"shapes", std::move(shapes)},
          {"elements_compared", elements},
          {"launches", launches},
          {"card", outcome.card},
          {"code", outcome.facts},
          {"findings", plumb::to_json(outcome.findings)},
          {"remarks", plumb::to_json(outcome.remarks)},
          {"seconds", outcome.seconds}};
}

std::string to_text(const TestOutcome& outcome, bool colour) {
  std::string out = render(outcome.findings, colour) + render(outcome.remarks, colour);
  if (!outcome.has_gpu || outcome.is_bad_input) return out;
  for (const TestShape& shape : outcome.shapes) {
    const std::string part = shape.programs < shape.all_programs
                                 ? fmt::format(", {} of {} programs", shape.programs, shape.all_programs)
                                 : std::string();
    out += fmt::format("  {:<32} {:>4} launches  {:>10} elements{}  worst {:.2g} of the tolerance, {:.2f} s\n",
                       shape.is_hidden ? "(hidden) " + shape.label : shape.label, shape.launches, shape.elements, part,
                       shape.worst_part, shape.seconds);
  }
  out += fmt::format("{} on {}: {} shapes, {:.2f} s\n", outcome.holds() ? "holds" : "does not hold",
                     outcome.card.value("name", "the card"), outcome.shapes.size(), outcome.seconds);
  return out;
}

}  // namespace plumb::session
