// SPDX-License-Identifier: Apache-2.0
#include "domain/field/predicate.h"

#include <algorithm>

#include "base/hash.h"

namespace plumb::domain::field {
namespace {

constexpr std::size_t kMostNodes = 1 << 22;  // of a unit: some per element are common, large diagrams are not

}  // namespace

std::size_t Predicates::TripleHash::operator()(const Triple& t) const {
  return mix64(t.a * 0x9e3779b97f4a7c15ULL ^ mix64(std::uint64_t{t.b} << 32 | t.c));
}

void Predicates::clear() {
  nodes_.assign(2, {});
  nodes_[kTrue].value = modulus_->one;
  unique_.clear();
  memo_.clear();
}

Predicates::Id Predicates::node(std::uint64_t variable, const Residues& variable_value, Id high, Id low) {
  if (high == kFull || low == kFull) return kFull;
  if (high == low) return high;
  const auto [id, is_new] = unique_.insert({variable, high, low}, static_cast<Id>(nodes_.size()));
  if (!is_new) return id;
  if (nodes_.size() >= kMostNodes) return kFull;
  const Modulus& m = *modulus_;
  const Residues difference = sub(m, nodes_[high].value, nodes_[low].value);
  Node made;
  made.variable = variable;
  made.high = high;
  made.low = low;
  made.degree = 1 + std::max(nodes_[high].degree, nodes_[low].degree);
  made.value = add(m, nodes_[low].value, mul(m, variable_value, difference));
  made.variable_value = variable_value;
  nodes_.push_back(made);
  return id;
}

void Predicates::mark(Id p, Simple simple) {
  if (p == kFull || p <= kTrue) return;
  nodes_[p].is_simple = true;
  nodes_[p].simple = simple;
}

Predicates::Id Predicates::atom(std::uint32_t class_index, Relation relation, const Residues& above,
                                const Residues& below) {
  const std::uint64_t first = 2 * std::uint64_t{class_index}, second = first + 1;
  const auto not_above = [&](Id if_below, Id if_zero) { return node(second, below, if_below, if_zero); };
  Id id = kFull;
  switch (relation) {
    case Relation::Above:
      id = node(first, above, kTrue, kFalse);
      break;
    case Relation::AtMost:
      id = node(first, above, kFalse, kTrue);
      break;
    case Relation::Below:
      id = node(first, above, kFalse, not_above(kTrue, kFalse));
      break;
    case Relation::AtLeast:
      id = node(first, above, kTrue, not_above(kFalse, kTrue));
      break;
    case Relation::Equal:
      id = node(first, above, kFalse, not_above(kFalse, kTrue));
      break;
    case Relation::NotEqual:
      id = node(first, above, kTrue, not_above(kTrue, kFalse));
      break;
  }
  mark(id, {class_index, relation});
  return id;
}

Predicates::Id Predicates::negate(Id p) {
  const Id result = if_then_else(p, kFalse, kTrue);
  constexpr Relation kOpposite[] = {Relation::AtMost, Relation::Below,    Relation::AtLeast,
                                    Relation::Above,  Relation::NotEqual, Relation::Equal};
  if (const Simple* known = simple(p)) {
    mark(result, {known->class_index, kOpposite[static_cast<unsigned>(known->relation)]});
  }
  return result;
}

const Predicates::Simple* Predicates::simple(Id p) const {
  return p != kFull && nodes_[p].is_simple ? &nodes_[p].simple : nullptr;
}

Predicates::Id Predicates::if_then_else(Id p, Id a, Id b) {
  if (p == kFull || a == kFull || b == kFull) return kFull;
  if (p == kTrue) return a;
  if (p == kFalse) return b;
  if (a == b) return a;
  if (a == kTrue && b == kFalse) return p;
  const Triple triple{p, a, b};
  if (const Id* known = memo_.find(triple)) return *known;
  Id top = p;
  for (const Id id : {a, b}) {
    if (nodes_[id].variable < nodes_[top].variable) top = id;
  }
  const std::uint64_t variable = nodes_[top].variable;
  const Residues variable_value = nodes_[top].variable_value;
  const auto branch = [&](Id id, bool is_high) {
    if (nodes_[id].variable != variable) return id;
    return is_high ? nodes_[id].high : nodes_[id].low;
  };
  const Id high = if_then_else(branch(p, true), branch(a, true), branch(b, true));
  const Id low = if_then_else(branch(p, false), branch(a, false), branch(b, false));
  const Id result = node(variable, variable_value, high, low);
  if (result != kFull) memo_.insert(triple, result);
  return result;
}

}  // namespace plumb::domain::field
