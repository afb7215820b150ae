// SPDX-License-Identifier: Apache-2.0
#include "random_program.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace plumb::random_program {

namespace {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 0x1234567) {}
  std::uint64_t next() {  // splitmix64
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  unsigned below(unsigned n) { return static_cast<unsigned>(next() >> 32) % n; }
  bool chance(unsigned percent) { return below(100) < percent; }

 private:
  std::uint64_t state_;
};

// How many registers of a program hold values from statement to statement.
constexpr unsigned kWords = 12, kLongs = 5, kHalves = 6, kPreds = 5;
constexpr unsigned kLocalWords = 16, kSharedBytes = 4096;

// Templates of statements. `[a|b]` is one of the words; `$` and a letter is an operand:
//   R X H P   a register of 32, 64, 16 bits, a predicate, that is written
//   r x h p   one that is read (r: now and then a constant, which w is not)
//   D d       f64: NaNs get one payload, as PTX leaves open whose goes on
//   f e g     f32, f16 (in 16 bits), f16x2 or bf16x2: as it comes, or brought near 1
//   n N q     a divisor: not zero; of 32, 64, 16 bits
//   y s       0..255; a shift amount, now and then more than the width
//   i k c     a constant of 32 bits; of 8 bits; of 5 bits
// %t0.., %u0.., %v0.., %q0.. are free for use within a statement (32, 64, 16 bits, predicates).
constexpr std::string_view kCompareInt = "[eq|ne|lt|le|gt|ge]";

constexpr std::string_view kInteger[] = {
    "[add|sub|mul.lo|mul.hi|min|max].[u32|s32] $R, $r, $r;",
    "[add|sub].sat.s32 $R, $r, $r;",
    "mad.[lo|hi].[u32|s32] $R, $r, $r, $r;",
    "mad.hi.sat.s32 $R, $r, $r, $r;",
    "[add|sub|mul.lo|mul.hi|min|max].[u64|s64] $X, $x, $x;",
    "mad.[lo|hi].[u64|s64] $X, $x, $x, $x;",
    "[add|sub|mul.lo|mul.hi|min|max].[u16|s16] $H, $h, $h;",
    "mad.[lo|hi].[u16|s16] $H, $h, $h, $h;",
    "mul.wide.[u32|s32] $X, $r, $r;",
    "mad.wide.[u32|s32] $X, $r, $r, $x;",
    "mul.wide.[u16|s16] $R, $h, $h;",
    "mad.wide.[u16|s16] $R, $h, $h, $r;",
    "[mul24.lo|mul24.hi].[u32|s32] $R, $r, $r;",
    "[mad24.lo|mad24.hi].[u32|s32] $R, $r, $r, $r;",
    "sad.[u32|s32] $R, $r, $r, $r;",
    "sad.[u64|s64] $X, $x, $x, $x;",
    "sad.[u16|s16] $H, $h, $h, $h;",
    "[div|rem].[u32|s32] $R, $r, $n;",
    "[div|rem].[u64|s64] $X, $x, $N;",
    "[div|rem].[u16|s16] $H, $h, $q;",
    "[abs|neg].s32 $R, $r;",
    "[abs|neg].s64 $X, $x;",
    "[abs|neg].s16 $H, $h;",
    "[popc|clz].b32 $R, $r;",
    "[popc|clz].b64 $R, $x;",
    "brev.b32 $R, $r;",
    "brev.b64 $X, $x;",
    "bfind[|.shiftamt].[u32|s32] $R, $r;",
    "bfind[|.shiftamt].[u64|s64] $R, $x;",
    "bfe.[u32|s32] $R, $r, $y, $y;",
    "bfe.[u64|s64] $X, $x, $y, $y;",
    "bfe.[u32|s32] $R, $r, $c, $c;",
    "bfi.b32 $R, $r, $r, $y, $y;",
    "bfi.b64 $X, $x, $x, $y, $y;",
    "bfi.b32 $R, $r, $r, $c, $c;",
    "szext.[clamp|wrap].[u32|s32] $R, $r, $s;",
    "bmsk.[clamp|wrap].b32 $R, $s, $s;",
    "fns.b32 $R, $r, $c, [1|2|3|-1|-2|0];",
    "dp4a.[u32|s32].[u32|s32] $R, $r, $r, $r;",
    "dp2a.[lo|hi].[u32|s32].[u32|s32] $R, $r, $r, $r;",
    "add.cc.u32 $R, $r, $r; addc.cc.u32 %t0, $r, $r; addc.u32 $R, %t0, $r;",
    "sub.cc.u32 $R, $r, $r; subc.cc.u32 %t0, $r, $r; subc.u32 $R, %t0, $r;",
    "mad.lo.cc.u32 %t0, $r, $r, $r; madc.hi.u32 $R, $r, $r, %t0;",
    "add.cc.u64 $X, $x, $x; addc.u64 $X, $x, $x;",
    "[add|min|max].[u16x2|s16x2] $R, $w, $w;",
    "[min|max].relu.[s32|s16x2] $R, $w, $w;",
};

