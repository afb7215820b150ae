// SPDX-License-Identifier: Apache-2.0
// The field domain: a float is its value over the reals, known by residues modulo random primes at a random assignment
// of the inputs. Sums, products, quotients and exponentials are exact there, so equal functions have equal residues,
// and different ones differ but for a probability that is bounded and printed (docs/domain.md). Beside the residues a
// value carries degree bounds, sign facts and a rounding signature.
//
// One `FieldContext` belongs to one proof: both sides and all workers share it. A `Field` belongs to one worker of one
// side. Ids stay readable from every thread. Between `begin_unit` and `end_unit` a worker's values are its own; the
// ones stored to a global buffer are kept.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "domain/codes.h"
#include "domain/domain.h"
#include "domain/format.h"
#include "domain/memory.h"
#include "domain/word.h"

namespace plumb::domain {

inline constexpr unsigned kRepetitions = 4;           // independent points, each with its own primes
inline constexpr unsigned kLanes = 2 * kRepetitions;  // lanes 0-3: the primes p; lanes 4-7: the primes q, p = 2q + 1

// Literals are dyadic rationals as written, or (a reported heuristic) the constants that they round.
enum class Constants : std::uint8_t { Exact, Ideal };

struct FieldOptions {
  std::uint64_t seed = 0;
  std::uint64_t memory = ~std::uint64_t{0};  // bytes of abstract values at most, together
  Constants constants = Constants::Exact;
  // Ideal constants of the task beside the built-in table: 1/sqrt(d), 1/n, decimal literals; with the name to print.
  std::vector<std::pair<double, std::string>> ideals;
  // Literals at or below -1e4 stand for minus infinity (reported). Off: they are numbers.
  bool sentinels = false;
  // Sparse probing: input elements for which this is true are zero. Called once per element, from any worker.
  std::function<bool(std::uint32_t tensor, std::uint64_t index)> is_zero;
};

// Something that a verdict leans on and that is not shown: printed with it.
struct Assumption {
  std::string kind;  // "constant", "sentinel", "finite", ...: the same word for the same rule
  std::string text;
  friend bool operator==(const Assumption&, const Assumption&) = default;
  friend auto operator<=>(const Assumption&, const Assumption&) = default;
};

// Rounding classes, coarsest first; for each the largest number of roundings on a path from an input to the value.
enum class RoundingClass : std::uint8_t { Fp8, BF16, F16, Tf32, TensorCore, F32 };
inline constexpr unsigned kRoundingClasses = 6;

struct Signature {
  // A rounding towards zero was seen; subnormals were flushed; an approximate instruction was used; an exponential
  // whose argument is not known to be bounded above; a denominator, root or logarithm whose argument is not known to be
  // positive; a value was clamped by .sat, .relu or satfinite; a division by an instruction for divisors of middling
  // size (FloatMode::narrow) whose divisor is not known to be of that kind.
  enum Flag : std::uint8_t {
    kTruncated = 1,
    kFlushed = 2,
    kApproximate = 4,
    kUnguardedExp = 8,
    kUnprovenDomain = 16,
    kClamped = 32,
    kNarrowDivision = 64
  };
  std::array<std::uint16_t, kRoundingClasses> counts{};
  std::uint8_t flags = 0;
  std::uint16_t count(RoundingClass c) const { return counts[static_cast<unsigned>(c)]; }
};

enum class Sign : std::uint8_t { Unknown, NonNegative, Positive, NonPositive, Negative, Zero, AtLeastOne };

// What a side's run did that equality over the reals does not show. Merge the workers' facts, then compare the sides.
struct Facts {
  std::uint64_t exponentials = 0;            // of abstract arguments
  std::uint64_t unguarded_exponentials = 0;  // argument not known to be bounded above
  std::uint64_t divisions = 0;               // by abstract values
  // Fingerprints of denominators, radicands and logarithm arguments that no sign fact shows positive (or, for
  // denominators, not zero): sorted, without repeats.
  std::vector<std::array<std::uint32_t, kRepetitions>> denominators, radicands, log_arguments;
  double largest_degree = 0;           // numerator and denominator together, over all values made
  double largest_exponent_degree = 0;  // of arguments of exponentials
  bool uses_exponential_of_exponential = false;
  bool saw_address = false;  // the number of an address went into a value: equal data at other addresses may differ
  // Free atoms (maxima, absolute values, roots, predicates, functions) of one unit, at most; those of arguments that
  // contain exponentials apart.
  std::uint64_t atoms = 0, exponential_atoms = 0;
  void merge(const Facts& other);
};

// Chance that two different outputs compare equal, and why that figure.
struct FailureBound {
  double log2_probability = 0;  // upper bound, base-two logarithm
  bool is_refused = false;      // degrees too large for a bound that means anything: not `proved`
  bool is_conjectural =
      false;  // exponentials beyond the proved cases: the figure holds by the conjecture of the theory
  double degree = 0;
  std::uint64_t atoms = 0;
  std::string text;  // one sentence to print
};

enum class Comparison : std::uint8_t {
  Equal,
  Different,
  Undefined,    // one side never wrote it
  NotANumber,   // one side is NaN by construction (0/0, inf - inf) and the other is not
  TooFewLanes,  // accidental zero divisions: run again with another seed
};

class Field;

class FieldContext {
 public:
  explicit FieldContext(FieldOptions options);
  ~FieldContext();
  FieldContext(const FieldContext&) = delete;  // fields and buffers hold ids of it
  FieldContext& operator=(const FieldContext&) = delete;

