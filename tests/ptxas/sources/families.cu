// SPDX-License-Identifier: Apache-2.0
// Families of the toolkit's headers that the other files do not touch: 4- and 6-bit numbers, pairs of .f32, clusters,
// cooperative groups, pipelines, 128-bit integers and reals, byte- and halfword-wise arithmetic, system atomics.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>
#include <cuda_pipeline.h>

namespace cg = cooperative_groups;

extern "C" __global__ void narrow(float2* f, unsigned char* a, unsigned short* b, __half2_raw* h) {
  a[0] = __nv_cvt_float2_to_fp4x2(f[0], __NV_E2M1, cudaRoundNearest);
  b[0] = __nv_cvt_float2_to_fp6x2(f[1], __NV_E3M2, cudaRoundNearest);
  b[1] = __nv_cvt_float2_to_fp6x2(f[2], __NV_E2M3, cudaRoundNearest);
  h[0] = __nv_cvt_fp4x2_to_halfraw2(a[1], __NV_E2M1);
  h[1] = __nv_cvt_fp6x2_to_halfraw2(b[2], __NV_E3M2);
  h[2] = __nv_cvt_fp6x2_to_halfraw2(b[3], __NV_E2M3);
  a[2] = __nv_cvt_float_to_e8m0(f[3].x, __NV_SATFINITE, cudaRoundPosInf);
}

extern "C" __global__ void simd(unsigned* u) {
  u[0] = __vadd2(u[0], u[1]) + __vaddss2(u[2], u[3]) + __vaddus4(u[4], u[5]) + __vavgs2(u[6], u[7]);
  u[1] = __vabs2(u[0]) + __vabsss4(u[1]) + __vneg2(u[2]) + __vnegss4(u[3]) + __vhaddu4(u[4], u[5]);
  u[2] = __vcmpeq4(u[0], u[1]) + __vcmpltu2(u[2], u[3]) + __vseteq2(u[4], u[5]) + __vsetgts4(u[6], u[7]);
  u[3] = __vsads2(u[0], u[1]) + __vsub4(u[2], u[3]) + __vsubss2(u[4], u[5]) + __vmins4(u[6], u[7]);
  u[4] = __vibmax_u32(u[0], u[1], reinterpret_cast<bool*>(u + 8)) + __viaddmin_s16x2_relu(u[2], u[3], u[4]);
}

extern "C" __global__ void groups(int* i, float* f) {
  const cg::thread_block block = cg::this_thread_block();
  const cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
  i[0] = cg::reduce(tile, i[threadIdx.x], cg::plus<int>()) + tile.shfl_xor(i[1], 2) + tile.any(i[2] > 0);
  f[0] = cg::reduce(tile, f[threadIdx.x], cg::greater<float>());
  const cg::coalesced_group active = cg::coalesced_threads();
  i[1] = active.size() + active.thread_rank() + active.ballot(i[3] > 0) + cg::this_grid().thread_rank();
  block.sync();
#if __CUDA_ARCH__ >= 700
  i[2] = tile.match_any(i[4]);
#endif
}

extern "C" __global__ void pipelined(const int4* in, int4* out) {
  __shared__ int4 kept[64];
  __pipeline_memcpy_async(&kept[threadIdx.x], &in[threadIdx.x], 16);
  __pipeline_memcpy_async(&kept[threadIdx.x + 32], &in[threadIdx.x + 32], 16, 8);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  out[threadIdx.x] = kept[threadIdx.x ^ 1];
}

extern "C" __global__ void wide(__int128* i, unsigned __int128* u, long long* l) {
  i[0] = i[1] * i[2] + (i[3] >> 3) - (i[4] << 70);
  u[0] = u[1] / 7 + u[2] % 1000;
  l[0] = __mul64hi(l[1], l[2]) + __umul64hi(l[3], l[4]) + (i[5] < i[6]);
}

extern "C" __global__ void everywhere(int* i, unsigned long long* l, float* f) {
  atomicAdd_system(i, 1), atomicCAS_block(i, 1, 2), atomicExch_system(l, 3ull), atomicMax_block(i, 4);
  atomicAdd_block(f, 1.0f), atomicAnd_system(i, 7), atomicOr_block(l, 8ull), atomicInc(reinterpret_cast<unsigned*>(i), 9);
  __threadfence_system();
}

#if __CUDA_ARCH__ >= 900
extern "C" __global__ void clusters(int* i) {
  __shared__ int kept[32];
  kept[threadIdx.x % 32] = i[threadIdx.x];
  const cg::cluster_group cluster = cg::this_cluster();
  cluster.sync();
  i[0] = *cluster.map_shared_rank(kept, 1) + cluster.block_rank() + cluster.query_shared_rank(kept);
  __cluster_barrier_arrive_relaxed();
  __cluster_barrier_wait();
  i[1] = cluster.dim_blocks().x + cluster.thread_rank();
}
#endif

#if __CUDA_ARCH__ >= 1000
extern "C" __global__ void pairs(float2* f) {
  f[0] = __ffma2_rn(f[1], f[2], f[3]);
  f[1] = __fadd2_rz(f[2], __fmul2_ru(f[3], f[4]));
}
#endif
