// SPDX-License-Identifier: Apache-2.0
#include "task/launch.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "task/codes.h"
#include "task/reader.h"

namespace plumb::task {
namespace {

constexpr std::uint32_t kWarp = 32;

// The leading lines of `ptx` as TOML: `//!` becomes three blanks, other comments and blank lines become blank, so that
// places stay. Empty when there is no header line.
std::string header_text(std::string_view ptx) {
  std::string out;
  bool has_header = false;
  std::size_t at = 0;
  while (at < ptx.size()) {
    const std::size_t end = std::min(ptx.find('\n', at), ptx.size());
    const std::string_view line = ptx.substr(at, end - at);
    const std::size_t first = std::min(line.find_first_not_of(" \t\r"), line.size());
    const std::string_view rest = line.substr(first);
    if (rest.starts_with("//!")) {
      has_header = true;
      out += std::string(first + 3, ' ');
      out += rest.substr(3);
    } else if (rest.empty() || rest.starts_with("//")) {
      out += std::string(line.size(), ' ');
    } else {
      break;
    }
    out += '\n';
    at = end + 1;
  }
  return has_header ? out : std::string();
}

std::optional<LaunchHeader> read_header(const SourcePtr& ptx, const std::string& text, Findings& findings) {
  std::optional<Toml> parsed = parse_toml(ptx, text, findings);
  if (!parsed) return std::nullopt;
  auto toml = std::make_shared<const Toml>(std::move(*parsed));
  Findings own;
  TomlReader reader(*toml, {kLaunchValue, kLaunchValue, kLaunchValue}, own);
  reader.only("",
              {"entry", "grid", "block", "cluster", "shared", "workspace", "params", "divisible_by_16", "requires",
               "tensor_maps"},
              "a launch header");
  LaunchHeader header;
  header.place = {ptx, {0, static_cast<std::uint32_t>(std::min(text.size(), ptx->text().size()))}};
  header.entry = reader.text("/entry").value_or("");
  header.grid = reader.expressions("/grid").value_or(header.grid);
  header.block = reader.expressions("/block").value_or(header.block);
  header.cluster = reader.expressions("/cluster").value_or(header.cluster);
  header.shared = reader.expression("/shared").value_or(header.shared);
  header.workspace = reader.expression("/workspace").value_or(header.workspace);
  header.params = reader.expressions("/params");
  header.divisible_by_16 = reader.flag("/divisible_by_16").value_or(false);
  header.conditions = reader.expressions("/requires").value_or(header.conditions);
  header.tensor_maps = read_tensor_maps(reader);
  for (const TensorMapRow& row : header.tensor_maps) {
    const bool is_passed =
        header.params && std::find(header.params->begin(), header.params->end(), row.name) != header.params->end();
    if (!is_passed) reader.wrong_value(row.pointer(), fmt::format("no entry of `params` is `{}`", row.name));
  }
  if (reader.find("/block") == nullptr) own.add(kLaunchValue, "`block` is missing in the launch header", header.place);
  for (const auto& [name, list] :
       {std::pair("/grid", &header.grid), std::pair("/block", &header.block), std::pair("/cluster", &header.cluster)}) {
    if (list->size() > 3) reader.wrong_value(name, fmt::format("`{}` has at most three dimensions", name + 1));
  }
  header.toml = std::move(toml);
  const bool is_bad = own.has_error();
  findings.append(std::move(own));
  if (is_bad) return std::nullopt;
  return header;
}

// The x extent of the first `.reqntid` of a PTX text that Triton wrote, or 0. Under warp specialisation it is larger
// than the launch JSON's warps.
std::uint32_t required_threads(std::string_view ptx) {
  constexpr std::string_view kDirective = ".reqntid";
  const std::size_t found = ptx.find(kDirective);
  if (found == std::string_view::npos) return 0;
  std::uint32_t value = 0;
  std::size_t at = ptx.find_first_not_of(" \t", found + kDirective.size());
  for (; at < ptx.size() && ptx[at] >= '0' && ptx[at] <= '9' && value <= 65535; ++at) {
    value = value * 10 + static_cast<std::uint32_t>(ptx[at] - '0');
  }
  return value;
}

class TritonJson {
 public:
  TritonJson(SourcePtr source, const nlohmann::json& json, Findings& findings)
      : source_(std::move(source)), json_(json), findings_(findings) {}

