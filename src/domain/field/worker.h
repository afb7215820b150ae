// SPDX-License-Identifier: Apache-2.0
// One worker's state, and the algebra under the operations of `Field`: functions here work on ids, make exact values
// and leave rounding to `finish`. A function may return an id that it was given.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "domain/field/deferred.h"
#include "domain/field/elements.h"
#include "domain/field/number.h"
#include "domain/field/predicate.h"
#include "domain/field/shared.h"
#include "domain/ieee/ieee.h"

namespace plumb::domain::field {

using Real = Field::Real;

// What concrete bits are, when they meet an abstract value.
enum class Class : std::uint8_t { Zero, Finite, Infinite, NegativeInfinite, NotANumber };

inline constexpr std::size_t kRoomyChunks = 32;

struct Worker {
  explicit Worker(Shared& context);
  ~Worker() { shared.leave_unit(is_in_unit); }
  Worker(const Worker&) = delete;  // counted by `shared`

  // --- values (worker.cpp)
  Value& allocate(ValueId& id);
  Value& peek(ValueId id) {  // residues may be lazy
    if (shared.arena.is_absent(id)) [[unlikely]]
      return materialise(id);
    return shared.arena.at(id);
  }
  Format format_of(ValueId id) {
    if (shared.arena.is_absent(id)) return shared.arena.is_input(id) ? peek(id).format() : Format::F32;
    return shared.arena.at(id).format();
  }
  Value& get(ValueId id) {
    Value& v = peek(id);
    if ((v.kind & kLazy) != 0) force(v);
    return v;
  }
  // To be copied: a logarithm is not computed for that, and its copies can be when they are needed.
  Value& get_for_copy(ValueId id) { return peek(id).is(Kind::Log) ? peek(id) : get(id); }
  void force(Value& v);
  Class classify(Format f, std::uint64_t bits);  // sentinels count as minus infinity where the options say so
  ValueId lift(Format f, std::uint64_t bits);    // finite bits
  ValueId operand(Format f, Real a) { return a.id != kNoValue ? a.id : lift(f, a.bits); }
  bool is_integer_value(ValueId id) { return id >= kFirstValue && is_integer(format_of(id)); }
  // Adds the rounding of one operation in format f to a value just made, then the mode's clamps.
  Real finish(Format f, ValueId id, FloatMode mode, bool is_rounding = true);
  ValueId keep(ValueId id);  // the permanent copy of a value
  void raise(const Code& code, std::string text);
  // Nothing but the values themselves refers to values of this unit, or only what may be forgotten.
  bool is_plain_unit() const {
    return pairs.empty() && scalings.empty() && word_bits.empty() && log_targets.empty() && log_bases.empty() &&
           rescaled.empty() && deferred.is_empty() && predicates.is_empty() && elements.is_empty();
  }

  // --- algebra (arithmetic.cpp)
  ValueId add(Format f, ValueId a, ValueId b);
  ValueId sub(Format f, ValueId a, ValueId b);
  ValueId mul(Format f, ValueId a, ValueId b);
  ValueId fma(Format f, ValueId a, ValueId b, ValueId c);  // a * b + c, the product unrounded
  ValueId div(Format f, ValueId a, ValueId b);
  ValueId div_by(Format f, ValueId a, ValueId b, FloatMode mode);  // as an instruction does it
  ValueId neg(Format f, ValueId a);
  // What names the free atoms of a value, and whether the lanes that it is made of are meaningful.
  Key identity(const Value& v) const { return shared.identity(v.residues, (v.flags & kHasExponential) != 0); }
  static bool is_identified(const Value& v) {
    const unsigned lanes = (v.flags & kHasExponential) != 0 ? 0x0f : 0xff;
    return (v.valid & lanes) == lanes;
  }
  ValueId special_product(Format f, ValueId a, ValueId b);
  ValueId scaled(Format f, ValueId a, ValueId factor);
  void note_scale(ValueId constant);
  void note_atom(const Value& argument);
  // A value of its own with the rounding counts and flags of both.
  ValueId inherit(Format f, ValueId number, ValueId a, ValueId b);
  // A normal form of an operation on a and b: whatever was multiplied and divided to get it, it is rounded as often as
  // these.
  ValueId as_result(Format f, ValueId form, ValueId a, ValueId b);
  ValueId copy(Format f, ValueId a);  // the same number in another format
  // f(x) for a function that is not modelled: an independent variable for each argument.
  ValueId atom(Format f, ValueId a, Purpose purpose);
  ValueId odd_atom(Format f, ValueId a, Purpose purpose);
  ValueId even_atom(Format f, ValueId a, Purpose purpose);
  bool equal(ValueId a, ValueId b) { return a == b || key(get(a).residues) == key(get(b).residues); }

