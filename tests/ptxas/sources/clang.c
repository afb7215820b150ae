// SPDX-License-Identifier: Apache-2.0
// Every builtin of clang 19 for NVPTX, by its type (a matrix builtin in each layout that it has), so that nothing that
// clang can say of them is left out. Six give instructions that ptxas refuses: `ex2` and `lg2` of doubles, and votes
// without `sync`. Not here are those for which clang has no code (`memcpy`, `memset`, `compiler_error`, `compiler_warn`,
// shuffles without `sync`, `fmin` and `fmax` of bf16 with `ftz`), a saturated product of halves, which PTX 6.5 took
// away, and `bar_sync`, of which builtins.c has the one form.
#define GLOBAL __attribute__((address_space(1)))
#define SHARED __attribute__((address_space(3)))
#define GIVES(name, parameters, ...) \
  void of_##name parameters { *(__typeof__(__nvvm_##name(__VA_ARGS__))*)to = __nvvm_##name(__VA_ARGS__); }
#define DOES(name, parameters, ...) \
  void of_##name parameters { __nvvm_##name(__VA_ARGS__); }
#define MATRIX(name, layout, parameters, ...) \
  void of##name##_##layout parameters { name(__VA_ARGS__); }

typedef __bf16 bfloat2 __attribute__((ext_vector_type(2)));
typedef char char2 __attribute__((ext_vector_type(2)));
typedef char char4 __attribute__((ext_vector_type(4)));
typedef double double2 __attribute__((ext_vector_type(2)));
typedef float float2 __attribute__((ext_vector_type(2)));
typedef float float4 __attribute__((ext_vector_type(4)));
typedef _Float16 half2 __attribute__((ext_vector_type(2)));
typedef int int2 __attribute__((ext_vector_type(2)));
typedef int int4 __attribute__((ext_vector_type(4)));
typedef long long llong2 __attribute__((ext_vector_type(2)));
typedef long long2 __attribute__((ext_vector_type(2)));
typedef signed char schar2 __attribute__((ext_vector_type(2)));
typedef signed char schar4 __attribute__((ext_vector_type(4)));
typedef short short2 __attribute__((ext_vector_type(2)));
typedef short short4 __attribute__((ext_vector_type(4)));
typedef unsigned char uchar2 __attribute__((ext_vector_type(2)));
typedef unsigned char uchar4 __attribute__((ext_vector_type(4)));
typedef unsigned int uint2 __attribute__((ext_vector_type(2)));
typedef unsigned int uint4 __attribute__((ext_vector_type(4)));
typedef unsigned long long ullong2 __attribute__((ext_vector_type(2)));
typedef unsigned long ulong2 __attribute__((ext_vector_type(2)));
typedef unsigned short ushort2 __attribute__((ext_vector_type(2)));
typedef unsigned short ushort4 __attribute__((ext_vector_type(4)));

