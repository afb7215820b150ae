// SPDX-License-Identifier: Apache-2.0
// plumb's own device code, as PTX for every card from sm_80 on.
#pragma once

namespace plumb::gpu {

// plumb_scrub(pattern, bytes): fills that much dynamic shared memory of its CTA.
// plumb_sweep(address, count): adds one to each of `count` 16-byte words, over the whole grid.
// plumb_nothing(): returns.
inline constexpr const char* kOwnKernels = R"(.version 7.1
.target sm_80
.address_size 64

.extern .shared .align 16 .b8 memory[];

.visible .entry plumb_scrub(.param .u32 pattern, .param .u32 bytes)
{
  .reg .pred %p;
  .reg .b32 %value, %end, %at, %step, %base, %to;
  ld.param.u32 %value, [pattern];
  ld.param.u32 %end, [bytes];
  mov.u32 %at, %tid.x;
  shl.b32 %at, %at, 2;
  mov.u32 %step, %ntid.x;
  shl.b32 %step, %step, 2;
  mov.u32 %base, memory;
NEXT:
  setp.ge.u32 %p, %at, %end;
  @%p bra DONE;
  add.u32 %to, %base, %at;
  st.volatile.shared.u32 [%to], %value;
  add.u32 %at, %at, %step;
  bra NEXT;
DONE:
  ret;
}

.visible .entry plumb_sweep(.param .u64 address, .param .u64 count)
{
  .reg .pred %p;
  .reg .b32 %cta, %size, %thread, %grid, %a, %b, %c, %d;
  .reg .b64 %at, %end, %step, %base, %offset, %to, %wide;
  ld.param.u64 %base, [address];
  ld.param.u64 %end, [count];
  mov.u32 %cta, %ctaid.x;
  mov.u32 %size, %ntid.x;
  mov.u32 %thread, %tid.x;
  mov.u32 %grid, %nctaid.x;
  mul.wide.u32 %at, %cta, %size;
  cvt.u64.u32 %wide, %thread;
  add.u64 %at, %at, %wide;
  mul.wide.u32 %step, %grid, %size;
NEXT:
  setp.ge.u64 %p, %at, %end;
  @%p bra DONE;
  shl.b64 %offset, %at, 4;
  add.u64 %to, %base, %offset;
  ld.global.v4.u32 {%a, %b, %c, %d}, [%to];
  add.u32 %a, %a, 1;
  add.u32 %b, %b, 1;
  add.u32 %c, %c, 1;
  add.u32 %d, %d, 1;
  st.global.v4.u32 [%to], {%a, %b, %c, %d};
  add.u64 %at, %at, %step;
  bra NEXT;
DONE:
  ret;
}

.visible .entry plumb_nothing()
{
  ret;
}
)";

}  // namespace plumb::gpu