constexpr std::string_view kBits[] = {
    "[and|or|xor].b32 $R, $r, $r;",
    "[and|or|xor].b64 $X, $x, $x;",
    "[and|or|xor].b16 $H, $h, $h;",
    "[not|cnot].b32 $R, $r;",
    "[not|cnot].b64 $X, $x;",
    "[not|cnot].b16 $H, $h;",
    "[and|or|xor].pred $P, $p, $p;",
    "not.pred $P, $p;",
    "lop3.b32 $R, $r, $r, $r, $k;",
    "lop3.[or|and].b32 $R|$P, $r, $r, $r, $k, $p;",
    "shf.[l|r].[clamp|wrap].b32 $R, $r, $r, $s;",
    "[shl.b32|shr.u32|shr.s32] $R, $r, $s;",
    "[shl.b64|shr.u64|shr.s64] $X, $x, $s;",
    "[shl.b16|shr.u16|shr.s16] $H, $h, $s;",
    "prmt.b32 $R, $r, $r, $r;",
    "prmt.b32.[f4e|b4e|rc8|ecl|ecr|rc16] $R, $r, $r, $r;",
    "mov.b32 $R, {$h, $h};",
    "mov.b32 {$H, %v0}, $r; mov.b32 {%v1, $H}, $r;",
    "mov.b64 $X, {$r, $r};",
    "mov.b64 {$R, %t0}, $x; mov.b64 {%t1, $R}, $x;",
    "mov.b64 $X, {$h, $h, $h, $h};",
    "mov.b32 $R, $r;",
    "mov.b16 $H, $h;",
    "mov.b64 $X, $x;",
};

constexpr std::string_view kFloat[] = {
    "[add|sub|mul].[rn|rz|rm|rp][|.ftz][|.sat].f32 $R, $f, $f;",
    "[add|sub|mul].[rn|rz|rm|rp][|.ftz].f32 $R, $f, $f;",
    "fma.[rn|rz|rm|rp][|.ftz][|.sat].f32 $R, $f, $f, $f;",
    "fma.[rn|rz|rm|rp][|.ftz].f32 $R, $f, $f, $f;",
    "fma.rn.f32 %t0, $f, $f, $f; fma.rn.f32 %t0, %t0, $f, $f; fma.rn.f32 $R, %t0, %t0, $f;",
    "div.[rn|rz|rm|rp][|.ftz].f32 $R, $f, $f;",
    "rcp.[rn|rz|rm|rp][|.ftz].f32 $R, $f;",
    "sqrt.[rn|rz|rm|rp][|.ftz].f32 $R, $f;",
    "[min|max][|.ftz][|.NaN][|.xorsign.abs].f32 $R, $f, $f;",
    "[abs|neg][|.ftz].f32 $R, $f;",
    "copysign.f32 $R, $f, $f;",
    "testp.[finite|infinite|number|notanumber|normal|subnormal].f32 $P, $f;",
    "[add|sub|mul].[rn|rz|rm|rp].f64 $D, $d, $d;",
    "fma.[rn|rz|rm|rp].f64 $D, $d, $d, $d;",
    "div.[rn|rz|rm|rp].f64 $D, $d, $d;",
    "[rcp|sqrt].[rn|rz|rm|rp].f64 $D, $d;",
    "[min|max].f64 $D, $d, $d;",
    "copysign.f64 $D, $d, $d;",
    "testp.[finite|infinite|number|notanumber|normal|subnormal].f64 $P, $d;",
    "[add|sub|mul].rn[|.ftz][|.sat].f16 $H, $e, $e;",
    "[add|sub|mul].rn[|.ftz][|.sat].f16x2 $R, $g, $g;",
    "[add|sub|mul].rn.[bf16x2] $R, $g, $g;",
    "[add|sub|mul].rn.bf16 $H, $e, $e;",
    "fma.rn[|.ftz][|.sat].f16 $H, $e, $e, $e;",
    "fma.rn[|.ftz][|.sat].f16x2 $R, $g, $g, $g;",
    "fma.rn[|.ftz].relu.[f16x2] $R, $g, $g, $g;",
    "fma.rn[|.relu].bf16x2 $R, $g, $g, $g;",
    "fma.rn[|.relu].bf16 $H, $e, $e, $e;",
    "[min|max][|.ftz][|.NaN][|.xorsign.abs].f16 $H, $e, $e;",
    "[min|max][|.ftz][|.NaN][|.xorsign.abs].f16x2 $R, $g, $g;",
    "[min|max][|.NaN][|.xorsign.abs].bf16 $H, $e, $e;",
    "[min|max][|.NaN][|.xorsign.abs].bf16x2 $R, $g, $g;",
};