  std::uint64_t seed() const;
  const FieldOptions& options() const;
  std::span<const std::uint32_t> primes() const;  // [kLanes]
  // Substituted constants, sentinels and the other heuristics that were used, sorted, without repeats.
  std::vector<Assumption> assumptions() const;
  // Literals near an ideal constant and not equal to it ("1.4427 is 3.6e-6 from log2(e)"): reported, never substituted.
  std::vector<Assumption> near_misses() const;

  // Bound for outputs of at most `degree` (both sides added), given what both sides did.
  FailureBound failure_bound(double degree, const Facts& spec, const Facts& candidate) const;
  // Denominators, radicands and logarithm arguments of the candidate that are not the spec's up to a constant factor
  // that the run knows: "added singularities", one line each.
  std::vector<std::string> added_singularities(const Facts& spec, const Facts& candidate) const;

  // Memory held by values, in bytes.
  std::uint64_t bytes() const;

 private:
  friend class Field;
  struct Inner;
  std::unique_ptr<Inner> inner_;
};

class Field {
 public:
  static constexpr bool kHasTags = true;

  // Abstract when `id` is not kNoValue; otherwise concrete, `bits` in the format that the operation names.
  struct Real {
    ValueId id = kNoValue;
    std::uint64_t bits = 0;
    bool is_concrete() const { return id == kNoValue; }
  };
  // Abstract when `id` is not 0 (a node of the worker's decision diagram).
  struct Bool {
    std::uint32_t id = 0;
    bool value = false;
  };

  explicit Field(FieldContext& context);
  ~Field();
  Field(Field&&) noexcept;
  Field& operator=(Field&&) noexcept;

  // --- the contract of domain.h -------------------------------------------------------------------------------------
  Real constant(Format f, std::uint64_t bits);
  Real add(Format f, Real a, Real b, FloatMode mode);
  Real sub(Format f, Real a, Real b, FloatMode mode);
  Real mul(Format f, Real a, Real b, FloatMode mode);
  Real fma(Format f, Real a, Real b, Real c, FloatMode mode);
  Real div(Format f, Real a, Real b, FloatMode mode);
  Real neg(Format f, Real a, FloatMode mode);
  Real abs(Format f, Real a, FloatMode mode);
  Real min(Format f, Real a, Real b, FloatMode mode);
  Real max(Format f, Real a, Real b, FloatMode mode);
  Real rcp(Format f, Real a, FloatMode mode);
  Real sqrt(Format f, Real a, FloatMode mode);
  Real rsqrt(Format f, Real a, FloatMode mode);
  Real ex2(Format f, Real a, FloatMode mode);
  Real lg2(Format f, Real a, FloatMode mode);
  Real exp(Format f, Real a);
  Real log(Format f, Real a);
  Real sin(Format f, Real a, FloatMode mode);
  Real cos(Format f, Real a, FloatMode mode);
  Real tanh(Format f, Real a, FloatMode mode);
  Real erf(Format f, Real a);
  Real floor(Format f, Real a);
  Real ceil(Format f, Real a);
  Real rint(Format f, Real a);
  Real trunc(Format f, Real a);
  Real convert(Format to, Format from, Real a, FloatMode mode);
  Real from_int(Format f, std::int64_t integer, FloatMode mode);
  Real from_uint(Format f, std::uint64_t integer, FloatMode mode);
  std::optional<std::uint64_t> to_int(Format f, Real a, unsigned width, bool is_signed, Round round);
  Bool compare(Format f, Compare op, Real a, Real b, FloatMode mode);
  Real select(Format f, Bool p, Real a, Real b);  // p ? a : b

  Bool boolean(bool value) { return {0, value}; }
  Bool logical_and(Bool a, Bool b);
  Bool logical_or(Bool a, Bool b);
  Bool logical_xor(Bool a, Bool b);
  Bool logical_not(Bool a);
  std::optional<bool> decide(Bool p) const { return p.id == 0 ? std::optional<bool>(p.value) : std::nullopt; }

  void dot(const DotShape& shape, const Real* a, const Real* b, const Real* c, Real* out);
  Real sum(Format f, const Real* values, std::size_t count);