#define ONE(name) GIVES(name, (void* to))
ONE(read_ptx_sreg_tid_x) ONE(read_ptx_sreg_tid_y) ONE(read_ptx_sreg_tid_z) ONE(read_ptx_sreg_tid_w)
ONE(read_ptx_sreg_ntid_x) ONE(read_ptx_sreg_ntid_y) ONE(read_ptx_sreg_ntid_z) ONE(read_ptx_sreg_ntid_w)
ONE(read_ptx_sreg_ctaid_x) ONE(read_ptx_sreg_ctaid_y) ONE(read_ptx_sreg_ctaid_z) ONE(read_ptx_sreg_ctaid_w)
ONE(read_ptx_sreg_nctaid_x) ONE(read_ptx_sreg_nctaid_y) ONE(read_ptx_sreg_nctaid_z) ONE(read_ptx_sreg_nctaid_w)
ONE(read_ptx_sreg_laneid) ONE(read_ptx_sreg_warpid) ONE(read_ptx_sreg_nwarpid) ONE(read_ptx_sreg_smid)
ONE(read_ptx_sreg_nsmid) ONE(read_ptx_sreg_gridid) ONE(read_ptx_sreg_lanemask_eq) ONE(read_ptx_sreg_lanemask_le)
ONE(read_ptx_sreg_lanemask_lt) ONE(read_ptx_sreg_lanemask_ge) ONE(read_ptx_sreg_lanemask_gt) ONE(read_ptx_sreg_clock)
ONE(read_ptx_sreg_pm0) ONE(read_ptx_sreg_pm1) ONE(read_ptx_sreg_pm2) ONE(read_ptx_sreg_pm3)
#undef ONE
#define ONE(name) GIVES(name, (void* to))
ONE(read_ptx_sreg_clock64) ONE(read_ptx_sreg_globaltimer)
#undef ONE
#define ONE(name) GIVES(name, (void* to, unsigned a, unsigned b, unsigned c), a, b, c)
ONE(prmt) ONE(sad_ui)
#undef ONE
#define ONE(name) DOES(name, (void))
ONE(exit) ONE(membar_cta) ONE(membar_gl) ONE(membar_sys) ONE(cp_async_commit_group) ONE(cp_async_wait_all)
#undef ONE
#define ONE(name) GIVES(name, (void* to, const char* a), a)
ONE(reflect)
#undef ONE
#define ONE(name) DOES(name, (unsigned a), a)
ONE(nanosleep) ONE(bar_warp_sync) ONE(barrier_sync)
#undef ONE
#define ONE(name) GIVES(name, (void* to, _Float16 a, _Float16 b), a, b)
ONE(fmin_f16) ONE(fmin_ftz_f16) ONE(fmin_nan_f16) ONE(fmin_ftz_nan_f16) ONE(fmax_f16) ONE(fmax_ftz_f16)
ONE(fmax_nan_f16) ONE(fmax_ftz_nan_f16)
#undef ONE
#define ONE(name) GIVES(name, (void* to, half2 a, half2 b), a, b)
ONE(fmin_f16x2) ONE(fmin_ftz_f16x2) ONE(fmin_nan_f16x2) ONE(fmin_ftz_nan_f16x2) ONE(fmax_f16x2) ONE(fmax_ftz_f16x2)
ONE(fmax_nan_f16x2) ONE(fmax_ftz_nan_f16x2)
#undef ONE
#define ONE(name) GIVES(name, (void* to, __bf16 a, __bf16 b), a, b)
ONE(fmin_bf16) ONE(fmin_nan_bf16) ONE(fmax_bf16) ONE(fmax_nan_bf16)
#undef ONE
#define ONE(name) GIVES(name, (void* to, bfloat2 a, bfloat2 b), a, b)
ONE(fmin_bf16x2) ONE(fmin_nan_bf16x2) ONE(fmax_bf16x2) ONE(fmax_nan_bf16x2)
#undef ONE
#define ONE(name) GIVES(name, (void* to, float a, float b), a, b)
ONE(fmin_f) ONE(fmin_ftz_f) ONE(fmin_nan_f) ONE(fmin_ftz_nan_f) ONE(fmax_f) ONE(fmax_ftz_f) ONE(fmax_nan_f)
ONE(fmax_ftz_nan_f) ONE(mul_rn_ftz_f) ONE(mul_rn_f) ONE(mul_rz_ftz_f) ONE(mul_rz_f) ONE(mul_rm_ftz_f) ONE(mul_rm_f)
ONE(mul_rp_ftz_f) ONE(mul_rp_f) ONE(div_approx_ftz_f) ONE(div_approx_f) ONE(div_rn_ftz_f) ONE(div_rn_f)
ONE(div_rz_ftz_f) ONE(div_rz_f) ONE(div_rm_ftz_f) ONE(div_rm_f) ONE(div_rp_ftz_f) ONE(div_rp_f) ONE(add_rn_ftz_f)
ONE(add_rn_f) ONE(add_rz_ftz_f) ONE(add_rz_f) ONE(add_rm_ftz_f) ONE(add_rm_f) ONE(add_rp_ftz_f) ONE(add_rp_f)
#undef ONE
#define ONE(name) GIVES(name, (void* to, double a, double b), a, b)
ONE(fmin_d) ONE(fmax_d) ONE(mul_rn_d) ONE(mul_rz_d) ONE(mul_rm_d) ONE(mul_rp_d) ONE(div_rn_d) ONE(div_rz_d)
ONE(div_rm_d) ONE(div_rp_d) ONE(add_rn_d) ONE(add_rz_d) ONE(add_rm_d) ONE(add_rp_d)
#undef ONE
#define ONE(name) GIVES(name, (void* to, int a, int b), a, b)
ONE(mulhi_i) ONE(mul24_i) ONE(redux_sync_add) ONE(redux_sync_min) ONE(redux_sync_max) ONE(redux_sync_and)
ONE(redux_sync_xor) ONE(redux_sync_or)
#undef ONE
#define ONE(name) GIVES(name, (void* to, unsigned a, unsigned b), a, b)
ONE(mulhi_ui) ONE(mul24_ui) ONE(match_any_sync_i32)
#undef ONE
#define ONE(name) GIVES(name, (void* to, long long a, long long b), a, b)
ONE(mulhi_ll)
#undef ONE
#define ONE(name) GIVES(name, (void* to, unsigned long long a, unsigned long long b), a, b)
ONE(mulhi_ull)
#undef ONE
#define ONE(name) GIVES(name, (void* to, int a, int b, int c), a, b, c)
ONE(sad_i)
#undef ONE
#define ONE(name) GIVES(name, (void* to, float a), a)
ONE(floor_ftz_f) ONE(floor_f) ONE(ceil_ftz_f) ONE(ceil_f) ONE(fabs_ftz_f) ONE(fabs_f) ONE(round_ftz_f) ONE(round_f)
ONE(trunc_ftz_f) ONE(trunc_f) ONE(saturate_ftz_f) ONE(saturate_f) ONE(ex2_approx_ftz_f) ONE(ex2_approx_f)
ONE(lg2_approx_ftz_f) ONE(lg2_approx_f) ONE(sin_approx_ftz_f) ONE(sin_approx_f) ONE(cos_approx_ftz_f)
ONE(cos_approx_f) ONE(rcp_rn_ftz_f) ONE(rcp_rn_f) ONE(rcp_rz_ftz_f) ONE(rcp_rz_f) ONE(rcp_rm_ftz_f) ONE(rcp_rm_f)
ONE(rcp_rp_ftz_f) ONE(rcp_rp_f) ONE(rcp_approx_ftz_f) ONE(sqrt_rn_ftz_f) ONE(sqrt_rn_f) ONE(sqrt_rz_ftz_f)
ONE(sqrt_rz_f) ONE(sqrt_rm_ftz_f) ONE(sqrt_rm_f) ONE(sqrt_rp_ftz_f) ONE(sqrt_rp_f) ONE(sqrt_approx_ftz_f)
ONE(sqrt_approx_f) ONE(rsqrt_approx_ftz_f) ONE(rsqrt_approx_f)
#undef ONE
#define ONE(name) GIVES(name, (void* to, double a), a)
ONE(floor_d) ONE(ceil_d) ONE(fabs_d) ONE(round_d) ONE(trunc_d) ONE(saturate_d) ONE(ex2_approx_d) ONE(lg2_approx_d)
ONE(rcp_rn_d) ONE(rcp_rz_d) ONE(rcp_rm_d) ONE(rcp_rp_d) ONE(rcp_approx_ftz_d) ONE(sqrt_rn_d) ONE(sqrt_rz_d)
ONE(sqrt_rm_d) ONE(sqrt_rp_d) ONE(rsqrt_approx_d)
#undef ONE
#define ONE(name) GIVES(name, (void* to, _Float16 a), a)
ONE(ex2_approx_f16)
#undef ONE
#define ONE(name) GIVES(name, (void* to, half2 a), a)
ONE(ex2_approx_f16x2)
#undef ONE
#define ONE(name) GIVES(name, (void* to, _Float16 a, _Float16 b, _Float16 c), a, b, c)
ONE(fma_rn_f16) ONE(fma_rn_ftz_f16) ONE(fma_rn_sat_f16) ONE(fma_rn_ftz_sat_f16) ONE(fma_rn_relu_f16)
ONE(fma_rn_ftz_relu_f16)
#undef ONE
#define ONE(name) GIVES(name, (void* to, half2 a, half2 b, half2 c), a, b, c)
ONE(fma_rn_f16x2) ONE(fma_rn_ftz_f16x2) ONE(fma_rn_sat_f16x2) ONE(fma_rn_ftz_sat_f16x2) ONE(fma_rn_relu_f16x2)
ONE(fma_rn_ftz_relu_f16x2)
#undef ONE
#define ONE(name) GIVES(name, (void* to, __bf16 a, __bf16 b, __bf16 c), a, b, c)
ONE(fma_rn_bf16) ONE(fma_rn_relu_bf16)
#undef ONE
#define ONE(name) GIVES(name, (void* to, bfloat2 a, bfloat2 b, bfloat2 c), a, b, c)
ONE(fma_rn_bf16x2) ONE(fma_rn_relu_bf16x2)
#undef ONE
#define ONE(name) GIVES(name, (void* to, float a, float b, float c), a, b, c)
ONE(fma_rn_ftz_f) ONE(fma_rn_f) ONE(fma_rz_ftz_f) ONE(fma_rz_f) ONE(fma_rm_ftz_f) ONE(fma_rm_f) ONE(fma_rp_ftz_f)
ONE(fma_rp_f)
#undef ONE
#define ONE(name) GIVES(name, (void* to, double a, double b, double c), a, b, c)
ONE(fma_rn_d) ONE(fma_rz_d) ONE(fma_rm_d) ONE(fma_rp_d)
#undef ONE
#define ONE(name) GIVES(name, (void* to, double a), a)
ONE(d2f_rn_ftz) ONE(d2f_rn) ONE(d2f_rz_ftz) ONE(d2f_rz) ONE(d2f_rm_ftz) ONE(d2f_rm) ONE(d2f_rp_ftz) ONE(d2f_rp)
#undef ONE
#define ONE(name) GIVES(name, (void* to, double a), a)
ONE(d2i_rn) ONE(d2i_rz) ONE(d2i_rm) ONE(d2i_rp) ONE(d2i_lo) ONE(d2i_hi)
#undef ONE
#define ONE(name) GIVES(name, (void* to, double a), a)
ONE(d2ui_rn) ONE(d2ui_rz) ONE(d2ui_rm) ONE(d2ui_rp)
#undef ONE
#define ONE(name) GIVES(name, (void* to, int a), a)
ONE(i2d_rn) ONE(i2d_rz) ONE(i2d_rm) ONE(i2d_rp)
#undef ONE
#define ONE(name) GIVES(name, (void* to, unsigned a), a)
ONE(ui2d_rn) ONE(ui2d_rz) ONE(ui2d_rm) ONE(ui2d_rp)
#undef ONE
#define ONE(name) GIVES(name, (void* to, float a), a)
ONE(f2i_rn_ftz) ONE(f2i_rn) ONE(f2i_rz_ftz) ONE(f2i_rz) ONE(f2i_rm_ftz) ONE(f2i_rm) ONE(f2i_rp_ftz) ONE(f2i_rp)
ONE(bitcast_f2i)
#undef ONE
#define ONE(name) GIVES(name, (void* to, float a), a)
ONE(f2ui_rn_ftz) ONE(f2ui_rn) ONE(f2ui_rz_ftz) ONE(f2ui_rz) ONE(f2ui_rm_ftz) ONE(f2ui_rm) ONE(f2ui_rp_ftz)
ONE(f2ui_rp) ONE(f2tf32_rna)
#undef ONE
#define ONE(name) GIVES(name, (void* to, int a), a)
ONE(i2f_rn) ONE(i2f_rz) ONE(i2f_rm) ONE(i2f_rp) ONE(bitcast_i2f)
#undef ONE
#define ONE(name) GIVES(name, (void* to, unsigned a), a)
ONE(ui2f_rn) ONE(ui2f_rz) ONE(ui2f_rm) ONE(ui2f_rp)
#undef ONE
#define ONE(name) GIVES(name, (void* to, int a, int b), a, b)
ONE(lohi_i2d)
#undef ONE
#define ONE(name) GIVES(name, (void* to, float a), a)
ONE(f2ll_rn_ftz) ONE(f2ll_rn) ONE(f2ll_rz_ftz) ONE(f2ll_rz) ONE(f2ll_rm_ftz) ONE(f2ll_rm) ONE(f2ll_rp_ftz)
ONE(f2ll_rp)
#undef ONE
#define ONE(name) GIVES(name, (void* to, float a), a)
ONE(f2ull_rn_ftz) ONE(f2ull_rn) ONE(f2ull_rz_ftz) ONE(f2ull_rz) ONE(f2ull_rm_ftz) ONE(f2ull_rm) ONE(f2ull_rp_ftz)
ONE(f2ull_rp)
#undef ONE
#define ONE(name) GIVES(name, (void* to, double a), a)
ONE(d2ll_rn) ONE(d2ll_rz) ONE(d2ll_rm) ONE(d2ll_rp) ONE(bitcast_d2ll)
#undef ONE
#define ONE(name) GIVES(name, (void* to, double a), a)
ONE(d2ull_rn) ONE(d2ull_rz) ONE(d2ull_rm) ONE(d2ull_rp)
#undef ONE
#define ONE(name) GIVES(name, (void* to, long long a), a)
ONE(ll2f_rn) ONE(ll2f_rz) ONE(ll2f_rm) ONE(ll2f_rp)
#undef ONE
#define ONE(name) GIVES(name, (void* to, unsigned long long a), a)
ONE(ull2f_rn) ONE(ull2f_rz) ONE(ull2f_rm) ONE(ull2f_rp)
#undef ONE
#define ONE(name) GIVES(name, (void* to, long long a), a)
ONE(ll2d_rn) ONE(ll2d_rz) ONE(ll2d_rm) ONE(ll2d_rp) ONE(bitcast_ll2d)
#undef ONE
#define ONE(name) GIVES(name, (void* to, unsigned long long a), a)
ONE(ull2d_rn) ONE(ull2d_rz) ONE(ull2d_rm) ONE(ull2d_rp)
#undef ONE
#define ONE(name) GIVES(name, (void* to, float a), a)
ONE(f2h_rn_ftz) ONE(f2h_rn)
#undef ONE
#define ONE(name) GIVES(name, (void* to, float a, float b), a, b)
ONE(ff2bf16x2_rn) ONE(ff2bf16x2_rn_relu) ONE(ff2bf16x2_rz) ONE(ff2bf16x2_rz_relu)
#undef ONE
#define ONE(name) GIVES(name, (void* to, float a, float b), a, b)
ONE(ff2f16x2_rn) ONE(ff2f16x2_rn_relu) ONE(ff2f16x2_rz) ONE(ff2f16x2_rz_relu)
#undef ONE
#define ONE(name) GIVES(name, (void* to, float a), a)
ONE(f2bf16_rn) ONE(f2bf16_rn_relu) ONE(f2bf16_rz) ONE(f2bf16_rz_relu)
#undef ONE
#define ONE(name) GIVES(name, (void* to, unsigned a, unsigned b, int c), a, b, c)
ONE(fns)
#undef ONE
#define ONE(name) GIVES(name, (void* to, int a), a)
ONE(bar0_popc) ONE(bar0_and) ONE(bar0_or)
#undef ONE
#define ONE(name) DOES(name, (unsigned a, unsigned b), a, b)
ONE(barrier_sync_cnt)
#undef ONE
#define ONE(name) GIVES(name, (void* to, unsigned a, int b, int c, int d), a, b, c, d)
ONE(shfl_sync_down_i32) ONE(shfl_sync_up_i32) ONE(shfl_sync_bfly_i32) ONE(shfl_sync_idx_i32)
#undef ONE
#define ONE(name) GIVES(name, (void* to, unsigned a, float b, int c, int d), a, b, c, d)
ONE(shfl_sync_down_f32) ONE(shfl_sync_up_f32) ONE(shfl_sync_bfly_f32) ONE(shfl_sync_idx_f32)
#undef ONE
#define ONE(name) GIVES(name, (void* to, _Bool a), a)
ONE(vote_all) ONE(vote_any) ONE(vote_uni)
#undef ONE
#define ONE(name) GIVES(name, (void* to, _Bool a), a)
ONE(vote_ballot)
#undef ONE
#define ONE(name) GIVES(name, (void* to, unsigned a, _Bool b), a, b)
ONE(vote_all_sync) ONE(vote_any_sync) ONE(vote_uni_sync)
#undef ONE
#define ONE(name) GIVES(name, (void* to, unsigned a, _Bool b), a, b)
ONE(vote_ballot_sync)
#undef ONE
#define ONE(name) GIVES(name, (void* to))
ONE(activemask)
#undef ONE
#define ONE(name) GIVES(name, (void* to, unsigned a, long long b), a, b)
ONE(match_any_sync_i64)
#undef ONE
#define ONE(name) GIVES(name, (void* to, unsigned a, unsigned b, int* c), a, b, c)
ONE(match_all_sync_i32p)
#undef ONE
#define ONE(name) GIVES(name, (void* to, unsigned a, long long b, int* c), a, b, c)
ONE(match_all_sync_i64p)
#undef ONE
#define ONE(name) GIVES(name, (void* to, unsigned a, int b), a, b)
ONE(redux_sync_umin) ONE(redux_sync_umax)
#undef ONE
#define ONE(name) DOES(name, (long long* a, int b), a, b)
ONE(mbarrier_init)
#undef ONE
#define ONE(name) DOES(name, (SHARED long long* a, int b), a, b)
ONE(mbarrier_init_shared)
#undef ONE
#define ONE(name) DOES(name, (long long* a), a)
ONE(mbarrier_inval) ONE(cp_async_mbarrier_arrive) ONE(cp_async_mbarrier_arrive_noinc)
#undef ONE
#define ONE(name) DOES(name, (SHARED long long* a), a)
ONE(mbarrier_inval_shared) ONE(cp_async_mbarrier_arrive_shared) ONE(cp_async_mbarrier_arrive_noinc_shared)
#undef ONE
#define ONE(name) GIVES(name, (void* to, long long* a), a)
ONE(mbarrier_arrive) ONE(mbarrier_arrive_drop)
#undef ONE
#define ONE(name) GIVES(name, (void* to, SHARED long long* a), a)
ONE(mbarrier_arrive_shared) ONE(mbarrier_arrive_drop_shared)
#undef ONE
#define ONE(name) GIVES(name, (void* to, long long* a, int b), a, b)
ONE(mbarrier_arrive_noComplete) ONE(mbarrier_arrive_drop_noComplete)
#undef ONE
#define ONE(name) GIVES(name, (void* to, SHARED long long* a, int b), a, b)
ONE(mbarrier_arrive_noComplete_shared) ONE(mbarrier_arrive_drop_noComplete_shared)
#undef ONE
#define ONE(name) GIVES(name, (void* to, long long* a, long long b), a, b)
ONE(mbarrier_test_wait)
#undef ONE
#define ONE(name) GIVES(name, (void* to, SHARED long long* a, long long b), a, b)
ONE(mbarrier_test_wait_shared)
#undef ONE
#define ONE(name) GIVES(name, (void* to, long long a), a)
ONE(mbarrier_pending_count)
#undef ONE
#define ONE(name) GIVES(name, (void* to, int* a, int b), a, b)
ONE(atom_add_gen_i) ONE(atom_cta_add_gen_i) ONE(atom_sys_add_gen_i) ONE(atom_sub_gen_i) ONE(atom_xchg_gen_i)
ONE(atom_cta_xchg_gen_i) ONE(atom_sys_xchg_gen_i) ONE(atom_max_gen_i) ONE(atom_cta_max_gen_i) ONE(atom_sys_max_gen_i)
ONE(atom_min_gen_i) ONE(atom_cta_min_gen_i) ONE(atom_sys_min_gen_i) ONE(atom_and_gen_i) ONE(atom_cta_and_gen_i)
ONE(atom_sys_and_gen_i) ONE(atom_or_gen_i) ONE(atom_cta_or_gen_i) ONE(atom_sys_or_gen_i) ONE(atom_xor_gen_i)
ONE(atom_cta_xor_gen_i) ONE(atom_sys_xor_gen_i)
#undef ONE
#define ONE(name) GIVES(name, (void* to, long* a, long b), a, b)
ONE(atom_add_gen_l) ONE(atom_cta_add_gen_l) ONE(atom_sys_add_gen_l) ONE(atom_sub_gen_l) ONE(atom_xchg_gen_l)
ONE(atom_cta_xchg_gen_l) ONE(atom_sys_xchg_gen_l) ONE(atom_max_gen_l) ONE(atom_cta_max_gen_l) ONE(atom_sys_max_gen_l)
ONE(atom_min_gen_l) ONE(atom_cta_min_gen_l) ONE(atom_sys_min_gen_l) ONE(atom_and_gen_l) ONE(atom_cta_and_gen_l)
ONE(atom_sys_and_gen_l) ONE(atom_or_gen_l) ONE(atom_cta_or_gen_l) ONE(atom_sys_or_gen_l) ONE(atom_xor_gen_l)
ONE(atom_cta_xor_gen_l) ONE(atom_sys_xor_gen_l)
#undef ONE
#define ONE(name) GIVES(name, (void* to, long long* a, long long b), a, b)
ONE(atom_add_gen_ll) ONE(atom_cta_add_gen_ll) ONE(atom_sys_add_gen_ll) ONE(atom_sub_gen_ll) ONE(atom_xchg_gen_ll)
ONE(atom_cta_xchg_gen_ll) ONE(atom_sys_xchg_gen_ll) ONE(atom_max_gen_ll) ONE(atom_cta_max_gen_ll)
ONE(atom_sys_max_gen_ll) ONE(atom_min_gen_ll) ONE(atom_cta_min_gen_ll) ONE(atom_sys_min_gen_ll) ONE(atom_and_gen_ll)
ONE(atom_cta_and_gen_ll) ONE(atom_sys_and_gen_ll) ONE(atom_or_gen_ll) ONE(atom_cta_or_gen_ll) ONE(atom_sys_or_gen_ll)
ONE(atom_xor_gen_ll) ONE(atom_cta_xor_gen_ll) ONE(atom_sys_xor_gen_ll)
#undef ONE
#define ONE(name) GIVES(name, (void* to, float* a, float b), a, b)
ONE(atom_add_gen_f) ONE(atom_cta_add_gen_f) ONE(atom_sys_add_gen_f)
#undef ONE
#define ONE(name) GIVES(name, (void* to, double* a, double b), a, b)
ONE(atom_add_gen_d) ONE(atom_cta_add_gen_d) ONE(atom_sys_add_gen_d)
#undef ONE
#define ONE(name) GIVES(name, (void* to, unsigned* a, unsigned b), a, b)
ONE(atom_max_gen_ui) ONE(atom_cta_max_gen_ui) ONE(atom_sys_max_gen_ui) ONE(atom_min_gen_ui) ONE(atom_cta_min_gen_ui)
ONE(atom_sys_min_gen_ui) ONE(atom_inc_gen_ui) ONE(atom_cta_inc_gen_ui) ONE(atom_sys_inc_gen_ui) ONE(atom_dec_gen_ui)
ONE(atom_cta_dec_gen_ui) ONE(atom_sys_dec_gen_ui)
#undef ONE
#define ONE(name) GIVES(name, (void* to, unsigned long* a, unsigned long b), a, b)
ONE(atom_max_gen_ul) ONE(atom_cta_max_gen_ul) ONE(atom_sys_max_gen_ul) ONE(atom_min_gen_ul) ONE(atom_cta_min_gen_ul)
ONE(atom_sys_min_gen_ul)
#undef ONE
#define ONE(name) GIVES(name, (void* to, unsigned long long* a, unsigned long long b), a, b)
ONE(atom_max_gen_ull) ONE(atom_cta_max_gen_ull) ONE(atom_sys_max_gen_ull) ONE(atom_min_gen_ull)
ONE(atom_cta_min_gen_ull) ONE(atom_sys_min_gen_ull)
#undef ONE
#define ONE(name) GIVES(name, (void* to, int* a, int b, int c), a, b, c)
ONE(atom_cas_gen_i) ONE(atom_cta_cas_gen_i) ONE(atom_sys_cas_gen_i)
#undef ONE
#define ONE(name) GIVES(name, (void* to, long* a, long b, long c), a, b, c)
ONE(atom_cas_gen_l) ONE(atom_cta_cas_gen_l) ONE(atom_sys_cas_gen_l)
#undef ONE
#define ONE(name) GIVES(name, (void* to, long long* a, long long b, long long c), a, b, c)
ONE(atom_cas_gen_ll) ONE(atom_cta_cas_gen_ll) ONE(atom_sys_cas_gen_ll)
#undef ONE
#define ONE(name) GIVES(name, (void* to, const char* a), a)
ONE(ldu_c) ONE(ldg_c)
#undef ONE
#define ONE(name) GIVES(name, (void* to, const signed char* a), a)
ONE(ldu_sc) ONE(ldg_sc)
#undef ONE
#define ONE(name) GIVES(name, (void* to, const short* a), a)
ONE(ldu_s) ONE(ldg_s)
#undef ONE
#define ONE(name) GIVES(name, (void* to, const int* a), a)
ONE(ldu_i) ONE(ldg_i)
#undef ONE
#define ONE(name) GIVES(name, (void* to, const long* a), a)
ONE(ldu_l) ONE(ldg_l)
#undef ONE
#define ONE(name) GIVES(name, (void* to, const long long* a), a)
ONE(ldu_ll) ONE(ldg_ll)
#undef ONE
#define ONE(name) GIVES(name, (void* to, const unsigned char* a), a)
ONE(ldu_uc) ONE(ldg_uc)
#undef ONE
#define ONE(name) GIVES(name, (void* to, const unsigned short* a), a)
ONE(ldu_us) ONE(ldg_us)
#undef ONE
#define ONE(name) GIVES(name, (void* to, const unsigned* a), a)
ONE(ldu_ui) ONE(ldg_ui)
#undef ONE
#define ONE(name) GIVES(name, (void* to, const unsigned long* a), a)
ONE(ldu_ul) ONE(ldg_ul)
#undef ONE
#define ONE(name) GIVES(name, (void* to, const unsigned long long* a), a)
ONE(ldu_ull) ONE(ldg_ull)
#undef ONE
#define ONE(name) GIVES(name, (void* to, const _Float16* a), a)
ONE(ldu_h) ONE(ldg_h)
#undef ONE
#define ONE(name) GIVES(name, (void* to, const float* a), a)
ONE(ldu_f) ONE(ldg_f)
#undef ONE
#define ONE(name) GIVES(name, (void* to, const double* a), a)
ONE(ldu_d) ONE(ldg_d)
#undef ONE
#define ONE(name) GIVES(name, (void* to, const char2* a), a)
ONE(ldu_c2) ONE(ldg_c2)
#undef ONE
#define ONE(name) GIVES(name, (void* to, const schar2* a), a)
ONE(ldu_sc2) ONE(ldg_sc2)
#undef ONE
#define ONE(name) GIVES(name, (void* to, const char4* a), a)
ONE(ldu_c4) ONE(ldg_c4)
#undef ONE
#define ONE(name) GIVES(name, (void* to, const schar4* a), a)
ONE(ldu_sc4) ONE(ldg_sc4)
#undef ONE
#define ONE(name) GIVES(name, (void* to, const short2* a), a)
ONE(ldu_s2) ONE(ldg_s2)
#undef ONE
#define ONE(name) GIVES(name, (void* to, const short4* a), a)
ONE(ldu_s4) ONE(ldg_s4)
#undef ONE
#define ONE(name) GIVES(name, (void* to, const int2* a), a)
ONE(ldu_i2) ONE(ldg_i2)
#undef ONE
#define ONE(name) GIVES(name, (void* to, const int4* a), a)
ONE(ldu_i4) ONE(ldg_i4)
#undef ONE
#define ONE(name) GIVES(name, (void* to, const long2* a), a)
ONE(ldu_l2) ONE(ldg_l2)
#undef ONE
#define ONE(name) GIVES(name, (void* to, const llong2* a), a)
ONE(ldu_ll2) ONE(ldg_ll2)
#undef ONE
#define ONE(name) GIVES(name, (void* to, const uchar2* a), a)
ONE(ldu_uc2) ONE(ldg_uc2)
#undef ONE
#define ONE(name) GIVES(name, (void* to, const uchar4* a), a)
ONE(ldu_uc4) ONE(ldg_uc4)
#undef ONE
#define ONE(name) GIVES(name, (void* to, const ushort2* a), a)
ONE(ldu_us2) ONE(ldg_us2)
#undef ONE
#define ONE(name) GIVES(name, (void* to, const ushort4* a), a)
ONE(ldu_us4) ONE(ldg_us4)
#undef ONE
#define ONE(name) GIVES(name, (void* to, const uint2* a), a)
ONE(ldu_ui2) ONE(ldg_ui2)
#undef ONE
#define ONE(name) GIVES(name, (void* to, const uint4* a), a)
ONE(ldu_ui4) ONE(ldg_ui4)
#undef ONE
#define ONE(name) GIVES(name, (void* to, const ulong2* a), a)
ONE(ldu_ul2) ONE(ldg_ul2)
#undef ONE
#define ONE(name) GIVES(name, (void* to, const ullong2* a), a)
ONE(ldu_ull2) ONE(ldg_ull2)
#undef ONE
#define ONE(name) GIVES(name, (void* to, const half2* a), a)
ONE(ldu_h2) ONE(ldg_h2)
#undef ONE
#define ONE(name) GIVES(name, (void* to, const float2* a), a)
ONE(ldu_f2) ONE(ldg_f2)
#undef ONE
#define ONE(name) GIVES(name, (void* to, const float4* a), a)
ONE(ldu_f4) ONE(ldg_f4)
#undef ONE
#define ONE(name) GIVES(name, (void* to, const double2* a), a)
ONE(ldu_d2) ONE(ldg_d2)
#undef ONE
#define ONE(name) GIVES(name, (void* to, const void* a), a)
ONE(isspacep_const) ONE(isspacep_global) ONE(isspacep_local) ONE(isspacep_shared)
#undef ONE
#define ONE(name) DOES(name, (SHARED void* a, GLOBAL const void* b), a, b)
ONE(cp_async_ca_shared_global_4) ONE(cp_async_ca_shared_global_8) ONE(cp_async_ca_shared_global_16)
ONE(cp_async_cg_shared_global_16)
#undef ONE
void of_cp_async_wait_group(void) { __nvvm_cp_async_wait_group(3); }
#define ONE(name) GIVES(name, (void* to, __bf16 a), a)
ONE(abs_bf16) ONE(neg_bf16)
#undef ONE
#define ONE(name) GIVES(name, (void* to, bfloat2 a), a)
ONE(abs_bf16x2) ONE(neg_bf16x2)
#undef ONE
#if __CUDA_ARCH__ >= 860
#define ONE(name) GIVES(name, (void* to, _Float16 a, _Float16 b), a, b)
ONE(fmin_xorsign_abs_f16) ONE(fmin_ftz_xorsign_abs_f16) ONE(fmin_nan_xorsign_abs_f16)
ONE(fmin_ftz_nan_xorsign_abs_f16) ONE(fmax_xorsign_abs_f16) ONE(fmax_ftz_xorsign_abs_f16)
ONE(fmax_nan_xorsign_abs_f16) ONE(fmax_ftz_nan_xorsign_abs_f16)
#undef ONE
#define ONE(name) GIVES(name, (void* to, half2 a, half2 b), a, b)
ONE(fmin_xorsign_abs_f16x2) ONE(fmin_ftz_xorsign_abs_f16x2) ONE(fmin_nan_xorsign_abs_f16x2)
ONE(fmin_ftz_nan_xorsign_abs_f16x2) ONE(fmax_xorsign_abs_f16x2) ONE(fmax_ftz_xorsign_abs_f16x2)
ONE(fmax_nan_xorsign_abs_f16x2) ONE(fmax_ftz_nan_xorsign_abs_f16x2)
#undef ONE
#define ONE(name) GIVES(name, (void* to, __bf16 a, __bf16 b), a, b)
ONE(fmin_xorsign_abs_bf16) ONE(fmin_nan_xorsign_abs_bf16) ONE(fmax_xorsign_abs_bf16) ONE(fmax_nan_xorsign_abs_bf16)
#undef ONE
#define ONE(name) GIVES(name, (void* to, bfloat2 a, bfloat2 b), a, b)
ONE(fmin_xorsign_abs_bf16x2) ONE(fmin_nan_xorsign_abs_bf16x2) ONE(fmax_xorsign_abs_bf16x2)
ONE(fmax_nan_xorsign_abs_bf16x2)
#undef ONE
#define ONE(name) GIVES(name, (void* to, float a, float b), a, b)
ONE(fmin_xorsign_abs_f) ONE(fmin_ftz_xorsign_abs_f) ONE(fmin_nan_xorsign_abs_f) ONE(fmin_ftz_nan_xorsign_abs_f)
ONE(fmax_xorsign_abs_f) ONE(fmax_ftz_xorsign_abs_f) ONE(fmax_nan_xorsign_abs_f) ONE(fmax_ftz_nan_xorsign_abs_f)
#undef ONE
#endif
#if __CUDA_ARCH__ >= 900
#define ONE(name) GIVES(name, (void* to))
ONE(read_ptx_sreg_clusterid_x) ONE(read_ptx_sreg_clusterid_y) ONE(read_ptx_sreg_clusterid_z)
ONE(read_ptx_sreg_clusterid_w) ONE(read_ptx_sreg_nclusterid_x) ONE(read_ptx_sreg_nclusterid_y)
ONE(read_ptx_sreg_nclusterid_z) ONE(read_ptx_sreg_nclusterid_w) ONE(read_ptx_sreg_cluster_ctaid_x)
ONE(read_ptx_sreg_cluster_ctaid_y) ONE(read_ptx_sreg_cluster_ctaid_z) ONE(read_ptx_sreg_cluster_ctaid_w)
ONE(read_ptx_sreg_cluster_nctaid_x) ONE(read_ptx_sreg_cluster_nctaid_y) ONE(read_ptx_sreg_cluster_nctaid_z)
ONE(read_ptx_sreg_cluster_nctaid_w) ONE(read_ptx_sreg_cluster_ctarank) ONE(read_ptx_sreg_cluster_nctarank)
#undef ONE
#define ONE(name) GIVES(name, (void* to))
ONE(is_explicit_cluster)
#undef ONE
#define ONE(name) DOES(name, (void))
ONE(barrier_cluster_arrive) ONE(barrier_cluster_arrive_relaxed) ONE(barrier_cluster_wait) ONE(fence_sc_cluster)
#undef ONE
#define ONE(name) GIVES(name, (void* to, const void* a), a)
ONE(isspacep_shared_cluster)
#undef ONE
#define ONE(name) GIVES(name, (void* to, void* a, int b), a, b)
ONE(mapa)
#undef ONE
#define ONE(name) GIVES(name, (void* to, SHARED void* a, int b), a, b)
ONE(mapa_shared_cluster)
#undef ONE
#define ONE(name) GIVES(name, (void* to, void* a), a)
ONE(getctarank)
#undef ONE
#define ONE(name) GIVES(name, (void* to, SHARED void* a), a)
ONE(getctarank_shared_cluster)
#undef ONE
#endif
#define ONE(name) \
  MATRIX(name, 0, (int* d, const int* a, unsigned stride), d, a, stride, 0) \
  MATRIX(name, 1, (int* d, const int* a, unsigned stride), d, a, stride, 1)
