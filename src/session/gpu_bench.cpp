// SPDX-License-Identifier: Apache-2.0
#include "session/gpu_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "base/file.h"
#include "base/hash.h"
#include "gpu/codes.h"
#include "gpu/nvml.h"
#include "prove/setup.h"
#include "session/gpu_reference.h"
#include "session/gpu_testing.h"
#include "task/expression.h"

namespace plumb::session {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr unsigned char kPoison = 0xff;
constexpr unsigned kCheckedSets = 3;
constexpr double kAnswerSeconds = 240;
constexpr double kFaster = 1.01, kSlower = 0.99, kSteady = 0.005;
constexpr double kLightSlack = 0.98;

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

class ShapeBench {
 public:
  ShapeBench(const task::Task& task, const prove::Candidate& candidate, const prove::Candidate* baseline,
             const triton::Kernel& kernel, std::string_view source, gpu::WorkerProcess& worker,
             const BenchOptions& options, BenchOutcome& out)
      : task_(task),
        candidate_(candidate),
        baseline_(baseline),
        kernel_(kernel),
        source_(source),
        worker_(worker),
        options_(options),
        out_(out) {}

  // False when benching ends here.
  bool run(const task::Shape& shape) {
    auto bound = bind_gpu_shape(task_, candidate_, shape, out_.findings, out_.remarks);
    if (!bound) return !out_.findings.has_error();
    shape_ = std::move(*bound);
    report_ = BenchShape{};
    report_.label = shape.label;
    buffers_ = make_buffers(shape_, true);
    if (!prepare(shape) || !measure()) return false;
    if (answer_["status"] != "done") return true;
    judge_outputs();
    summarise();
    out_.shapes.push_back(std::move(report_));
    return !out_.findings.has_error();
  }

 private:
  std::string at_shape() const { return fmt::format("at the shape {}", report_.label); }

  bool prepare(const task::Shape& shape) {
    job_ = gpu::BenchJob{};
    auto own = make_gpu_launch(candidate_, shape_, out_.findings);
    if (!own) return false;
    // The baseline twice: what it differs by from itself is what the measurement cannot tell.
    gpu::KernelLaunch base = *own;
    if (baseline_ != nullptr) {
      Findings skipped;
      auto bound = bind_gpu_shape(task_, *baseline_, shape, out_.findings, skipped);
      if (!bound) {
        out_.findings.add(gpu::kBaselineFailed, fmt::format("{}: the baseline does not claim it", at_shape()));
        return false;
      }
      auto made = make_gpu_launch(*baseline_, *bound, out_.findings);
      if (!made) return false;
      base = std::move(*made);
    }
    job_.sides = {base, base, std::move(*own)};
    job_.buffers = buffers_;
    job_.seed = out_.seed;
    job_.seconds = options_.seconds;
    job_.checked_sets = kCheckedSets;
    for (const task::BoundArg& arg : shape_.bound.args) {
      if (arg.is_tensor) job_.is_turned.push_back(!arg.is_metadata && prove::float_format(arg.type).has_value());
    }
    inputs_ = draw_inputs(shape_, Family::Normal, out_.seed, options_.workers, out_.findings);
    outputs_.clear();
    for (const bool is_kept : {true, false, true}) {
      outputs_.push_back(gpu::SharedMemory::make(is_kept ? kCheckedSets * gpu::output_bytes(buffers_) : 0));
      if (!outputs_.back()) out_.findings.add(gpu::kMemory, "there is no memory on the host for the outputs");
      job_.outputs.push_back(is_kept && outputs_.back() ? outputs_.back()->path() : "");
    }
    if (!inputs_ || out_.findings.has_error()) return false;
    job_.inputs = inputs_->path();
    return true;
  }

  bool measure() {
    answer_ = worker_.ask(gpu::to_json(job_), kAnswerSeconds + 4 * options_.seconds);
    const std::string status = answer_.value("status", "");
    if (status == "done") return true;
    if (status == "none") out_.has_gpu = false;
    Finding finding = worker_finding(answer_, at_shape());
    if (status == "memory") {
      finding.severity = Severity::Warning;
      out_.remarks.add(std::move(finding));
      return true;
    }
    if (baseline_ != nullptr && answer_.value("side", 2) != 2) finding.code = &gpu::kBaselineFailed;
    out_.findings.add(std::move(finding));
    return false;
  }