  // --- matrix products (dot.cpp)
  Value& materialise(ValueId id);  // of a deferred product, or a variable that was given up
  void compute_product(std::uint32_t step);

  // --- functions (functions.cpp)
  // Base two. `is_counted`: a step of the program, not one of a normal form.
  ValueId exponential(Format f, ValueId a, bool is_counted);
  ValueId logarithm(Format f, ValueId a, ValueId factor);
  ValueId root(Format f, ValueId a);
  ValueId inverse_root(Format f, ValueId root);     // of a Root
  ValueId log_sum(Format f, ValueId a, ValueId b);  // one of them a Log; kNoValue when no normal form applies
  void force_logarithm(Value& v);

  // --- order (order.cpp)
  ValueId maximum(Format f, ValueId a, ValueId b, bool is_minimum);
  ValueId absolute(Format f, ValueId a);
  std::optional<int> known_sign(ValueId difference);  // -1, 0, +1 where the facts decide
  // `sum` is a + b, one of which is a maximum: its sign, when the other is an element of the maximum's set.
  Sign sign_against_maximum(ValueId a, ValueId b);
  void force_order(Value& v);
  std::uint32_t flatten(std::uint32_t pair, bool is_minimum);
  ValueId clamp(Format f, ValueId a, ValueId b, bool is_minimum);
  Residues maximum_of_two(const Residues& a, const Residues& b, const Value& bounds, bool is_minimum);
  Residues maximum_of_set(const ElementSet& set, bool is_minimum, unsigned& zeros);
  bool is_subset(ValueId other, ValueId factor, const ElementSet& set, bool is_minimum);
  Residues reciprocal(ValueId id);  // kept for a few divisors: a row is divided by one sum
  void collect(ValueId id, bool is_minimum, ElementSet& set, std::vector<Element>& leaves);

  Shared& shared;
  Fault fault;
  Ieee ieee;
  Cursor temporary, permanent;
  ValueId fresh = kNoValue;                 // the last value made by the running operation
  ValueId scratch = kNoValue;               // what is handed out when the arena is full
  std::size_t roomy_chunks = kRoomyChunks;  // temporary ones that a unit may fill before it looks for dead values
  std::uint32_t generation = 0;             // see Field::generation

  struct Literal {
    std::uint64_t bits = 0;
    ValueId id = kNoValue;
    Format format = Format::F32;
  };
  std::array<Literal, 1024> literals{};
  std::array<ValueId, 8> noted_scales{};
  std::unordered_map<ValueId, ValueId> kept;

  struct Pair {
    ValueId left = kNoValue, right = kNoValue;
    std::uint32_t set = kNoSet;
    float bound = 0;  // of integers (value.h)
  };
  struct Scaling {
    ValueId base = kNoValue, factor = kNoValue;
  };
  struct PairMemo {
    ValueId left = kNoValue, right = kNoValue, result = kNoValue;
    bool is_minimum = false;
  };
  struct Inverse {
    ValueId of = kNoValue;
    Residues residues;
  };
  std::array<Inverse, 16> inverses{};  // cleared with the unit: factors may be its values
  std::vector<Pair> pairs;
  std::vector<Scaling> scalings;
  std::vector<PairMemo> pair_memo;
  Elements elements;
  Predicates predicates;
  std::vector<Predicates::Id> word_bits;  // of this unit's values of Kind::Bits
  struct LogTarget {
    ValueId of = kNoValue, exponent = kNoValue;
    std::uint32_t routine = 0;
  };
  std::unordered_map<Key, LogTarget, KeyHash> log_targets;  // by the polynomial's residues (library.h)
  std::unordered_map<Key, ValueId, KeyHash> log_bases;      // arguments of logarithms recognised, by residues modulo p
  struct Rescaled {
    ValueId base = kNoValue;
    Predicates::Id below = Predicates::kFalse;
  };
  std::unordered_map<ValueId, Rescaled> rescaled;

  Facts facts;                                               // `atoms`: of this unit
  std::uint64_t most_atoms = 0, most_exponential_atoms = 0;  // of any unit before
  std::unordered_set<Key, KeyHash> denominators, radicands, log_arguments;
  Deferred deferred;
  std::vector<ValueId> left_ids, right_ids, column_ids, addend_ids;  // of the matrix product at hand
  bool is_in_unit = false;
};

}  // namespace plumb::domain::field

namespace plumb::domain {
struct Field::Inner : field::Worker {
  using field::Worker::Worker;
};
}  // namespace plumb::domain