constexpr std::string_view kConvert[] = {
    "cvt.[u32|s32].[u16|s16|u8|s8] $R, $h;",
    "cvt.[u64|s64].[u16|s16|u8|s8] $X, $h;",
    "cvt.[u64|s64].[u32|s32] $X, $r;",
    "cvt[|.sat].[u32|s32].[u64|s64] $R, $x;",
    "cvt[|.sat].[u16|s16|u8|s8].[u32|s32] $H, $r;",
    "cvt[|.sat].[u16|s16|u8|s8].[u64|s64] $H, $x;",
    "cvt.sat.[u32.s32|s32.u32] $R, $r;",
    "cvt.[rn|rz|rm|rp].f32.[u32|s32] $R, $r;",
    "cvt.[rn|rz|rm|rp].f32.[u64|s64] $R, $x;",
    "cvt.[rn|rz|rm|rp].f32.[u16|s16|u8|s8] $R, $h;",
    "cvt.[rn|rz|rm|rp].f64.[u32|s32] $D, $r;",
    "cvt.[rn|rz|rm|rp].f64.[u64|s64] $D, $x;",
    "cvt.[rn|rz|rm|rp].f16.[u32|s32] $H, $r;",
    "cvt.[rn|rz|rm|rp].f16.[u64|s64] $H, $x;",
    "cvt.[rn|rz|rm|rp].f16.[u16|s16|u8|s8] $H, $h;",
    "cvt.[rni|rzi|rmi|rpi][|.ftz][|.sat].[u32|s32].f32 $R, $f;",
    "cvt.[rni|rzi|rmi|rpi][|.ftz][|.sat].[u16|s16|u8|s8].f32 $H, $f;",
    "cvt.[rni|rzi|rmi|rpi][|.ftz].[u64|s64].f32 $X, $f;",
    "cvt.[rni|rzi|rmi|rpi].[u32|s32].f64 $R, $d;",
    "cvt.[rni|rzi|rmi|rpi].[u64|s64].f64 $X, $d;",
    "cvt.[rni|rzi|rmi|rpi].[u32|s32].f16 $R, $e;",
    "cvt.[rni|rzi|rmi|rpi].[u16|s16].f16 $H, $e;",
    "cvt.[rni|rzi|rmi|rpi][|.ftz].f32.f32 $R, $f;",
    "cvt.[rni|rzi|rmi|rpi].f64.f64 $D, $d;",
    "cvt[|.ftz].f64.f32 $D, $f;",
    "cvt.[rn|rz|rm|rp][|.ftz].f32.f64 $R, $d;",
    "cvt.[rn|rz|rm|rp].f16.f64 $H, $d;",
    "cvt.f64.f16 $D, $e;",
    "cvt[|.ftz].f32.f16 $R, $e;",
    "cvt.f32.bf16 $R, $e;",
    "cvt.[rn|rz|rm|rp][|.ftz].f16.f32 $H, $f;",
    "cvt.[rn|rz][|.relu].f16.f32 $H, $f;",
    "cvt.[rn|rz][|.relu].bf16.f32 $H, $f;",
    "cvt.[rn|rz][|.relu].f16x2.f32 $R, $f, $f;",
    "cvt.[rn|rz][|.relu].bf16x2.f32 $R, $f, $f;",
    "cvt.rna.tf32.f32 $R, $f;",
    "cvt.rn.satfinite[|.relu].[e4m3x2|e5m2x2].f32 $H, $f, $f;",
    "cvt.rn.satfinite[|.relu].[e4m3x2|e5m2x2].f16x2 $H, $g;",
    "cvt.rn[|.relu].f16x2.[e4m3x2|e5m2x2] $R, $h;",
    "cvt.pack.sat.[u16|s16].s32 $R, $r, $r;",
    "cvt.pack.sat.[u8|s8].s32.b32 $R, $r, $r, $r;",
};

constexpr std::string_view kCompare[] = {
    "setp.[eq|ne|lt|le|gt|ge].[u32|s32] $P, $r, $r;",
    "setp.[eq|ne|lt|le|gt|ge].[and|or|xor].[u32|s32] $P, $r, $r, $p;",
    "setp.[lo|ls|hi|hs].u32 $P, $r, $r;",
    "setp.[eq|ne|lt|le|gt|ge].[u64|s64] $P, $x, $x;",
    "setp.[eq|ne|lt|le|gt|ge].[u16|s16] $P, $h, $h;",
    "setp.[eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan][|.ftz].f32 $P, $f, $f;",
    "setp.[lt|geu|num|neu|le].[and|or|xor][|.ftz].f32 $P|%q0, $f, $f, $p;",
    "setp.[eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan].f64 $P, $d, $d;",
    "setp.[eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan].[f16|bf16] $P, $e, $e;",
    "setp.[eq|ne|lt|leu|gt|geu|num|nan].f16x2 $P|%q0, $g, $g;",
    "set.[eq|ne|lt|le|gt|ge].[u32|s32|f32].[u32|s32] $R, $r, $r;",
    "set.[eq|neu|lt|leu|gtu|ge|num|nan][|.ftz].[u32|s32|f32].f32 $R, $f, $f;",
    "set.[eq|neu|lt|leu|gtu|ge|num|nan].[u32|s32|f32].f64 $R, $d, $d;",
    "set.[eq|neu|lt|leu|gtu|ge].f16x2.f16x2 $R, $g, $g;",
    "selp.b32 $R, $r, $r, $p;",
    "selp.b64 $X, $x, $x, $p;",
    "selp.b16 $H, $h, $h, $p;",
    "slct.b32.s32 $R, $r, $r, $r;",
    "slct.b64.s32 $X, $x, $x, $r;",
    "slct[|.ftz].b32.f32 $R, $r, $r, $f;",
};