  // Set 0 against the source, as far as it can be evaluated; every kept set against the baseline's.
  void judge_outputs() {
    const ErrorModel model = error_model(task_, shape_, source_);
    const double largest = largest_magnitude(shape_, *inputs_);
    Findings trouble;
    const auto reference = evaluate_reference(shape_, kernel_, *inputs_, kPoison, model.has_atomics,
                                              options_.reference_seconds, out_.seed, options_.workers, trouble);
    const auto sets = static_cast<std::uint64_t>(answer_.value("checked_sets", Json::array()).size());
    const std::uint64_t stride = gpu::output_bytes(buffers_);
    for (std::uint64_t set = 0; set < sets; ++set) {
      std::uint64_t at = set * stride, in_at = 0;
      for (const task::BoundArg& arg : shape_.bound.args) {
        if (!arg.is_tensor) continue;
        const std::uint64_t bytes = arg.elements * task::element_bytes(arg.type);
        if (arg.role != task::Role::In) {
          Compared compared;
          compared.candidate = outputs_[2]->data() + at;
          compared.poison = kPoison;
          if (set == 0 && reference) {
            compared.reference = reference->memory->find(std::string_view(arg.name))->bytes.get();
            compared.before = arg.role == task::Role::InOut ? inputs_->data() + in_at : nullptr;
            compared.is_partial = reference->is_partial();
            take(judge(shape_, arg, model, largest, compared), "the source");
            report_.is_judged = true;
          }
          if (baseline_ != nullptr) {
            compared.reference = outputs_[0]->data() + at;
            // What an in-out tensor held before is turned round in further sets: only numbers are compared there.
            compared.before = arg.role == task::Role::InOut ? outputs_[0]->data() + at : nullptr;
            compared.is_partial = false;
            if (arg.role != task::Role::InOut) take(judge(shape_, arg, model, largest, compared), "the baseline");
            report_.is_judged = true;
          }
          at += bytes;
        }
        if (arg.role != task::Role::Out) in_at += bytes;
      }
    }
    if (report_.is_judged) return;
    Finding& finding = out_.remarks.add(
        gpu::kNotJudged, fmt::format("{}: no reference for the timed outputs", at_shape()), {}, Severity::Warning);
    for (const Finding& why : trouble.list()) finding.notes.push_back({why.message, why.place});
  }

  void take(const Judgement& judged, std::string_view against) {
    if (judged.holds() || out_.findings.has_error()) return;
    const std::string& what = judged.unwritten != 0     ? judged.first_unwritten
                              : judged.overwritten != 0 ? judged.first_overwritten
                              : judged.special != 0     ? judged.first_special
                                                        : judged.worst;
    out_.findings.add(
        gpu::kTimedWrong,
        fmt::format("{}: {} of {} elements of `{}` that the timed launches left differ from {}, {} of them "
                    "unwritten: {}",
                    at_shape(), judged.unwritten + judged.overwritten + judged.special + judged.wrong, judged.compared,
                    judged.output, against, judged.unwritten, what));
  }

  Timing timing(const Json& mode) const {
    Timing out;
    const auto samples = mode["nanoseconds"].get<std::vector<std::vector<double>>>();
    const std::vector<double>&first = samples[0], &again = samples[1], &own = samples[2];
    std::vector<double> base, speedup, self;
    for (std::size_t i = 0; i < own.size(); ++i) {
      base.push_back((first[i] + again[i]) / 2);
      speedup.push_back(base.back() / own[i]);
      self.push_back(first[i] / again[i]);
    }
    out.rounds = static_cast<unsigned>(own.size());
    out.candidate_ns = gpu::median_interval(own, out_.seed);
    out.baseline_ns = gpu::median_interval(base, out_.seed + 1);
    out.speedup = gpu::median_interval(speedup, out_.seed + 2);
    out.self = gpu::median_interval(self, out_.seed + 3);
    out.quickest_ns = gpu::quantile(own, 0.05);
    out.slowest_ns = gpu::quantile(own, 0.95);
    for (const Json& mhz : mode.value("sm_mhz", Json::array())) {
      const auto value = mhz.get<unsigned>();
      out.least_mhz = out.least_mhz == 0 ? value : std::min(out.least_mhz, value);
      out.most_mhz = std::max(out.most_mhz, value);
    }
    out.slowdown = gpu::slowdown_names(mode.value("throttle", std::uint64_t{0}));
    return out;
  }

