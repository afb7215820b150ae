// SPDX-License-Identifier: Apache-2.0
#include "session/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>

#include "base/file.h"
#include "base/parallel.h"
#include "domain/ieee/ieee.h"
#include "machine/machine.h"
#include "machine/profile.h"
#include "prove/setup.h"
#include "prove/witness.h"
#include "session/codes.h"
#include "session/value.h"
#include "task/launch.h"

namespace plumb::session {
namespace {

using domain::Ieee;
using Clock = std::chrono::steady_clock;

class Runner {
 public:
  // Without a candidate: the Triton source alone.
  Runner(const task::Task& task, const prove::Candidate* candidate, const RunOptions& options)
      : task_(task), candidate_(candidate), options_(options), domains_(worker_count(options.workers)) {
    for (Ieee& domain : domains_) pointers_.push_back(&domain);
  }

  RunOutcome run() {
    const Clock::time_point begin = Clock::now();
    if (!prepare()) out_.is_bad_input = true;
    else if (candidate_ == nullptr) evaluate_alone();
    else if (launch() && options_.has_spec && evaluate()) compare();
    out_.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    return std::move(out_);
  }

 private:
  bool prepare() {
    Findings& findings = out_.findings;
    if (!bind()) return false;
    memory_ = prove::make_memory(setup_, findings);
    prove::Setup spec = setup_;
    spec.has_workspace = false;
    spec_memory_ = prove::make_memory(spec, findings);
    if (!memory_ || !spec_memory_ || !fill_inputs()) return false;
    if (options_.keeps_inputs) keep_inputs();
    if (candidate_ != nullptr) launch_ = prove::make_launch(setup_, *candidate_, *memory_, findings);
    if (findings.has_error()) return false;
    if (candidate_ != nullptr && !options_.has_spec) return true;
    const SourcePtr source = read_source(task_.kernel_file, findings);
    if (!source) return false;
    kernel_ = triton::Kernel::load(source, task_.function, options_.python, findings);
    return kernel_.has_value();
  }

  bool bind() {
    const std::vector<task::Shape> given = options_.shape ? std::vector{*options_.shape} : task_.prove_shapes;
    const task::LaunchHeader header = candidate_ != nullptr ? candidate_->launch : task::LaunchHeader{};
    Findings skipped;
    for (const task::Shape& shape : given) {
      std::optional<task::Bound> bound = task::bind(task_, shape, header.constexprs, out_.findings);
      if (!bound) return false;
      if (candidate_ == nullptr) {
        begin_setup(shape, std::move(*bound));
        return true;
      }
      std::optional<Finding> broken = task::broken_promise(header, *bound, out_.findings);
      if (out_.findings.has_error()) return false;
      if (broken) {
        broken->severity = Severity::Error;
        skipped.add(std::move(*broken));
        continue;
      }
      std::optional<task::BoundLaunch> bound_launch = task::bind_launch(header, task_, *bound, out_.findings);
      if (!bound_launch) return false;
      setup_.launch = std::move(*bound_launch);
      begin_setup(shape, std::move(*bound));
      return true;
    }
    out_.findings.append(std::move(skipped));
    return false;
  }

  void begin_setup(const task::Shape& shape, task::Bound bound) {
    out_.shape = shape.label;
    setup_.bound = std::move(bound);
    setup_.seed = options_.seed;
    setup_.data = prove::Data::Normal;
    for (const auto& [name, size] : setup_.bound.sizes) out_.scalars[name] = static_cast<double>(size);
    for (const task::BoundArg& arg : setup_.bound.args) {
      if (arg.is_float && !arg.is_tensor) out_.scalars[arg.name] = arg.real;
    }
  }

  // An array that the caller gives takes the place of the drawn one, on both sides.
  bool fill_inputs() {
    for (const auto& [name, array] : options_.inputs) {
      const auto arg =
          std::find_if(setup_.bound.args.begin(), setup_.bound.args.end(),
                       [&wanted = name](const task::BoundArg& each) { return each.is_tensor && each.name == wanted; });
      if (arg == setup_.bound.args.end()) return refuse(fmt::format("the task has no tensor `{}`", name));
      if (arg->role == task::Role::Out) return refuse(fmt::format("`{}` is an output, it takes no input", name));
      const Held held = held_as(arg->type);
      const bool is_bits = held.kind == 'u' || held.kind == 'b';
      const bool is_kind = array.kind == held.kind || (is_bits && (array.kind == 'i' || array.kind == 'u'));
      if (!is_kind || array.item_bytes != held.bytes) {
        return refuse(fmt::format("`{}` of type {} is held as {}{}, the array holds {}{}", name, arg->type, held.kind,
                                  held.bytes, array.kind, array.item_bytes));
      }
      const bool is_shape =
          std::equal(array.shape.begin(), array.shape.end(), arg->shape.begin(), arg->shape.end(),
                     [](std::uint64_t a, std::int64_t b) { return a == static_cast<std::uint64_t>(b); });
      if (!is_shape) {
        return refuse(fmt::format("`{}` has the extents ({}) at the shape {}, the array has ({})", name,
                                  fmt::join(arg->shape, ", "), out_.shape, fmt::join(array.shape, ", ")));
      }
      for (domain::Memory* memory : {memory_.get(), spec_memory_.get()}) {
        if (domain::Buffer* buffer = memory->find(std::string_view(name))) {
          std::memcpy(buffer->bytes.get(), array.bytes.data(), array.bytes.size());
        }
      }
    }
    return true;
  }

  void keep_inputs() {
    for (const task::BoundArg& arg : setup_.bound.args) {
      if (arg.is_tensor && arg.role != task::Role::Out) out_.inputs.push_back(held_by(*spec_memory_, arg));
    }
  }

