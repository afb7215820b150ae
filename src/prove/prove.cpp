// SPDX-License-Identifier: Apache-2.0
#include "prove/prove.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <utility>

#include "base/file.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "check/codes.h"
#include "prove/checkpoint.h"
#include "prove/codes.h"
#include "prove/contract.h"
#include "prove/numeric.h"
#include "prove/shape_run.h"
#include "prove/witness.h"
#include "triton/codes.h"

namespace plumb::prove {
namespace {

using Seconds = std::chrono::duration<double>;
using Clock = std::chrono::steady_clock;

// Shared variables begin here, as on the hardware from sm_90 on, in one run and at 0 in the next: a text that counts on
// 0 is not proved by one run alone.
constexpr std::uint32_t kSharedStart = 1024;
constexpr unsigned kSeedTries = 4;
// Memory beyond which concrete runs come one after the other.
constexpr std::uint64_t kMostNumeric = std::uint64_t{1} << 30;
constexpr unsigned kMostRounds = 3;  // of one job, where the first leaves more to chance than is allowed
using SpecRuns = std::array<SpecRun, kMostRounds>;

// Of abstract values, where the caller sets no limit: what else a proof holds takes the rest.
std::uint64_t most_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || size <= 0) return ~std::uint64_t{0};
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size) / 4 * 3;
}

class Prover {
 public:
  Prover(const task::Task& task, const Candidate& candidate, const Options& options, bool has_spec)
      : task_(task), candidate_(candidate), options_(options), has_spec_(has_spec) {
    state_.outcome.has_spec = has_spec;
    state_.outcome.sample = options.sample;
    state_.outcome.seed = options.seed != 0 ? options.seed : random_seed();
    if (state_.outcome.seed == 0) state_.outcome.seed = 1;
    workers_ = worker_count(options.workers);
  }

  Outcome run() {
    judge();
    state_.outcome.seconds += seconds_since_begin();
    return std::move(state_.outcome);
  }

 private:
  void judge() {
    Findings input;
    if (has_spec_ && !load_kernel(input)) return bad_input(std::move(input));
    if (!options_.checkpoint.empty()) {
      checkpoint_.emplace(task_, candidate_, options_, sources());
      if (!checkpoint_->load(state_, input)) return bad_input(std::move(input));
    }
    const std::vector<task::Shape>& shapes = options_.shapes.empty() ? task_.prove_shapes : options_.shapes;
    const auto is_sampled = [](const ShapeOutcome& shape) { return shape.verdict == Verdict::Sampled; };
    const std::vector<ShapeOutcome>& before = state_.outcome.shapes;
    state_.outcome.verdict = std::any_of(before.begin(), before.end(), is_sampled) ? Verdict::Sampled : Verdict::Proved;
    std::size_t judged = 0;
    for (const task::Shape& shape : shapes) {
      std::optional<task::Bound> bound = task::bind(task_, shape, candidate_.launch.constexprs, input);
      if (!bound) return bad_input(std::move(input));
      if (std::optional<Finding> broken = task::broken_promise(candidate_.launch, *bound, input)) {
        if (input.has_error()) return bad_input(std::move(input));
        add_once(std::move(*broken));
        assume("sizes keep the divisibility that the candidate's launch promises");
        continue;
      }
      std::optional<task::BoundLaunch> launch = task::bind_launch(candidate_.launch, task_, *bound, input);
      if (!launch) return bad_input(std::move(input));
      Spec spec{kernel_ ? &*kernel_ : nullptr, options_.spec.get(), {}, {}};
      if (spec.ptx != nullptr) {
        const SpecLaunch found = launch_spec(shape, *bound, spec, input);
        if (found == SpecLaunch::Bad) return bad_input(std::move(input));
        if (found == SpecLaunch::NotClaimed) continue;
      }
      ++judged;
      if (!judge_shape(*bound, *launch, spec)) return;
    }
    if (judged == 0) {
      state_.outcome.verdict = Verdict::Unknown;
      state_.outcome.findings.add(kNoShapes, "no shape was proved: the task has none that the candidate claims",
                                  task_place());
      state_.outcome.is_bad_input = state_.outcome.findings.list().size() == 1;
    }
    finish_coverage();
  }

