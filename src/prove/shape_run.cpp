// SPDX-License-Identifier: Apache-2.0
#include "prove/shape_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <set>

#include "base/hash.h"
#include "base/parallel.h"
#include "domain/stored_tag.h"
#include "prove/codes.h"

namespace plumb::prove {
namespace {

using domain::Buffer;
using domain::Comparison;
using domain::Field;
using domain::Format;

constexpr std::size_t kMostMismatches = 8;

// The workers' fields of one side.
class Side {
 public:
  Side(domain::FieldContext& context, unsigned workers) {
    for (unsigned i = 0; i < workers; ++i) fields_.push_back(std::make_unique<Field>(context));
    for (const auto& field : fields_) pointers_.push_back(field.get());
  }
  const std::vector<Field*>& pointers() const { return pointers_; }
  domain::Facts facts() const {
    domain::Facts all;
    for (const Field* field : pointers_) all.merge(field->facts());
    return all;
  }

 private:
  std::vector<std::unique_ptr<Field>> fields_;
  std::vector<Field*> pointers_;
};

void widen(domain::Signature& into, const domain::Signature& from) {
  for (std::size_t i = 0; i < into.counts.size(); ++i) into.counts[i] = std::max(into.counts[i], from.counts[i]);
  into.flags |= from.flags;
}

class Comparer {
 public:
  Comparer(const ShapeJob& job, Field& field, ShapeResult& result)
      : spec_name_(job.spec.name()), field_(field), result_(result) {}

  // `is_partial`: what the candidate did not write is passed over.
  void floats(Buffer& spec, Buffer& candidate, Format format, bool is_input, bool is_partial = false) {
    const unsigned size = domain::byte_size(format);
    BufferSignature signature{spec.name, {}, {}};
    for (std::uint64_t at = 0; at + size <= spec.size; at += size) {
      const domain::Tag tag = tag_at(candidate, at), own = tag_at(spec, at);
      if (is_partial && (tag == domain::kPristineTag || tag == domain::kUndefinedTag)) continue;
      ++result_.elements;
      if (tag == domain::kPristineTag && own == domain::kPristineTag) continue;
      const Field::Real a = field_.read(spec, at, format), b = field_.read(candidate, at, format);
      if (field_.faulted()) {
        mismatch(is_input ? kInputChanged : kElementDiffers, spec, at / size, field_.take_fault().text);
        continue;
      }
      look_at(candidate, at, size);
      judge(spec, at / size, format, a, b, is_input);
      if (a.id != b.id) {
        widen(signature.spec, field_.signature(a));
        widen(signature.candidate, field_.signature(b));
      }
    }
    if (!is_input) result_.signatures.push_back(std::move(signature));
  }

  void integers(Buffer& spec, Buffer& candidate, unsigned size, bool is_input, bool is_partial = false) {
    for (std::uint64_t at = 0; at + size <= spec.size; at += size) {
      const domain::Tag tag = tag_at(candidate, at);
      if (is_partial && !is_input && (tag == domain::kPristineTag || tag == domain::kUndefinedTag)) continue;
      ++result_.elements;
      const std::byte* ours = spec.bytes.get() + at;
      if (std::memcmp(ours, candidate.bytes.get() + at, size) == 0 &&
          std::memcmp(spec.tags.get() + at, candidate.tags.get() + at, size * sizeof(domain::Tag)) == 0) {
        std::byte changed[8] = {};
        std::memcpy(changed, candidate.bytes.get() + at, std::min<std::size_t>(size, sizeof changed));
        changed[0] ^= std::byte{1};
        result_.found_planted |= std::memcmp(ours, changed, std::min<std::size_t>(size, sizeof changed)) != 0;
        continue;
      }
      const auto has_tags = [&](const Buffer& buffer) {
        for (unsigned k = 0; k < size; ++k) {
          if (tag_at(buffer, at + k) != 0) return true;
        }
        return false;
      };
      if (!has_tags(spec) && !has_tags(candidate)) {
        mismatch(is_input ? kInputChanged : kElementDiffers, spec, at / size, "the integers differ");
        continue;
      }
      const Field::Real a = field_.read_integer(spec, at, size), b = field_.read_integer(candidate, at, size);
      if (field_.faulted()) {
        mismatch(is_input ? kInputChanged : kElementDiffers, spec, at / size, field_.take_fault().text);
        continue;
      }
      look_at(candidate, at, size);
      judge_integers(spec, at / size, a, b, is_input);
    }
  }

