// SPDX-License-Identifier: Apache-2.0
// What clang's NVPTX back end makes of its builtins and of plain C: special registers, atomics, barriers, shuffles,
// asynchronous copies, mbarriers, address spaces, structures by value, 128-bit integers, variadic calls, jump tables.
#define GLOBAL __attribute__((address_space(1)))
#define SHARED __attribute__((address_space(3)))
#define CONSTANT __attribute__((address_space(4)))
#define LOCAL __attribute__((address_space(5)))

typedef float float4 __attribute__((ext_vector_type(4)));
typedef int int2 __attribute__((ext_vector_type(2)));
typedef _Float16 half2 __attribute__((ext_vector_type(2)));
struct pair { double x; int y[3]; char z; };

extern int printf(const char*, ...);
static SHARED int slots[64];
static SHARED long long barrier;
CONSTANT const int constants[4] = {1, -2, 3, 1 << 20};
GLOBAL int (*GLOBAL table[2])(int) = {0, 0};
static const char text[] = "a\tb\n";

int registers(void) {
  return __nvvm_read_ptx_sreg_tid_x() + __nvvm_read_ptx_sreg_ntid_y() + __nvvm_read_ptx_sreg_ctaid_z() +
         __nvvm_read_ptx_sreg_nctaid_x() + __nvvm_read_ptx_sreg_laneid() + __nvvm_read_ptx_sreg_warpid() +
         __nvvm_read_ptx_sreg_lanemask_lt() + __nvvm_read_ptx_sreg_smid() + (int)__nvvm_read_ptx_sreg_clock64();
}

float floats(float a, float b, float c) {
  return __nvvm_fma_rz_f(a, b, c) + __nvvm_add_rm_f(a, b) + __nvvm_mul_rp_f(a, b) + __nvvm_div_rn_f(a, b) +
         __nvvm_rcp_approx_ftz_f(a) + __nvvm_sqrt_rn_f(b) + __nvvm_rsqrt_approx_f(c) + __nvvm_sin_approx_f(a) +
         __nvvm_cos_approx_ftz_f(b) + __nvvm_ex2_approx_f(c) + __nvvm_lg2_approx_f(a) + __nvvm_fmin_f(a, b) +
         __nvvm_saturate_f(a) + __nvvm_floor_f(b) + __nvvm_round_f(c) + __nvvm_i2f_rn(__nvvm_f2i_rz(a));
}

double doubles(double a, double b) {
  return __nvvm_fma_rn_d(a, b, a) + __nvvm_sqrt_rz_d(a) + __nvvm_div_rp_d(a, b) + __nvvm_fmax_d(a, b) +
         __builtin_sqrt(a) + __builtin_floor(b) + __builtin_fabs(a) + __builtin_copysign(a, b) + (double)(long)b;
}

half2 halves(half2 a, half2 b, _Float16 c) { return a * b + (half2)(c) - a / b; }

void memory(GLOBAL float4* a, GLOBAL int2* b, LOCAL int* c, char* d, struct pair* e, struct pair f) {
  a[1] = a[0];
  b[1] = b[0] + (int2)(constants[b[2].x]);
  slots[__nvvm_read_ptx_sreg_tid_x()] = c[0];
  __nvvm_bar_sync(1);
  d[0] = (char)slots[c[1]];
  e[0] = f;
  e[1].y[2] = table[slots[0] & 1](text[c[2] & 3]);
  __builtin_memcpy(d + 1, e, sizeof *e);
}

int atomics(int* a, float* f, SHARED int* s) {
  return __nvvm_atom_add_gen_i(a, 1) + __nvvm_atom_xchg_gen_i(a, 2) + __nvvm_atom_max_gen_i(a, 3) +
         __nvvm_atom_cas_gen_i(a, 4, 5) + (int)__nvvm_atom_add_gen_f(f, 1.0f) + __nvvm_atom_inc_gen_ui((unsigned*)a, 7) +
         __atomic_fetch_add(a, 1, __ATOMIC_RELAXED) + __atomic_load_n(a, __ATOMIC_RELAXED);
}

int warps(int a, int b) {
  __nvvm_bar_warp_sync(-1);
  __nvvm_membar_cta();
  __nvvm_membar_gl();
  return __nvvm_shfl_sync_down_i32(-1, a, 1, 31) + __nvvm_shfl_sync_bfly_i32(-1, a, 2, 31) +
         __nvvm_vote_any_sync(-1, a) + __nvvm_vote_ballot_sync(-1, b) + __nvvm_match_any_sync_i32(-1, a) +
         __nvvm_bar0_popc(a) + __nvvm_redux_sync_add(a, -1) + __nvvm_redux_sync_umax(b, -1);
}

void asynchronous(SHARED void* to, GLOBAL const void* from) {
  __nvvm_mbarrier_init_shared(&barrier, 32);
  __nvvm_cp_async_ca_shared_global_4(to, from);
  __nvvm_cp_async_cg_shared_global_16(to, from);
  __nvvm_cp_async_mbarrier_arrive_shared(&barrier);
  __nvvm_cp_async_commit_group();
  __nvvm_cp_async_wait_group(1);
  __nvvm_cp_async_wait_all();
  const long long state = __nvvm_mbarrier_arrive_shared(&barrier);
  while (!__nvvm_mbarrier_test_wait_shared(&barrier, state)) {}
  __nvvm_mbarrier_inval_shared(&barrier);
}

__int128 wide(__int128 a, __int128 b, unsigned c) { return a * b + (a >> c) - (b << 3); }

int choose(int n, int* p) {
  switch (n) {
    case 0: return p[1];
    case 1: return p[7] * 3;
    case 2: return p[2] - 9;
    case 3: return registers();
    case 4: return p[4] / (n + 3);
    case 5: return __builtin_popcount(p[5]) + __builtin_clz(p[6]) + __builtin_bitreverse32(p[8]);
    case 6: return printf("%d %s\n", p[6], text);
    default: return __builtin_rotateleft32(p[0], 5) + __builtin_bswap32(p[3]);
  }
}