  enum class SpecLaunch : std::uint8_t { Bound, NotClaimed, Bad };

  // How the PTX spec is launched at a shape. What it says nothing about is skipped.
  SpecLaunch launch_spec(const task::Shape& shape, const task::Bound& bound, Spec& spec, Findings& input) {
    const task::LaunchHeader& header = spec.ptx->launch;
    std::optional<task::Bound> own = task::bind(task_, shape, header.constexprs, input);
    if (!own) return SpecLaunch::Bad;
    if (std::optional<Finding> broken = task::broken_promise(header, *own, input)) {
      if (input.has_error()) return SpecLaunch::Bad;
      broken->notes.push_back({fmt::format("this is {}", spec.name()), {}});
      add_once(std::move(*broken));
      assume("sizes keep the divisibility that the launch of the reference PTX promises");
      return SpecLaunch::NotClaimed;
    }
    for (std::size_t i = 0; i < bound.args.size(); ++i) {
      if (own->args[i].elements == bound.args[i].elements) continue;
      input.add(kArgument,
                fmt::format("`{}` has {} elements for {} and {} for the candidate: their constexprs differ",
                            bound.args[i].name, own->args[i].elements, spec.name(), bound.args[i].elements),
                task_place());
      return SpecLaunch::Bad;
    }
    std::optional<task::BoundLaunch> launch = task::bind_launch(header, task_, *own, input);
    if (!launch) return SpecLaunch::Bad;
    spec.bound = std::move(*own);
    spec.launch = std::move(*launch);
    return SpecLaunch::Bound;
  }

  bool load_kernel(Findings& findings) {
    if (options_.spec) return true;
    const SourcePtr source = read_source(task_.kernel_file, findings);
    if (!source) return false;
    kernel_ = triton::Kernel::load(source, task_.function, options_.python, findings);
    return kernel_.has_value();
  }

  Place task_place() const { return {task_.toml.source, {}}; }

  void bad_input(Findings findings) {
    state_.outcome.verdict = Verdict::Unknown;
    state_.outcome.is_bad_input = true;
    state_.outcome.findings.append(std::move(findings));
  }

  // Every alignment and draw of one shape. False: stop here.
  bool judge_shape(const task::Bound& bound, const task::BoundLaunch& launch, const Spec& spec) {
    const bool has_metadata =
        std::any_of(bound.args.begin(), bound.args.end(), [](const task::BoundArg& arg) { return arg.is_metadata; });
    if (has_metadata) assume("metadata tensors hold any of the values drawn here, and only those are covered");
    const unsigned draws = has_metadata ? std::max(1u, options_.metadata_draws) : 1;
    const std::vector<Placement> placements = placements_of_next_shape(bound);
    for (unsigned draw = 0; draw < draws; ++draw) {
      SpecRuns specs;
      const std::uint64_t seed = mix64(state_.outcome.seed + jobs_begun_);
      for (const Placement& placement : placements) {
        if (jobs_begun_++ < state_.jobs) continue;
        ShapeJob job;
        job.candidate = &candidate_;
        job.spec = spec;
        job.setup.bound = bound;
        job.setup.launch = launch;
        job.setup.seed = state_.outcome.seed + draw;
        job.setup.alignment = placement.alignment;
        job.setup.odd_tensor = placement.tensor;
        job.setup.shared_start = jobs_begun_ % 2 != 0 ? kSharedStart : 0;
        job.setup.has_integer_data = has_spec_;
        job.workers = workers_;
        job.repeats_spec = state_.outcome.shapes.empty();
        job.step_budget = options_.step_budget;
        job.field.seed = seed;
        job.field.memory = options_.memory != 0 ? options_.memory : most_memory();
        std::string label = bound.label;
        if (has_metadata) label += fmt::format(", draw {}", draw + 1);
        label += placement.label;
        job.progress = [&](std::string_view phase, std::uint64_t done, std::uint64_t all) {
          return !options_.progress || options_.progress({label, phase, done, all});
        };
        if (state_.outcome.sample != 0) job.sample = Sample{state_.outcome.sample, mix64(seed)};
        if (!judge_job(job, specs, label, &placement == &placements.back())) return false;
        state_.jobs = jobs_begun_;
        save();
      }
    }
    return true;
  }