  static RunOutput held_by(const domain::Memory& memory, const task::BoundArg& arg) {
    const domain::Buffer* buffer = memory.find(std::string_view(arg.name));
    const Held held = held_as(arg.type);
    RunOutput out{arg.name, arg.type, {held.kind, held.bytes, {}, {}}, {}};
    for (const std::int64_t extent : arg.shape) out.array.shape.push_back(static_cast<std::uint64_t>(extent));
    out.array.bytes.assign(reinterpret_cast<const char*>(buffer->bytes.get()), buffer->size);
    return out;
  }

  void keep_outputs(const domain::Memory& memory) {
    for (const task::BoundArg& arg : setup_.bound.args) {
      if (arg.is_tensor && arg.role != task::Role::In) out_.outputs.push_back(held_by(memory, arg));
    }
  }

  bool refuse(std::string message) {
    out_.findings.add(kArrayType, std::move(message));
    return false;
  }

  std::function<bool(std::uint64_t, std::uint64_t)> progress(std::string_view phase) const {
    if (!options_.progress) return {};
    return [this, phase](std::uint64_t done, std::uint64_t all) {
      return options_.progress({out_.shape, phase, done, all});
    };
  }

  bool launch() {
    const auto program = machine::Program<Ieee>::decode(candidate_->module, launch_.entry, out_.findings);
    if (!program) return false;
    machine::Options options;
    options.workers = static_cast<unsigned>(domains_.size());
    options.step_budget = options_.step_budget;
    options.schedule = options_.schedule;
    options.progress = progress("candidate");
    const auto place = [&](std::uint32_t instr) { return program->place(instr); };
    machine::Profile profile(matrix_loads(candidate_->module, place));
    if (options_.has_profile) options.observe = [&](std::uint64_t) { return profile.observe(); };
    machine::Result result = program->run(launch_, pointers_, *memory_, options);
    if (options_.has_profile) {
      out_.profile = make_run_profile(candidate_->module, profile.instrs(), place);
      out_.profile->has_lines = options_.has_lines;
    }
    out_.ctas = result.counts.ctas;
    out_.warp_instrs = result.counts.warp_instrs;
    out_.lane_instrs = result.counts.lane_instrs;
    out_.mma_macs = result.counts.mma_macs;
    if (result.stop) {
      out_.findings.add(std::move(result.stop->finding));
      return false;
    }
    keep_outputs(*memory_);
    return true;
  }

  void evaluate_alone() {
    if (evaluate()) keep_outputs(*spec_memory_);
  }

  // The Triton source; false after a finding.
  bool evaluate() {
    triton::Options options;
    options.workers = static_cast<unsigned>(domains_.size());
    options.step_budget = options_.step_budget;
    options.progress = progress("spec");
    prove::Setup setup = setup_;
    setup.has_workspace = false;
    const triton::Call call = prove::make_call(setup, *kernel_, *spec_memory_, out_.findings);
    if (out_.findings.has_error()) return false;
    triton::Result result = kernel_->evaluate(call, pointers_, *spec_memory_, options);
    if (result.stop) {
      out_.findings.add(std::move(result.stop->finding));
      return false;
    }
    return true;
  }

  void compare() {
    for (RunOutput& output : out_.outputs) {
      const domain::Buffer* spec = spec_memory_->find(std::string_view(output.name));
      output.comparison = compare_one(output, reinterpret_cast<const char*>(spec->bytes.get()));
    }
  }

  Comparison compare_one(const RunOutput& output, const char* spec) const {
    Comparison out;
    const std::size_t count = output.array.bytes.size() / output.array.item_bytes;
    for (std::size_t i = 0; i < count; ++i) {
      const double a = element_value(output.type, output.array.bytes.data() + i * output.array.item_bytes);
      const double b = element_value(output.type, spec + i * output.array.item_bytes);
      if (a == b || (std::isnan(a) && std::isnan(b))) continue;
      const double largest = std::max(std::abs(a), std::abs(b));
      if (std::isfinite(a) && std::isfinite(b)) {
        out.largest_absolute = std::max(out.largest_absolute, std::abs(a - b));
        out.largest_relative = std::max(out.largest_relative, std::abs(a - b) / largest);
        if (std::abs(a - b) <= task_.tolerance.relative * largest + task_.tolerance.absolute) continue;
      }
      if (out.outside++ == 0) {
        out.first_outside =
            fmt::format("{}: {}, the Triton source gives {}", prove::element_name(setup_.bound, output.name, i), a, b);
      }
    }
    return out;
  }

  const task::Task& task_;
  const prove::Candidate* candidate_;
  const RunOptions& options_;
  std::vector<Ieee> domains_;
  std::vector<Ieee*> pointers_;
  prove::Setup setup_;
  std::unique_ptr<domain::Memory> memory_, spec_memory_;
  machine::Launch launch_;
  std::optional<triton::Kernel> kernel_;
  RunOutcome out_;
};

}  // namespace

bool RunOutcome::holds() const {
  if (is_bad_input || findings.has_error()) return false;
  return std::all_of(outputs.begin(), outputs.end(), [](const RunOutput& output) {
    const bool is_near = !output.comparison || output.comparison->outside == 0;
    return is_near && (!output.card || output.card->other == 0);
  });
}

RunOutcome run(const task::Task& task, const prove::Candidate& candidate, const RunOptions& options) {
  return Runner(task, &candidate, options).run();
}

RunOutcome evaluate(const task::Task& task, const RunOptions& options) { return Runner(task, nullptr, options).run(); }

}  // namespace plumb::session
