// SPDX-License-Identifier: Apache-2.0
// clang's builtins that builtins.c does not touch: conversions in every rounding, packed conversions, minima and maxima of
// half precision, bit casts, byte selection, address-space tests, cached loads, 24-bit products.
typedef _Float16 half2 __attribute__((ext_vector_type(2)));
typedef __bf16 bfloat2 __attribute__((ext_vector_type(2)));
typedef int int2 __attribute__((ext_vector_type(2)));
typedef int int4 __attribute__((ext_vector_type(4)));
typedef float float4 __attribute__((ext_vector_type(4)));
typedef double double2 __attribute__((ext_vector_type(2)));
#define GLOBAL __attribute__((address_space(1)))

float from_integers(int a, unsigned b, long long c, unsigned long long d) {
  return __nvvm_i2f_rz(a) + __nvvm_ui2f_rm(b) + __nvvm_ll2f_rp(c) + __nvvm_ull2f_rn(d);
}

double to_doubles(int a, unsigned b, long long c, unsigned long long d) {
  return __nvvm_i2d_rn(a) + __nvvm_ui2d_rp(b) + __nvvm_ll2d_rz(c) + __nvvm_ull2d_rm(d) + __nvvm_lohi_i2d(a, a) +
         __nvvm_bitcast_ll2d(c);
}

long long to_integers(float a, double b) {
  return __nvvm_f2i_rm_ftz(a) + __nvvm_f2ui_rp(a) + __nvvm_f2ll_rz(a) + (long long)__nvvm_f2ull_rn_ftz(a) +
         __nvvm_d2i_rn(b) + __nvvm_d2ui_rz(b) + __nvvm_d2ll_rm(b) + (long long)__nvvm_d2ull_rp(b) + __nvvm_d2i_lo(b) +
         __nvvm_d2i_hi(b) + __nvvm_bitcast_f2i(a) + __nvvm_bitcast_d2ll(b);
}

float narrowed(double a) { return __nvvm_d2f_rz(a) + __nvvm_d2f_rn_ftz(a) + __nvvm_bitcast_i2f(3); }

bfloat2 packed(float a, float b) { return __nvvm_ff2bf16x2_rn_relu(a, b) + __nvvm_ff2bf16x2_rz(b, a); }
half2 halved(float a, float b) { return __nvvm_ff2f16x2_rn(a, b) + __nvvm_ff2f16x2_rz_relu(b, a); }
__bf16 single(float a) { return __nvvm_f2bf16_rn(a) + __nvvm_f2bf16_rz_relu(a); }

int integers(int a, int b, unsigned c, unsigned d) {
  return __nvvm_mul24_i(a, b) + (int)__nvvm_mul24_ui(c, d) + __nvvm_mulhi_i(a, b) + __nvvm_sad_i(a, b, 3) +
         (int)__nvvm_sad_ui(c, d, 4) + (int)__nvvm_prmt(c, d, 0x5140) + __builtin_popcount(c) + __builtin_clz(d) +
         (int)__builtin_bitreverse32(c);
}

int spaces(const void* p) {
  return __nvvm_isspacep_global(p) + __nvvm_isspacep_shared(p) * 2 + __nvvm_isspacep_local(p) * 4 +
         __nvvm_isspacep_const(p) * 8;
}

int4 cached(const GLOBAL int4* a) { return *a; }
float more(float a, float b, double c, double d) {
  return __nvvm_fma_rp_ftz_f(a, b, a) + (float)__nvvm_fma_rm_d(c, d, c) + __nvvm_div_approx_ftz_f(a, b) +
         __nvvm_rcp_rn_f(a) + (float)__nvvm_rcp_rp_d(c) + __nvvm_sqrt_approx_f(a) + (float)__nvvm_rsqrt_approx_d(d) +
         __nvvm_ceil_f(a) + __nvvm_trunc_f(b) + __nvvm_fabs_f(a) + (float)__nvvm_floor_d(c) + __nvvm_add_rz_f(a, b) +
         (float)__nvvm_mul_rm_d(c, d);
}

void waits(unsigned n) {
  __nvvm_nanosleep(n);
  __nvvm_barrier_sync(1);
  __nvvm_barrier_sync_cnt(2, 64);
  __nvvm_bar_warp_sync(~0u);
}

int warps(int a, _Bool p, float f) {
  return __nvvm_vote_all_sync(~0u, p) + (int)__nvvm_vote_ballot_sync(~0u, p) + __nvvm_shfl_sync_down_i32(~0u, a, 1, 31) +
         (int)__nvvm_shfl_sync_idx_f32(~0u, f, 2, 31) + (int)__nvvm_match_any_sync_i32(~0u, a) +
         __nvvm_redux_sync_add(a, -1) + __nvvm_redux_sync_umax((unsigned)a, -1) + __nvvm_redux_sync_xor(a, -1);
}