  void save() const {
    if (!checkpoint_) return;
    ProofState state = state_;
    state.outcome.seconds += seconds_since_begin();
    checkpoint_->save(state);
  }

  double seconds_since_begin() const { return Seconds(Clock::now() - begin_).count(); }

  // All texts that findings point into.
  std::vector<SourcePtr> sources() const {
    std::vector<SourcePtr> all = {candidate_.module->source, task_.toml.source};
    if (options_.spec) all.push_back(options_.spec->module->source);
    if (kernel_) all.insert(all.end(), kernel_->sources().begin(), kernel_->sources().end());
    return all;
  }

  // Where the tensors of a job lie, and what to say of it after the shape.
  struct Placement {
    Alignment alignment = Alignment::Whole;
    std::uint32_t tensor = 0;
    std::string label;
  };

  // A candidate that promises nothing is run with whole and with odd pointers, each pointer once being the only odd
  // one: each odd way at the first shape, one of them at each other.
  std::vector<Placement> placements_of_next_shape(const task::Bound& bound) {
    if (candidate_.launch.divisible_by_16 || (options_.spec && options_.spec->launch.divisible_by_16)) {
      assume("pointers are multiples of 16 bytes, as the launch promises");
      return {Placement{}};
    }
    assume(
        "the low bits of pointers choose no other path than at the alignments tried: 256 bytes, one element past, "
        "eight bytes past, each tensor alone one element past, outputs alone one element past, drawn for each tensor");
    std::vector<Placement> odd = {{Alignment::OneElement, 0, ", pointers one element off"},
                                  {Alignment::EightBytes, 0, ", pointers eight bytes off"},
                                  {Alignment::Drawn, 0, ", pointers anywhere"}};
    std::uint32_t tensors = 0, outputs = 0;
    for (const task::BoundArg& arg : bound.args) {
      if (!arg.is_tensor) continue;
      odd.push_back({Alignment::One, ++tensors, fmt::format(", `{}` one element off", arg.name)});
      outputs += arg.role == task::Role::In ? 0 : 1;
    }
    if (outputs > 1 && outputs < tensors) odd.push_back({Alignment::Outputs, 0, ", outputs one element off"});
    std::vector<Placement> list = {Placement{}};
    if (shapes_begun_ == 0) {
      list.insert(list.end(), odd.begin(), odd.end());
    } else {
      list.push_back(odd[shapes_begun_ % odd.size()]);
    }
    ++shapes_begun_;
    return list;
  }

  // `is_last`: no other job takes up the specs' runs.
  bool judge_job(ShapeJob& job, SpecRuns& specs, const std::string& label, bool is_last) {
    const Clock::time_point begin = Clock::now();
    ShapeResult result = attempt(job, specs);
    if (is_excluded_by_source(job, result)) {
      assume("tensors lie where the Triton source is defined: its descriptors and hints demand alignments of some");
      return true;
    }
    const Verdict verdict = weigh(job, result);
    ShapeOutcome shape;
    shape.label = label;
    shape.verdict = verdict;
    shape.ctas = result.ctas;
    shape.all_ctas = result.all_ctas;
    shape.programs = result.programs;
    shape.elements = result.elements;
    shape.log2_failure = result.bound.log2_probability;
    merge(result);
    if (verdict == Verdict::Proved && result.ctas != result.all_ctas) {
      shape.verdict = state_.outcome.verdict = Verdict::Sampled;
      assume(fmt::format("of the candidate's grid the CTAs that were run stand for the others: {} of {} at {}",
                         result.ctas, result.all_ctas, label));
    } else if (verdict == Verdict::Proved && has_spec_) {
      // The concrete runs need the memory.
      if (is_last) {
        for (SpecRun& spec : specs) spec.give_up();
      }
      weigh_contract(job, result, label);
    }
    shape.seconds = Seconds(Clock::now() - begin).count();
    state_.outcome.shapes.push_back(shape);
    if (verdict == Verdict::Proved) return true;
    state_.outcome.verdict = verdict;
    return false;
  }

