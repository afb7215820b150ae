// SPDX-License-Identifier: Apache-2.0
#include "prove/shape_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

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
  Comparer(Field& field, ShapeResult& result) : field_(field), result_(result) {}

  // `is_partial`: what the candidate did not write is passed over.
  void floats(Buffer& spec, Buffer& candidate, Format format, bool is_input, bool is_partial = false) {
    const unsigned size = domain::byte_size(format);
    BufferSignature signature{spec.name, {}, {}};
    for (std::uint64_t at = 0; at + size <= spec.size; at += size) {
      ++result_.elements;
      const domain::Tag tag = std::atomic_ref<domain::Tag>(candidate.tags[at]).load(std::memory_order_relaxed);
      const domain::Tag own = std::atomic_ref<domain::Tag>(spec.tags[at]).load(std::memory_order_relaxed);
      if (tag == domain::kPristineTag && (is_partial || own == domain::kPristineTag)) continue;
      if (is_partial && tag == domain::kUndefinedTag) continue;
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

  void integers(Buffer& spec, Buffer& candidate, unsigned size, bool is_input) {
    for (std::uint64_t at = 0; at + size <= spec.size; at += size) {
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
        return std::any_of(&buffer.tags[at], &buffer.tags[at] + size, [](domain::Tag tag) { return tag != 0; });
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
  // One side's element is undefined. What the candidate stores of registers that were never written is not what was
  // never stored: the latter has the tag that memory begins with.
  void undefined(const Buffer& buffer, std::uint64_t element, Field::Real spec) {
    if (spec.id == domain::kUndefined) return mismatch(kElementExtra, buffer, element, "the source does not write it");
    if (is_stored_) {
      return mismatch(kUndefinedOutput, buffer, element,
                      "the candidate stores what it made of a register or of memory that was never written");
    }
    mismatch(kElementMissing, buffer, element,
             "the candidate does not write it, or copies there what was never written");
  }

  // Before an element is judged.
  void look_at(const Buffer& candidate, std::uint64_t at, unsigned size) {
    is_stored_ = std::any_of(&candidate.tags[at], &candidate.tags[at] + size, [](domain::Tag tag) {
      return tag != domain::kUndefinedTag && domain::tag_value(tag) == domain::kUndefined;
    });
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

  Field& field_;
  ShapeResult& result_;
  double degree_ = 0;
  bool is_stored_ = false;
};

// Every element of every argument. Returns the largest degree of two outputs added.
double compare(const ShapeJob& job, domain::FieldContext& context, domain::Memory& spec, domain::Memory& candidate,
               ShapeResult& result) {
  Field judge(context);
  Comparer comparer(judge, result);
  for (const task::BoundArg& arg : job.setup.bound.args) {
    if (!arg.is_tensor) continue;
    Buffer* a = spec.find(std::string_view(arg.name));
    Buffer* b = candidate.find(std::string_view(arg.name));
    const bool is_input = arg.role == task::Role::In;
    if (const std::optional<Format> format = float_format(arg.type)) {
      comparer.floats(*a, *b, *format, is_input);
    } else {
      comparer.integers(*a, *b, task::element_bytes(arg.type), is_input);
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

// One PTX kernel of the job, under the race checker where the job watches races.
KernelRun run_kernel(const ShapeJob& job, const Candidate& kernel, const Setup& setup, std::string_view phase,
                     const Side& side, domain::Memory& memory, Findings& findings, std::uint64_t last_cta) {
  KernelRun out;
  const machine::Launch launch = make_launch(setup, kernel, memory, findings);
  if (!findings.empty()) return out;
  const auto program = machine::Program<Field>::decode(kernel.module, launch.entry, findings);
  if (!program) return out;
  const ptx::Function* entry = kernel.module->find_entry(launch.entry);
  check::Collector collector(kernel.module, *entry, launch, &memory,
                             [&](std::uint32_t instr) { return program->place(instr); });
  machine::Options options;
  options.workers = job.workers;
  options.step_budget = job.step_budget;
  options.last_cta = last_cta;
  if (job.watches_races) options.observe = [&](std::uint64_t cta) { return collector.observe(cta); };
  if (job.progress) {
    options.progress = [&](std::uint64_t done, std::uint64_t all) { return job.progress(phase, done, all); };
  }
  machine::Result run = program->run(launch, side.pointers(), memory, options);
  out.ctas = run.counts.ctas;
  out.stop = std::move(run.stop);
  if (job.watches_races) out.races = collector.finish(run.counts.executed);
  out.executed = std::move(run.counts.executed);
  return out;
}

constexpr std::uint64_t kAllCtas = ~std::uint64_t{0};

// Runs the spec; false when it stopped, or has no meaning.
bool run_spec(const ShapeJob& job, const Side& side, domain::Memory& memory, ShapeResult& result) {
  if (job.spec.ptx != nullptr) {
    KernelRun run =
        run_kernel(job, *job.spec.ptx, job.spec.setup(job.setup), "spec", side, memory, result.findings, kAllCtas);
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

// The spec, run once more, must leave what it left.
bool repeats(const ShapeJob& job, domain::FieldContext& context, domain::Memory& first) {
  ShapeResult again;
  const std::unique_ptr<domain::Memory> memory = make_memory(job.spec.setup(job.setup), again.findings);
  const Side side(context, job.workers);
  ShapeJob quiet = job;
  quiet.watches_races = false;
  if (!memory || !run_spec(quiet, side, *memory, again)) return false;
  compare(job, context, first, *memory, again);
  return again.mismatches.empty();
}

bool run_candidate(const ShapeJob& job, const Side& side, domain::Memory& memory, ShapeResult& result,
                   std::uint64_t last_cta = kAllCtas) {
  KernelRun run = run_kernel(job, *job.candidate, job.setup, "candidate", side, memory, result.findings, last_cta);
  result.ctas = run.ctas;
  result.executed = std::move(run.executed);
  result.candidate_stop = std::move(run.stop);
  result.races = std::move(run.races);
  return result.findings.empty() && !result.candidate_stop;
}

// Whether one block's output stands when that block has ended, whatever the others do: none waits for another, and none
// adds to what another wrote.
bool has_independent_blocks(const ShapeJob& job) {
  const auto& cluster = job.setup.launch.cluster;
  if (cluster[0] * cluster[1] * cluster[2] > 1) return false;
  constexpr std::array<std::string_view, 4> kOpcodes = {"atom", "red", "fence", "membar"};
  constexpr std::array<ptx::Mod, 5> kMods = {ptx::Mod::acquire, ptx::Mod::release, ptx::Mod::acq_rel,
                                             ptx::Mod::volatile_, ptx::Mod::reduce};
  for (const ptx::Function& function : job.candidate->module->functions) {
    for (const ptx::Instr& instr : function.instrs) {
      if (std::find(kOpcodes.begin(), kOpcodes.end(), instr.opcode) != kOpcodes.end()) return false;
      if (std::any_of(kMods.begin(), kMods.end(), [&](ptx::Mod mod) { return instr.has(mod); })) return false;
    }
  }
  return true;
}

// A look at the first block alone, where the whole grid would take long to say the same.
constexpr std::uint64_t kLeastBlocksToTry = 4;
constexpr std::uint64_t kTrialSteps = std::uint64_t{1} << 24;

// Whether the first block already wrote something that the source does not; its elements are then in `result`.
bool differs_at_once(const ShapeJob& job, domain::FieldContext& context, domain::Memory& spec, ShapeResult& result) {
  const auto& grid = job.setup.launch.grid;
  if (std::uint64_t{grid[0]} * grid[1] * grid[2] < kLeastBlocksToTry || !has_independent_blocks(job)) return false;
  ShapeJob first = job;
  first.workers = 1;
  first.step_budget = std::min(job.step_budget, kTrialSteps);
  first.watches_races = false;
  first.progress = nullptr;
  ShapeResult trial;
  const std::unique_ptr<domain::Memory> memory = make_memory(job.setup, trial.findings);
  const Side side(context, 1);
  if (!memory || !run_candidate(first, side, *memory, trial, 1)) return false;
  Field judge(context);
  Comparer comparer(judge, trial);
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
  if (!run_candidate(job, candidate, *candidate_memory, result)) return result;
  if (job.progress) job.progress("compare", 0, 1);
  const double degree = compare(job, context, *own.memory, *candidate_memory, result);
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