ONE(__hmma_m16n16k16_ld_a) ONE(__hmma_m16n16k16_ld_b) ONE(__hmma_m16n16k16_ld_c_f16) ONE(__hmma_m16n16k16_st_c_f16)
ONE(__hmma_m32n8k16_ld_a) ONE(__hmma_m32n8k16_ld_b) ONE(__hmma_m32n8k16_ld_c_f16) ONE(__hmma_m32n8k16_st_c_f16)
ONE(__hmma_m8n32k16_ld_a) ONE(__hmma_m8n32k16_ld_b) ONE(__hmma_m8n32k16_ld_c_f16) ONE(__hmma_m8n32k16_st_c_f16)
ONE(__bmma_m8n8k128_ld_c) ONE(__bmma_m8n8k128_st_c_i32) ONE(__imma_m16n16k16_ld_a_s8) ONE(__imma_m16n16k16_ld_a_u8)
ONE(__imma_m16n16k16_ld_b_s8) ONE(__imma_m16n16k16_ld_b_u8) ONE(__imma_m16n16k16_ld_c) ONE(__imma_m16n16k16_st_c_i32)
ONE(__imma_m32n8k16_ld_a_s8) ONE(__imma_m32n8k16_ld_a_u8) ONE(__imma_m32n8k16_ld_b_s8) ONE(__imma_m32n8k16_ld_b_u8)
ONE(__imma_m32n8k16_ld_c) ONE(__imma_m32n8k16_st_c_i32) ONE(__imma_m8n32k16_ld_a_s8) ONE(__imma_m8n32k16_ld_a_u8)
ONE(__imma_m8n32k16_ld_b_s8) ONE(__imma_m8n32k16_ld_b_u8) ONE(__imma_m8n32k16_ld_c) ONE(__imma_m8n32k16_st_c_i32)
ONE(__imma_m8n8k32_ld_c) ONE(__imma_m8n8k32_st_c_i32)
#undef ONE
#define ONE(name) MATRIX(name, 0, (int* d, const int* a, unsigned stride), d, a, stride, 0)
ONE(__bmma_m8n8k128_ld_a_b1) ONE(__imma_m8n8k32_ld_a_s4) ONE(__imma_m8n8k32_ld_a_u4)
#undef ONE
#define ONE(name) MATRIX(name, 1, (int* d, const int* a, unsigned stride), d, a, stride, 1)
ONE(__bmma_m8n8k128_ld_b_b1) ONE(__imma_m8n8k32_ld_b_s4) ONE(__imma_m8n8k32_ld_b_u4) ONE(__mma_bf16_m16n16k16_ld_a)
ONE(__mma_bf16_m16n16k16_ld_b) ONE(__mma_bf16_m8n32k16_ld_a) ONE(__mma_bf16_m8n32k16_ld_b)
ONE(__mma_bf16_m32n8k16_ld_a) ONE(__mma_bf16_m32n8k16_ld_b) ONE(__mma_tf32_m16n16k8_ld_a)
ONE(__mma_tf32_m16n16k8_ld_b)
#undef ONE
#define ONE(name) \
  MATRIX(name, 0, (float* d, const float* a, unsigned stride), d, a, stride, 0) \
  MATRIX(name, 1, (float* d, const float* a, unsigned stride), d, a, stride, 1)