  // Exact literals first, then the constants that literals round, then sentinels for minus infinity; each try with
  // fresh primes when a denominator happened to vanish. What one job needed the next ones start from: its assumptions
  // are the proof's already.
  ShapeResult attempt(ShapeJob& job, SpecRuns& specs) {
    ShapeResult result;
    const std::uint64_t seed = job.field.seed;
    const std::vector<std::pair<double, std::string>> ideals = job.field.ideals;
    std::array<unsigned, 3> modes = {0, 1, 2};
    std::rotate(modes.begin(), modes.begin() + state_.first_mode, modes.begin() + state_.first_mode + 1);
    for (const unsigned mode : modes) {
      job.field.ideals = ideals;
      job.field.constants = mode == 0 ? domain::Constants::Exact : domain::Constants::Ideal;
      job.field.sentinels = mode == 2;
      job.is_tentative = has_spec_ && mode != modes.back();
      if (mode > 0) {
        for (const auto& [name, size] : job.setup.bound.sizes) {
          if (size > 1) job.field.ideals.emplace_back(1.0 / static_cast<double>(size), fmt::format("1/{}", size));
        }
      }
      result = run_round(job, specs, seed, 0);
      if (!result.mismatches.empty() && has_spec_) continue;
      if (result.is_equal()) state_.first_mode = mode;
      break;
    }
    if (has_spec_ && result.is_equal()) strengthen(job, specs, seed, result);
    return result;
  }

  static ShapeResult run_round(ShapeJob& job, SpecRuns& specs, std::uint64_t seed, unsigned round) {
    ShapeResult result;
    for (unsigned tries = 0; tries < kSeedTries; ++tries) {
      job.field.seed = mix64(seed + round * kSeedTries + tries);
      result = run_shape(job, specs[round]);
      if (!result.needs_new_seed) break;
    }
    return result;
  }

  bool is_within_limit(const domain::FailureBound& bound) const {
    return bound.log2_probability <= options_.log2_failure_limit;
  }

  // Rounds with primes, points and names of their own err independently of each other: a difference must escape all of
  // them, and the bounds multiply. Safety does not depend on the draws, and is not watched again.
  void strengthen(ShapeJob& job, SpecRuns& specs, std::uint64_t seed, ShapeResult& result) {
    if (result.bound.is_refused || is_within_limit(result.bound)) return;
    const bool watches_races = std::exchange(job.watches_races, false);
    const bool repeats_spec = std::exchange(job.repeats_spec, false);
    job.is_tentative = false;
    unsigned rounds = 1;
    for (; rounds < kMostRounds && !is_within_limit(result.bound); ++rounds) {
      ShapeResult again = run_round(job, specs, seed, rounds);
      if (!again.is_equal() || !again.found_planted || again.bound.is_refused) {
        again.races = std::move(result.races);
        result = std::move(again);
        break;
      }
      result.bound.log2_probability += again.bound.log2_probability;
      result.assumptions.insert(result.assumptions.end(), again.assumptions.begin(), again.assumptions.end());
    }
    job.watches_races = watches_races;
    job.repeats_spec = repeats_spec;
    result.bound.text +=
        fmt::format("; {} independent rounds of that kind: 2^{:.0f}", rounds, std::ceil(result.bound.log2_probability));
  }

  // A remark that says what the manual leaves open is also what the proof rests on.
  void assume_readings(const Findings& findings) {
    for (const Finding& finding : findings.list()) {
      if (finding.code == &check::kTensorShift) assume(fmt::format("{}: {}", finding.code->id, finding.code->summary));
    }
  }

