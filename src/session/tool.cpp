// SPDX-License-Identifier: Apache-2.0
#include "session/tool.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/hash.h"
#include "session/codes.h"
#include "session/facts.h"
#include "session/handlers.h"
#include "session/next_step.h"
#include "session/schema.h"

namespace plumb::session {
namespace {

constexpr Tool kTools[] = {
    {"task", "show the task: Triton source, arguments, grid, constexprs, shapes to prove, and the target",
     R"({"type": "object", "properties": {}})", show_task, task_facts},
    {"write_candidate", "write a whole PTX file, launch header included; an existing one is replaced",
     R"({"type": "object", "required": ["text"], "properties": {
         "file": {"type": "string", "description": "a plain name that ends in .ptx; default: the task's name"},
         "text": {"type": "string"}}})",
     write_candidate, text_facts},
    {"patch_candidate", "replace passages of a candidate; every `search` must stand in it exactly once",
     R"({"type": "object", "required": ["base_sha256", "edits"], "properties": {
         "file": {"type": "string"},
         "base_sha256": {"type": "string", "description": "of the text that the edits were made for"},
         "edits": {"type": "array", "items": {"type": "object", "required": ["search", "replace"], "properties": {
             "search": {"type": "string"}, "replace": {"type": "string"}}}}}})",
     patch_candidate, text_facts},
    {"read_candidate", "show a candidate, or some lines of it",
     R"({"type": "object", "properties": {
         "file": {"type": "string"},
         "first_line": {"type": "integer", "minimum": 1}, "last_line": {"type": "integer", "minimum": 1}}})",
     read_candidate, text_facts},
    {"assemble", "read and validate a candidate and its launch header; ask ptxas as well where there is one",
     R"({"type": "object", "properties": {"file": {"type": "string"}}})", assemble, assembly_facts},
    {"check", "look for races, barrier misuse, missing waits and accesses out of bounds at the prove shapes",
     R"({"type": "object", "properties": {
         "file": {"type": "string"},
         "shapes": {"type": "array", "items": {"type": "object", "additionalProperties": {"type": "integer"}},
                    "description": "sizes, as in [{\"n\": 1000}]; default: the prove shapes"}}})",
     check_candidate, judgement_facts},
    {"prove", "prove a candidate equal to the Triton source, or show where it differs",
     R"({"type": "object", "properties": {
         "file": {"type": "string"},
         "shapes": {"type": "array", "items": {"type": "object", "additionalProperties": {"type": "integer"}}}}})",
     prove_candidate, judgement_facts},
    {"run", "run a candidate once in IEEE arithmetic and compare with the Triton source on the same inputs",
     R"({"type": "object", "properties": {
         "file": {"type": "string"},
         "shape": {"type": "object", "additionalProperties": {"type": "integer"}},
         "inputs": {"type": "object", "additionalProperties": {"type": "string"},
                    "description": "argument name to a .npy file of the run folder; the others are drawn"},
         "save": {"type": "boolean", "description": "write each output to NAME.npy in the run folder"}}})",
     run_candidate, run_facts},
    {"test", "run a candidate on the GPU at listed and hidden shapes and compare with the Triton source",
     R"({"type": "object", "properties": {
         "file": {"type": "string"},
         "shapes": {"type": "array", "items": {"type": "object", "additionalProperties": {"type": "integer"}},
                    "description": "sizes; default: the prove shapes and shapes that are not shown"}}})",
     test_candidate, card_facts},
    {"bench", "time a candidate on the GPU, beside a baseline where one is named",
     R"({"type": "object", "properties": {
         "file": {"type": "string"},
         "baseline": {"type": "string", "description": "a .ptx file of the run folder"},
         "shapes": {"type": "array", "items": {"type": "object", "additionalProperties": {"type": "integer"}},
                    "description": "sizes; default: the bench shapes"}}})",
     bench_candidate, card_facts},
    {"profile", "say what limits a candidate on the GPU: registers, occupancy, its machine code by classes, counters",
     R"({"type": "object", "properties": {
         "file": {"type": "string"},
         "shape": {"type": "object", "additionalProperties": {"type": "integer"},
                   "description": "sizes; default: the first bench shape"}}})",
     profile_candidate, card_facts},
    {"isa", "look up instructions by opcode, syntax or name: forms, PTX version, target",
     R"({"type": "object", "required": ["query"], "properties": {"query": {"type": "string"}}})", look_up_form,
     finding_facts},
    {"explain", "explain the code of a finding",
     R"({"type": "object", "required": ["code"], "properties": {"code": {"type": "string"}}})", explain_code,
     explanation_facts},
    {"knowledge", "search facts, idioms and pitfalls of PTX by words, for the run's target; without input, list them",
     R"({"type": "object", "properties": {
         "query": {"type": "string", "description": "words, as in `swizzle ldmatrix bank conflicts`"},
         "name": {"type": "string", "description": "one entry, whole"}}})",
     look_up_knowledge, knowledge_facts},
    {"propose", "propose an entry for `knowledge`: what others should know and the instruction table does not say",
     R"({"type": "object", "required": ["name", "text", "claim", "shows"], "properties": {
         "name": {"type": "string", "description": "small letters, digits and `-`"},
         "text": {"type": "string", "description": "Markdown: `# Title`, the fact or idiom, what goes wrong without it"},
         "claim": {"type": "string", "description": "one line: what your lowering shows of it"},
         "shows": {"type": "array", "items": {"type": "string"},
                   "description": "passages of your lowering that are it; without them the entry is not kept"}}})",
     propose_entry, proposal_facts},
};

