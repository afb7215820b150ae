// SPDX-License-Identifier: Apache-2.0
// Scalar, packed and narrow arithmetic: rounding modes, approximations, integer and bit intrinsics, conversions.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

extern "C" __global__ void rounding(float* f, double* d) {
  const float a = f[0], b = f[1], c = f[2];
  const double x = d[0], y = d[1], z = d[2];
  f[3] = __fadd_rn(a, b) + __fadd_rz(a, b) + __fadd_ru(a, b) + __fadd_rd(a, b);
  f[4] = __fmul_rn(a, b) + __fmul_rz(a, b) + __fmul_ru(a, b) + __fmul_rd(a, b);
  f[5] = __fmaf_rn(a, b, c) + __fmaf_rz(a, b, c) + __fmaf_ru(a, b, c) + __fmaf_rd(a, b, c);
  f[6] = __fdiv_rn(a, b) + __fdiv_rz(a, b) + __fdiv_ru(a, b) + __fdiv_rd(a, b) + __fdividef(a, b);
  f[7] = __frcp_rn(a) + __frcp_rz(b) + __fsqrt_rn(a) + __fsqrt_ru(b) + __frsqrt_rn(c);
  d[3] = __dadd_rn(x, y) + __dmul_rz(x, y) + __fma_ru(x, y, z) + __ddiv_rd(x, y) + __drcp_rn(x) + __dsqrt_rn(y);
  f[8] = __saturatef(a) + fminf(a, b) + fmaxf(b, c) + copysignf(a, c) + fabsf(a) - truncf(b) + ceilf(c) + rintf(a);
  d[4] = fmin(x, y) + fmax(y, z) + floor(x) + rint(y);
}

extern "C" __global__ void approximate(float* f, double* d) {
  const float a = f[0], b = f[1];
  f[2] = __sinf(a) + __cosf(b) + __expf(a) + __exp10f(b) + __logf(a) + __log2f(b) + __log10f(a) + __powf(a, b);
  f[3] = __tanf(a) + exp2f(b) + rsqrtf(a) + tanhf(b) + erff(a) + cbrtf(b) + sinf(a) + cosf(b) + fmodf(a, b);
  d[0] = exp(d[1]) + log(d[2]) + sin(d[3]) + pow(d[4], d[5]) + rsqrt(d[6]) + tgamma(d[7]);
}

extern "C" __global__ void integers(int* i, unsigned* u, long long* l, unsigned long long* m) {
  i[0] = __clz(i[1]) + __ffs(i[2]) + __popc(u[0]) + __mulhi(i[1], i[2]) + __mul24(i[3], i[4]) + __sad(i[1], i[2], u[1]);
  u[2] = __brev(u[0]) + __umulhi(u[0], u[1]) + __umul24(u[1], u[3]) + __usad(u[0], u[1], u[3]);
  u[4] = __byte_perm(u[0], u[1], u[3]) + __funnelshift_l(u[0], u[1], u[3]) + __funnelshift_rc(u[0], u[1], u[3]);
  i[5] = __hadd(i[1], i[2]) + __rhadd(i[3], i[4]) + min(i[1], i[2]) + abs(i[3]);
  l[0] = __clzll(l[1]) + __ffsll(l[2]) + __popcll(m[0]) + __mul64hi(l[1], l[2]) + l[1] / l[2] + l[1] % l[3];
  m[1] = __brevll(m[0]) + __umul64hi(m[2], m[3]) + m[2] / m[3] + (m[2] << u[0]) + (m[3] >> u[1]) + max(m[2], m[3]);
  i[6] = i[1] / i[2] + i[3] % i[4] + (i[1] >> u[0]) + __dp4a(i[1], i[2], i[3]) + __dp2a_lo(i[1], i[2], i[3]);
  u[5] = u[0] / 7 + u[1] % 10 + ((u[0] & u[1]) ^ (u[2] | ~u[3])) + __vadd4(u[0], u[1]) + __vabsdiffs2(u[2], u[3]);
  u[6] = __vmaxs2(u[0], u[1]) + __vminu4(u[2], u[3]) + __vcmpgts2(u[0], u[2]) + __vsadu4(u[1], u[3]);
  u[7] = __viaddmax_s32(i[1], i[2], i[3]) + __vimax3_s32(i[1], i[2], i[3]) + __vimin_s32_relu(i[1], i[2]);
  __int128 wide = static_cast<__int128>(l[1]) * l[2] + l[3];
  l[4] = static_cast<long long>(wide >> 64);
}