  Verdict weigh(const ShapeJob& job, ShapeResult& result) {
    assume_readings(result.races.findings);
    assume_readings(result.spec_races.findings);
    if (!result.findings.empty()) {
      state_.outcome.is_bad_input = true;
      state_.outcome.findings.append(std::move(result.findings));
      return Verdict::Unknown;
    }
    if (result.spec_stop) return spec_stopped(*result.spec_stop);
    if (result.spec_races.findings.has_error() || !result.spec_races.unknowns.empty()) {
      return spec_has_no_meaning(std::move(result.spec_races));
    }
    Verdict verdict = Verdict::Proved;
    const bool has_race = result.races.findings.has_error();
    const bool has_unknown = !result.races.unknowns.empty();
    if (result.candidate_stop) {
      const Stop::Kind kind = result.candidate_stop->kind;
      verdict = kind == Stop::Kind::Defect ? Verdict::Different : Verdict::Unknown;
      state_.outcome.findings.add(result.candidate_stop->finding);
    }
    state_.outcome.findings.append(std::move(result.races.findings));
    if (has_race) return Verdict::Different;
    if (verdict != Verdict::Proved) return verdict;
    if (!result.mismatches.empty()) return explain(job, result);
    if (has_unknown) {
      state_.outcome.findings.append(std::move(result.races.unknowns));
      return Verdict::Unknown;
    }
    if (!has_spec_) return Verdict::Proved;
    if (result.needs_new_seed || !result.found_planted || !result.spec_repeats) {
      state_.outcome.findings.add(kSelfCheck,
                                  result.needs_new_seed ? "denominators vanished under every seed tried"
                                  : !result.found_planted
                                      ? "no output could be compared against a planted change"
                                      : fmt::format("{}, evaluated twice, was not equal to itself", job.spec.name()),
                                  task_place());
      return Verdict::Unknown;
    }
    if (result.bound.is_refused || !is_within_limit(result.bound)) {
      state_.outcome.findings.add(kProbability,
                                  fmt::format("the chance of a wrong `proved` is bounded by 2^{:.0f} only: {}",
                                              result.bound.log2_probability, result.bound.text),
                                  task_place());
      return Verdict::Unknown;
    }
    return Verdict::Proved;
  }

  // The source demands of addresses what they are not at this placement, and says nothing of what happens then.
  static bool is_excluded_by_source(const ShapeJob& job, const ShapeResult& result) {
    if (job.setup.alignment == Alignment::Whole || !result.spec_stop) return false;
    const Code* code = result.spec_stop->finding.code;
    return code == &triton::kDescriptor || code == &triton::kHint;
  }

  Verdict spec_stopped(const Stop& stop) {
    Finding finding = stop.finding;
    if (stop.kind == Stop::Kind::Defect) {
      finding.notes.push_back({options_.spec
                                   ? "the reference PTX itself does this: it, not the candidate, needs a look"
                                   : "the Triton source itself does this: the task, not the candidate, needs a look",
                               {}});
      state_.outcome.is_bad_input = true;
    }
    state_.outcome.findings.add(std::move(finding));
    return Verdict::Unknown;
  }

  // What depends on the schedule is no function to be equal to.
  Verdict spec_has_no_meaning(check::Report races) {
    state_.outcome.is_bad_input = races.findings.has_error();
    for (Findings* list : {&races.findings, &races.unknowns}) {
      for (Finding finding : list->list()) {
        finding.notes.push_back(
            {"this is the reference PTX: what it computes is not decided, so nothing can equal it", {}});
        state_.outcome.findings.add(std::move(finding));
      }
    }
    return Verdict::Unknown;
  }

