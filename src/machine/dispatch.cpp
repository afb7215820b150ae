// SPDX-License-Identifier: Apache-2.0
#include "machine/dispatch.h"

#include <array>

#include "machine/exec/async_copy.h"
#include "machine/exec/atomic.h"
#include "machine/exec/bulk_copy.h"
#include "machine/exec/cluster.h"
#include "machine/exec/compare.h"
#include "machine/exec/control.h"
#include "machine/exec/convert.h"
#include "machine/exec/exchange.h"
#include "machine/exec/float_arith.h"
#include "machine/exec/half_arith.h"
#include "machine/exec/int_arith.h"
#include "machine/exec/int_bits.h"
#include "machine/exec/int_carry.h"
#include "machine/exec/logic.h"
#include "machine/exec/matrix.h"
#include "machine/exec/matrix_move.h"
#include "machine/exec/matrix_scaled.h"
#include "machine/exec/matrix_sparse.h"
#include "machine/exec/mbarrier.h"
#include "machine/exec/memory.h"
#include "machine/exec/move.h"
#include "machine/exec/stack.h"
#include "machine/exec/sync.h"
#include "machine/exec/tcgen05_alloc.h"
#include "machine/exec/tcgen05_copy.h"
#include "machine/exec/tcgen05_memory.h"
#include "machine/exec/tcgen05_mma.h"
#include "machine/exec/tcgen05_shift.h"
#include "machine/exec/tcgen05_sync.h"
#include "machine/exec/tensor_copy.h"
#include "machine/exec/tensormap_replace.h"
#include "machine/exec/video.h"
#include "machine/exec/wgmma.h"
#include "machine/exec/wmma.h"

namespace plumb::machine {

#define PLUMB_UNMODELLED(form, reason)                                       \
  template <>                                                                \
  struct Meaning<ptx::Form::form> {                                          \
    template <class D>                                                       \
    static StepFn<D> select(DecodeContext& ctx, const ptx::Instr&, Op<D>&) { \
      ctx.unmodelled(reason);                                                \
      return nullptr;                                                        \
    }                                                                        \
  };
#include "machine/exec/unmodelled.def"
#undef PLUMB_UNMODELLED

template <class D>
StepFn<D> select_step(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  using Select = StepFn<D> (*)(DecodeContext&, const ptx::Instr&, Op<D>&);
  static constexpr Select kSelect[] = {
#define PLUMB_FORM(name, ...) &Meaning<ptx::Form::name>::template select<D>,
#include "ptx/isa/forms.def"
#undef PLUMB_FORM
  };
  return kSelect[static_cast<std::size_t>(instr.form)](ctx, instr, op);
}

template StepFn<domain::Ieee> select_step(DecodeContext&, const ptx::Instr&, Op<domain::Ieee>&);
template StepFn<domain::Field> select_step(DecodeContext&, const ptx::Instr&, Op<domain::Field>&);

std::string_view unmodelled_reason(ptx::Form form) {
  switch (form) {
#define PLUMB_UNMODELLED(name, reason) \
  case ptx::Form::name:                \
    return reason;
#include "machine/exec/unmodelled.def"
#undef PLUMB_UNMODELLED
    default:
      return {};
  }
}

}  // namespace plumb::machine