  double degree() const { return degree_; }

 private:
  static domain::Tag tag_at(const Buffer& buffer, std::uint64_t at) {
    return domain::stored_tag(buffer.init, buffer.tags[at]);
  }

  // One side's element is undefined. What the candidate stores of registers that were never written is not what was
  // never stored: the latter has the tag that memory begins with.
  void undefined(const Buffer& buffer, std::uint64_t element, Field::Real spec) {
    if (spec.id == domain::kUndefined) {
      return mismatch(kElementExtra, buffer, element, fmt::format("{} does not write it", spec_name_));
    }
    if (is_stored_) {
      return mismatch(kUndefinedOutput, buffer, element,
                      "the candidate stores what it made of a register or of memory that was never written");
    }
    mismatch(kElementMissing, buffer, element,
             "the candidate does not write it, or copies there what was never written");
  }

  // Before an element is judged.
  void look_at(const Buffer& candidate, std::uint64_t at, unsigned size) {
    is_stored_ = false;
    for (unsigned k = 0; k < size; ++k) {
      const domain::Tag tag = tag_at(candidate, at + k);
      is_stored_ |= tag != domain::kUndefinedTag && domain::tag_value(tag) == domain::kUndefined;
    }
  }

  void judge_integers(const Buffer& buffer, std::uint64_t element, Field::Real a, Field::Real b, bool is_input) {
    switch (field_.compare_integers(a, b)) {
      case Comparison::Equal:
        break;
      case Comparison::Undefined:
        return undefined(buffer, element, a);
      default:
        return mismatch(is_input ? kInputChanged : kElementDiffers, buffer, element,
                        "the two sides are different functions");
    }
    degree_ = std::max(degree_, field_.degree(a) + field_.degree(b));
    if (result_.found_planted || a.id == domain::kUndefined) return;
    // One more, by way of a product with one.
    const Field::Real one{domain::kNoValue, 1};
    Field::Real changed;
    field_.int_dot(1, 1, 1, &b, &one, &one, &changed, false);
    result_.found_planted = !field_.faulted() && field_.compare_integers(a, changed) == Comparison::Different;
  }

  void judge(const Buffer& buffer, std::uint64_t element, Format format, Field::Real a, Field::Real b, bool is_input) {
    switch (field_.compare_outputs(format, a, b)) {
      case Comparison::Equal:
        degree_ = std::max(degree_, field_.degree(a) + field_.degree(b));
        // Both may lack a repetition, and not the same one.
        result_.least_lanes =
            std::min(result_.least_lanes, field_.repetitions(a) + field_.repetitions(b) - domain::kRepetitions);
        plant(format, a, b);
        return;
      case Comparison::Different:
        return mismatch(is_input ? kInputChanged : kElementDiffers, buffer, element,
                        "the two sides are different functions");
      case Comparison::Undefined:
        return undefined(buffer, element, a);
      case Comparison::NotANumber:
        return mismatch(kElementDiffers, buffer, element, "one side is NaN whatever the inputs");
      case Comparison::TooFewLanes:
        result_.needs_new_seed = true;
        return;
    }
  }

  // The comparison must see a change: one output, with one added to it, is no longer the same.
  void plant(Format format, Field::Real a, Field::Real b) {
    if (result_.found_planted || a.is_concrete()) return;
    const Field::Real changed = field_.add(format, b, field_.constant(format, encode(format, 1)), {});
    result_.found_planted = !field_.faulted() && field_.compare_outputs(format, a, changed) == Comparison::Different;
    if (field_.faulted()) field_.take_fault();
  }

  void mismatch(const Code& code, const Buffer& buffer, std::uint64_t element, std::string text) {
    if (result_.mismatches.size() < kMostMismatches) {
      result_.mismatches.push_back({&code, buffer.name, element, std::move(text)});
    }
  }

