// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "ptx/isa.h"
#include "session/codes.h"
#include "session/handlers.h"
#include "session/knowledge.h"

namespace plumb::session {
namespace {

using Json = nlohmann::json;

Json constant_json(const task::Task::ConstexprRow& row) {
  if (!row.constant) return row.expression;
  return std::visit([](const auto& value) { return Json(value); }, *row.constant);
}

std::string_view role_name(task::Role role) {
  switch (role) {
    case task::Role::In:
      return "in";
    case task::Role::Out:
      return "out";
    case task::Role::InOut:
      return "inout";
  }
  return "in";
}

Json arg_json(const task::Arg& arg) {
  Json out = {{"name", arg.name}, {"type", arg.type}};
  if (arg.is_tensor()) {
    out["shape"] = arg.shape;
    out["role"] = role_name(arg.role);
    if (arg.is_metadata) out["metadata"] = true;
    if (!arg.init.empty()) out["init"] = arg.init;
    if (!arg.block.empty()) out["descriptor"] = {{"extent", arg.extent}, {"block", arg.block}};
  } else {
    out["value"] = arg.value;
  }
  return out;
}

Json entry_json(const KnowledgeEntry& entry, bool is_whole) {
  Json out = {{"name", entry.name}, {"title", entry.title()}, {"targets", entry.targets}};
  if (!is_whole) return out;
  out["text"] = entry.text;
  for (const Evidence& each : entry.evidence) {
    Json row = {{"claim", each.claim}};
    if (!each.proof.empty()) {
      row["proof"] = each.proof;
    } else if (!each.mutant.empty()) {
      row.update({{"mutant", each.mutant}, {"broken", each.name}, {"finding", each.code}});
    } else {
      row.update({{"figure", each.figure}, {"at", each.at}, {"value", each.value}});
    }
    out["evidence"].push_back(std::move(row));
  }
  return out;
}

}  // namespace

Reply show_task(const Session& session, const Json&) {
  Findings findings;
  const task::Task* task = session.task(findings);
  if (task == nullptr) return refuse(findings);
  const auto source = read_file(task->kernel_file, findings);
  if (!source) return refuse(findings);
  Json args = Json::array(), shapes = Json::array(), constexprs = Json::object();
  for (const task::Arg& arg : task->args) args.push_back(arg_json(arg));
  for (const task::Shape& shape : task->prove_shapes) shapes.push_back(shape.sizes);
  for (const auto& [name, row] : task->constexprs) constexprs[name] = constant_json(row);
  // The shapes to test and time at are held out: nothing that a model sees shows them.
  return {true,
          {{"name", task->name},
           {"function", task->function},
           {"kernel_source", *source},
           {"target", session.config().target},
           {"grid", task->grid},
           {"constexpr", std::move(constexprs)},
           {"args", std::move(args)},
           {"prove_shapes", std::move(shapes)},
           {"tolerance", {{"relative", task->tolerance.relative}, {"absolute", task->tolerance.absolute}}}}};
}

Reply look_up_form(const Session&, const Json& input) {
  Findings findings;
  const auto& query = input["query"].get_ref<const std::string&>();
  Json forms = Json::array();
  for (const ptx::IsaEntry& entry : ptx::look_up(query)) {
    forms.push_back({{"name", entry.name},
                     {"syntax", entry.syntax},
                     {"since", entry.since},
                     {"targets", entry.targets},
                     {"manual", entry.manual}});
  }
  if (!forms.empty()) return {true, {{"forms", std::move(forms)}}};
  findings.add(kUnknownForm, fmt::format("no instruction matches `{}`", query)).hint =
      "write an opcode and some of its modifiers, as in `cp.async` or `mma bf16`";
  return refuse(findings);
}

Reply explain_code(const Session&, const Json& input) {
  const auto& id = input["code"].get_ref<const std::string&>();
  for (const Code* code : all_codes()) {
    if (code->id == id) return {true, {{"code", id}, {"summary", code->summary}, {"explanation", code->explanation}}};
  }
  Findings findings;
  findings.add(kUnknownCode, fmt::format("there is no code `{}`", id));
  return refuse(findings);
}

Reply propose_entry(const Session&, const Json& input) {
  constexpr std::size_t kMostText = 4000, kMostName = 40;
  const auto& name = input["name"].get_ref<const std::string&>();
  const auto& text = input["text"].get_ref<const std::string&>();
  const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  Findings findings;
  if (name.empty() || name.size() > kMostName || !std::all_of(name.begin(), name.end(), is_plain)) {
    findings.add(kKnowledge,
                 fmt::format("`{}` is no name for an entry: small letters, digits and `-`", name.substr(0, kMostName)));
  } else if (!text.starts_with("# ") || text.find('\n') == std::string::npos || text.size() > kMostText) {
    findings.add(kKnowledge,
                 fmt::format("an entry begins with `# Title`, says something, and has at most {} bytes", kMostText));
  } else if (input["shows"].empty() || input["claim"].get_ref<const std::string&>().empty()) {
    findings.add(kKnowledge, "an entry rests on a claim and on passages of the lowering that show it");
  }
  if (!findings.empty()) return refuse(findings);
  return {true, {{"proposed", name}, {"note", "kept beside the lowering when that holds and has these passages"}}};
}

Reply look_up_knowledge(const Session& session, const Json& input) {
  constexpr std::size_t kMostWhole = 3;
  std::vector<KnowledgeEntry> entries = knowledge();
  if (const std::string name = input.value("name", ""); !name.empty()) {
    for (const KnowledgeEntry& entry : entries) {
      if (entry.name == name) return {true, {{"entries", Json::array({entry_json(entry, true)})}}};
    }
    Findings findings;
    findings.add(kKnowledge, fmt::format("there is no entry `{}`", name)).hint = "without input the tool lists them";
    return refuse(findings);
  }
  std::erase_if(entries,
                [&](const KnowledgeEntry& entry) { return !holds_for(entry.targets, session.config().target); });
  const std::string query = input.value("query", "");
  if (!query.empty()) entries = search(entries, query);
  Json out = Json::array();
  for (const KnowledgeEntry& entry : entries)
    out.push_back(entry_json(entry, !query.empty() && out.size() < kMostWhole));
  return {true, {{"entries", std::move(out)}}};
}

}  // namespace plumb::session
