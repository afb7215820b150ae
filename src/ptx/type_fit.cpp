// SPDX-License-Identifier: Apache-2.0
#include "ptx/type_fit.h"

namespace plumb::ptx {

Class class_of(Type type) {
  switch (type) {
    case Type::b8:
    case Type::b16:
    case Type::b32:
    case Type::b64:
    case Type::b128:
      return Class::Bits;
    case Type::u8:
    case Type::u16:
    case Type::u32:
    case Type::u64:
    case Type::s8:
    case Type::s16:
    case Type::s32:
    case Type::s64:
      return Class::Int;
    case Type::f16:
    case Type::f32:
    case Type::f64:
      return Class::Real;
    case Type::pred:
      return Class::Pred;
    default:
      return Class::Packed;
  }
}

bool goes_with(Type reg, Type type, bool allows_wider) {
  if (reg == Type::f16x2) {
    if (class_of(type) == Class::Real || type == Type::bf16x2) return false;
    reg = Type::b32;
  }
  const Class own = class_of(reg), wanted = class_of(type);
  if (own == Class::Pred || wanted == Class::Pred) return own == wanted;
  const unsigned size = byte_size(type), reg_size = byte_size(reg);
  if (reg_size != size && !(reg_size > size && allows_wider)) return false;
  switch (wanted) {
    case Class::Bits:
      return true;
    case Class::Int:
      return own == Class::Int || own == Class::Bits;
    case Class::Real:
      return reg == type || own == Class::Bits;
    default:
      return own == Class::Bits;
  }
}

}  // namespace plumb::ptx