  std::string_view spec_name_;
  Field& field_;
  ShapeResult& result_;
  double degree_ = 0;
  bool is_stored_ = false;
};

// Every element of every argument; `is_partial`: that the candidate wrote. Returns the largest degree of two outputs
// added.
double compare(const ShapeJob& job, domain::FieldContext& context, domain::Memory& spec, domain::Memory& candidate,
               ShapeResult& result, bool is_partial = false) {
  Field judge(context);
  Comparer comparer(job, judge, result);
  for (const task::BoundArg& arg : job.setup.bound.args) {
    if (!arg.is_tensor) continue;
    Buffer* a = spec.find(std::string_view(arg.name));
    Buffer* b = candidate.find(std::string_view(arg.name));
    const bool is_input = arg.role == task::Role::In;
    if (const std::optional<Format> format = float_format(arg.type)) {
      comparer.floats(*a, *b, *format, is_input, is_partial);
    } else {
      comparer.integers(*a, *b, task::element_bytes(arg.type), is_input, is_partial);
    }
  }
  return comparer.degree();
}

struct KernelRun {
  std::optional<Stop> stop;
  check::Report races;
  std::uint64_t ctas = 0;
  std::vector<bool> executed;
};

// CTAs of a launch in linear order; a cluster goes with its first one.
struct CtaRange {
  std::uint64_t first = 0, last = ~std::uint64_t{0};
};

// One PTX kernel of the job, under the race checker where the job watches races. Several ranges are of CTAs that do not
// meet: a worker each.
KernelRun run_kernel(const ShapeJob& job, const Candidate& kernel, const Setup& setup, std::string_view phase,
                     const Side& side, domain::Memory& memory, Findings& findings,
                     const std::vector<CtaRange>& ranges) {
  KernelRun out;
  const machine::Launch launch = make_launch(setup, kernel, memory, findings);
  if (!findings.empty()) return out;
  const auto program = machine::Program<Field>::decode(kernel.module, launch.entry, findings, setup.shared_start);
  if (!program) return out;
  const ptx::Function* entry = kernel.module->find_entry(launch.entry);
  check::Collector collector(kernel.module, *entry, launch, &memory,
                             [&](std::uint32_t instr) { return program->place(instr); });
  machine::Options options;
  options.step_budget = job.step_budget;
  if (job.watches_races) options.observe = [&](std::uint64_t cta) { return collector.observe(cta); };
  if (ranges.size() == 1) {
    options.workers = job.workers;
    options.first_cta = ranges.front().first;
    options.last_cta = ranges.front().last;
    if (job.progress) {
      options.progress = [&](std::uint64_t done, std::uint64_t all) { return job.progress(phase, done, all); };
    }
    machine::Result run = program->run(launch, side.pointers(), memory, options);
    out.ctas = run.counts.ctas;
    out.stop = std::move(run.stop);
    out.executed = std::move(run.counts.executed);
  } else {
    std::vector<machine::Result> runs(ranges.size());
    std::atomic<std::uint64_t> done{0};
    parallel_for(static_cast<unsigned>(side.pointers().size()), ranges.size(), [&](unsigned worker, std::size_t i) {
      machine::Options own = options;
      own.workers = 1;
      own.first_cta = ranges[i].first;
      own.last_cta = ranges[i].last;
      if (job.progress)
        own.progress = [&](std::uint64_t, std::uint64_t) { return job.progress(phase, done, ranges.size()); };
      runs[i] = program->run(launch, {side.pointers()[worker]}, memory, own);
      return !runs[i].stop && (!job.progress || job.progress(phase, ++done, ranges.size()));
    });
    for (machine::Result& run : runs) {
      out.ctas += run.counts.ctas;
      out.executed.resize(std::max(out.executed.size(), run.counts.executed.size()));
      for (std::size_t i = 0; i < run.counts.executed.size(); ++i) {
        out.executed[i] = out.executed[i] || run.counts.executed[i];
      }
      if (!out.stop) out.stop = std::move(run.stop);
    }
    if (!out.stop && done < ranges.size() && job.progress) {
      out.stop =
          Stop{Stop::Kind::Cancelled, Finding{&kCancelled, Severity::Error, "the proof was cancelled", {}, {}, {}}};
    }
  }
  if (job.watches_races) out.races = collector.finish(out.executed);
  return out;
}

// Whether this tells other clusters anything, or adds to what others write.
bool may_meet_other_clusters(const ptx::Instr& instr) {
  using ptx::Mod;
  if (instr.has(Mod::volatile_)) return true;
  const bool is_shared = instr.has(Mod::shared) || instr.has(Mod::shared_cta) || instr.has(Mod::shared_cluster);
  const bool is_atomic = instr.opcode == "atom" || instr.opcode == "red" || instr.opcode == "multimem";
  const bool is_fence =
      instr.opcode == "membar" || (instr.opcode == "fence" && !instr.has(Mod::proxy) && !instr.has(Mod::mbarrier_init));
  const bool has_order =
      instr.has(Mod::acquire) || instr.has(Mod::release) || instr.has(Mod::acq_rel) || instr.has(Mod::relaxed);
  const bool is_within = instr.has(Mod::cta) || instr.has(Mod::cluster) || instr.opcode == "barrier";
  if (is_atomic || instr.has(Mod::reduce)) return !is_shared || instr.has(Mod::global);
  return (is_fence || has_order) && !is_within;
}

// Whether what one cluster leaves stands when it has ended, whatever the others do.
bool has_independent_clusters(const ptx::Module& module) {
  for (const ptx::Function& function : module.functions) {
    for (const ptx::Instr& instr : function.instrs) {
      if (may_meet_other_clusters(instr)) return false;
    }
  }
  return true;
}

// The clusters of a sample in rising order, each by its first CTA; none: they are all of the grid.
std::vector<CtaRange> drawn_clusters(const Sample& sample, const task::BoundLaunch& launch) {
  std::array<std::uint64_t, 3> count{};
  for (std::size_t i = 0; i < 3; ++i) count[i] = launch.grid[i] / launch.cluster[i];
  const std::uint64_t all = count[0] * count[1] * count[2];
  if (sample.clusters >= all) return {};
  std::set<std::uint64_t> drawn;
  for (std::uint64_t i = 0; drawn.size() < sample.clusters; ++i) drawn.insert(mix64(sample.seed + i) % all);
  std::vector<CtaRange> ranges;
  for (const std::uint64_t cluster : drawn) {
    const std::uint64_t x = cluster % count[0], y = cluster / count[0] % count[1], z = cluster / count[0] / count[1];
    const std::uint64_t first =
        x * launch.cluster[0] +
        launch.grid[0] * (y * launch.cluster[1] + std::uint64_t{launch.grid[1]} * z * launch.cluster[2]);
    ranges.push_back({first, first + 1});
  }
  return ranges;
}

// Runs the spec; false when it stopped, or has no meaning.
bool run_spec(const ShapeJob& job, const Side& side, domain::Memory& memory, ShapeResult& result,
              const std::vector<CtaRange>& ranges = {{}}) {
  if (job.spec.ptx != nullptr) {
    KernelRun run =
        run_kernel(job, *job.spec.ptx, job.spec.setup(job.setup), "spec", side, memory, result.findings, ranges);
    result.programs = run.ctas;
    result.spec_stop = std::move(run.stop);
    result.spec_races = std::move(run.races);
    return result.findings.empty() && !result.spec_stop && !result.spec_races.findings.has_error() &&
           result.spec_races.unknowns.empty();
  }
  const triton::Call call = make_call(job.spec.setup(job.setup), *job.spec.kernel, memory, result.findings);
  if (!result.findings.empty()) return false;
  triton::Options options;
  options.workers = job.workers;
  options.step_budget = job.step_budget;
  if (job.progress) {
    options.progress = [&](std::uint64_t done, std::uint64_t all) { return job.progress("spec", done, all); };
  }
  triton::Result run = job.spec.kernel->evaluate(call, side.pointers(), memory, options);
  result.programs = run.programs;
  result.spec_stop = std::move(run.stop);
  return !result.spec_stop;
}

// The spec, run once more, must leave what it left. Of a PTX spec, which was shown to depend on no schedule, a few
// clusters stand for all where they do not meet.
constexpr std::uint64_t kRepeatedClusters = 4;

bool repeats(const ShapeJob& job, domain::FieldContext& context, domain::Memory& first) {
  ShapeResult again;
  const std::unique_ptr<domain::Memory> memory = make_memory(job.spec.setup(job.setup), again.findings);
  const Side side(context, job.workers);
  ShapeJob quiet = job;
  quiet.watches_races = false;
  std::vector<CtaRange> drawn;
  if (job.spec.ptx != nullptr && has_independent_clusters(*job.spec.ptx->module)) {
    drawn = drawn_clusters({kRepeatedClusters, job.field.seed}, job.spec.launch);
  }
  const bool is_partial = !drawn.empty();
  if (!is_partial) drawn.push_back({});
  if (!memory || !run_spec(quiet, side, *memory, again, drawn)) return false;
  compare(job, context, first, *memory, again, is_partial);
  return again.mismatches.empty();
}

bool run_candidate(const ShapeJob& job, const Side& side, domain::Memory& memory, ShapeResult& result,
                   const std::vector<CtaRange>& ranges = {{}}) {
  KernelRun run = run_kernel(job, *job.candidate, job.setup, "candidate", side, memory, result.findings, ranges);
  result.ctas = run.ctas;
  result.executed = std::move(run.executed);
  const auto& grid = job.setup.launch.grid;
  result.all_ctas = std::uint64_t{grid[0]} * grid[1] * grid[2];
  result.candidate_stop = std::move(run.stop);
  result.races = std::move(run.races);
  return result.findings.empty() && !result.candidate_stop;
}

// A look at the first block alone, where the whole grid would take long to say the same.
constexpr std::uint64_t kLeastBlocksToTry = 4;
constexpr std::uint64_t kTrialSteps = std::uint64_t{1} << 24;

// Whether the first block already wrote something that the source does not; its elements are then in `result`.
bool differs_at_once(const ShapeJob& job, domain::FieldContext& context, domain::Memory& spec, ShapeResult& result) {
  const auto& grid = job.setup.launch.grid;
  const auto& cluster = job.setup.launch.cluster;
  if (job.sample || std::uint64_t{cluster[0]} * cluster[1] * cluster[2] > 1) return false;
  if (std::uint64_t{grid[0]} * grid[1] * grid[2] < kLeastBlocksToTry) return false;
  if (!has_independent_clusters(*job.candidate->module)) return false;
  ShapeJob first = job;
  first.workers = 1;
  first.step_budget = std::min(job.step_budget, kTrialSteps);
  first.watches_races = false;
  first.progress = nullptr;
  ShapeResult trial;
  const std::unique_ptr<domain::Memory> memory = make_memory(job.setup, trial.findings);
  const Side side(context, 1);
  if (!memory || !run_candidate(first, side, *memory, trial, {{0, 1}})) return false;
  Field judge(context);
  Comparer comparer(job, judge, trial);
  for (const task::BoundArg& arg : job.setup.bound.args) {
    const std::optional<Format> format = arg.is_tensor ? float_format(arg.type) : std::nullopt;
    if (!format || arg.role == task::Role::In) continue;
    comparer.floats(*spec.find(std::string_view(arg.name)), *memory->find(std::string_view(arg.name)), *format, false,
                    true);
  }
  result.mismatches = std::move(trial.mismatches);
  return !result.mismatches.empty();
}

// Beyond this a context is not kept for the next job: the values that outputs hold add up.
constexpr std::uint64_t kMostKept = std::uint64_t{1} << 30;

}  // namespace

struct SpecRun::Inner {
  explicit Inner(const ShapeJob& job)
      : options(job.field), context(job.field), alignment(job.setup.alignment), odd_tensor(job.setup.odd_tensor) {}
  domain::FieldOptions options;
  domain::FieldContext context;
  std::unique_ptr<domain::Memory> memory;
  domain::Facts facts;
  Alignment alignment;
  std::uint32_t odd_tensor;
  std::uint64_t programs = 0;
  bool repeats = true, is_repeated = false;
  std::vector<std::string> nondeterminism;  // of a spec that is PTX

