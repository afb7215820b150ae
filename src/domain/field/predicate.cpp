// SPDX-License-Identifier: Apache-2.0
#include "domain/field/predicate.h"

#include <algorithm>

#include "base/hash.h"

namespace plumb::domain::field {
namespace {

constexpr std::size_t kMostNodes = 1 << 20;  // of a unit: some predicates per element are common, large ones are not

}  // namespace

std::size_t Predicates::TripleHash::operator()(const Triple& t) const {
  return mix64((std::uint64_t{t.a} << 32 | t.b) ^ mix64(t.c));
}

void Predicates::clear() {
  nodes_.assign(2, {});
  nodes_[kTrue].value = modulus_->one;
  variables_.clear();
  unique_.clear();
  memo_.clear();
  simple_.clear();
}

Predicates::Id Predicates::node(std::uint32_t variable, Id high, Id low) {
  if (high == kFull || low == kFull) return kFull;
  if (high == low) return high;
  const auto [entry, is_new] = unique_.try_emplace({variable, high, low}, static_cast<Id>(nodes_.size()));
  if (!is_new) return entry->second;
  if (nodes_.size() >= kMostNodes) return kFull;
  const Modulus& m = *modulus_;
  const Residues difference = sub(m, nodes_[high].value, nodes_[low].value);
  Node made{variable, high, low, 1 + std::max(nodes_[high].degree, nodes_[low].degree), {}};
  made.value = field::add(m, nodes_[low].value, mul(m, variables_[variable], difference));
  nodes_.push_back(made);
  return entry->second;
}

Predicates::Id Predicates::atom(std::uint32_t class_index, Relation relation, const Residues& above,
                                const Residues& below) {
  const std::uint32_t first = 2 * class_index, second = first + 1;
  variables_.try_emplace(first, above);
  variables_.try_emplace(second, below);
  const auto make = [&](Relation r) {
    switch (r) {
      case Relation::Above:
        return node(first, kTrue, kFalse);
      case Relation::AtMost:
        return node(first, kFalse, kTrue);
      case Relation::Below:
        return node(first, kFalse, node(second, kTrue, kFalse));
      case Relation::AtLeast:
        return node(first, kTrue, node(second, kFalse, kTrue));
      case Relation::Equal:
        return node(first, kFalse, node(second, kFalse, kTrue));
      case Relation::NotEqual:
        return node(first, kTrue, node(second, kTrue, kFalse));
    }
    return kFull;
  };
  const Id id = make(relation);
  if (id == kFull) return id;
  constexpr Relation kOpposite[] = {Relation::AtMost, Relation::Below,    Relation::AtLeast,
                                    Relation::Above,  Relation::NotEqual, Relation::Equal};
  simple_.try_emplace(id, Simple{class_index, relation});
  const Relation other = kOpposite[static_cast<unsigned>(relation)];
  const Id negation = make(other);
  if (negation != kFull) simple_.try_emplace(negation, Simple{class_index, other});
  return id;
}

const Predicates::Simple* Predicates::simple(Id p) const {
  const auto found = simple_.find(p);
  return found == simple_.end() ? nullptr : &found->second;
}

Predicates::Id Predicates::if_then_else(Id p, Id a, Id b) {
  if (p == kFull || a == kFull || b == kFull) return kFull;
  if (p == kTrue) return a;
  if (p == kFalse) return b;
  if (a == b) return a;
  if (a == kTrue && b == kFalse) return p;
  const Triple triple{p, a, b};
  if (const auto found = memo_.find(triple); found != memo_.end()) return found->second;
  const std::uint32_t variable = std::min({nodes_[p].variable, nodes_[a].variable, nodes_[b].variable});
  const auto branch = [&](Id id, bool is_high) {
    if (nodes_[id].variable != variable) return id;
    return is_high ? nodes_[id].high : nodes_[id].low;
  };
  const Id high = if_then_else(branch(p, true), branch(a, true), branch(b, true));
  const Id low = if_then_else(branch(p, false), branch(a, false), branch(b, false));
  const Id result = node(variable, high, low);
  if (result != kFull) memo_.emplace(triple, result);
  return result;
}

}  // namespace plumb::domain::field
