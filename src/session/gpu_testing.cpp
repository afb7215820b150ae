// SPDX-License-Identifier: Apache-2.0
#include "session/gpu_testing.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/file.h"
#include "base/hash.h"
#include "gpu/codes.h"
#include "prove/witness.h"
#include "session/gpu_reference.h"

namespace plumb::session {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr unsigned char kPoisonA = 0xff, kPoisonB = 0x7d, kScrubA = 0xff, kScrubB = 0x3c;
constexpr std::uint64_t kLargeBytes = 64ULL << 20;  // above it, a shape is run with fewer distributions
constexpr double kAnswerSeconds = 120;

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// What a step of the job was for.
enum class Purpose : std::uint8_t { Family, Fresh, Scrub, Repeat };

struct Plan {
  gpu::Step step;
  Purpose purpose = Purpose::Family;
  std::unique_ptr<gpu::SharedMemory> outputs;
};

class ShapeTest {
 public:
  ShapeTest(const task::Task& task, const prove::Candidate& candidate, const triton::Kernel& kernel,
            std::string_view source, gpu::WorkerProcess& worker, const TestOptions& options, TestOutcome& out)
      : task_(task),
        candidate_(candidate),
        kernel_(kernel),
        source_(source),
        worker_(worker),
        options_(options),
        out_(out) {}

  // False when testing ends here: the candidate is rejected, or there is no card.
  bool run(task::Shape shape, bool is_hidden, bool is_held_out) {
    const Clock::time_point begin = Clock::now();
    is_discreet_ = options_.is_discreet && (is_hidden || is_held_out);
    if (is_discreet_) shape.label = "a held-out one";
    Findings skipped;
    std::optional<GpuShape> bound = bind_gpu_shape(task_, candidate_, shape, out_.findings, skipped);
    if (!is_discreet_) out_.remarks.append(std::move(skipped));
    if (!bound) return !out_.findings.has_error();
    shape_ = std::move(*bound);
    report_ = TestShape{};
    report_.label = shape.label;
    report_.is_hidden = is_hidden || is_discreet_;
    buffers_ = make_buffers(shape_, candidate_.launch.divisible_by_16);
    model_ = error_model(task_, shape_, source_);
    // A drawn shape may break what the source takes for granted: then there is nothing to compare with.
    if (is_hidden && !has_reference()) return !out_.findings.has_error();
    const bool goes_on = prepare(is_hidden) && launch() && look() && compare_repeats() && compare_families();
    report_.seconds = since(begin);
    if (report_.elements != 0) out_.shapes.push_back(std::move(report_));
    return goes_on && !out_.findings.has_error();
  }

 private:
  void reject(const Code& code, std::string message, std::string hint = {}) {
    out_.findings
        .add(code, fmt::format("at the shape {}{}: {}", report_.label,
                               report_.is_hidden ? " (drawn within the task's ranges)" : "", message))
        .hint = std::move(hint);
  }

  bool has_reference() {
    const auto inputs = draw_inputs(shape_, Family::Normal, out_.seed, options_.workers, out_.findings);
    Findings trouble;
    return inputs && evaluate_reference(shape_, kernel_, *inputs, kPoisonA, model_.has_atomics,
                                        options_.reference_seconds, out_.seed, options_.workers, trouble);
  }