ONE(__hmma_m16n16k16_ld_c_f32) ONE(__hmma_m16n16k16_st_c_f32) ONE(__hmma_m32n8k16_ld_c_f32)
ONE(__hmma_m32n8k16_st_c_f32) ONE(__hmma_m8n32k16_ld_c_f32) ONE(__hmma_m8n32k16_st_c_f32)
#undef ONE
#define ONE(name) MATRIX(name, 1, (float* d, const float* a, unsigned stride), d, a, stride, 1)
ONE(__mma_tf32_m16n16k8_ld_c) ONE(__mma_m16n16k8_st_c_f32)
#undef ONE
#define ONE(name) \
  MATRIX(name, 00, (int* d, const int* a, const int* b, const int* c), d, a, b, c, 0, 0) \
  MATRIX(name, 10, (int* d, const int* a, const int* b, const int* c), d, a, b, c, 1, 0) \
  MATRIX(name, 20, (int* d, const int* a, const int* b, const int* c), d, a, b, c, 2, 0) \
  MATRIX(name, 30, (int* d, const int* a, const int* b, const int* c), d, a, b, c, 3, 0)
ONE(__hmma_m16n16k16_mma_f16f16) ONE(__hmma_m32n8k16_mma_f16f16) ONE(__hmma_m8n32k16_mma_f16f16)
#undef ONE
#define ONE(name) \
  MATRIX(name, 00, (int* d, const int* a, const int* b, const int* c), d, a, b, c, 0, 0) \
  MATRIX(name, 01, (int* d, const int* a, const int* b, const int* c), d, a, b, c, 0, 1) \
  MATRIX(name, 10, (int* d, const int* a, const int* b, const int* c), d, a, b, c, 1, 0) \
  MATRIX(name, 11, (int* d, const int* a, const int* b, const int* c), d, a, b, c, 1, 1) \
  MATRIX(name, 20, (int* d, const int* a, const int* b, const int* c), d, a, b, c, 2, 0) \
  MATRIX(name, 21, (int* d, const int* a, const int* b, const int* c), d, a, b, c, 2, 1) \
  MATRIX(name, 30, (int* d, const int* a, const int* b, const int* c), d, a, b, c, 3, 0) \
  MATRIX(name, 31, (int* d, const int* a, const int* b, const int* c), d, a, b, c, 3, 1)
