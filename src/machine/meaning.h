// SPDX-License-Identifier: Apache-2.0
// How one instruction's meaning is written. A meaning is a specialisation `Meaning<Form::X>` whose `select` looks at
// the instruction once, when the program is decoded: it fills `op` with slots and returns the step function for exactly
// these types and modifiers, or says why it has none. A row of the form table with neither a meaning nor a line in
// exec/unmodelled.def does not compile.
//
//   exec/int_arith.h    PLUMB_MEANING(AddInt)
//   exec/int_arith.cpp  template <class D>
//                       StepFn<D> Meaning<Form::AddInt>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op)
//                       {
//                         ctx.three(instr, op);
//                         return instr.type() == ptx::Type::s32 ? &step_add<D, std::uint32_t> : ...;
//                       }
//                       PLUMB_INSTANTIATE_MEANING(AddInt)
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "domain/field/field.h"
#include "domain/ieee/ieee.h"
#include "machine/lanes.h"
#include "machine/warp.h"
#include "ptx/module.h"

namespace plumb::machine {

// Storage bytes a lane of a register of this type.
constexpr unsigned storage_width(ptx::Type type) {
  const unsigned size = ptx::byte_size(type);
  return size < 2 ? 2 : size;
}

// What `select` asks while one function is decoded: where operands live, and where it says what is not modelled.
class DecodeContext {
 public:
  virtual ~DecodeContext() = default;

  // A value read as `type`: a register, an immediate (converted to `type`, laid down for all lanes), a special register
  // or the address of a variable. A register keeps its own storage width, which only cvt, ld and st let differ from the
  // type's: they ask `width`.
  virtual Slot source(const ptx::Operand& operand, ptx::Type type) = 0;
  // A register that is written; `_` is a register that nobody reads.
  virtual Slot dest(const ptx::Operand& operand) = 0;
  virtual unsigned width(const ptx::Operand& operand) const = 0;  // storage bytes a lane; 0 when not a register
  // `[base+offset]`: the register of the base (a zero when there is none) and its width (4 or 8), and what is added to
  // it. A variable's address is the one in its own space; `to_generic` adds the window.
  struct Address {
    Slot base = 0;
    unsigned width = 8;
    std::uint64_t offset = 0;
  };
  virtual Address address(const ptx::Operand& operand, bool to_generic = false) = 0;
  virtual PredRef pred_source(const ptx::Operand& operand) = 0;    // `p`, `!p` or an immediate
  virtual PredSlot pred_dest(const ptx::Operand& operand) = 0;     // kNoPred for `_`
  virtual PredSlot carry() = 0;                                    // the thread's carry flag, CC.CF
  virtual std::uint32_t list(const std::vector<Slot>& slots) = 0;  // for Op::list
  // A register that the operation goes on to use after the instruction (wgmma): it shares its storage with no other,
  // and instructions that touch it are watched (Op::watch).
  virtual void hold(const ptx::Operand& operand) = 0;
  // Operations that control goes to.
  virtual std::uint32_t target(ptx::LabelId label) = 0;
  virtual std::uint32_t branch_table(ptx::LabelId targets) = 0;  // into Layout::branch_tables
  // Into Layout::calls; none: unmodelled, or a call through a register.
  virtual std::optional<std::uint32_t> call_site(const ptx::Instr& instr) = 0;
  virtual const ptx::Module& module() const = 0;
  virtual const ptx::Function& function() const = 0;
  // Why `select` returns null; shown when the instruction is reached.
  virtual void unmodelled(std::string reason) = 0;
  // A call through a register: into Layout::indirect_calls, and the register of the function's address with its bytes.
  virtual std::uint32_t indirect_call(const ptx::Instr& instr, Slot& address, unsigned& bytes) = 0;

  // The common shapes: d, a[, b[, c]] of one type, the instruction's first unless given.
  template <class D>
  void two(const ptx::Instr& instr, Op<D>& op, ptx::Type type = ptx::Type::none) {
    if (type == ptx::Type::none) type = instr.type();
    op.d = dest(instr.operands[0]);
    op.a = source(instr.operands[1], type);
  }
  template <class D>
  void three(const ptx::Instr& instr, Op<D>& op, ptx::Type type = ptx::Type::none) {
    if (type == ptx::Type::none) type = instr.type();
    two(instr, op, type);
    op.b = source(instr.operands[2], type);
  }
  template <class D>
  void four(const ptx::Instr& instr, Op<D>& op, ptx::Type type = ptx::Type::none) {
    if (type == ptx::Type::none) type = instr.type();
    three(instr, op, type);
    op.c = source(instr.operands[3], type);
  }
};

// The step, or the word that there is none for these types.
template <class D>
StepFn<D> known(DecodeContext& ctx, StepFn<D> step) {
  if (step == nullptr) ctx.unmodelled("this type of the instruction has no meaning in the machine");
  return step;
}

template <ptx::Form F>
struct Meaning;

#define PLUMB_MEANING(form)                                                          \
  template <>                                                                        \
  struct Meaning<ptx::Form::form> {                                                  \
    template <class D>                                                               \
    static StepFn<D> select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op); \
  };

#define PLUMB_INSTANTIATE_MEANING(form)                                                              \
  template StepFn<domain::Ieee> Meaning<ptx::Form::form>::select(DecodeContext&, const ptx::Instr&,  \
                                                                 Op<domain::Ieee>&);                 \
  template StepFn<domain::Field> Meaning<ptx::Form::form>::select(DecodeContext&, const ptx::Instr&, \
                                                                  Op<domain::Field>&);

}  // namespace plumb::machine