  bool prepare(bool is_hidden) {
    const std::uint64_t bytes = gpu::input_bytes(buffers_) + gpu::output_bytes(buffers_);
    const bool is_large = bytes > kLargeBytes;
    families_ = {Family::Normal, Family::Integers};
    if (!is_large) {
      families_ = {Family::Normal, Family::Integers, Family::Wide,    Family::Large,
                   Family::Offset, Family::Zeros,    Family::Special, Family::Normal};
    }
    inputs_.clear();
    plans_.clear();
    job_ = gpu::TestJob{};
    for (std::size_t i = 0; i < families_.size(); ++i) {
      const std::uint64_t seed = mix64(out_.seed ^ mix64(i + 1)) ^ (is_hidden ? 1 : 0);
      inputs_.push_back(draw_inputs(shape_, families_[i], seed, options_.workers, out_.findings));
      if (!inputs_.back()) return false;
      job_.inputs.push_back(inputs_.back()->path());
    }
    for (std::uint32_t i = 0; i < families_.size(); ++i) {
      if (!add({i, i == 0, kPoisonA, kScrubA, i % 2 == 0, {}}, Purpose::Family)) return false;
    }
    const unsigned repeats = is_large ? 2 : options_.repeats;
    for (unsigned i = 0; i < repeats; ++i) {
      if (!add({0, false, i % 2 == 0 ? kPoisonB : kPoisonA, kScrubA, true, {}}, Purpose::Repeat)) return false;
    }
    for (unsigned i = 0; i < std::max(1U, repeats / 2); ++i) {
      if (!add({0, true, i % 2 == 0 ? kPoisonB : kPoisonA, kScrubA, true, {}}, Purpose::Fresh)) return false;
    }
    if (!add({0, true, kPoisonA, kScrubB, true, {}}, Purpose::Scrub)) return false;
    std::optional<gpu::KernelLaunch> launch = make_gpu_launch(candidate_, shape_, out_.findings);
    if (!launch) return false;
    job_.launch = std::move(*launch);
    job_.buffers = buffers_;
    job_.launch_seconds = options_.launch_seconds;
    return true;
  }

  bool add(gpu::Step step, Purpose purpose) {
    Plan plan{std::move(step), purpose, gpu::SharedMemory::make(gpu::output_bytes(buffers_))};
    if (!plan.outputs) {
      out_.findings.add(gpu::kMemory, "there is no memory on the host for the outputs");
      return false;
    }
    plan.step.outputs = plan.outputs->path();
    job_.steps.push_back(plan.step);
    plans_.push_back(std::move(plan));
    return true;
  }

  bool launch() {
    const double seconds = kAnswerSeconds + options_.launch_seconds;
    answer_ = worker_.ask(gpu::to_json(job_), seconds);
    report_.launches = answer_.contains("steps") ? answer_["steps"].size() : 0;
    if (answer_.contains("facts")) out_.facts = answer_["facts"];
    const std::string status = answer_.value("status", "");
    if (status == "done") return true;
    if (status == "none") out_.has_gpu = false;
    if (status == "memory") {
      Finding finding = worker_finding(answer_, fmt::format("at the shape {}", report_.label));
      finding.severity = Severity::Warning;
      out_.remarks.add(std::move(finding));
      return true;
    }
    // A step before the failing one may already have shown why.
    if (!look()) return false;
    const std::size_t step = answer_.value("step", std::size_t{0});
    const std::string_view family = step < plans_.size() ? name(families_[plans_[step].step.inputs]) : "";
    out_.findings.add(worker_finding(answer_, fmt::format("at the shape {} ({} inputs)", report_.label, family)));
    return false;
  }

  // Guards, inputs and module variables after each launch.
  bool look() {
    for (const Json& step : answer_.value("steps", Json::array())) {
      for (const Json& guard : step["guard"]) {
        const auto offset = guard["offset"].get<std::int64_t>();
        const auto bytes = guard["bytes"].get<std::int64_t>();
        reject(gpu::kGuard, offset < 0 ? fmt::format("{} bytes before the begin of `{}` were written", -offset,
                                                     guard["buffer"].get<std::string>())
                                       : fmt::format("byte {} behind the end of `{}` was written", offset - bytes,
                                                     guard["buffer"].get<std::string>()));
        return false;
      }
      for (const Json& mutated : step["mutated"]) {
        reject(gpu::kMutated,
               fmt::format("the input `{}` was written, first at byte {}", mutated["buffer"].get<std::string>(),
                           mutated["offset"].get<std::uint64_t>()));
        return false;
      }
      for (const Json& variable : step["variables"]) {
        reject(gpu::kVariable, fmt::format("the module variable `{}` holds other bytes after the launch than before it",
                                           variable.get<std::string>()));
        return false;
      }
    }
    return true;
  }