// Memory of the thread's own, and constant memory `in`. %in, %scratch and %loc are bases.
constexpr std::string_view kMemory[] = {
    "and.b32 %t0, $r, 4095; mad.wide.u32 %u0, %t0, 4, %in; ld.global[|.nc].b32 $R, [%u0];",
    "and.b32 %t0, $r, 4092; mad.wide.u32 %u0, %t0, 4, %in; ld.global.v4.b32 {%t0, $R, %t1, $R}, [%u0];",
    "and.b32 %t0, $r, 4094; mad.wide.u32 %u0, %t0, 4, %in; ld.global[|.nc].b64 $X, [%u0];",
    "and.b32 %t0, $r, 4094; mad.wide.u32 %u0, %t0, 4, %in; ld.v2.b32 {$R, %t0}, [%u0];",
    "and.b32 %t0, $r, 16383; cvt.u64.u32 %u0, %t0; add.u64 %u0, %u0, %in; ld.global.[u8|s8] $R, [%u0];",
    "and.b32 %t0, $r, 16382; cvt.u64.u32 %u0, %t0; add.u64 %u0, %u0, %in; ld.global.[u16|s16] $R, [%u0];",
    "and.b32 %t0, $r, 16382; cvt.u64.u32 %u0, %t0; add.u64 %u0, %u0, %in; ld.global.b16 $H, [%u0];",
    "and.b32 %t0, $r, 60; add.u32 %t0, %t0, %loc; st.local.b32 [%t0], $r;",
    "and.b32 %t0, $r, 56; add.u32 %t0, %t0, %loc; st.local.b64 [%t0], $x;",
    "and.b32 %t0, $r, 62; add.u32 %t0, %t0, %loc; st.local.b16 [%t0], $h;",
    "and.b32 %t0, $r, 63; add.u32 %t0, %t0, %loc; st.local.u8 [%t0], $r;",
    "and.b32 %t0, $r, 48; add.u32 %t0, %t0, %loc; st.local.v4.b32 [%t0], {$r, $r, $r, $r};",
    "and.b32 %t0, $r, 60; add.u32 %t0, %t0, %loc; ld.local.b32 $R, [%t0];",
    "and.b32 %t0, $r, 56; add.u32 %t0, %t0, %loc; ld.local.b64 $X, [%t0];",
    "and.b32 %t0, $r, 63; add.u32 %t0, %t0, %loc; ld.local.[u8|s8] $R, [%t0];",
    "and.b32 %t0, $r, 62; add.u32 %t0, %t0, %loc; ld.local.[u16|s16] $X, [%t0];",
    "and.b32 %t0, $r, 60; add.u32 %t0, %t0, %loc; cvt.u64.u32 %u0, %t0; cvta.local.u64 %u0, %u0; ld.b32 $R, [%u0];",
    "atom.global.[exch|and|or|xor].[b32] $R, [%scratch], $r;",
    "atom.global.[add|min|max].[u32|s32] $R, [%scratch], $r;",
    "atom.global.[inc|dec].u32 $R, [%scratch], $r;",
    "atom.global.cas.b32 $R, [%scratch], $r, $r;",
    "atom.global.[add.u64|min.s64|max.u64|exch.b64|xor.b64] $X, [%scratch+8], $x;",
    "red.global.[add.u32|or.b32|max.s32] [%scratch+4], $r;",
};

// For all threads of a block together. %tile is a base, %own the thread's number, %m0 its warp's lanes, %n their count.
constexpr std::string_view kBlock[] = {
    "shl.b32 %t0, %own, 2; add.u32 %t0, %t0, %tile; st.shared.b32 [%t0], $r; bar.sync 0; "
    "rem.u32 %t1, $r, %size; shl.b32 %t1, %t1, 2; add.u32 %t1, %t1, %tile; ld.shared.b32 $R, [%t1]; bar.sync 0;",
    "shl.b32 %t0, %own, 3; add.u32 %t0, %t0, %tile; st.shared.b64 [%t0], $x; bar.sync 0; "
    "rem.u32 %t1, $r, %size; shl.b32 %t1, %t1, 3; add.u32 %t1, %t1, %tile; ld.shared.b64 $X, [%t1]; bar.sync 0;",
    "shl.b32 %t0, %own, 4; add.u32 %t0, %t0, %tile; st.shared.v4.b32 [%t0], {$r, $r, $r, $r}; bar.sync 0; "
    "rem.u32 %t1, $r, %size; shl.b32 %t1, %t1, 4; add.u32 %t1, %t1, %tile; ld.shared.v2.b32 {$R, %t0}, [%t1+8]; "
    "bar.sync 0;",
    "shl.b32 %t0, %own, 1; add.u32 %t0, %t0, %tile; st.shared.b16 [%t0], $h; bar.sync 0; "
    "rem.u32 %t1, $r, %size; shl.b32 %t1, %t1, 1; add.u32 %t1, %t1, %tile; cvt.u64.u32 %u0, %t1; "
    "cvta.shared.u64 %u0, %u0; ld.[u8|s8|u16|s16] $R, [%u0]; bar.sync 0;",
    "shl.b32 %t0, %own, 2; add.u32 %t0, %t0, %tile; mov.b32 %t1, $r; st.shared.b32 [%t0], %t1; bar.sync 0; "
    "and.b32 %t2, $r, 7; shl.b32 %t2, %t2, 2; add.u32 %t2, %t2, %tile; "
    "[red.shared.add.u32|red.shared.min.s32|red.shared.max.u32|red.shared.xor.b32|red.shared.and.b32|red.shared.or.b32]"
    " "
    "[%t2], $r; bar.sync 0; ld.shared.b32 $R, [%t0]; bar.sync 0;",
    "bar.red.popc.u32 $R, 0, $p;",
    "bar.red.[and|or].pred $P, 0, $p;",
};

// For the lanes of %m together.
constexpr std::string_view kWarp[] = {
    "vote.sync.[all|any|uni].pred $P, $p, %m;",
    "vote.sync.ballot.b32 $R, $p, %m;",
    "match.any.sync.b32 $R, $r, %m;",
    "and.b32 %t0, $r, 3; match.any.sync.b32 $R, %t0, %m;",
    "match.all.sync.b32 $R|$P, $r, %m;",
    "redux.sync.[add|min|max].[u32|s32] $R, $r, %m;",
    "redux.sync.[and|or|xor].b32 $R, $r, %m;",
    "bar.warp.sync %m;",
    // From the highest lane of the mask.
    "bfind.u32 %t0, %m; shfl.sync.idx.b32 $R, $r, %t0, 31, %m;",
};

// For whole warps: every source lane takes part.
constexpr std::string_view kShuffle[] = {
    "shfl.sync.[up].b32 $R, $r, $c, [0|0x1000|0x1800|0x1c00], %m0;",
    "shfl.sync.[down|bfly|idx].b32 $R|$P, $r, $c, [31|0x101f|0x181f|0x1c1f], %m0;",
    "and.b32 %t0, $r, 31; shfl.sync.[idx|bfly|down].b32 $R|$P, $r, %t0, 31, %m0;",
    "and.b32 %t0, $r, 31; shfl.sync.up.b32 $R|$P, $r, %t0, 0, %m0;",
};