  std::optional<LaunchHeader> run(std::string_view ptx) {
    if (!json_.is_object()) return fail("the launch JSON is not an object");
    LaunchHeader header;
    header.place = {source_, {0, 1}};
    const auto warps = integer("num_warps", 1, 32);
    const auto shared = integer("shared", 0, 1 << 30);
    const auto ctas = integer("num_ctas", 1, 16);
    const auto scratch = integer("global_scratch", 0, 1 << 30);
    if (!warps || !shared || !ctas || !scratch) return std::nullopt;
    header.block = {fmt::format("{}", std::max(static_cast<std::uint32_t>(*warps) * kWarp, required_threads(ptx)))};
    header.cluster = {fmt::format("{}", *ctas)};
    header.shared = fmt::format("{}", *shared);
    for (const char* key : {"entry", "function"}) {
      if (!json_.contains(key) || !json_[key].is_string())
        return fail(fmt::format("`{}` is missing or not a string", key));
    }
    header.entry = json_["entry"].get<std::string>();
    header.function = json_["function"].get<std::string>();
    if (const auto flag = json_.find("divisible_by_16"); flag != json_.end() && flag->is_boolean()) {
      header.divisible_by_16 = flag->get<bool>();
    }
    specialisation(header);
    if (!constexprs(header)) return std::nullopt;
    if (!params(header)) return std::nullopt;
    // Triton passes two scratch pointers after the arguments: memory for the kernel's own descriptors, and the
    // profiler's.
    header.params->push_back(*scratch > 0 ? "workspace" : "null");
    header.params->push_back("null");
    if (*scratch > 0) header.workspace = fmt::format("{} * grid_x * grid_y * grid_z", *scratch);
    return header;
  }

 private:
  std::optional<LaunchHeader> fail(std::string message) {
    findings_.add(kLaunchValue, std::move(message), {source_, {0, 1}});
    return std::nullopt;
  }

  // Triton specialises its code argument by argument: pointers are multiples of 16 wherever the host aligns what it
  // allocates, integers at the sizes that happen to be. The integers become conditions.
  void specialisation(LaunchHeader& header) {
    const auto relied = json_.find("relies_on_divisibility"), signature = json_.find("signature");
    if (signature == json_.end() || !signature->is_object()) return;
    const bool is_listed = relied != json_.end() && relied->is_array();
    std::vector<std::string> integers;
    bool is_any_pointer = false, is_every_pointer = true;
    for (const auto& [name, type] : signature->items()) {
      const std::string kind = type.is_string() ? type.get<std::string>() : "";
      const bool is_relied = is_listed && std::find(relied->begin(), relied->end(), name) != relied->end();
      if (kind.starts_with('*')) is_any_pointer = true, is_every_pointer = is_every_pointer && is_relied;
      else if (is_relied || (header.divisible_by_16 && (kind == "i32" || kind == "i64"))) integers.push_back(name);
    }
    header.divisible_by_16 = header.divisible_by_16 || (is_any_pointer && is_every_pointer);
    if (!header.divisible_by_16) return;
    for (const std::string& name : integers) header.conditions.push_back(fmt::format("{} % 16 == 0", name));
  }

  std::optional<std::int64_t> integer(const char* key, std::int64_t low, std::int64_t high) {
    const auto found = json_.find(key);
    const bool is_good = found != json_.end() && found->is_number_integer() && found->get<std::int64_t>() >= low &&
                         found->get<std::int64_t>() <= high;
    if (is_good) return found->get<std::int64_t>();
    fail(fmt::format("`{}` is missing or not an integer from {} to {}", key, low, high));
    return std::nullopt;
  }

  bool constexprs(LaunchHeader& header) {
    const auto found = json_.find("constexprs");
    if (found == json_.end() || !found->is_object())
      return fail("`constexprs` is missing or not an object").has_value();
    for (const auto& [name, value] : found->items()) {
      if (value.is_boolean()) header.constexprs[name] = value.get<bool>();
      else if (value.is_number_integer()) header.constexprs[name] = value.get<std::int64_t>();
      else if (value.is_number_float()) header.constexprs[name] = value.get<double>();
      else if (value.is_string()) header.constexprs[name] = value.get<std::string>();
      else return fail(fmt::format("constexpr `{}` is no number, boolean or string", name)).has_value();
    }
    return true;
  }