  // Offset of the first byte at which two runs of the same inputs differ; outputs that both left alone are reported.
  struct Difference {
    bool is_unwritten = false;
    std::string element;
  };
  std::optional<Difference> difference(const Plan& a, const Plan& b) const {
    if (std::memcmp(a.outputs->data(), b.outputs->data(), a.outputs->size()) == 0) return std::nullopt;
    std::uint64_t offset = 0;
    for (const task::BoundArg& arg : shape_.bound.args) {
      if (!arg.is_tensor || arg.role == task::Role::In) continue;
      const unsigned size = task::element_bytes(arg.type);
      for (std::uint64_t i = 0; i < arg.elements; ++i, offset += size) {
        const std::byte *x = a.outputs->data() + offset, *y = b.outputs->data() + offset;
        if (std::memcmp(x, y, size) == 0) continue;
        const auto holds = [&](const std::byte* at, unsigned char poison) {
          return std::all_of(at, at + size, [&](std::byte byte) { return std::to_integer<unsigned>(byte) == poison; });
        };
        // What no run wrote holds each run's poison: whether it should have been written, the reference says.
        if (arg.role == task::Role::Out && holds(x, a.step.poison) && holds(y, b.step.poison)) continue;
        return Difference{false, prove::element_name(shape_.bound, arg.name, i)};
      }
    }
    return std::nullopt;
  }

  bool compare_repeats() {
    if (model_.has_atomics || answer_.value("status", "") != "done") return true;
    const Plan& first = plans_.front();
    for (const Purpose purpose : {Purpose::Fresh, Purpose::Scrub, Purpose::Repeat}) {
      for (const Plan& plan : plans_) {
        if (plan.purpose != purpose) continue;
        const auto differs = difference(first, plan);
        if (!differs) continue;
        if (purpose == Purpose::Fresh) {
          reject(gpu::kNondeterministic,
                 fmt::format("`{}` differs between two launches of a freshly loaded module on equal inputs",
                             differs->element),
                 "`plumb check` finds races and reads of memory that nothing wrote");
        } else if (purpose == Purpose::Scrub) {
          reject(gpu::kResidue,
                 fmt::format("`{}` changes with what shared memory held before the launch", differs->element));
        } else {
          reject(gpu::kState, fmt::format("`{}` differs when the module is launched again, and not when it is loaded "
                                          "anew",
                                          differs->element));
        }
        return false;
      }
    }
    return true;
  }

  bool compare_families() {
    if (answer_.value("status", "") != "done") return true;
    double left = options_.reference_seconds;
    for (std::size_t i = 0; i < families_.size(); ++i) {
      const Clock::time_point begin = Clock::now();
      if (!compare_family(i, std::max(1.0, left / static_cast<double>(families_.size() - i)))) return false;
      left -= since(begin);
    }
    return true;
  }

  bool compare_family(std::size_t index, double seconds) {
    Findings trouble;
    const gpu::SharedMemory& inputs = *inputs_[index];
    const auto reference = evaluate_reference(shape_, kernel_, inputs, kPoisonA, model_.has_atomics, seconds,
                                              out_.seed + index, options_.workers, trouble);
    if (!reference) {
      Finding& finding = out_.remarks.add(
          gpu::kNotJudged,
          fmt::format("{} inputs at the shape {} have no reference", name(families_[index]), report_.label), {},
          Severity::Warning);
      for (const Finding& why : trouble.list()) finding.notes.push_back({why.message, why.place});
      return true;
    }
    report_.programs = reference->programs;
    report_.all_programs = reference->all_programs;
    const double largest = largest_magnitude(shape_, inputs);
    std::uint64_t out_at = 0, in_at = 0;
    for (const task::BoundArg& arg : shape_.bound.args) {
      if (!arg.is_tensor) continue;
      const std::uint64_t bytes = arg.elements * task::element_bytes(arg.type);
      if (arg.role != task::Role::In) {
        Compared compared;
        compared.candidate = plans_[index].outputs->data() + out_at;
        compared.reference = reference->memory->find(std::string_view(arg.name))->bytes.get();
        compared.before = arg.role == task::Role::InOut ? inputs.data() + in_at : nullptr;
        compared.poison = kPoisonA;
        compared.is_partial = reference->is_partial();
        if (!take(judge(shape_, arg, model_, largest, compared), families_[index])) return false;
        out_at += bytes;
      }
      if (arg.role != task::Role::Out) in_at += bytes;
    }
    return true;
  }

