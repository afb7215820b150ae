// SPDX-License-Identifier: Apache-2.0
// Warps, barriers, branches, calls, indirect calls, recursion, printf, launch bounds, clusters.
#include <cooperative_groups.h>
#include <cstdio>

extern "C" __global__ void warps(int* i, unsigned* u, float* f) {
  i[0] = __shfl_sync(~0u, i[1], 3) + __shfl_up_sync(~0u, i[2], 1) + __shfl_down_sync(~0u, i[3], 2, 16);
  f[0] = __shfl_xor_sync(~0u, f[1], 8);
  u[0] = __ballot_sync(~0u, i[1] > 0) + __activemask() + __match_any_sync(~0u, i[2]);
  int all = 0;
  u[1] = __match_all_sync(~0u, i[3], &all) + __any_sync(~0u, i[4]) + __all_sync(~0u, i[5]) + all;
#if __CUDA_ARCH__ >= 800
  u[2] = __reduce_add_sync(~0u, u[3]) + __reduce_min_sync(~0u, u[4]) + __reduce_xor_sync(~0u, u[5]);
  i[6] = __reduce_max_sync(~0u, i[7]);
#endif
  __syncwarp();
  u[6] = __fns(u[7], 0, 1) + warpSize;
}

extern "C" __global__ void barriers(int* i) {
  __syncthreads();
  i[0] = __syncthreads_count(i[1]) + __syncthreads_and(i[2]) + __syncthreads_or(i[3]);
  cooperative_groups::thread_block block = cooperative_groups::this_thread_block();
  block.sync();
  const auto tile = cooperative_groups::tiled_partition<8>(block);
  i[4] = tile.shfl(i[5], 2) + static_cast<int>(tile.ballot(i[6] > 1));
}

extern "C" __global__ void branches(int* i, int n) {
  switch (n) {
    case 0: i[0] = 3; break;
    case 1: i[1] = i[7] * 5; break;
    case 2: i[2] = i[6] + 1; break;
    case 3: i[3] = i[5] / 3; break;
    case 4: i[4] = i[4] % 7; break;
    case 5: i[5] = __popc(i[3]); break;
    case 6: i[6] = ~i[2]; break;
    case 7: i[7] = i[1] << 2; break;
    default: i[8] = -1;
  }
  while (i[9] > 0) {
    if (i[10] == 3) break;
    if (i[11] & 1) continue;
    i[9] -= i[12];
  }
  if (n > 100) __trap();
  if (n > 99) asm volatile("brkpt;");
}

__noinline__ __device__ int twice(int x, int* p) { return p[x] + x; }
__noinline__ __device__ int thrice(int x, int* p) { return p[x] * 3; }
__noinline__ __device__ float4 wide(float4 a, double b) { return make_float4(a.x + b, a.y, a.z, a.w); }
__device__ int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }
__device__ int (*functions[2])(int, int*) = {twice, thrice};

extern "C" __global__ void calls(int* i, float4* f, double* d) {
  i[0] = twice(3, i) + factorial(i[1]) + functions[i[2] & 1](4, i);
  f[0] = wide(f[1], d[0]);
  if (i[3] == 0) printf("%d %f\n", i[4], d[1]);
  int* heap = static_cast<int*>(malloc(16));
  heap[0] = 1;
  free(heap);
}

extern "C" __global__ void __launch_bounds__(256, 2) bounded(float* f) { f[threadIdx.x] *= 2.0f; }

#if __CUDA_ARCH__ >= 900
extern "C" __global__ void __cluster_dims__(2, 1, 1) clustered(int* i) {
  __shared__ int mine;
  const cooperative_groups::cluster_group cluster = cooperative_groups::this_cluster();
  mine = static_cast<int>(cluster.block_rank());
  cluster.sync();
  i[blockIdx.x] = *cluster.map_shared_rank(&mine, 1) + static_cast<int>(cluster.num_blocks());
  cluster.sync();
}
#endif
