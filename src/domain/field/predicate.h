// SPDX-License-Identifier: Apache-2.0
// Predicates on abstract values: reduced ordered decision diagrams over sign atoms. Each class of values that differ by
// a constant factor has two variables, "its first value is positive" and, where it is not, "it is negative": so that
// below zero, zero and above zero exclude each other. Bits of input integers are variables too, after those.
#pragma once

#include <cstdint>
#include <vector>

#include "domain/field/flat_map.h"
#include "domain/field/residue.h"

namespace plumb::domain::field {

class Predicates {
 public:
  using Id = std::uint32_t;
  static constexpr Id kFalse = 0, kTrue = 1, kFull = ~0U;

  // How the class's first value compares with zero.
  enum class Relation : std::uint8_t { Above, AtLeast, Below, AtMost, Equal, NotEqual };
  struct Simple {
    std::uint32_t class_index = 0;
    Relation relation = Relation::Above;
  };

  explicit Predicates(const Modulus& modulus) : modulus_(&modulus) { clear(); }

  void clear();
  bool is_empty() const { return nodes_.size() <= 2; }
  // `above` and `below` are the values of the class's two variables.
  Id atom(std::uint32_t class_index, Relation relation, const Residues& above, const Residues& below);
  // A bit of the input by its name, which must be below 2^63; `value` is asked for when it is new.
  template <class Make>
  Id bit(std::uint64_t name, Make value) {
    const std::uint64_t variable = kFirstBit | name;
    if (const Id* known = unique_.find({variable, kTrue, kFalse})) return *known;
    return node(variable, value(), kTrue, kFalse);
  }
  // All return kFull when the diagram has become too large.
  Id if_then_else(Id p, Id a, Id b);
  Id negate(Id p);
  // The single comparison that a predicate is, or null.
  const Simple* simple(Id p) const;
  // The predicate as a number: its multilinear extension at the values of the variables.
  const Residues& value(Id p) const { return nodes_[p].value; }
  unsigned degree(Id p) const { return nodes_[p].degree; }  // the most variables on a path

  // A decision, for those that walk the diagram: p is above kTrue.
  static constexpr std::uint64_t kFirstBit = std::uint64_t{1} << 63;
  std::uint64_t variable(Id p) const { return nodes_[p].variable; }
  const Residues& variable_value(Id p) const { return nodes_[p].variable_value; }
  Id cofactor(Id p, std::uint64_t variable, bool is_high) const {
    if (nodes_[p].variable != variable) return p;
    return is_high ? nodes_[p].high : nodes_[p].low;
  }
  Id node(std::uint64_t variable, const Residues& variable_value, Id high, Id low);

 private:
  struct Node {
    std::uint64_t variable = ~std::uint64_t{0};
    Id high = 0, low = 0;
    unsigned degree = 0;
    bool is_simple = false;
    Simple simple;
    Residues value;
    Residues variable_value;
  };
  struct Triple {
    std::uint64_t a = 0;
    std::uint32_t b = 0, c = 0;
    friend bool operator==(const Triple&, const Triple&) = default;
  };
  struct TripleHash {
    std::size_t operator()(const Triple& t) const;
  };
  void mark(Id p, Simple simple);

  const Modulus* modulus_;
  std::vector<Node> nodes_;
  FlatMap<Triple, TripleHash> unique_, memo_;
};

}  // namespace plumb::domain::field
