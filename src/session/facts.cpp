// SPDX-License-Identifier: Apache-2.0
#include "session/facts.h"

#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace plumb::session {
namespace {

using Json = nlohmann::json;

// The values of these keys; keys that are not there stay away.
Json picked(const Json& object, std::initializer_list<const char*> keys) {
  Json out = Json::object();
  if (!object.is_object()) return out;
  for (const char* key : keys) {
    if (object.contains(key)) out[key] = object[key];
  }
  return out;
}

const Json& elements_of(const Json& object, const char* key) {
  static const Json kNone = Json::array();
  if (!object.is_object()) return kNone;
  const auto found = object.find(key);
  return found != object.end() && found->is_array() ? *found : kNone;
}

Json place_facts(const Json& value) { return picked(value, {"file", "line", "column"}); }

// The sizes of a label as in "M=128, N=7, pointers one element off": every NAME=INTEGER of it.
Json sizes_of(const Json& label) {
  Json sizes = Json::object();
  if (!label.is_string()) return sizes;
  std::string_view rest = label.get_ref<const std::string&>();
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    std::string_view part = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    while (part.starts_with(' ')) part.remove_prefix(1);
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    std::int64_t value = 0;
    const char* end = part.data() + part.size();
    const auto [stop, error] = std::from_chars(part.data() + equals + 1, end, value);
    if (error == std::errc() && stop == end) sizes[std::string(part.substr(0, equals))] = value;
  }
  return sizes;
}

// A shape is judged several times, under other alignments and metadata: what is the same each time is said once, so
// that another choice of alignments is no other answer.
Json shape_facts(const Json& shapes) {
  Json out = Json::array();
  for (const Json& shape : shapes) {
    Json facts = picked(shape, {"verdict", "ctas", "programs", "elements"});
    facts["sizes"] = sizes_of(shape.value("shape", Json()));
    if (out.empty() || out.back() != facts) out.push_back(std::move(facts));
  }
  return out;
}

Json with_findings(Json facts, const Json& output) {
  facts["findings"] = finding_facts(output)["findings"];
  return facts;
}

}  // namespace

Json finding_facts(const Json& output) {
  Json findings = Json::array();
  for (const Json& finding : elements_of(output, "findings")) {
    Json facts = picked(finding, {"code", "severity", "file", "line", "column"});
    Json places = Json::array();
    for (const Json& note : elements_of(finding, "notes")) {
      if (Json place = place_facts(note); !place.empty()) places.push_back(std::move(place));
    }
    facts["note_places"] = std::move(places);
    findings.push_back(std::move(facts));
  }
  return {{"findings", std::move(findings)}};
}

Json task_facts(const Json& output) {
  Json args = Json::array();
  for (const Json& arg : elements_of(output, "args")) {
    args.push_back(picked(arg, {"name", "type", "shape", "role", "value", "metadata", "init"}));
  }
  Json facts = picked(output, {"name", "function", "kernel_source", "target", "grid", "constexpr", "prove_shapes"});
  facts["args"] = std::move(args);
  return facts;
}

Json text_facts(const Json& output) { return picked(output, {"file", "sha256", "bytes", "lines", "text"}); }

Json assembly_facts(const Json& output) { return with_findings(picked(output, {"file", "accepts"}), output); }

Json judgement_facts(const Json& output) {
  Json facts = picked(output, {"file", "verdict", "contract"});
  facts["shapes"] = shape_facts(elements_of(output, "shapes"));
  facts["assumptions"] = elements_of(output, "assumptions").size();
  if (output.contains("coverage")) {
    facts["coverage"] = picked(output["coverage"], {"instructions"});
  }
  return with_findings(std::move(facts), output);
}

Json run_facts(const Json& output) {
  Json outputs = Json::array();
  for (const Json& array : elements_of(output, "outputs")) {
    Json facts = picked(array, {"name", "type", "shape", "sha256", "nan", "infinite"});
    if (array.contains("against_triton")) {
      facts["outside_tolerance"] = array["against_triton"].value("outside_tolerance", Json());
    }
    outputs.push_back(std::move(facts));
  }
  Json facts = picked(output, {"holds"});
  facts["sizes"] = sizes_of(output.value("shape", Json()));
  facts["outputs"] = std::move(outputs);
  if (output.contains("counts")) facts["counts"] = picked(output["counts"], {"ctas", "mma_macs"});
  return with_findings(std::move(facts), output);
}

Json card_facts(const Json&) { return Json::object(); }

Json proposal_facts(const Json& output) { return picked(output, {"proposed"}); }

Json knowledge_facts(const Json&) { return Json::object(); }

Json explanation_facts(const Json& output) { return picked(output, {"code"}); }

}  // namespace plumb::session
