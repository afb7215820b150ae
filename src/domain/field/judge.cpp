// SPDX-License-Identifier: Apache-2.0
// What `prove` asks: comparison of outputs, facts of a run, and the chance that a comparison errs.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "domain/field/arithmetic.h"
#include "domain/field/worker.h"

namespace plumb::domain {
namespace {

using field::Key;
using field::Residues;
using field::Value;

constexpr unsigned kFewestLanes = 3;
// D/p beyond which a bound means nothing.
constexpr double kMostDegreeShare = 0x1p-8;
// Pairs of primes (q, 2q + 1) with 2^28 < p < 2^29, rounded down, and bits that one bad prime uses up.
constexpr double kPrimePairs = 480'000;
constexpr double kPrimeBits = 28;
// Bits of a coefficient for each degree: a float literal's significand and the growth of sums.
constexpr double kCoefficientBits = 32;

std::array<std::uint32_t, kRepetitions> lanes_of(const Key& k) {
  return {static_cast<std::uint32_t>(k.low), static_cast<std::uint32_t>(k.low >> 32),
          static_cast<std::uint32_t>(k.high), static_cast<std::uint32_t>(k.high >> 32)};
}

std::vector<std::array<std::uint32_t, kRepetitions>> sorted(const std::unordered_set<Key, field::KeyHash>& keys) {
  std::vector<std::array<std::uint32_t, kRepetitions>> list;
  list.reserve(keys.size());
  for (const Key& k : keys) list.push_back(lanes_of(k));
  std::sort(list.begin(), list.end());
  return list;
}

template <class T>
void merge_sorted(std::vector<T>& into, const std::vector<T>& from) {
  std::vector<T> both;
  both.reserve(into.size() + from.size());
  std::set_union(into.begin(), into.end(), from.begin(), from.end(), std::back_inserter(both));
  into = std::move(both);
}

// Chance that one lane misses a difference of this degree: a bad point, or a bad prime.
double miss(const field::Shared& shared, double degree) {
  const double p = *std::min_element(shared.primes.begin(), shared.primes.end());
  const double bits = 64 + kCoefficientBits * degree;
  return degree / p + bits / kPrimeBits / kPrimePairs;
}

// log2(2^a + 2^b)
double log_sum(double a, double b) {
  const double most = std::max(a, b);
  return most + std::log2(1 + std::exp2(std::min(a, b) - most));
}

}  // namespace

void Facts::merge(const Facts& other) {
  exponentials += other.exponentials;
  unguarded_exponentials += other.unguarded_exponentials;
  divisions += other.divisions;
  merge_sorted(denominators, other.denominators);
  merge_sorted(radicands, other.radicands);
  merge_sorted(log_arguments, other.log_arguments);
  largest_degree = std::max(largest_degree, other.largest_degree);
  largest_exponent_degree = std::max(largest_exponent_degree, other.largest_exponent_degree);
  uses_exponential_of_exponential = uses_exponential_of_exponential || other.uses_exponential_of_exponential;
  saw_address = saw_address || other.saw_address;
  atoms = std::max(atoms, other.atoms);
  exponential_atoms = std::max(exponential_atoms, other.exponential_atoms);
}

Facts Field::facts() const {
  Facts facts = inner_->facts;
  facts.atoms = std::max(facts.atoms, inner_->most_atoms);
  facts.exponential_atoms = std::max(facts.exponential_atoms, inner_->most_exponential_atoms);
  facts.denominators = sorted(inner_->denominators);
  facts.radicands = sorted(inner_->radicands);
  facts.log_arguments = sorted(inner_->log_arguments);
  return facts;
}

Comparison Field::compare_outputs(Format f, Real spec, Real candidate) {
  Inner& w = *inner_;
  if (spec.id == kUndefined || candidate.id == kUndefined) {
    return spec.id == candidate.id ? Comparison::Equal : Comparison::Undefined;
  }
  const auto is_broken = [&](const Real& x) { return !x.is_concrete() && w.peek(x.id).is_broken(); };
  if (is_broken(spec) || is_broken(candidate)) return Comparison::NotANumber;
  const auto is_nan = [&](const Real& x) { return x.is_concrete() && ieee::is_nan(f, x.bits); };
  if (is_nan(spec) || is_nan(candidate)) {
    return is_nan(spec) == is_nan(candidate) ? Comparison::Equal : Comparison::NotANumber;
  }
  if (spec.is_concrete() && candidate.is_concrete()) {
    return field::to_double(f, spec.bits) == field::to_double(f, candidate.bits) ? Comparison::Equal
                                                                                 : Comparison::Different;
  }
  const auto is_infinite = [&](const Real& x) { return x.is_concrete() && ieee::is_infinite(f, x.bits); };
  if (is_infinite(spec) || is_infinite(candidate)) return Comparison::Different;
  const Value &x = w.get(w.operand(f, spec)), &y = w.get(w.operand(f, candidate));
  unsigned valid = 0;
  for (unsigned r = 0; r < kRepetitions; ++r) {
    if ((x.valid & y.valid & 1U << r) == 0) continue;
    if (x.residues.lane[r] != y.residues.lane[r]) return Comparison::Different;
    ++valid;
  }
  return valid >= kFewestLanes ? Comparison::Equal : Comparison::TooFewLanes;
}

Signature Field::signature(Real a) const {
  Signature signature;
  if (a.is_concrete()) return signature;
  const Value& v = inner_->peek(a.id);
  for (unsigned i = 0; i < kRoundingClasses; ++i) signature.counts[i] = v.counts[i];
  signature.flags = v.flags & static_cast<std::uint8_t>(~field::kHasExponential);
  return signature;
}

Sign Field::sign(Format f, Real a) const {
  if (!a.is_concrete()) return inner_->peek(a.id).sign();
  const double value = field::to_double(f, a.bits);
  return value == value ? field::sign_of(value) : Sign::Unknown;
}

double Field::degree(Real a) const {
  if (a.is_concrete()) return 0;
  const Value& v = inner_->peek(a.id);
  return double{v.numerator} + double{v.denominator};
}

unsigned Field::repetitions(Real a) const {
  if (a.is_concrete()) return kRepetitions;
  return static_cast<unsigned>(std::popcount(inner_->peek(a.id).valid & ((1U << kRepetitions) - 1)));
}

std::array<std::uint32_t, kLanes> Field::residues(Format f, Real a) {
  const Residues plain = from_form(inner_->shared.modulus, inner_->get(inner_->operand(f, a)).residues);
  std::array<std::uint32_t, kLanes> lanes;
  std::copy(std::begin(plain.lane), std::end(plain.lane), lanes.begin());
  return lanes;
}

FailureBound FieldContext::failure_bound(double degree, const Facts& spec, const Facts& candidate) const {
  Facts both = spec;
  both.merge(candidate);
  const auto& primes = inner_->primes;
  const double p = *std::min_element(primes.begin(), primes.begin() + kRepetitions);
  const double q = *std::min_element(primes.begin() + kRepetitions, primes.end());
  FailureBound bound;
  bound.degree = degree;
  bound.atoms = spec.atoms + candidate.atoms + spec.exponential_atoms + candidate.exponential_atoms;
  bound.is_refused = std::max({degree, both.largest_degree, both.largest_exponent_degree}) / p > kMostDegreeShare;
  double each = miss(*inner_, degree);
  if (both.exponentials != 0) {
    bound.is_conjectural = true;
    each += (2 * both.largest_exponent_degree + 1) / q + miss(*inner_, 2 * both.largest_exponent_degree);
  }
  bound.log2_probability = kRepetitions * std::log2(std::min(each, 1.0));
  // Two atoms merge when all lanes that name them agree: those modulo q too, where no exponential makes them freer.
  // Pairs of the two sorts differ in their names.
  const double merged = std::log2(std::min(miss(*inner_, 2 * both.largest_degree), 1.0));
  const auto add_pairs = [&](std::uint64_t count, unsigned lanes) {
    if (count < 2) return;
    const double n = static_cast<double>(count);
    const double pairs = std::log2(n) + std::log2(n - 1) - 1;
    bound.log2_probability = log_sum(bound.log2_probability, pairs + std::max(lanes * merged, -127.0));
  };
  add_pairs(spec.atoms + candidate.atoms, kLanes);
  add_pairs(spec.exponential_atoms + candidate.exponential_atoms, kRepetitions);
  bound.log2_probability = std::min(bound.log2_probability, 0.0);
  bound.text =
      fmt::format("a different function passes with probability at most 2^{:.0f} ({} repetitions, degree {:.0f}",
                  std::ceil(bound.log2_probability), kRepetitions, degree);
  if (bound.atoms != 0) bound.text += fmt::format(", {} free atoms", bound.atoms);
  bound.text += ")";
  if (bound.is_conjectural) {
    bound.text += "; with sums of exponentials the figure is conjectural: a bad point of 1/q for each repetition";
  }
  if (bound.is_refused) bound.text = fmt::format("degrees up to {:.3g} are too large for a bound", degree);
  return bound;
}

std::vector<std::string> FieldContext::added_singularities(const Facts& spec, const Facts& candidate) const {
  using Keys = std::vector<std::array<std::uint32_t, kRepetitions>>;
  const field::Modulus& m = inner_->modulus;
  std::vector<Residues> ratios = {m.one};
  {
    const std::shared_lock lock(inner_->identity_mutex);
    ratios.insert(ratios.end(), inner_->known_scales.begin(), inner_->known_scales.end());
    ratios.insert(ratios.end(), inner_->known_inverses.begin(), inner_->known_inverses.end());
  }
  const auto is_known = [&](const std::array<std::uint32_t, kRepetitions>& k, const Keys& keys) {
    Residues a;
    std::copy(k.begin(), k.end(), a.lane);
    return std::any_of(ratios.begin(), ratios.end(), [&](const Residues& ratio) {
      const Residues scaled = mul(m, a, ratio);
      return std::binary_search(keys.begin(), keys.end(), lanes_of(key(scaled))) ||
             std::binary_search(keys.begin(), keys.end(), lanes_of(key(neg(m, scaled))));
    });
  };
  std::vector<std::string> lines;
  const auto report = [&](const Keys& theirs, const Keys& ours, std::string_view what, std::string_view rule) {
    const auto added = std::count_if(ours.begin(), ours.end(), [&](const auto& k) { return !is_known(k, theirs); });
    if (added != 0) lines.push_back(fmt::format("{} {} of the candidate and not of the spec {}", added, what, rule));
  };
  report(spec.denominators, candidate.denominators, "denominator(s)", "could be zero");
  report(spec.radicands, candidate.radicands, "argument(s) of a square root", "could be negative");
  report(spec.log_arguments, candidate.log_arguments, "argument(s) of a logarithm", "could be zero or negative");
  return lines;
}

}  // namespace plumb::domain
