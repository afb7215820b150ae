// SPDX-License-Identifier: Apache-2.0
// What a name holds while a program is evaluated: compile-time Python values, blocks over a domain, tensor descriptors.
// Values are immutable once made and shared; nothing is locked, since a program is one worker's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "domain/word.h"
#include "triton/frontend/tree.h"
#include "triton/type.h"

namespace plumb::triton {

// A vector whose `resize` leaves numbers as they are: every element of a block is written by the operation that makes
// it.
template <class T>
struct Uninitialised : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = Uninitialised<U>;
  };
  template <class U>
  void construct(U* at) {
    ::new (static_cast<void*>(at)) U;
  }
  template <class U, class... Arguments>
  void construct(U* at, Arguments&&... arguments) {
    ::new (static_cast<void*>(at)) U(std::forward<Arguments>(arguments)...);
  }
};
template <class T>
using Elements = std::vector<T, Uninitialised<T>>;

// A block or (rank 0) a run-time scalar. Exactly one of the four element vectors is filled, row-major:
//   ints:  integers as `wrap` keeps them, int1 as 0 or 1, pointers as addresses
//   reals: floats of the type's format
//   conditions: int1 that depends on abstract data
//   words: other integers that do
// `undefined` marks elements that Triton leaves unspecified; it is empty when there are none.
template <class D>
struct Block {
  struct Condition {
    typename D::Bool value;
  };
  Type type;
  Shape shape;
  Elements<std::int64_t> ints;
  Elements<typename D::Real> reals;
  std::vector<Condition> conditions;
  std::vector<domain::Word> words;
  std::vector<std::uint8_t> undefined;

  std::size_t size() const { return shape.size(); }
  bool is_pointer() const { return type.is_pointer; }
  bool is_real() const { return !type.is_pointer && is_float(type.element); }
  bool is_integer() const { return !type.is_pointer && !is_float(type.element); }
  bool is_word() const { return !words.empty(); }
  bool is_abstract() const { return !conditions.empty() || is_word(); }
};
template <class D>
using BlockPtr = std::shared_ptr<const Block<D>>;  // shared: values are copied between names, blocks are large

struct Descriptor {
  Type element;  // of the memory
  std::uint64_t base = 0;
  std::vector<std::int64_t> shape, strides;  // elements
  Shape block;
  bool pads_with_nan = false;
};

// tl.make_block_ptr: a block of a tensor, by value. Shape, strides and offsets are in elements.
struct BlockPointer {
  Type element;  // of the memory
  std::uint64_t base = 0;
  std::vector<std::int64_t> shape, strides, offsets;
  Shape block;
};

struct TypeValue {
  Type type;
  bool is_block = false;  // `x.type` of a block: `.element_ty` and `.scalar` give the type of its elements
  Shape shape;            // of a block
  friend bool operator==(const TypeValue&, const TypeValue&) = default;
};

struct Unset {};

template <class D>
struct Value;
template <class D>
using TuplePtr = std::shared_ptr<const std::vector<Value<D>>>;

template <class D>
struct Value {
  std::variant<Unset, None, bool, Int128, double, std::string, TypeValue, const Function*, Op, node::EnumName,
               TuplePtr<D>, BlockPtr<D>, std::shared_ptr<const Descriptor>, std::shared_ptr<const BlockPointer>>
      data;

  Value() = default;
  template <class T>
  requires(!std::is_same_v<std::remove_cvref_t<T>, Value>) Value(T&& value)
      : data(std::forward<T>(value)) {}  // implicit: a value is any of these

  template <class T>
  const T* get() const {
    return std::get_if<T>(&data);
  }
  bool is_unset() const { return std::holds_alternative<Unset>(data); }
  bool is_none() const { return std::holds_alternative<None>(data); }
  bool is_number() const {
    return std::holds_alternative<bool>(data) || std::holds_alternative<Int128>(data) ||
           std::holds_alternative<double>(data);
  }
  const Block<D>* block() const {
    const auto* pointer = std::get_if<BlockPtr<D>>(&data);
    return pointer != nullptr ? pointer->get() : nullptr;
  }
  const std::vector<Value>* tuple() const {
    const auto* pointer = std::get_if<TuplePtr<D>>(&data);
    return pointer != nullptr ? pointer->get() : nullptr;
  }
};

}  // namespace plumb::triton