  // The parser sorts keys, and the parameters stand in the order of the text: `signature` is read again, in order.
  bool params(LaunchHeader& header) {
    const nlohmann::ordered_json ordered = nlohmann::ordered_json::parse(source_->text(), nullptr, false);
    const auto found = ordered.find("signature");
    if (found == ordered.end() || !found->is_object())
      return fail("`signature` is missing or not an object").has_value();
    header.params.emplace();
    for (const auto& [name, type] : found->items()) {
      if (!type.is_string()) return fail(fmt::format("the type of `{}` is not a string", name)).has_value();
      const bool is_constexpr = type.get<std::string>() == "constexpr";
      if (is_constexpr && !header.constexprs.contains(name)) {
        return fail(fmt::format("`{}` is constexpr and `constexprs` has no value for it", name)).has_value();
      }
      if (is_constexpr) continue;
      if (!type.get<std::string>().starts_with("tensordesc")) header.params->push_back(name);
      else if (!descriptor(header, name, type.get<std::string>())) return false;
    }
    return true;
  }

  // Triton passes a descriptor as its tensor map, the extents as i32 and the strides as i64. Where the target has no
  // tensor maps, it passes a pointer, extents and strides as i64, whether padding is NaN, and both lists once more.
  bool descriptor(LaunchHeader& header, const std::string& name, std::string_view type) {
    const auto rank = static_cast<std::size_t>(std::count(type.begin(), type.end(), ',')) + 1;
    const auto list = [&] {
      for (const char* what : {"extent", "stride"}) {
        for (std::size_t i = 0; i < rank; ++i) header.params->push_back(descriptor_size(name, what, i));
      }
    };
    const auto maps = json_.find("tensor_maps");
    if (maps == json_.end() || !maps->is_object() || !maps->contains(name)) {
      header.params->push_back(name);
      list();
      header.params->push_back("0");
      list();
      return true;
    }
    TensorMapRow row;
    row.name = "map_" + name;
    row.tensor = name;
    const nlohmann::json& map = (*maps)[name];
    row.swizzle = map.value("swizzle", row.swizzle);
    row.promotion = "128B";
    for (const auto& extent : map.value("box", std::vector<std::int64_t>())) row.box.push_back(std::to_string(extent));
    if (row.box.size() != rank) {
      return fail(fmt::format("the tensor map of `{}` has a box of rank {}, not {}", name, row.box.size(), rank))
          .has_value();
    }
    header.params->push_back(row.name);
    list();
    header.tensor_maps.push_back(std::move(row));
    return true;
  }

  SourcePtr source_;
  const nlohmann::json& json_;
  Findings& findings_;
};

}  // namespace

Place LaunchHeader::place_of(const std::string& pointer) const {
  if (toml) return toml->place(pointer);
  if (!place.source || pointer.empty()) return place;
  const std::string key = "\"" + pointer.substr(1) + "\"";
  const std::size_t found = place.source->text().find(key);
  if (found == std::string_view::npos) return place;
  const auto begin = static_cast<std::uint32_t>(found);
  return {place.source, {begin, begin + static_cast<std::uint32_t>(key.size())}};
}

std::optional<LaunchHeader> load_launch(const SourcePtr& ptx, const std::filesystem::path& ptx_path,
                                        Findings& findings) {
  if (const std::string text = header_text(ptx->text()); !text.empty()) return read_header(ptx, text, findings);
  std::filesystem::path json_path = ptx_path;
  json_path.replace_extension(".json");
  std::error_code error;
  if (!std::filesystem::is_regular_file(json_path, error)) {
    Finding& finding = findings.add(kLaunchMissing,
                                    fmt::format("no launch header in `{}`, and no launch JSON `{}` beside it",
                                                ptx_path.string(), json_path.filename().string()),
                                    {ptx, {0, 1}});
    finding.hint = "start the file with lines such as `//! block = [128]`";
    return std::nullopt;
  }
  const SourcePtr source = read_source(json_path, findings);
  if (!source) return std::nullopt;
  const nlohmann::json json = nlohmann::json::parse(source->text(), nullptr, false);
  if (json.is_discarded()) {
    findings.add(kLaunchValue, "this is not JSON", {source, {0, 1}});
    return std::nullopt;
  }
  return TritonJson(source, json, findings).run(ptx->text());
}

}  // namespace plumb::task