  bool take(Judgement judged, Family family) {
    report_.elements += judged.compared;
    const bool is_class_only = model_.has_reduction && family == Family::Special;
    if (!is_class_only) {
      report_.worst_part = std::max(report_.worst_part, judged.worst_part);
      report_.largest_ulps = std::max(report_.largest_ulps, judged.largest_ulps);
    }
    const auto kept = std::find_if(report_.worst.begin(), report_.worst.end(),
                                   [&](const Judgement& each) { return each.output == judged.output; });
    const bool holds = judged.holds();
    const std::string where = fmt::format("{} inputs, ", name(family));
    if (judged.unwritten != 0) {
      reject(gpu::kUnwritten, fmt::format("{}{} of {} elements of `{}` were not written, first {}", where,
                                          judged.unwritten, judged.compared, judged.output, judged.first_unwritten));
    } else if (judged.overwritten != 0) {
      reject(gpu::kOverwritten, fmt::format("{}{}", where, judged.first_overwritten));
    } else if (is_class_only) {
      // The source multiplies by zeros that other code leaves out, and 0 * inf is NaN: over the numbers both are equal.
      if (holds_special_remark_ || judged.special == 0) return true;
      holds_special_remark_ = true;
      out_.remarks.add(gpu::kSpecial, fmt::format("at the shape {}: {}{}", report_.label, where, judged.first_special),
                       {}, Severity::Warning);
      return true;
    } else if (judged.special != 0) {
      reject(gpu::kSpecial, fmt::format("{}{}", where, judged.first_special));
    } else if (judged.wrong != 0) {
      reject(gpu::kWrong, fmt::format("{}{} of {} elements are outside of the tolerance, worst {}", where, judged.wrong,
                                      judged.compared, judged.worst));
    }
    if (kept == report_.worst.end()) report_.worst.push_back(std::move(judged));
    else if (judged.worst_part > kept->worst_part) *kept = std::move(judged);
    return holds;
  }

  const task::Task& task_;
  const prove::Candidate& candidate_;
  const triton::Kernel& kernel_;
  std::string_view source_;
  gpu::WorkerProcess& worker_;
  const TestOptions& options_;
  TestOutcome& out_;
  GpuShape shape_;
  ErrorModel model_;
  std::vector<gpu::BufferPlan> buffers_;
  std::vector<Family> families_;
  std::vector<std::unique_ptr<gpu::SharedMemory>> inputs_;
  std::vector<Plan> plans_;
  gpu::TestJob job_;
  Json answer_;
  TestShape report_;
  bool holds_special_remark_ = false;  // one of them is enough
  bool is_discreet_ = false;           // the shape at work may not be named
};

}  // namespace

TestOutcome test_on_gpu(const task::Task& task, const prove::Candidate& candidate, gpu::WorkerProcess& worker,
                        const TestOptions& options) {
  const Clock::time_point begin = Clock::now();
  TestOutcome out;
  out.seed = options.seed != 0 ? options.seed : random_seed();
  const std::optional<triton::Kernel> kernel = begin_on_gpu(task, candidate, options.python, worker, out);
  if (!kernel) return out;
  struct Row {
    task::Shape shape;
    bool is_hidden = false, is_held_out = false;
  };
  std::vector<Row> rows;
  for (const task::Shape& shape : options.shapes) rows.push_back({shape});
  if (options.shapes.empty()) {
    for (const task::Shape& shape : task.prove_shapes) rows.push_back({shape});
    for (const task::Shape& shape : task.test_shapes) rows.push_back({shape, false, true});
    for (task::Shape& shape : draw_hidden_shapes(task, options.hidden, out.seed)) {
      rows.push_back({std::move(shape), true});
    }
  }
  ShapeTest test(task, candidate, *kernel, kernel->sources().front()->text(), worker, options, out);
  std::uint64_t done = 0;
  for (const Row& row : rows) {
    if (options.progress && !options.progress({row.shape.label, "test", done++, rows.size()})) break;
    if (!test.run(row.shape, row.is_hidden, row.is_held_out)) break;
  }
  if (out.shapes.empty() && !out.findings.has_error()) {
    out.findings.add(gpu::kNothingTested, "no shape of the task could be judged for this candidate");
  }
  out.seconds = since(begin);
  return out;
}

}  // namespace plumb::session