  // An operand of a tensor-core step as registers hold it: the tags of the 32 lanes of each register, element by
  // element, and for each element in that order its place in rows of `k` (of the right operand: in columns of `k`).
  struct Fragment {
    std::span<const Tag* const> registers;
    std::span<const std::uint16_t> places;
    Format format = Format::BF16;
    std::uint32_t rows = 0, k = 0;
  };
  // `dot` on registers: accumulators in F32 without places of their own order, that is `places` of row * n + column;
  // no registers of c: zero. False, and nothing done, when some element is not simply an abstract value of its format.
  bool dot(const DotShape& shape, const Fragment& a, const Fragment& b, std::span<const Tag* const> c,
           std::span<const std::uint16_t> places, std::span<Tag* const> d);

  void load(Buffer& buffer, std::uint64_t offset, unsigned count, std::byte* bytes, Tag* tags);
  void store(Buffer& buffer, std::uint64_t offset, unsigned count, const std::byte* bytes, const Tag* tags);
  Real from_word(Format f, const Word& word);
  Word to_word(Format f, Real a);

  // Integer bit operations on words of which some bytes are abstract, `width` bits wide (16, 32 or 64). False and a
  // fault (kFieldBitView) when the result is no permutation of bytes, sign idiom or merge of disjoint bytes.
  // `immediate` is lop3's table.
  bool bit_op(BitOp op, unsigned width, const Word& a, const Word& b, const Word& c, Word& out,
              std::uint32_t immediate = 0);

  // --- integers of data (integer.cpp) -------------------------------------------------------------------------------
  // out = an operation on words of which some bytes are abstract: `op` where it has a name, and in any case `fn` on
  // words of known bits. `width` is the operands' in bits, `result` the result's. False after a fault.
  bool int_op(std::optional<BitOp> op, unsigned width, unsigned result, const Word& a, const Word& b, const Word& c,
              std::uint32_t immediate, const IntFunction& fn, Word& out);
  // The low `bits` of a word as a number: concrete, `bits` the two's complement of 64 bits, or a value that only
  // `int_dot`, `from_integer`, `integer_word` and `compare_integers` take. `wraps`: any number that agrees modulo
  // 2^bits, for what will be cut to as many bits itself.
  Real integer(const Word& word, unsigned bits, bool is_signed, bool wraps = false);
  Word integer_word(Real number, unsigned bytes);
  // The number as a float; a rounding where the format does not hold every number that it may be.
  Real from_integer(Format f, Real number, FloatMode mode);
  // Of the low `width` bits.
  Bool compare(Compare op, unsigned width, bool is_signed, const Word& a, const Word& b);
  Word select(unsigned width, Bool p, const Word& a, const Word& b);
  // Whether a select of these words is one of integers: floats of the same bytes have their own.
  bool is_integer_choice(Bool p, const Word& a, const Word& b) const;
  // d[m x n] = a[m x k] * b[k x n] + c[m x n] on numbers, row-major, wrapped to 32 bits or, `is_saturating`, clamped.
  void int_dot(std::uint32_t m, std::uint32_t n, std::uint32_t k, const Real* a, const Real* b, const Real* c, Real* d,
               bool is_saturating);
  void begin_unit();
  void end_unit();
  // Whether a unit's values take so much room that those which nothing refers to any more should be given up, and this
  // unit's are such that they can be.
  bool wants_room() const;
  // Gives up the unit's values but for those with a byte in `roots`, and what they are made of. Ids are then handed out
  // again: `generation` tells the values of one name apart, over the unit; it is 0 for values that are never given up.
  void keep_only(std::span<const std::span<const Tag>> roots);
  std::uint32_t generation(ValueId id) const;
  bool faulted() const { return fault_->code != nullptr; }
  Fault take_fault() { return std::exchange(*fault_, Fault{}); }
  void fault(const Code& code, std::string text);
  void note_address();  // see Facts::saw_address

  // --- what `prove` asks --------------------------------------------------------------------------------------------
  // The element of format f at a byte offset of a buffer; kUndefined id when it was never written; a fault when its
  // bytes are not one value.
  Real read(Buffer& buffer, std::uint64_t offset, Format f);
  // The same of a signed integer of `bytes` bytes.
  Real read_integer(Buffer& buffer, std::uint64_t offset, unsigned bytes);
  // Compares over the reals; both of format f.
  Comparison compare_outputs(Format f, Real spec, Real candidate);
  Comparison compare_integers(Real spec, Real candidate);
  Signature signature(Real a) const;
  Sign sign(Format f, Real a) const;
  double degree(Real a) const;  // numerator and denominator together
  // Repetitions in which the value is known: fewer than kRepetitions after an accidental division by zero.
  unsigned repetitions(Real a) const;
  // All residues as canonical integers, for messages and tests; a concrete value is lifted.
  std::array<std::uint32_t, kLanes> residues(Format f, Real a);
  std::array<std::uint32_t, kLanes> integer_residues(Real a);
  Facts facts() const;

 private:
  friend struct FieldTestAccess;
  struct Inner;
  std::unique_ptr<Inner> inner_;
  Fault* fault_;  // in inner_
};

}  // namespace plumb::domain