  void summarise() {
    report_.cold = timing(answer_["cold"]);
    report_.warm = timing(answer_["warm"]);
    report_.is_cold = answer_.value("is_cold", false);
    report_.sets = answer_.value("sets", 0U);
    report_.launches_per_sample = answer_.value("launches_per_sample", 0U);
    report_.empty_launch_ns = answer_.value("empty_launch_ns", 0.0);
    report_.copy_bytes_per_second = answer_.value("copy_bytes_per_second", 0.0);
    for (const gpu::BufferPlan& buffer : buffers_) report_.bytes += static_cast<double>(buffer.bytes);
    report_.flops = operations_of(task_, shape_, source_);
    const double seconds = report_.cold.candidate_ns.value * 1e-9;
    report_.gigabytes_per_second = report_.bytes / seconds * 1e-9;
    report_.teraflops_per_second = report_.flops / seconds * 1e-12;
    if (report_.copy_bytes_per_second > 0) {
      report_.bandwidth_share = report_.bytes / seconds / report_.copy_bytes_per_second;
    }
    const double rate = known_rate(out_.card.value("name", ""), shape_);
    if (rate > 0) report_.compute_share = report_.flops / seconds / rate;
    report_.raw = answer_;
    read_library();
    flag(seconds, rate);
    const gpu::Interval& speedup = report_.cold.speedup;
    if (baseline_ == nullptr) report_.verdict = "no baseline";
    else if (out_.candidate_sha256 == out_.baseline_sha256) report_.verdict = "identical code";
    else if (speedup.low > kFaster) report_.verdict = "faster";
    else if (speedup.high < kSlower) report_.verdict = "slower";
    else report_.verdict = "no measurable difference";
  }

  // What `plumb baseline` kept beside the baseline's PTX. Both are cold there; the two ratios are multiplied.
  void read_library() {
    if (baseline_ == nullptr) return;
    std::filesystem::path record = baseline_->module->source->name();
    record.replace_extension(".record.json");
    std::error_code error;
    if (!std::filesystem::is_regular_file(record, error)) return;
    const auto text = read_file(record, out_.findings);
    const Json kept = Json::parse(text.value_or(""), nullptr, false);
    if (!kept.is_object() || kept.value("ptx_sha256", "") != out_.baseline_sha256) return;
    const Json library = kept.value("library", Json::object());
    if (!library.contains("speedup")) return;
    report_.library = library.value("name", "a library");
    report_.library_ns = library.value("ms", 0.0) * 1e6;
    const auto part = [&](const char* key) { return library["speedup"].value(key, 1.0); };
    const gpu::Interval& speedup = report_.cold.speedup;
    report_.library_speedup = {speedup.value / part("value"), speedup.low / part("high"), speedup.high / part("low")};
  }

  void flag(double seconds, double rate) {
    const auto remark = [&](const Code& code, std::string message) {
      out_.remarks.add(code, fmt::format("{}: {}", at_shape(), message), {}, Severity::Warning);
    };
    // A cache that holds everything serves more bytes than memory does: only a cold measurement can be too fast.
    const double memory = report_.is_cold && report_.copy_bytes_per_second > 0
                              ? report_.bytes / (1.1 * report_.copy_bytes_per_second)
                              : 0;
    const double arithmetic = rate > 0 ? report_.flops / (1.25 * rate) : 0;
    if (seconds < kLightSlack * std::max(memory, arithmetic)) {
      out_.findings.add(gpu::kTooFast, fmt::format("{}: {:.3g} us, and {:.3g} us are needed to {}", at_shape(),
                                                   seconds * 1e6, std::max(memory, arithmetic) * 1e6,
                                                   memory > arithmetic ? "move the arguments" : "do the operations"));
    }
    if (seconds * 1e9 < 2 * report_.empty_launch_ns) {
      remark(gpu::kUnstable,
             fmt::format("{:.3g} us is within twice an empty launch: the launch is measured, not the code",
                         seconds * 1e6));
    }
    const gpu::Interval& self = report_.cold.self;
    if (self.low > 1 + kSteady || self.high < 1 - kSteady) {
      remark(gpu::kUnstable, fmt::format("the same code against itself gives {:.4f} ({:.4f} to {:.4f})", self.value,
                                         self.low, self.high));
    }
    if (!report_.cold.slowdown.empty()) remark(gpu::kThrottled, report_.cold.slowdown);
    if (answer_.value("processes", 0) > 1) {
      remark(gpu::kContended, fmt::format("{} processes hold the card", answer_["processes"].get<int>()));
    }
  }