  // A difference over the residues: where it comes from, and what concrete numbers say.
  Verdict explain(const ShapeJob& job, const ShapeResult& result) {
    const Mismatch& first = result.mismatches.front();
    const std::string name = element_name(job.setup.bound, first.buffer, first.element);
    Finding finding{first.code,
                    Severity::Error,
                    fmt::format("`{}` at {}: {}", name, job.setup.bound.label, first.text),
                    entry_place(),
                    {},
                    {}};
    for (std::size_t i = 1; i < result.mismatches.size(); ++i) {
      const Mismatch& more = result.mismatches[i];
      finding.notes.push_back({fmt::format("also `{}`", element_name(job.setup.bound, more.buffer, more.element)), {}});
      if (i == 3) break;
    }
    Verdict verdict = Verdict::Different;
    if (first.code == &kElementDiffers) {
      if (job.progress) job.progress("witness", 0, 1);
      const Support support = support_of(job, first, Seconds(options_.witness_seconds));
      if (!support.elements.empty()) finding.notes.push_back({text(support, name, job.spec.name()), {}});
      if (!concrete(job, support, finding)) verdict = Verdict::Unknown;
    }
    state_.outcome.findings.add(std::move(finding));
    return verdict;
  }

  // False: the concrete runs agreed.
  bool concrete(const ShapeJob& job, const Support& support, Finding& finding) {
    for (unsigned attempt_number = 0; attempt_number < 5; ++attempt_number) {
      Setup setup = job.setup;
      setup.data = attempt_number < 2 ? Data::Integers : Data::Normal;
      setup.scale = attempt_number == 3 ? 100 : 1;
      setup.seed = mix64(state_.outcome.seed + attempt_number);
      if (attempt_number == 0) {
        if (!support.is_zero) continue;
        setup.is_zero = support.is_zero;
      }
      const NumericResult run = run_numeric(setup, task_, candidate_, job.spec, workers_, options_.step_budget);
      if (run.candidate_stop) {
        finding.notes.push_back({run.candidate_stop->finding.message, run.candidate_stop->finding.place});
        return true;
      }
      if (run.differences.empty()) continue;
      const NumericDifference& shown = run.differences.front();
      finding.notes.push_back({fmt::format("on {} `{}` is {:.9g} in {} and {:.9g} in the candidate",
                                           setup.is_zero                  ? "inputs that are zero elsewhere"
                                           : setup.data == Data::Integers ? "small integers"
                                                                          : "normal inputs",
                                           element_name(setup.bound, shown.buffer, shown.element), shown.spec,
                                           job.spec.name(), shown.candidate),
                               {}});
      return true;
    }
    finding.code = &kNoWitness;
    finding.notes.push_back({"concrete runs on several kinds of inputs agreed within rounding", {}});
    return false;
  }

