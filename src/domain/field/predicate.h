// SPDX-License-Identifier: Apache-2.0
// Predicates on abstract values: reduced ordered decision diagrams over sign atoms. Each class of values that differ by
// a constant factor has two variables, "its first value is positive" and, where it is not, "it is negative": so that
// below zero, zero and above zero exclude each other.
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
  // `above` and `below` are the values of the class's two variables.
  Id atom(std::uint32_t class_index, Relation relation, const Residues& above, const Residues& below);
  // All return kFull when the diagram has become too large.
  Id if_then_else(Id p, Id a, Id b);
  Id negate(Id p);
  // The single comparison that a predicate is, or null.
  const Simple* simple(Id p) const;
  // The predicate as a number: its multilinear extension at the values of the variables.
  const Residues& value(Id p) const { return nodes_[p].value; }
  unsigned degree(Id p) const { return nodes_[p].degree; }

 private:
  struct Node {
    std::uint32_t variable = ~0U;
    Id high = 0, low = 0;
    unsigned degree = 0;
    bool is_simple = false;
    Simple simple;
    Residues value;
    Residues variable_value;
  };
  struct Triple {
    std::uint32_t a = 0, b = 0, c = 0;
    friend bool operator==(const Triple&, const Triple&) = default;
  };
  struct TripleHash {
    std::size_t operator()(const Triple& t) const;
  };
  Id node(std::uint32_t variable, const Residues& variable_value, Id high, Id low);
  void mark(Id p, Simple simple);

  const Modulus* modulus_;
  std::vector<Node> nodes_;
  FlatMap<Triple, TripleHash> unique_, memo_;
};

}  // namespace plumb::domain::field