ONE(__imma_m16n16k16_mma_s8) ONE(__imma_m16n16k16_mma_u8) ONE(__imma_m32n8k16_mma_s8) ONE(__imma_m32n8k16_mma_u8)
ONE(__imma_m8n32k16_mma_s8) ONE(__imma_m8n32k16_mma_u8)
#undef ONE
#define ONE(name) \
  MATRIX(name, 10, (int* d, const int* a, const int* b, const int* c), d, a, b, c, 1, 0) \
  MATRIX(name, 11, (int* d, const int* a, const int* b, const int* c), d, a, b, c, 1, 1)
ONE(__imma_m8n8k32_mma_s4) ONE(__imma_m8n8k32_mma_u4)
#undef ONE
#define ONE(name) \
  MATRIX(name, 00, (float* d, const int* a, const int* b, const int* c), d, a, b, c, 0, 0) \
  MATRIX(name, 10, (float* d, const int* a, const int* b, const int* c), d, a, b, c, 1, 0) \
  MATRIX(name, 20, (float* d, const int* a, const int* b, const int* c), d, a, b, c, 2, 0) \
  MATRIX(name, 30, (float* d, const int* a, const int* b, const int* c), d, a, b, c, 3, 0)
ONE(__hmma_m16n16k16_mma_f32f16) ONE(__hmma_m32n8k16_mma_f32f16) ONE(__hmma_m8n32k16_mma_f32f16)
#undef ONE
#define ONE(name) \
  MATRIX(name, 00, (float* d, const int* a, const int* b, const float* c), d, a, b, c, 0, 0) \
  MATRIX(name, 10, (float* d, const int* a, const int* b, const float* c), d, a, b, c, 1, 0) \
  MATRIX(name, 20, (float* d, const int* a, const int* b, const float* c), d, a, b, c, 2, 0) \
  MATRIX(name, 30, (float* d, const int* a, const int* b, const float* c), d, a, b, c, 3, 0)