constexpr unsigned kMaxDepth = 3;

class Writer {
 public:
  explicit Writer(std::uint64_t seed) : random_(seed), seed_(seed) {}

  Program write() {
    static constexpr unsigned kThreads[] = {32, 64, 96, 64, 48, 40};
    Program program;
    program.entry = "k" + std::to_string(seed_);
    program.threads = kThreads[random_.below(6)];
    is_whole_ = program.threads % 32 == 0;
    const unsigned functions = random_.below(4);
    std::string before;
    for (unsigned i = 0; i < functions; ++i) before += function(i);
    callees_ = functions;
    prologue();
    const unsigned statements = 12 + random_.below(28);
    for (unsigned i = 0; i < statements; ++i) statement(0);
    epilogue();
    program.text = before + ".visible .entry " + program.entry + "(.param .u64 in, .param .u64 out) .reqntid " +
                   std::to_string(program.threads) + ", 1, 1 {\n" + registers() +
                   ".local .align 16 .b8 local[64];\n.shared .align 16 .b8 shared[" + std::to_string(kSharedBytes) +
                   "];\n" + out_ + "}\n";
    return program;
  }

 private:
  static std::string registers() {
    return ".reg .b32 %r<12>, %t<8>, %m<6>, %m, %n, %own, %size, %loc, %tile, %cnt<4>;\n.reg .b64 %x<5>, %u<8>, %in, "
           "%scratch, "
           "%out;\n.reg .b16 %h<6>, %v<4>;\n.reg .pred %p<5>, %q<8>;\n";
  }
  void line(const std::string& text) { out_ += text + "\n"; }
  template <std::size_t N>
  std::string_view pick(const std::string_view (&rows)[N]) {
    return rows[random_.below(N)];
  }
  std::string reg(char kind, unsigned count) { return std::string("%") + kind + std::to_string(random_.below(count)); }
  std::string hex(std::uint64_t value) {
    std::string out = "0x";
    for (int shift = 60; shift >= 0; shift -= 4) {
      const unsigned digit = value >> shift & 15;
      if (digit != 0 || out.size() > 2 || shift == 0) out += "0123456789abcdef"[digit];
    }
    return out;
  }
  std::string constant() {
    static constexpr std::uint32_t kSpecial[] = {0,          1,          2,          31,         32,         255,
                                                 0x7fffffff, 0x80000000, 0xffffffff, 0x3f800000, 0x7f800000, 0x00800000,
                                                 0x33800000, 0x3c003c00, 0xffff,     0xc0490fdb};
    return random_.chance(60) ? hex(kSpecial[random_.below(16)]) : hex(random_.next() >> 32);
  }

  // The operand that a letter stands for; what it needs before and after the statement goes there.
  std::string operand(char letter, std::string& before, std::string& after) {
    const auto temporary = [&](char kind) { return std::string("%") + kind + std::to_string(4 + temporaries_++ % 4); };
    switch (letter) {
      case 'R':
      case 'r':
      case 'w':
        return letter == 'r' && random_.chance(8) ? constant() : reg('r', kWords);
      case 'X':
      case 'x':
        return reg('x', kLongs);
      case 'H':
      case 'h':
        return reg('h', kHalves);
      case 'P':
      case 'p':
        return reg('p', kPreds);
      case 'D': {
        const std::string to = reg('x', kLongs);
        after +=
            "setp.nan.f64 %q7, " + to + ", " + to + "; selp.b64 " + to + ", 0x7ff8000000000000, " + to + ", %q7;\n";
        return to;
      }
      case 'd': {
        const std::string from = reg('x', kLongs), to = temporary('u');
        if (random_.chance(60)) {  // an exponent near that of 1
          before += "and.b64 " + to + ", " + from + ", 0x83ffffffffffffff; or.b64 " + to + ", " + to +
                    ", 0x3c00000000000000;\n";
        } else {
          before += "setp.nan.f64 %q7, " + from + ", " + from + "; selp.b64 " + to + ", 0x7ff8000000000000, " + from +
                    ", %q7;\n";
        }
        return to;
      }
      case 'f': {
        const std::string from = reg('r', kWords);
        if (random_.chance(45)) return from;
        const std::string to = temporary('t');
        before += "lop3.b32 " + to + ", " + from + ", 0x87ffffff, 0x38000000, 0xea;\n";
        return to;
      }
      case 'e':
        return reg('h', kHalves);
      case 'g': {
        const std::string from = reg('r', kWords);
        if (random_.chance(45)) return from;
        const std::string to = temporary('t');
        before += "lop3.b32 " + to + ", " + from + ", 0x8fff8fff, 0x30003000, 0xea;\n";
        return to;
      }
      case 'n': {
        const std::string to = temporary('t');
        before += "max.u32 " + to + ", " + reg('r', kWords) + ", 1;\n";
        return to;
      }
      case 'N': {
        const std::string to = temporary('u');
        before += "max.u64 " + to + ", " + reg('x', kLongs) + ", 1;\n";
        return to;
      }
      case 'q':
        before += "max.u16 %v3, " + reg('h', kHalves) + ", 1;\n";
        return "%v3";
      case 'y': {
        const std::string to = temporary('t');
        before += "and.b32 " + to + ", " + reg('r', kWords) + ", 255;\n";
        return to;
      }
      case 's': {
        if (random_.chance(15)) return reg('r', kWords);
        const std::string to = temporary('t');
        before += "and.b32 " + to + ", " + reg('r', kWords) + ", 63;\n";
        return to;
      }
      case 'i':
        return hex(random_.next() >> 32);
      case 'k':
        return hex(random_.next() >> 56);
      default:  // 'c'
        return std::to_string(random_.below(32));
    }
  }

