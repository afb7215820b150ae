// SPDX-License-Identifier: Apache-2.0
// Included at the end of a chapter, inside the namespace, with PLUMB_TRITON_CHAPTER defined: instantiates the chapter's
// meanings for every domain. No include guard: each chapter includes it once.
#define PLUMB_TRITON_OP(id, names, parameters)                                            \
  template Value<domain::Ieee> op_##id(Context<domain::Ieee>&, Arguments<domain::Ieee>&); \
  template Value<domain::Field> op_##id(Context<domain::Field>&, Arguments<domain::Field>&);
#include "triton/ops.def"
#undef PLUMB_TRITON_OP
