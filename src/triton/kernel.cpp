// SPDX-License-Identifier: Apache-2.0
#include "triton/kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/parallel.h"
#include "triton/codes.h"
#include "triton/frontend/build.h"
#include "triton/frontend/parse.h"
#include "triton/tile/domains.h"
#include "triton/tile/evaluator.h"

namespace plumb::triton {

struct Kernel::Inner {
  Program program;
  std::vector<Parameter> parameters;
};

namespace {

// A default that is a literal; the others are evaluated where they are needed.
std::optional<Constexpr> literal(const Expr* expr) {
  if (expr == nullptr) return std::nullopt;
  const auto* unary = std::get_if<node::Unary>(&expr->node);
  const bool is_negative = unary != nullptr && unary->op == UnaryOp::Neg;
  const auto* constant = std::get_if<node::Constant>(is_negative ? &unary->operand->node : &expr->node);
  if (constant == nullptr) return std::nullopt;
  if (const auto* integer = std::get_if<Int128>(&constant->value)) {
    const Int128 value = is_negative ? -*integer : *integer;
    if (value < smallest(DType::Int64) || value > largest(DType::Int64)) return std::nullopt;
    return static_cast<std::int64_t>(value);
  }
  if (const auto* real = std::get_if<double>(&constant->value)) return is_negative ? -*real : *real;
  if (is_negative) return std::nullopt;
  if (const auto* boolean = std::get_if<bool>(&constant->value)) return *boolean;
  if (const auto* text = std::get_if<std::string>(&constant->value)) return *text;
  return None{};
}

// Arguments that the kernel does not have, or lacks.
std::optional<Finding> check_call(const Program& program, const Call& call) {
  const std::vector<Function::Parameter>& parameters = program.kernel->parameters;
  for (const Function::Parameter& parameter : parameters) {
    if (parameter.default_value || call.arguments.contains(parameter.name)) continue;
    return Finding{&kCall,
                   Severity::Error,
                   fmt::format("the argument `{}` is missing", parameter.name),
                   {program.source, parameter.span},
                   {},
                   {}};
  }
  for (const auto& [name, argument] : call.arguments) {
    if (std::ranges::find(parameters, name, &Function::Parameter::name) != parameters.end()) continue;
    return Finding{&kCall,
                   Severity::Error,
                   fmt::format("`{}` has no parameter `{}`", program.kernel->name, name),
                   {program.source, program.kernel->span},
                   {},
                   {}};
  }
  return std::nullopt;
}

// What the workers of one evaluation leave: the stop of the lowest program that has one.
class Outcome {
 public:
  void stop(std::uint64_t program, Stop stop) {
    const std::lock_guard lock(mutex_);
    if (stop_ && program_ <= program) return;
    stop_ = std::move(stop);
    program_ = program;
  }
  std::optional<Stop> take() { return std::move(stop_); }

 private:
  std::mutex mutex_;
  std::optional<Stop> stop_;
  std::uint64_t program_ = 0;
};

template <class D>
std::optional<Stop> run_program(const Program& program, const Call& call, D& domain, domain::Memory& memory,
                                RunState& state, std::uint64_t index) {
  std::optional<Stop> stop;
  Context<D> context(program, call, domain, memory, state);
  for (unsigned axis = 0; axis < 3; ++axis) {
    context.program_id[axis] = static_cast<std::uint32_t>(index % call.grid[axis]);
    index /= call.grid[axis];
  }
  context.source = program.kernel->source;
  context.span = program.kernel->span;
  domain.begin_unit();
  try {
    Evaluator<D>(context).run();
  } catch (Halt& halt) {
    stop = std::move(halt.stop);
  }
  domain.end_unit();
  if (domain.faulted()) domain.take_fault();
  return stop;
}

}  // namespace

Kernel::Kernel(std::unique_ptr<const Inner> inner) : inner_(std::move(inner)) {}
Kernel::~Kernel() = default;
Kernel::Kernel(Kernel&&) noexcept = default;
Kernel& Kernel::operator=(Kernel&&) noexcept = default;

const std::vector<Kernel::Parameter>& Kernel::parameters() const { return inner_->parameters; }
const std::vector<SourcePtr>& Kernel::sources() const { return inner_->program.sources; }

std::optional<Kernel> Kernel::load(SourcePtr source, std::string_view function, const PythonConfig& python,
                                   Findings& findings) {
  const std::optional<nlohmann::json> statements = parse_python(source, python, findings);
  if (!statements) return std::nullopt;
  std::optional<Program> program;
  try {
    program = build_program(source, *statements, function, python, findings);
  } catch (const nlohmann::json::exception& error) {
    findings.add(kPythonFailed, fmt::format("the tree of `{}` is not as expected: {}", source->name(), error.what()));
  }
  if (!program) return std::nullopt;
  auto inner = std::make_unique<Inner>();
  for (const Function::Parameter& parameter : program->kernel->parameters) {
    inner->parameters.push_back({parameter.name, parameter.is_constexpr, literal(parameter.default_value.get())});
  }
  inner->program = std::move(*program);
  return Kernel(std::move(inner));
}

template <class D>
Result Kernel::evaluate(const Call& call, const std::vector<D*>& domains, domain::Memory& memory,
                        const Options& options) const {
  PLUMB_CHECK(!domains.empty());
  Result result;
  const Program& program = inner_->program;
  if (std::optional<Finding> finding = check_call(program, call)) {
    result.stop = Stop{Stop::Kind::Defect, std::move(*finding)};
    return result;
  }
  const std::uint64_t grid = std::uint64_t{call.grid[0]} * call.grid[1] * call.grid[2];
  const std::uint64_t last = std::min(grid, options.last_program);
  const std::uint64_t first = std::min(options.first_program, last);
  RunState state{.options = options, .programs = last - first};
  unsigned workers = std::min<unsigned>(worker_count(options.workers), static_cast<unsigned>(domains.size()));
  if (program.uses_atomics) workers = 1;
  Outcome outcome;
  parallel_for(workers, last - first, [&](unsigned worker, std::size_t index) {
    const std::uint64_t number = first + index;
    std::optional<Stop> stop = run_program(program, call, *domains[worker], memory, state, number);
    if (!stop) {
      state.done.fetch_add(1, std::memory_order_relaxed);
      if (state.report()) return true;
      stop = Stop{Stop::Kind::Cancelled, Finding{&kCancelled, Severity::Error, "cancelled", {}, {}, {}}};
    }
    outcome.stop(number, std::move(*stop));
    return false;
  });
  result.stop = outcome.take();
  result.programs = state.done.load();
  result.element_ops = state.steps.load();
  return result;
}

#define PLUMB_INSTANTIATE(D) \
  template Result Kernel::evaluate<D>(const Call&, const std::vector<D*>&, domain::Memory&, const Options&) const;
PLUMB_FOR_EACH_DOMAIN(PLUMB_INSTANTIATE)

}  // namespace plumb::triton