void replace_all(std::string& text, const std::string& from) {
  if (from.empty()) return;
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) text.erase(at, from.size());
}

void remove_prefixes(nlohmann::json& value, const std::vector<std::string>& prefixes) {
  if (value.is_string()) {
    auto& text = value.get_ref<std::string&>();
    for (const std::string& prefix : prefixes) replace_all(text, prefix);
  } else if (value.is_structured()) {
    for (auto& element : value) remove_prefixes(element, prefixes);
  }
}

}  // namespace

std::span<const Tool> tools() { return kTools; }

const Tool* find_tool(std::string_view name) {
  for (const Tool& tool : kTools) {
    if (tool.name == name) return &tool;
  }
  return nullptr;
}

Reply refuse(const Findings& findings) { return {false, {{"findings", to_json(findings)}}}; }

namespace {

Reply carry_out(const Session& session, std::string_view name, const nlohmann::json& input) {
  Findings findings;
  const Tool* tool = find_tool(name);
  if (tool == nullptr) {
    std::string known;
    for (const Tool& each : kTools) known += fmt::format("{}{}", known.empty() ? "" : ", ", each.name);
    findings.add(kTool, fmt::format("there is no tool `{}`", name)).hint = "tools: " + known;
    return refuse(findings);
  }
  if (!conforms(input, nlohmann::json::parse(tool->schema), findings)) return refuse(findings);
  Reply reply = tool->handler(session, input);
  std::vector<std::string> prefixes = {(session.config().folder / "").string()};
  if (session.config().task) prefixes.push_back((session.config().task->folder / "").string());
  std::erase_if(prefixes, [](const std::string& prefix) { return prefix == "/" || prefix == "./"; });
  // The run folder may lie in the task's: the longer one goes first.
  std::sort(prefixes.begin(), prefixes.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
  for (auto& [key, value] : reply.output.items()) {
    // Sources stand as they are.
    if (key != "text" && key != "kernel_source") remove_prefixes(value, prefixes);
  }
  return reply;
}

}  // namespace

Reply call(const Session& session, std::string_view name, const nlohmann::json& input) {
  Reply reply = carry_out(session, name, input);
  if (std::string next = next_step(reply.output); !next.empty()) reply.output["next"] = std::move(next);
  return reply;
}

nlohmann::json describe_tools() {
  nlohmann::json out = nlohmann::json::array();
  for (const Tool& tool : kTools) {
    out.push_back({{"name", tool.name}, {"help", tool.help}, {"schema", nlohmann::json::parse(tool.schema)}});
  }
  return out;
}

std::string tools_sha256() { return sha256(describe_tools().dump()); }

bool is_of_card(std::string_view name) {
  const Tool* tool = find_tool(name);
  return tool != nullptr && tool->facts == card_facts;
}

nlohmann::json facts_of(std::string_view name, bool is_answer, const nlohmann::json& output) {
  const Tool* tool = find_tool(name);
  const bool is_own = is_answer && tool != nullptr && output.is_object();
  nlohmann::json facts = is_own ? tool->facts(output) : finding_facts(output);
  facts["is_answer"] = is_answer;
  return facts;
}

}  // namespace plumb::session
