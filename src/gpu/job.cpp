// SPDX-License-Identifier: Apache-2.0
#include "gpu/job.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "gpu/codes.h"

namespace plumb::gpu {
namespace {

using Json = nlohmann::json;

constexpr const char* kRoles[] = {"in", "out", "inout"};

Json extents(const std::uint32_t (&values)[3]) { return Json::array({values[0], values[1], values[2]}); }

void read_extents(const Json& value, std::uint32_t (&out)[3]) {
  for (std::size_t i = 0; i < 3; ++i) out[i] = value.at(i).get<std::uint32_t>();
}

Json buffers_json(const std::vector<BufferPlan>& buffers) {
  Json out = Json::array();
  for (const BufferPlan& buffer : buffers) {
    out.push_back({{"name", buffer.name},
                   {"bytes", buffer.bytes},
                   {"role", kRoles[static_cast<unsigned>(buffer.role)]},
                   {"alignment", buffer.alignment}});
  }
  return out;
}

std::vector<BufferPlan> read_buffers(const Json& list) {
  std::vector<BufferPlan> out;
  for (const Json& value : list) {
    BufferPlan buffer{value.at("name"), value.at("bytes"), Role::In, value.at("alignment")};
    const std::string role = value.at("role");
    if (role == kRoles[1]) buffer.role = Role::Out;
    if (role == kRoles[2]) buffer.role = Role::InOut;
    out.push_back(std::move(buffer));
  }
  return out;
}

KernelLaunch launch_of(const Json& value) {
  KernelLaunch out;
  out.ptx = value.at("ptx");
  out.entry = value.at("entry");
  read_extents(value.at("grid"), out.grid);
  read_extents(value.at("block"), out.block);
  read_extents(value.at("cluster"), out.cluster);
  out.shared = value.at("shared");
  out.workspace = value.at("workspace");
  out.variables = value.at("variables").get<std::vector<std::string>>();
  for (const Json& param : value.at("params")) {
    ParamValue read;
    if (param.contains("buffer")) {
      read.kind = ParamValue::Kind::Buffer;
      read.buffer = param["buffer"];
      if (param.contains("map")) {
        read.kind = ParamValue::Kind::TensorMap;
        read.map = read_tensor_map(param["map"]);
      }
    } else if (param.contains("workspace")) {
      read.kind = ParamValue::Kind::Workspace;
    } else {
      read.bytes = from_hex(param.at("bytes").get<std::string>()).value_or("");
    }
    out.params.push_back(std::move(read));
  }
  return out;
}

bool names_buffer(const ParamValue& param) {
  return param.kind == ParamValue::Kind::Buffer || param.kind == ParamValue::Kind::TensorMap;
}

bool holds_indices(const KernelLaunch& launch, std::size_t buffers) {
  for (const ParamValue& param : launch.params) {
    if (names_buffer(param) && param.buffer >= buffers) return false;
  }
  return true;
}

// The JSON library throws on a missing or mistyped field; that ends here.
template <class Job, class Read>
std::optional<Job> guarded(Findings& findings, const Read& read) {
  try {
    return read();
  } catch (const Json::exception& error) {
    findings.add(kProtocol, fmt::format("the job cannot be read: {}", error.what()));
    return std::nullopt;
  }
}

}  // namespace

std::string to_hex(const std::string& bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

std::optional<std::string> from_hex(const std::string& text) {
  const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  if (text.size() % 2 != 0) return std::nullopt;
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = digit(text[i]), low = digit(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
  }
  return out;
}

Json to_json(const KernelLaunch& launch) {
  Json params = Json::array();
  for (const ParamValue& param : launch.params) {
    if (param.kind == ParamValue::Kind::Buffer) params.push_back({{"buffer", param.buffer}});
    else if (param.kind == ParamValue::Kind::TensorMap)
      params.push_back({{"buffer", param.buffer}, {"map", to_json(param.map)}});
    else if (param.kind == ParamValue::Kind::Workspace) params.push_back({{"workspace", true}});
    else params.push_back({{"bytes", to_hex(param.bytes)}});
  }
  return {{"ptx", launch.ptx},
          {"entry", launch.entry},
          {"grid", extents(launch.grid)},
          {"block", extents(launch.block)},
          {"cluster", extents(launch.cluster)},
          {"shared", launch.shared},
          {"workspace", launch.workspace},
          {"params", std::move(params)},
          {"variables", launch.variables}};
}

Json to_json(const TestJob& job) {
  Json steps = Json::array();
  for (const Step& step : job.steps) {
    steps.push_back({{"inputs", step.inputs},
                     {"reload", step.is_reloaded},
                     {"poison", step.poison},
                     {"scrub", step.scrub},
                     {"at_end", step.is_at_end},
                     {"outputs", step.outputs}});
  }
  return {{"op", "test"},         {"launch", to_json(job.launch)}, {"buffers", buffers_json(job.buffers)},
          {"inputs", job.inputs}, {"steps", std::move(steps)},     {"launch_seconds", job.launch_seconds}};
}

Json to_json(const BenchJob& job) {
  Json sides = Json::array();
  for (const KernelLaunch& side : job.sides) sides.push_back(to_json(side));
  return {{"op", "bench"},
          {"sides", std::move(sides)},
          {"buffers", buffers_json(job.buffers)},
          {"inputs", job.inputs},
          {"turned", job.is_turned},
          {"seed", job.seed},
          {"seconds", job.seconds},
          {"launch_seconds", job.launch_seconds},
          {"checked_sets", job.checked_sets},
          {"outputs", job.outputs}};
}

std::optional<KernelLaunch> read_launch(const Json& value, Findings& findings) {
  return guarded<KernelLaunch>(findings, [&] { return launch_of(value); });
}

std::optional<TestJob> read_test_job(const Json& value, Findings& findings) {
  auto job = guarded<TestJob>(findings, [&] {
    TestJob out;
    out.launch = launch_of(value.at("launch"));
    out.buffers = read_buffers(value.at("buffers"));
    out.inputs = value.at("inputs").get<std::vector<std::string>>();
    out.launch_seconds = value.at("launch_seconds");
    for (const Json& step : value.at("steps")) {
      out.steps.push_back({step.at("inputs"), step.at("reload"), step.at("poison"), step.at("scrub"), step.at("at_end"),
                           step.at("outputs")});
    }
    return out;
  });
  if (!job) return job;
  bool is_sound = holds_indices(job->launch, job->buffers.size());
  for (const Step& step : job->steps) is_sound = is_sound && step.inputs < job->inputs.size();
  if (is_sound) return job;
  findings.add(kProtocol, "the job names a buffer or inputs that it does not have");
  return std::nullopt;
}

std::optional<BenchJob> read_bench_job(const Json& value, Findings& findings) {
  auto job = guarded<BenchJob>(findings, [&] {
    BenchJob out;
    for (const Json& side : value.at("sides")) out.sides.push_back(launch_of(side));
    out.buffers = read_buffers(value.at("buffers"));
    out.inputs = value.at("inputs");
    out.is_turned = value.at("turned").get<std::vector<bool>>();
    out.seed = value.at("seed");
    out.seconds = value.at("seconds");
    out.launch_seconds = value.at("launch_seconds");
    out.checked_sets = value.at("checked_sets");
    out.outputs = value.at("outputs").get<std::vector<std::string>>();
    return out;
  });
  if (!job) return job;
  bool is_sound = job->is_turned.size() == job->buffers.size() && job->outputs.size() == job->sides.size();
  for (const KernelLaunch& side : job->sides) is_sound = is_sound && holds_indices(side, job->buffers.size());
  if (is_sound) return job;
  findings.add(kProtocol, "the job names a buffer that it does not have, or its lists differ in length");
  return std::nullopt;
}

std::uint64_t input_bytes(const std::vector<BufferPlan>& buffers) {
  std::uint64_t out = 0;
  for (const BufferPlan& buffer : buffers) out += buffer.role == Role::Out ? 0 : buffer.bytes;
  return out;
}

std::uint64_t output_bytes(const std::vector<BufferPlan>& buffers) {
  std::uint64_t out = 0;
  for (const BufferPlan& buffer : buffers) out += buffer.role == Role::In ? 0 : buffer.bytes;
  return out;
}

}  // namespace plumb::gpu