ONE(__hmma_m16n16k16_mma_f32f32) ONE(__hmma_m32n8k16_mma_f32f32) ONE(__hmma_m8n32k16_mma_f32f32)
#undef ONE
#define ONE(name) \
  MATRIX(name, 00, (float* d, const int* a, const int* b, const float* c), d, a, b, c, 0, 0) \
  MATRIX(name, 10, (float* d, const int* a, const int* b, const float* c), d, a, b, c, 1, 0) \
  MATRIX(name, 20, (float* d, const int* a, const int* b, const float* c), d, a, b, c, 2, 0) \
  MATRIX(name, 30, (float* d, const int* a, const int* b, const float* c), d, a, b, c, 3, 0)
ONE(__mma_bf16_m16n16k16_mma_f32) ONE(__mma_bf16_m8n32k16_mma_f32) ONE(__mma_bf16_m32n8k16_mma_f32)
ONE(__mma_tf32_m16n16k8_mma_f32)
#undef ONE
#define ONE(name) \
  MATRIX(name, 00, (int* d, const int* a, const int* b, const float* c), d, a, b, c, 0, 0) \
  MATRIX(name, 10, (int* d, const int* a, const int* b, const float* c), d, a, b, c, 1, 0) \
  MATRIX(name, 20, (int* d, const int* a, const int* b, const float* c), d, a, b, c, 2, 0) \
  MATRIX(name, 30, (int* d, const int* a, const int* b, const float* c), d, a, b, c, 3, 0)