  // One of the statements that a template stands for; `mask` for %m.
  std::string expand(std::string_view row, const std::string& mask = "%m0") {
    std::string body, before, after;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (row[i] == '[' && row.substr(i).find('|') < row.substr(i).find(']')) {
        const std::size_t end = row.find(']', i);
        std::vector<std::string_view> words;
        for (std::size_t at = i + 1; at <= end;) {
          const std::size_t stop = std::min(row.find('|', at), end);
          words.push_back(row.substr(at, stop - at));
          at = stop + 1;
        }
        body += words[random_.below(static_cast<unsigned>(words.size()))];
        i = end;
      } else if (row[i] == '[' && row.find(']', i) != row.npos &&
                 is_word(row.substr(i + 1, row.find(']', i) - i - 1))) {
        const std::size_t end = row.find(']', i);
        body += row.substr(i + 1, end - i - 1);
        i = end;
      } else if (row[i] == '$') {
        body += operand(row[++i], before, after);
      } else if (row.substr(i, 2) == "%m" && (i + 2 == row.size() || row[i + 2] < '0' || row[i + 2] > '9')) {
        body += mask;
        ++i;
      } else {
        body += row[i];
        if (row[i] == ';') body += i + 1 < row.size() ? "" : "\n";
      }
    }
    return before + body + after;
  }
  // `[b32]`, a choice of one, as against an address.
  static bool is_word(std::string_view text) {
    return !text.empty() && text.find('%') == text.npos && text.find('$') == text.npos;
  }

  std::string simple() {
    const unsigned kind = random_.below(100);
    if (kind < 26) return expand(pick(kInteger));
    if (kind < 38) return expand(pick(kBits));
    if (kind < 62) return expand(pick(kFloat));
    if (kind < 78) return expand(pick(kConvert));
    return expand(pick(kCompare));
  }

  // The same with a guard before every instruction of it.
  std::string guarded(const std::string& text) {
    const std::string guard = std::string(random_.chance(50) ? "@" : "@!") + "%q6 ";
    std::string out = "not.pred %q6, " + reg('p', kPreds) + ";\n";
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find(';', at);
      if (end == text.npos) break;
      std::size_t begin = at;
      while (text[begin] == ' ' || text[begin] == '\n') ++begin;
      out += guard + text.substr(begin, end - begin) + ";\n";
      at = end + 1;
    }
    return out;
  }

  void statement(unsigned depth) {
    const unsigned kind = random_.below(100);
    const std::string mask = "%m" + std::to_string(depth);
    if (kind < 52) return append(random_.chance(20) ? guarded(simple()) : simple());
    if (kind < 62) return append(expand(pick(kMemory)));
    if (kind < 72) return append(expand(pick(kWarp), mask));
    if (kind < 84) {
      if (depth > 0) return append(expand(pick(kWarp), mask));
      if (random_.chance(45) && is_whole_) return append(expand(pick(kShuffle)));
      // `bar` is for warps whose lanes stand together, which ptxas does not see to after a branch.
      return append("bar.warp.sync %m0;\n" + expand(pick(kBlock)));
    }
    if (kind < 88 && callees_ > 0) return call();
    if (depth == kMaxDepth) return append(simple());
    if (kind < 94) return branch(depth);
    if (kind < 98) return loop(depth);
    // Deeper ones ptxas refuses now and then.
    return depth == 0 ? table(depth) : branch(depth);
  }
  void append(const std::string& text) { out_ += text; }

  void body(unsigned depth) {
    const unsigned statements = 1 + random_.below(5);
    for (unsigned i = 0; i < statements; ++i) statement(depth);
  }

  void branch(unsigned depth) {
    const std::string id = std::to_string(labels_++), p = reg('p', kPreds);
    const std::string mask = "%m" + std::to_string(depth), inner = "%m" + std::to_string(depth + 1);
    // The condition is kept: the branches may write its register, and so may inner ones this.
    line("vote.sync.ballot.b32 " + inner + ", " + p + ", " + mask + ";");
    line("@!" + p + " bra ELSE" + id + ";");
    body(depth + 1);
    line("bra.uni JOIN" + id + ";");
    line("ELSE" + id + ":");
    line("xor.b32 " + inner + ", " + inner + ", " + mask + ";");
    if (random_.chance(70)) body(depth + 1);
    line("JOIN" + id + ":");
  }

  // Up to four rounds, as many as a register of each lane says.
  void loop(unsigned depth) {
    const std::string id = std::to_string(labels_++), count = "%cnt" + std::to_string(depth);
    const std::string mask = "%m" + std::to_string(depth), inner = "%m" + std::to_string(depth + 1);
    line("and.b32 " + count + ", " + reg('r', kWords) + ", 3;");
    line("mov.b32 " + inner + ", " + mask + ";");
    line("LOOP" + id + ":");
    body(depth + 1);
    line("setp.ne.u32 %q5, " + count + ", 0;");
    line("vote.sync.ballot.b32 " + inner + ", %q5, " + inner + ";");
    line("sub.u32 " + count + ", " + count + ", 1;");
    line("@%q5 bra LOOP" + id + ";");
  }

  // An indexed branch to one of three places.
  void table(unsigned depth) {
    const std::string id = std::to_string(labels_++), mask = "%m" + std::to_string(depth);
    const std::string inner = "%m" + std::to_string(depth + 1);
    line("rem.u32 %t0, " + reg('r', kWords) + ", 3;");
    line("match.any.sync.b32 " + inner + ", %t0, " + mask + ";");
    line("TABLE" + id + ": .branchtargets CASE_A" + id + ", CASE_B" + id + ", CASE_C" + id + ";");
    line("brx.idx %t0, TABLE" + id + ";");
    // ptxas takes `A7` for no label.
    for (const char* place : {"CASE_A", "CASE_B", "CASE_C"}) {
      line(place + id + ":");
      append(random_.chance(50) ? simple() : expand(pick(kWarp), inner));
      line("bra JOIN" + id + ";");
    }
    line("JOIN" + id + ":");
  }

  // -- Functions: (a, b, c) -> r, of two words and a long; one calls itself a few times. ------------------------------
  std::string function_name(unsigned index) const { return "f" + std::to_string(seed_) + "_" + std::to_string(index); }

  std::string function(unsigned index) {
    const std::string name = function_name(index);
    const std::string saved = std::exchange(out_, {});
    const bool is_recursive = random_.chance(40);
    line(".func (.param .b32 r) " + name + "(.param .b32 a, .param .b32 b, .param .b64 c) {");
    out_ += registers();
    set_up_values("%r10", "%x3", "ld.param.b32 %r10, [a];\nld.param.b32 %r11, [b];\nld.param.b64 %x3, [c];\n");
    line("mov.b32 %r0, %r11;");
    const unsigned count = 2 + random_.below(6);
    for (unsigned i = 0; i < count; ++i) append(random_.chance(25) ? guarded(simple()) : simple());
    if (random_.chance(50)) {
      const std::string p = reg('p', kPreds);
      line("st.param.b32 [r], " + reg('r', kWords) + ";");
      line("@" + p + " ret;");
      append(simple());
    }
    if (is_recursive) {
      // The lowest two bits of `b` count down.
      line(
          "ld.param.b32 %t0, [b];\nand.b32 %t0, %t0, 3;\nsetp.eq.u32 %q4, %t0, 0;\n@%q4 bra LEAF;\nsub.u32 %t0, %t0, "
          "1;");
      line("{\n.param .b32 x, y, z;\n.param .b64 w;\nst.param.b32 [x], " + reg('r', kWords) +
           ";\nst.param.b32 [y], %t0;\nst.param.b64 [w], " + reg('x', kLongs) + ";\ncall (z), " + name +
           ", (x, y, w);\nld.param.b32 %t1, [z];\n}");
      line("mad.lo.u32 " + reg('r', kWords) + ", %t1, 3, " + reg('r', kWords) + ";\nLEAF:");
    }
    line("st.param.b32 [r], " + reg('r', kWords) + ";\nret;\n}");
    return std::exchange(out_, saved);
  }

  void call() {
    const std::string id = std::to_string(labels_++);
    const std::string arguments = "st.param.b32 [x], " + reg('r', kWords) + ";\nst.param.b32 [y], " + reg('r', kWords) +
                                  ";\nst.param.b64 [w], " + reg('x', kLongs) + ";\n";
    const unsigned first = random_.below(callees_), second = random_.below(callees_);
    line("{\n.param .b32 x, y, z;\n.param .b64 w;\n" + arguments);
    if (random_.chance(60)) {
      line("call (z), " + function_name(first) + ", (x, y, w);");
    } else {
      line("mov.u64 %u0, " + function_name(first) + ";\nmov.u64 %u1, " + function_name(second) +
           ";\nselp.b64 %u0, %u0, %u1, " + reg('p', kPreds) + ";");
      line("P" + id + ": .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _, .param .b64 _);");
      line("call (z), %u0, (x, y, w), P" + id + ";");
    }
    line("ld.param.b32 " + reg('r', kWords) + ", [z];\n}");
  }

  // Gives every register a value that depends on a word and a long.
  void set_up_values(const std::string& word, const std::string& wide, const std::string& loads) {
    append(loads);
    for (unsigned i = 0; i < 10; ++i) {
      line("mad.lo.u32 %r" + std::to_string(i) + ", " + word + ", " + hex(random_.next() >> 40 | 1) + ", " +
           hex(random_.next() >> 32) + ";");
    }
    for (unsigned i = 0; i < kLongs; ++i) {
      if (i != 3) line("mad.lo.u64 %x" + std::to_string(i) + ", " + wide + ", " + hex(random_.next() | 1) + ", 77;");
    }
    for (unsigned i = 0; i < kHalves; ++i) {
      line("cvt.u16.u32 %h" + std::to_string(i) + ", %r" + std::to_string(i) + ";");
    }
    for (unsigned i = 0; i < kPreds; ++i) {
      line("setp.gt.s32 %p" + std::to_string(i) + ", %r" + std::to_string(i) + ", 0;");
    }
    clear_temporaries();
  }

  void clear_temporaries() {
    for (unsigned i = 0; i < 8; ++i)
      line("mov.b32 %t" + std::to_string(i) + ", 0; mov.b64 %u" + std::to_string(i) + ", 0;");
    for (unsigned i = 0; i < 4; ++i) line("mov.b16 %v" + std::to_string(i) + ", 0;");
    for (unsigned i = 0; i < 8; ++i) line("setp.ne.u32 %q" + std::to_string(i) + ", %t0, 0;");
  }

  void prologue() {
    append(
        "ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\nmov.u32 %own, %tid.x;\nmov.u32 %tile, shared;\n"
        "mov.u32 %loc, local;\nmov.u32 %size, %ntid.x;\nmov.u32 %t0, %ctaid.x;\nmad.lo.u32 %t0, %t0, %size, %own;\n");
    line("mad.wide.u32 %out, %t0, " + std::to_string(4 * kWordsPerThread) + ", %out;");
    line("add.u64 %scratch, %out, " + std::to_string(4 * (kWordsPerThread - 4)) + ";");
    // The lanes of the warp: 32, or what is left of the block.
    append("and.b32 %n, %own, 0xffffffe0;\nsub.u32 %n, %size, %n;\nmin.u32 %n, %n, 32;\nbmsk.clamp.b32 %m0, 0, %n;\n");
    line("mul.lo.u32 %t1, %t0, 37;");
    for (unsigned i = 0; i < kWords; ++i) {
      line("add.u32 %t2, %t1, " + std::to_string(random_.below(kInWords)) +
           "; and.b32 %t2, %t2, 4095; mad.wide.u32 %u0, %t2, "
           "4, %in; ld.global.b32 %r" +
           std::to_string(i) + ", [%u0];");
    }
    for (unsigned i = 0; i < kLongs; ++i) {
      line("add.u32 %t2, %t1, " + std::to_string(random_.below(kInWords)) +
           "; and.b32 %t2, %t2, 4094; mad.wide.u32 %u0, %t2, "
           "4, %in; ld.global.b64 %x" +
           std::to_string(i) + ", [%u0];");
    }
    for (unsigned i = 0; i < kHalves; ++i) {
      line("add.u32 %t2, %t1, " + std::to_string(random_.below(kInWords)) +
           "; and.b32 %t2, %t2, 4095; mad.wide.u32 %u0, %t2, "
           "4, %in; ld.global.b16 %h" +
           std::to_string(i) + ", [%u0];");
    }
    for (unsigned i = 0; i < kPreds; ++i) {
      line("setp.lt.s32 %p" + std::to_string(i) + ", %r" + std::to_string(i) + ", %r" + std::to_string(i + 1) + ";");
    }
    for (unsigned i = 0; i < kLocalWords; ++i) {
      line("st.local.b32 [%loc+" + std::to_string(4 * i) + "], %r" + std::to_string(i % kWords) + ";");
    }
    clear_temporaries();
  }

  void epilogue() {
    unsigned at = 0;
    const auto store = [&](const std::string& type, const std::string& value, unsigned size) {
      line("st.global." + type + " [%out+" + std::to_string(at) + "], " + value + ";");
      at += size;
    };
    for (unsigned i = 0; i < kWords; ++i) store("b32", "%r" + std::to_string(i), 4);
    for (unsigned i = 0; i < kLongs; ++i) store("b64", "%x" + std::to_string(i), 8);
    for (unsigned i = 0; i < kHalves; ++i) store("b16", "%h" + std::to_string(i), 2);
    line("mov.b32 %t0, 0;");
    for (unsigned i = 0; i < kPreds; ++i) {
      line("selp.b32 %t1, " + std::to_string(1u << i) + ", 0, %p" + std::to_string(i) + "; or.b32 %t0, %t0, %t1;");
    }
    at = (at + 3) / 4 * 4;
    store("b32", "%t0", 4);
    for (unsigned i = 0; i < 6; ++i) {
      line("ld.local.b32 %t0, [%loc+" + std::to_string(8 * i) + "];");
      store("b32", "%t0", 4);
    }
    line("ret;");
  }

  Random random_;
  std::uint64_t seed_;
  std::string out_;
  unsigned labels_ = 0, temporaries_ = 0, callees_ = 0;
  bool is_whole_ = true;
};

}  // namespace