extern "C" __global__ void converted(float* f, double* d, int* i, long long* l, short* s, signed char* c) {
  i[0] = __float2int_rn(f[0]) + __float2int_rz(f[1]) + __float2int_ru(f[2]) + __float2int_rd(f[3]);
  i[1] = static_cast<int>(__float2uint_rn(f[0])) + __double2int_rz(d[0]) + __float_as_int(f[1]) + __double2hiint(d[1]);
  l[0] = __float2ll_rn(f[0]) + __double2ll_rd(d[0]) + __double_as_longlong(d[1]);
  f[4] = __int2float_rn(i[2]) + __uint2float_rz(i[3]) + __ll2float_ru(l[1]) + __double2float_rd(d[2]);
  d[3] = __int2double_rn(i[2]) + __ll2double_rz(l[2]) + f[5] + __hiloint2double(i[3], i[4]);
  s[0] = static_cast<short>(i[2]);
  c[0] = static_cast<signed char>(f[0]);
  i[5] = s[1] + c[1] + static_cast<unsigned char>(c[2]);
}

extern "C" __global__ void halves(__half* h, __half2* h2, __nv_bfloat16* b, __nv_bfloat162* b2, float* f) {
  h[0] = __hfma(h[1], h[2], h[3]) + __hadd_sat(h[1], h[2]) - __hmul(h[3], h[4]) / h[5];
  h2[0] = __hfma2(h2[1], h2[2], __hadd2(h2[3], __hmul2_sat(h2[4], h2[5])));
  h[6] = hexp2(h[1]) + hsqrt(h[2]) + hrcp(h[3]) + hlog2(h[4]) + hsin(h[5]) + htrunc(h[1]) + __hmax(h[2], h[3]);
  h2[6] = __hmin2(h2[1], __habs2(__hneg2(h2[2])));
  f[0] = __half2float(h[1]) + __low2float(h2[1]) + (__hlt(h[1], h[2]) ? 1.0f : 0.0f) + (__hbeq2(h2[1], h2[2]) ? 1 : 0);
  h[7] = __float2half_rn(f[1]) + __float2half_rz(f[2]) + __int2half_rn(3) + __ushort2half_ru(5);
#if __CUDA_ARCH__ >= 800
  b[0] = __hfma(b[1], b[2], b[3]) + __float2bfloat16_rn(f[3]) - __hmul(b[4], b[5]);
  b2[0] = __hfma2(b2[1], b2[2], __floats2bfloat162_rn(f[4], f[5]));
  f[6] = __bfloat162float(b[6]) + (__hgt(b[1], b[2]) ? 2.0f : 1.0f);
#endif
  h2[7] = __h2div(h2[3], h2[4]);
#if __CUDA_ARCH__ >= 800
  h[8] = __hfma_relu(h[1], h[2], h[3]);
#endif
}

extern "C" __global__ void narrow(__nv_fp8_e4m3* a, __nv_fp8_e5m2* b, __nv_fp8x2_e4m3* c, __half* h, float* f) {
  a[0] = __nv_fp8_e4m3(f[0]);
  b[0] = __nv_fp8_e5m2(h[0]);
  c[0] = __nv_fp8x2_e4m3(make_float2(f[1], f[2]));
  f[3] = static_cast<float>(a[1]) + static_cast<float>(b[1]);
  h[1] = static_cast<__half>(a[2]);
}