ONE(__hmma_m16n16k16_mma_f16f32) ONE(__hmma_m32n8k16_mma_f16f32) ONE(__hmma_m8n32k16_mma_f16f32)
#undef ONE
#define ONE(name) MATRIX(name, 1, (int* d, const int* a, const int* b, const int* c), d, a, b, c, 1)
ONE(__bmma_m8n8k128_mma_and_popc_b1) ONE(__bmma_m8n8k128_mma_xor_popc_b1)
#undef ONE
#define ONE(name) \
  MATRIX(name, 0, (double* d, const double* a, unsigned stride), d, a, stride, 0) \
  MATRIX(name, 1, (double* d, const double* a, unsigned stride), d, a, stride, 1)
ONE(__dmma_m8n8k4_ld_a) ONE(__dmma_m8n8k4_ld_b) ONE(__dmma_m8n8k4_ld_c) ONE(__dmma_m8n8k4_st_c_f64)
#undef ONE
#define ONE(name) \
  MATRIX(name, 00, (double* d, const double* a, const double* b, const double* c), d, a, b, c, 0, 0) \
  MATRIX(name, 10, (double* d, const double* a, const double* b, const double* c), d, a, b, c, 1, 0) \
  MATRIX(name, 20, (double* d, const double* a, const double* b, const double* c), d, a, b, c, 2, 0) \
  MATRIX(name, 30, (double* d, const double* a, const double* b, const double* c), d, a, b, c, 3, 0)
ONE(__dmma_m8n8k4_mma_f64)
#undef ONE