Program make(std::uint64_t seed) { return Writer(seed).write(); }

std::string header() {
  return ".version 8.7\n.target sm_90a\n.address_size 64\n// " + std::to_string(kBlocks) + " blocks, " +
         std::to_string(kWordsPerThread) + " words a thread\n";
}

std::vector<std::uint32_t> inputs() {
  static constexpr std::uint32_t kFloats[] = {0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x00800000,
                                              0x3f800000, 0xbf800000, 0x33800000, 0x7f7fffff, 0x7f800000, 0xff800000,
                                              0x7fc00000, 0x7f800001, 0xffc12345, 0x40490fdb};
  static constexpr std::uint32_t kHalfs[] = {0,      0x8000, 1,      0x8001, 0x03ff, 0x0400, 0x3c00, 0xbc00,
                                             0x1000, 0x7bff, 0x7c00, 0xfc00, 0x7e00, 0x3f80, 0xff80, 0x4248};
  Random random(0x706c756d62);
  std::vector<std::uint32_t> out;
  for (unsigned i = 0; i < kInWords; ++i) {
    const auto bits = static_cast<std::uint32_t>(random.next() >> 32);
    switch (random.below(8)) {
      case 0:
        out.push_back(kFloats[bits % 16]);
        break;
      case 1:
        out.push_back(kHalfs[bits % 16] << 16 | kHalfs[bits / 16 % 16]);
        break;
      case 2:
        out.push_back(bits % 512 - 256);
        break;
      case 3:
      case 4:  // an f32 near 1
        out.push_back((bits & 0x81ffffff) | 0x3e000000);
        break;
      case 5:  // the upper half of an f64 near 1, two f16 near 1
        out.push_back(bits % 2 == 0 ? (bits & 0x800fffff) | 0x3ff00000 : (bits & 0x83ff83ff) | 0x3c003800);
        break;
      default:
        out.push_back(bits);
    }
  }
  return out;
}

std::uint32_t checksum(std::string_view bytes) {
  static const std::array<std::uint32_t, 256> table = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t value = i;
      for (int k = 0; k < 8; ++k) value = value >> 1 ^ ((value & 1) != 0 ? 0xedb88320u : 0);
      made[i] = value;
    }
    return made;
  }();
  std::uint32_t crc = ~0u;
  for (const char byte : bytes) crc = crc >> 8 ^ table[(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  return ~crc;
}

std::uint32_t checksum(const std::vector<std::uint32_t>& words) {
  return checksum(std::string_view(reinterpret_cast<const char*>(words.data()), 4 * words.size()));
}

}  // namespace plumb::random_program
