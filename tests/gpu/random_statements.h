// SPDX-License-Identifier: Apache-2.0
// The statements that random programs are made of, as templates.
#pragma once

#include <string_view>

namespace plumb::random_program {

// Templates of statements. `[a|b]` is one of the words; `$` and a letter is an operand:
//   R X H P   a register of 32, 64, 16 bits, a predicate, that is written
//   r x h p   one that is read (r: now and then a constant, which w is not)
//   D d       f64: NaNs get one payload, as PTX leaves open whose goes on
//   f e g     f32, f16 (in 16 bits), f16x2 or bf16x2: as it comes, or brought near 1
//   n N q     a divisor: not zero; of 32, 64, 16 bits
//   y s       0..255; a shift amount, now and then more than the width
//   i k c     a constant of 32 bits; of 8 bits; of 5 bits
// %t0.., %u0.., %v0.., %q0.. are free for use within a statement (32, 64, 16 bits, predicates).
inline constexpr std::string_view kInteger[] = {
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

inline constexpr std::string_view kBits[] = {
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

inline constexpr std::string_view kFloat[] = {
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

inline constexpr std::string_view kConvert[] = {
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

inline constexpr std::string_view kCompare[] = {
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
inline constexpr std::string_view kMemory[] = {
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
inline constexpr std::string_view kBlock[] = {
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
inline constexpr std::string_view kWarp[] = {
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
inline constexpr std::string_view kShuffle[] = {
    "shfl.sync.[up].b32 $R, $r, $c, [0|0x1000|0x1800|0x1c00], %m0;",
    "shfl.sync.[down|bfly|idx].b32 $R|$P, $r, $c, [31|0x101f|0x181f|0x1c1f], %m0;",
    "and.b32 %t0, $r, 31; shfl.sync.[idx|bfly|down].b32 $R|$P, $r, %t0, 31, %m0;",
    "and.b32 %t0, $r, 31; shfl.sync.up.b32 $R|$P, $r, %t0, 0, %m0;",
};

}  // namespace plumb::random_program
