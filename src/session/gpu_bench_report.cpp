// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "session/gpu_bench.h"

namespace plumb::session {
namespace {

using Json = nlohmann::json;

Json to_json(const gpu::Interval& interval) {
  return {{"value", interval.value}, {"low", interval.low}, {"high", interval.high}};
}

Json to_json(const Timing& timing, bool has_baseline) {
  Json out = {{"candidate_ns", to_json(timing.candidate_ns)},
              {"candidate_ns_5", timing.quickest_ns},
              {"candidate_ns_95", timing.slowest_ns},
              {"self_ratio", to_json(timing.self)},
              {"rounds", timing.rounds},
              {"sm_mhz", {timing.least_mhz, timing.most_mhz}},
              {"slowdown", timing.slowdown}};
  if (has_baseline) {
    out["baseline_ns"] = to_json(timing.baseline_ns);
    out["speedup"] = to_json(timing.speedup);
  }
  return out;
}

}  // namespace

Json to_json(const BenchOutcome& outcome) {
  Json shapes = Json::array();
  for (const BenchShape& shape : outcome.shapes) {
    shapes.push_back({{"shape", shape.label},
                      {"verdict", shape.verdict},
                      {"outputs_judged", shape.is_judged},
                      {"cold", to_json(shape.cold, outcome.has_baseline)},
                      {"warm", to_json(shape.warm, outcome.has_baseline)},
                      {"is_cold", shape.is_cold},
                      {"bytes", shape.bytes},
                      {"flops", shape.flops},
                      {"gigabytes_per_second", shape.gigabytes_per_second},
                      {"teraflops_per_second", shape.teraflops_per_second},
                      {"share_of_copy_bandwidth", shape.bandwidth_share},
                      {"share_of_known_rate", shape.compute_share},
                      {"empty_launch_ns", shape.empty_launch_ns},
                      {"copy_bytes_per_second", shape.copy_bytes_per_second},
                      {"sets", shape.sets},
                      {"launches_per_sample", shape.launches_per_sample},
                      {"raw", shape.raw}});
    if (shape.library.empty()) continue;
    shapes.back()["library"] = {
        {"name", shape.library}, {"ns", shape.library_ns}, {"speedup", to_json(shape.library_speedup)}};
  }
  return {
      {"holds", outcome.holds()},
      {"method",
       "CUDA graph replays; candidate, baseline and baseline again in random order and back, per round; cold: rotating "
       "input sets after a sweep of twice the L2; warm: one set; medians of per-round ratios with 95% bootstrap "
       "intervals"},
      {"shapes", std::move(shapes)},
      {"card", outcome.card},
      {"candidate_sha256", outcome.candidate_sha256},
      {"baseline_sha256", outcome.baseline_sha256},
      {"seed", outcome.seed},
      {"findings", plumb::to_json(outcome.findings)},
      {"remarks", plumb::to_json(outcome.remarks)},
      {"seconds", outcome.seconds}};
}

std::string to_text(const BenchOutcome& outcome, bool colour) {
  std::string out = render(outcome.findings, colour) + render(outcome.remarks, colour);
  if (!outcome.has_gpu || outcome.is_bad_input) return out;
  for (const BenchShape& shape : outcome.shapes) {
    out += fmt::format("  {}: {}\n", shape.label, shape.verdict);
    for (const auto& [word, timing] : {std::pair{"cold", &shape.cold}, std::pair{"warm", &shape.warm}}) {
      out += fmt::format("    {}  {:.2f} us ({:.2f} to {:.2f})", word, timing->candidate_ns.value * 1e-3,
                         timing->candidate_ns.low * 1e-3, timing->candidate_ns.high * 1e-3);
      if (outcome.has_baseline) {
        out += fmt::format("; {:.4f} times as fast as the baseline ({:.4f} to {:.4f})", timing->speedup.value,
                           timing->speedup.low, timing->speedup.high);
      }
      out += fmt::format("; against itself {:.4f} ({:.4f} to {:.4f}), {} rounds\n", timing->self.value,
                         timing->self.low, timing->self.high, timing->rounds);
    }
    out += fmt::format("    {:.0f} GB/s, {:.0f}% of a copy's", shape.gigabytes_per_second, 100 * shape.bandwidth_share);
    if (shape.flops > 0) {
      out +=
          fmt::format("; {:.0f} TFLOP/s, {:.0f}% of the card's", shape.teraflops_per_second, 100 * shape.compute_share);
    }
    out += fmt::format("; {} to {} MHz\n", shape.cold.least_mhz, shape.cold.most_mhz);
    if (!shape.library.empty()) {
      out +=
          fmt::format("    {:.4f} times as fast as {} ({:.4f} to {:.4f}), which took {:.2f} us beside the baseline\n",
                      shape.library_speedup.value, shape.library, shape.library_speedup.low, shape.library_speedup.high,
                      shape.library_ns * 1e-3);
    }
  }
  out += fmt::format("{} on {}: {} shapes, {:.1f} s\n", outcome.holds() ? "holds" : "does not hold",
                     outcome.card.value("name", "the card"), outcome.shapes.size(), outcome.seconds);
  return out;
}

}  // namespace plumb::session