  const task::Task& task_;
  const prove::Candidate& candidate_;
  const prove::Candidate* baseline_;
  const triton::Kernel& kernel_;
  std::string_view source_;
  gpu::WorkerProcess& worker_;
  const BenchOptions& options_;
  BenchOutcome& out_;
  GpuShape shape_;
  std::vector<gpu::BufferPlan> buffers_;
  std::unique_ptr<gpu::SharedMemory> inputs_;
  std::vector<std::unique_ptr<gpu::SharedMemory>> outputs_;
  gpu::BenchJob job_;
  Json answer_;
  BenchShape report_;
};

}  // namespace

double operations_of(const task::Task& task, const GpuShape& shape, std::string_view source) {
  Findings checked;  // what is wrong was said when the task was read
  if (const auto named = task::operations_of(task, shape.bound, checked)) return static_cast<double>(*named);
  const std::size_t first = source.find("tl.dot(");
  if (first == std::string_view::npos || source.find("tl.dot(", first + 1) != std::string_view::npos) return 0;
  const auto size = [&](const char* name) {
    const auto at = shape.bound.sizes.find(name);
    return at == shape.bound.sizes.end() ? 0.0 : static_cast<double>(at->second);
  };
  return 2 * size("M") * size("N") * size("K");
}

double known_rate(std::string_view card, const GpuShape& shape) {
  if (card.find("H200") == std::string_view::npos && card.find("H100") == std::string_view::npos) return 0;
  double narrowest = 0;
  for (const task::BoundArg& arg : shape.bound.args) {
    if (!arg.is_tensor || arg.role == task::Role::Out) continue;
    const auto bytes = static_cast<double>(task::element_bytes(arg.type));
    if (prove::float_format(arg.type)) narrowest = narrowest == 0 ? bytes : std::min(narrowest, bytes);
  }
  // Dense products on random data: 16 bits as measured on an H200, the others by the ratio of the data sheet.
  constexpr double kSixteenBits = 790e12;
  return narrowest == 0 ? 0 : narrowest == 8 ? 60e12 : kSixteenBits * 2 / narrowest;
}

BenchOutcome bench_on_gpu(const task::Task& task, const prove::Candidate& candidate, const prove::Candidate* baseline,
                          gpu::WorkerProcess& worker, const BenchOptions& options) {
  const Clock::time_point begin = Clock::now();
  BenchOutcome out;
  out.seed = options.seed != 0 ? options.seed : random_seed();
  out.has_baseline = baseline != nullptr;
  out.candidate_sha256 = sha256(candidate.module->source->text());
  if (baseline != nullptr) out.baseline_sha256 = sha256(baseline->module->source->text());
  const std::optional<triton::Kernel> kernel = begin_on_gpu(task, candidate, options.python, worker, out);
  if (!kernel) return out;
  if (out.has_baseline && out.candidate_sha256 == out.baseline_sha256) {
    out.remarks.add(gpu::kSameCode, "candidate and baseline are the same file", {}, Severity::Warning);
  }
  const std::vector<task::Shape>& shapes = options.shapes.empty() ? task.bench_shapes : options.shapes;
  ShapeBench bench(task, candidate, baseline, *kernel, kernel->sources().front()->text(), worker, options, out);
  std::uint64_t done = 0;
  for (const task::Shape& shape : shapes) {
    if (options.progress && !options.progress({shape.label, "bench", done++, shapes.size()})) break;
    if (!bench.run(shape)) break;
  }
  if (out.shapes.empty() && !out.findings.has_error()) {
    out.findings.add(gpu::kNothingTested, "no shape was timed: the task lists none, or the candidate claims none");
  }
  out.seconds = since(begin);
  return out;
}

}  // namespace plumb::session