  bool serves(const ShapeJob& job) const {
    // PTX always computes with addresses.
    const bool lies_alike = alignment == job.setup.alignment && odd_tensor == job.setup.odd_tensor;
    return (lies_alike || (job.spec.ptx == nullptr && !facts.saw_address)) && options.seed == job.field.seed &&
           options.constants == job.field.constants && options.sentinels == job.field.sentinels &&
           options.ideals == job.field.ideals;
  }
};

SpecRun::SpecRun() = default;
SpecRun::~SpecRun() = default;
void SpecRun::give_up() { inner_.reset(); }

ShapeResult run_shape(const ShapeJob& job, SpecRun& spec) {
  ShapeResult result;
  const std::unique_ptr<domain::Memory> candidate_memory = make_memory(job.setup, result.findings);
  if (!candidate_memory) return result;
  if (!job.spec.is_there()) {
    domain::FieldContext context(job.field);
    const Side candidate(context, job.workers);
    run_candidate(job, candidate, *candidate_memory, result);
    return result;
  }
  if (!spec.inner_ || !spec.inner_->serves(job)) {
    spec.inner_ = std::make_unique<SpecRun::Inner>(job);
    SpecRun::Inner& made = *spec.inner_;
    made.memory = make_memory(job.spec.setup(job.setup), result.findings);
    if (!made.memory) return result;
    const Side side(made.context, job.workers);
    const bool has_run = run_spec(job, side, *made.memory, result);
    made.facts = side.facts();
    made.programs = result.programs;
    made.nondeterminism = result.spec_races.nondeterminism;
    if (!has_run) {
      spec.inner_.reset();
      return result;
    }
  }
  SpecRun::Inner& own = *spec.inner_;
  domain::FieldContext& context = own.context;
  result.programs = own.programs;
  result.spec_races.nondeterminism = own.nondeterminism;
  result.primes.assign(context.primes().begin(), context.primes().end());
  if (job.is_tentative && differs_at_once(job, context, *own.memory, result)) return result;
  const Side candidate(context, job.workers);
  const std::vector<CtaRange> drawn =
      job.sample ? drawn_clusters(*job.sample, job.setup.launch) : std::vector<CtaRange>();
  const bool is_sampled = !drawn.empty();
  if (is_sampled && !has_independent_clusters(*job.candidate->module)) {
    result.findings.add(kSample, "CTAs of the candidate may wait for each other, or add to one place",
                        {job.candidate->module->source, {}});
    return result;
  }
  for (const task::BoundArg& arg : job.setup.bound.args) {
    if (!is_sampled || arg.role != task::Role::InOut || !arg.is_metadata) continue;
    result.findings.add(kSample,
                        fmt::format("what CTAs write to `{}`, which holds numbers before, cannot be told", arg.name));
    return result;
  }
  if (!run_candidate(job, candidate, *candidate_memory, result, is_sampled ? drawn : std::vector<CtaRange>{{}})) {
    return result;
  }
  if (job.progress) job.progress("compare", 0, 1);
  const double degree = compare(job, context, *own.memory, *candidate_memory, result, is_sampled);
  // A source that is not the candidate's function is told by the comparison.
  if (job.repeats_spec && !own.is_repeated && result.is_equal()) {
    own.repeats = repeats(job, own.context, *own.memory);
    own.is_repeated = true;
  }
  result.spec_repeats = own.repeats;
  result.spec_facts = own.facts;
  result.candidate_facts = candidate.facts();
  result.bound = context.failure_bound(degree, result.spec_facts, result.candidate_facts);
  result.bound.log2_probability *= static_cast<double>(result.least_lanes) / domain::kRepetitions;
  for (const domain::Assumption& assumption : context.assumptions()) {
    result.assumptions.push_back(fmt::format("{}: {}", assumption.kind, assumption.text));
  }
  result.singularities = context.added_singularities(result.spec_facts, result.candidate_facts);
  if (context.bytes() > kMostKept) spec.inner_.reset();
  return result;
}

Probe probe(const ShapeJob& job, const std::string& buffer, std::uint64_t element) {
  ShapeJob quiet = job;
  quiet.watches_races = false;
  quiet.progress = nullptr;
  Probe out;
  ShapeResult result;
  domain::FieldContext context(quiet.field);
  const std::unique_ptr<domain::Memory> candidate_memory = make_memory(quiet.setup, result.findings);
  const std::unique_ptr<domain::Memory> spec_memory = make_memory(quiet.spec.setup(quiet.setup), result.findings);
  if (!candidate_memory || !spec_memory) return out;
  const Side spec(context, quiet.workers), candidate(context, quiet.workers);
  if (!run_spec(quiet, spec, *spec_memory, result) || !run_candidate(quiet, candidate, *candidate_memory, result)) {
    return out;
  }
  for (const task::BoundArg& arg : quiet.setup.bound.args) {
    if (arg.name != buffer || !arg.is_tensor) continue;
    const std::optional<Format> format = float_format(arg.type);
    const unsigned size = task::element_bytes(arg.type);
    Field judge(context);
    const auto read = [&](domain::Memory& memory) {
      Buffer& from = *memory.find(std::string_view(buffer));
      return format ? judge.read(from, element * size, *format) : judge.read_integer(from, element * size, size);
    };
    const Field::Real a = read(*spec_memory), b = read(*candidate_memory);
    if (judge.faulted() || a.id == domain::kUndefined || b.id == domain::kUndefined) return out;
    out.is_good = true;
    out.differs =
        (format ? judge.compare_outputs(*format, a, b) : judge.compare_integers(a, b)) == Comparison::Different;
    out.spec = format ? judge.residues(*format, a) : judge.integer_residues(a);
    out.candidate = format ? judge.residues(*format, b) : judge.integer_residues(b);
    out.is_good = !judge.faulted();
  }
  return out;
}

}  // namespace plumb::prove
