// SPDX-License-Identifier: Apache-2.0
// What all workers of one proof share: primes, keys, tables of exponentials, the arena, and the tables that give equal
// things equal identities. Every table here may be used from any thread.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "domain/field/field.h"
#include "domain/field/flat_map.h"
#include "domain/field/logarithm.h"
#include "domain/field/product_cache.h"
#include "domain/field/residue.h"
#include "domain/field/value.h"

namespace plumb::domain::field {

// Names of pseudo-random functions.
enum class Purpose : std::uint64_t {
  Exponent = 1,
  Logarithm,
  SquareRoot,
  Positive,
  NotNegative,
  MaximumOf,
  MinimumOf,
  Sine,
  Cosine,
  Erf,
  Floor,
  Rint,
  Trunc,
  Symbol,
  Input,
  Normal,
  Bit,
  Binade,
  Mantissa,
  BinadeOfLog2,
  MantissaOfLog2
};

// d is `ratio` (a known constant, negated when `is_negative`) times the first value of its class.
struct ScaleClass {
  std::uint32_t index = 0;
  bool is_negative = false;
};

struct IdealConstant {
  double value = 0;
  std::string name;
  Residues residues;
  float numerator = 0, denominator = 0;  // degrees: symbols are variables
};

struct Shared {
  explicit Shared(FieldOptions options);

  // --- numbers (context.cpp)
  Residues random(const Key& k, Purpose purpose) const;  // uniform on every lane
  Residues random_of(std::uint64_t word, Purpose purpose) const;
  // 128 bits that stand for the function whose residues these are, and may be summed over sets: of all lanes, or, where
  // exponentials make the lanes modulo q freer than the reals, of those modulo p.
  Key identity(const Residues& a, bool has_exponential) const;
  Residues exponential(const Residues& exponent) const;  // lanes p: w^(lanes q); lanes q: zero
  // The variable of an input tensor's element; `count`: of all. kNoValue when ids ran out.
  ValueId input(std::uint32_t tensor, std::uint64_t index, std::uint64_t count, Format f);
  // The variable of this id again, after it was given up. False when there is no memory.
  bool make_input_again(ValueId id);
  // Workers say when they begin and end a unit (a second word changes nothing): while none is in one, no variable is
  // being read, and where there are many they are given up, to be made again when they are read. A large input would
  // otherwise take more than all else.
  void enter_unit(bool& is_in_unit);
  void leave_unit(bool& is_in_unit);
  // Bit of the integer whose variable an input's id is.
  static std::uint64_t bit_name(ValueId id, unsigned bit) { return std::uint64_t{id} << 6 | bit; }
  Residues bit_value(std::uint64_t name) const { return random_of(name, Purpose::Bit); }
  // The permanent value of a finite literal; its magnitude is noted as a scale by the caller where it multiplies.
  ValueId literal(Format f, std::uint64_t bits, Cursor& permanent);

  // --- identities (identity.cpp)
  void note_scale(const Residues& positive);
  // The class of d up to known constant factors; without `insert` empty when there is none yet.
  std::optional<ScaleClass> classify(const Value& d, bool insert);
  Key class_identity(std::uint32_t index) const;  // of the first value of the class
  // The scale with which a normal form was first met.
  struct MaxForm {
    Residues scale;
    bool is_new = false;
  };
  MaxForm max_form(const Key& form, const Residues& scale);
  // +1 or -1 when the p-lanes of a are a known constant's or its negative's; 0 otherwise.
  int known_ratio(const Residues& a) const;

  void assume(Assumption assumption);

  FieldOptions options;
  Modulus modulus;
  std::array<std::uint32_t, kLanes> primes{};
  std::array<std::uint64_t, 8> keys{};
  Residues kappa, kappa_inverse, half;
  std::uint32_t generator[kRepetitions] = {};  // of order q modulo p, in plain form
  // w^(window * 2^(7 * position)) in Montgomery form.
  static constexpr unsigned kWindowBits = 7, kWindows = 4;
  std::array<std::array<std::array<std::uint32_t, kRepetitions>, 1U << kWindowBits>, kWindows> powers{};
  Arena arena;  // after the options, which limit it
  Logarithms logarithms;
  ProductCache products;

  mutable std::mutex mutex;  // guards what follows, each use short
  Cursor constants{arena, ChunkKind::Permanent};
  std::unordered_map<Key, ValueId, KeyHash> literals;  // by bits and format
  std::set<Assumption> assumptions, near_misses;
  std::vector<IdealConstant> ideals;

  // The variables of one tensor have ids in a row, and are made in groups when one of them is asked for.
  struct Inputs {
    std::uint64_t count = 0;
    Format format = Format::F32;
    ValueId first = kNoValue;
    std::unique_ptr<std::atomic<std::uint8_t>[]> groups;  // 0: to be made, 1: being made, 2: made
    std::uint32_t tensor = 0;
    Inputs* next = nullptr;  // the same tensor seen in another format or size
  };
  static constexpr std::uint64_t kInputGroup = 64;
  static constexpr std::uint32_t kTensors = 4096;
  std::array<std::atomic<Inputs*>, kTensors> inputs{};  // the newest view of each
  std::vector<std::unique_ptr<Inputs>> owned_inputs;
  ValueId free_input = 0, end_of_inputs = 0;  // of the chunk that small tensors share

  mutable std::shared_mutex identity_mutex;
  std::vector<Residues> known_scales, known_inverses;
  std::unordered_set<Key, KeyHash> known_ratios;  // of the scales, their inverses and products of two
  FlatMap<Key, KeyHash> classes;                  // by the identity of the value or its negative
  std::vector<Key> class_identities;
  std::unordered_map<Key, Residues, KeyHash> max_forms;

  std::mutex unit_mutex;
  std::uint64_t units = 0;  // that workers are in

 private:
  Inputs* add_inputs(std::uint32_t tensor, std::uint64_t count, Format f);
  void make_integer(Value& v, ValueId id) const;
  bool make_inputs(Inputs& view, std::uint64_t group);
  void give_up_inputs();
  std::optional<ScaleClass> find_class(const Value& d) const;
  void make_keys();
  void make_generators();
  void make_reserved_values();
  void make_ideals();
  void add_ideal(double value, std::string name, const Residues& residues, float numerator, float denominator);
  bool substitute(Format f, double value, Value& v);
};

}  // namespace plumb::domain::field

namespace plumb::domain {
struct FieldContext::Inner : field::Shared {
  using field::Shared::Shared;
};
}  // namespace plumb::domain