  void weigh_contract(const ShapeJob& job, const ShapeResult& result, const std::string& label) {
    // The first shape that shows it is enough.
    if (state_.outcome.contract == Contract::Kept) {
      for (Finding& finding : contract_findings(result, job.spec.name(), label, entry_place())) {
        state_.outcome.contract = Contract::Weaker;
        add_once(std::move(finding));
      }
    }
    if (job.setup.alignment != Alignment::Whole || state_.numeric_runs >= 2) return;
    ++state_.numeric_runs;
    struct Inputs {
      double offset, scale;
      const char* text;
    };
    const std::array<Inputs, 3> kinds = {
        {{0, 1, "standard normal inputs"}, {0, 100, "inputs of scale 100"}, {1000, 1, "inputs around 1000"}}};
    // Drawing inputs takes one worker, and so does a launch of one block: the others see to another kind.
    std::uint64_t bytes = 0;
    for (const task::BoundArg& arg : job.setup.bound.args) {
      if (arg.is_tensor) bytes += 2 * arg.elements * task::element_bytes(arg.type);
    }
    const unsigned at_once = bytes * kinds.size() > kMostNumeric ? 1 : workers_;
    std::array<NumericResult, kinds.size()> runs;
    parallel_for(at_once, kinds.size(), [&](unsigned, std::size_t i) {
      Setup setup = job.setup;
      setup.data = Data::Normal;
      setup.offset = kinds[i].offset;
      setup.scale = kinds[i].scale;
      runs[i] = run_numeric(setup, task_, candidate_, job.spec, workers_, options_.step_budget);
      return true;
    });
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const Inputs& inputs = kinds[i];
      const NumericResult& run = runs[i];
      if (run.differences.empty()) continue;
      const NumericDifference& shown = run.differences.front();
      state_.outcome.contract = Contract::Weaker;
      add_once(Finding{shown.is_range ? &kContractRange : &kContractPrecision,
                       Severity::Error,
                       fmt::format("on {} `{}` is {:.9g} in {} and {:.9g} in the candidate, at {}", inputs.text,
                                   element_name(job.setup.bound, shown.buffer, shown.element), shown.spec,
                                   job.spec.name(), shown.candidate, label),
                       entry_place(),
                       {},
                       {}});
    }
  }

  void add_once(Finding finding) {
    if (state_.reported.insert(std::string(finding.code->id) + finding.message).second)
      state_.outcome.findings.add(std::move(finding));
  }

  Place entry_place() const {
    for (const ptx::Function& function : candidate_.module->functions) {
      if (function.is_entry && (candidate_.launch.entry.empty() || function.name == candidate_.launch.entry)) {
        return {candidate_.module->source, function.span};
      }
    }
    return {candidate_.module->source, {}};
  }

  void assume(std::string text) {
    std::vector<std::string>& list = state_.outcome.assumptions;
    if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(std::move(text));
  }

  void merge(const ShapeResult& result) {
    for (const std::string& text : result.assumptions) assume(text);
    for (const std::string& text : result.singularities) assume("added singularity: " + text);
    for (const check::Report* report : {&result.races, &result.spec_races}) {
      for (const std::string& text : report->nondeterminism) assume("order of float atomics: " + text);
    }
    if (result.bound.is_conjectural &&
        (state_.conjecture.empty() || result.bound.log2_probability > state_.conjecture_log2)) {
      state_.conjecture = result.bound.text;
      state_.conjecture_log2 = result.bound.log2_probability;
    }
    if (state_.outcome.primes.empty()) state_.outcome.primes = result.primes;
    if (result.bound.log2_probability != 0) {
      state_.outcome.log2_failure = state_.outcome.log2_failure == 0
                                        ? result.bound.log2_probability
                                        : std::max(state_.outcome.log2_failure, result.bound.log2_probability);
    }
    if (state_.executed.size() < result.executed.size()) state_.executed.resize(result.executed.size());
    for (std::size_t i = 0; i < result.executed.size(); ++i)
      state_.executed[i] = state_.executed[i] || result.executed[i];
  }

  void finish_coverage() {
    state_.outcome.instrs_total = state_.executed.size();
    state_.outcome.instrs_executed =
        static_cast<std::uint64_t>(std::count(state_.executed.begin(), state_.executed.end(), true));
    const ptx::Function* entry = nullptr;
    for (const ptx::Function& function : candidate_.module->functions) {
      if (function.is_entry && function.instrs.size() == state_.executed.size()) entry = &function;
    }
    for (std::size_t i = 0; entry != nullptr && i < state_.executed.size(); ++i) {
      if (state_.executed[i]) continue;
      state_.outcome.lines_not_executed.push_back(
          candidate_.module->source->locate(entry->instrs[i].opcode_span.begin).line);
    }
    const bool is_unproved = state_.outcome.verdict != Verdict::Proved && state_.outcome.verdict != Verdict::Sampled;
    if (is_unproved || !has_spec_) return;
    if (!state_.conjecture.empty()) assume(state_.conjecture);
    assume("inputs are finite numbers");
  }

  const task::Task& task_;
  const Candidate& candidate_;
  const Options& options_;
  bool has_spec_;
  unsigned workers_ = 1;
  Clock::time_point begin_ = Clock::now();
  std::optional<triton::Kernel> kernel_;
  ProofState state_;
  std::optional<Checkpoint> checkpoint_;
  std::uint64_t jobs_begun_ = 0;
  unsigned shapes_begun_ = 0;
};

}  // namespace

Outcome prove(const task::Task& task, const Candidate& candidate, const Options& options) {
  return Prover(task, candidate, options, true).run();
}

Outcome check(const task::Task& task, const Candidate& candidate, const Options& options) {
  return Prover(task, candidate, options, false).run();
}

}  // namespace plumb::prove
