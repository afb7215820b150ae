// SPDX-License-Identifier: Apache-2.0
// Sums of 1024 numbers by one block of 256 threads. The correct ones add in different orders and by different means; the
// racy ones are each short of one wait, and the comment beside it begins with RACE.
#include <cuda_runtime.h>

constexpr int kThreads = 256, kPerBlock = 1024;

// Neighbours first; many threads idle early.
//! block = [256]
extern "C" __global__ void interleaved(const float* x, float* out) {
  __shared__ float part[kThreads];
  const int thread = threadIdx.x;
  const float* mine = x + blockIdx.x * kPerBlock;
  part[thread] = mine[thread] + mine[thread + 256] + mine[thread + 512] + mine[thread + 768];
  __syncthreads();
  for (int stride = 1; stride < kThreads; stride *= 2) {
    if (thread % (2 * stride) == 0) part[thread] += part[thread + stride];
    __syncthreads();
  }
  if (thread == 0) out[blockIdx.x] = part[0];
}

// The same tree with neighbouring threads at work.
//! block = [256]
extern "C" __global__ void packed(const float* x, float* out) {
  __shared__ float part[kThreads];
  const int thread = threadIdx.x;
  const float* mine = x + blockIdx.x * kPerBlock;
  part[thread] = (mine[thread] + mine[thread + 512]) + (mine[thread + 256] + mine[thread + 768]);
  __syncthreads();
  for (int stride = 1; stride < kThreads; stride *= 2) {
    const int at = 2 * stride * thread;
    if (at < kThreads) part[at] += part[at + stride];
    __syncthreads();
  }
  if (thread == 0) out[blockIdx.x] = part[0];
}

// Halves: no bank is asked twice.
//! block = [256]
//! divisible_by_16 = true
extern "C" __global__ void halves(const float* x, float* out) {
  __shared__ float part[kThreads];
  const int thread = threadIdx.x;
  const float4 four = reinterpret_cast<const float4*>(x + blockIdx.x * kPerBlock)[thread];
  part[thread] = (four.x + four.y) + (four.z + four.w);
  __syncthreads();
  for (int stride = kThreads / 2; stride > 0; stride /= 2) {
    if (thread < stride) part[thread] += part[thread + stride];
    __syncthreads();
  }
  if (thread == 0) out[blockIdx.x] = part[0];
}

// The last warp goes on alone, with a wait of its own after every read and every write.
//! block = [256]
extern "C" __global__ void last_warp(const float* x, float* out) {
  __shared__ float part[kThreads];
  const int thread = threadIdx.x;
  const float* mine = x + blockIdx.x * kPerBlock;
  float sum = 0;
  for (int i = thread; i < kPerBlock; i += kThreads) sum += mine[i];
  part[thread] = sum;
  __syncthreads();
  if (thread < 128) part[thread] += part[thread + 128];
  __syncthreads();
  if (thread < 64) part[thread] += part[thread + 64];
  __syncthreads();
  if (thread < 32) {
    for (int stride = 32; stride > 0; stride /= 2) {
      const float other = part[thread + stride];
      __syncwarp();
      part[thread] += other;
      __syncwarp();
    }
  }
  if (thread == 0) out[blockIdx.x] = part[0];
}

__device__ float sum_of_warp(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(0xffffffffu, value, step);
  return value;
}

// Registers of a warp, then one number of each warp.
//! block = [256]
extern "C" __global__ void shuffles(const float* x, float* out) {
  __shared__ float part[kThreads / 32];
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const float* mine = x + blockIdx.x * kPerBlock;
  float sum = 0;
  for (int i = thread; i < kPerBlock; i += kThreads) sum += mine[i];
  sum = sum_of_warp(sum);
  if (lane == 0) part[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    sum = sum_of_warp(lane < kThreads / 32 ? part[lane] : 0.0f);
    if (lane == 0) out[blockIdx.x] = sum;
  }
}

// Two halves of a block, two chains of adds and one float atomic of each warp in shared memory.
//! block = [256]
extern "C" __global__ void atomics(const float* x, float* out) {
  __shared__ float total;
  const int thread = threadIdx.x;
  const float* mine = x + blockIdx.x * kPerBlock;
  if (thread == 0) total = 0;
  __syncthreads();
  const float sum = sum_of_warp((mine[4 * thread] + mine[4 * thread + 1]) + (mine[4 * thread + 2] + mine[4 * thread + 3]));
  if (thread % 32 == 0) atomicAdd(&total, sum);
  __syncthreads();
  if (thread == 0) out[blockIdx.x] = total;
}

// The barrier of the loop is missing.
//! block = [256]
extern "C" __global__ void racy_no_barrier(const float* x, float* out) {
  __shared__ float part[kThreads];
  const int thread = threadIdx.x;
  const float* mine = x + blockIdx.x * kPerBlock;
  part[thread] = mine[thread] + mine[thread + 256] + mine[thread + 512] + mine[thread + 768];
  __syncthreads();
#pragma unroll 1
  for (int stride = kThreads / 2; stride > 0; stride /= 2) {
    if (thread < stride) part[thread] += part[thread + stride];  // RACE
  }
  __syncthreads();
  if (thread == 0) out[blockIdx.x] = part[0];
}

// A warp's threads are taken to run in step: nothing orders one's write before another's read.
//! block = [256]
extern "C" __global__ void racy_warp_in_step(const float* x, float* out) {
  __shared__ volatile float part[kThreads];
  const int thread = threadIdx.x;
  const float* mine = x + blockIdx.x * kPerBlock;
  part[thread] = mine[thread] + mine[thread + 256] + mine[thread + 512] + mine[thread + 768];
  __syncthreads();
  if (thread < 128) part[thread] += part[thread + 128];
  __syncthreads();
  if (thread < 64) part[thread] += part[thread + 64];
  __syncthreads();
  if (thread < 32) {
    part[thread] += part[thread + 32];
    part[thread] += part[thread + 16];  // RACE
    part[thread] += part[thread + 8];
    part[thread] += part[thread + 4];
    part[thread] += part[thread + 2];
    part[thread] += part[thread + 1];
  }
  if (thread == 0) out[blockIdx.x] = part[0];
}

// The numbers of the warps are read without waiting for them.
//! block = [256]
extern "C" __global__ void racy_between_warps(const float* x, float* out) {
  __shared__ float part[kThreads / 32];
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const float* mine = x + blockIdx.x * kPerBlock;
  float sum = 0;
  for (int i = thread; i < kPerBlock; i += kThreads) sum += mine[i];
  sum = sum_of_warp(sum);
  if (lane == 0) part[warp] = sum;
  if (warp == 0) {
    sum = sum_of_warp(lane < kThreads / 32 ? part[lane] : 0.0f);  // RACE
    if (lane == 0) out[blockIdx.x] = sum;
  }
}

// Half of the block leaves before the barrier: that it is not waited for does not order what it wrote.
//! block = [256]
extern "C" __global__ void racy_exited(const float* x, float* out) {
  __shared__ float part[kThreads];
  const int thread = threadIdx.x;
  const float* mine = x + blockIdx.x * kPerBlock;
  part[thread] = mine[thread] + mine[thread + 256] + mine[thread + 512] + mine[thread + 768];
  if (thread >= 128) return;
  __syncthreads();
  part[thread] += part[thread + 128];  // RACE
#pragma unroll 1
  for (int stride = 64; stride > 0; stride /= 2) {
    __syncthreads();
    if (thread < stride) part[thread] += part[thread + stride];
  }
  if (thread == 0) out[blockIdx.x] = part[0];
}

// Right in every block but the last.
//! block = [256]
extern "C" __global__ void racy_last_block(const float* x, float* out) {
  __shared__ float part[kThreads / 32];
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const float* mine = x + blockIdx.x * kPerBlock;
  const float sum = sum_of_warp((mine[thread] + mine[thread + 256]) + (mine[thread + 512] + mine[thread + 768]));
  if (lane == 0) part[warp] = sum;
  if (blockIdx.x + 1 < gridDim.x) __syncthreads();
  if (thread == 0) {
    float total = 0;
    for (int i = 0; i < kThreads / 32; ++i) total += part[i];  // RACE
    out[blockIdx.x] = total;
  }
}

//! block = [256]
extern "C" __global__ void wrong_last_block(const float* x, float* out) {
  __shared__ float part[kThreads / 32];
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const float* mine = x + blockIdx.x * kPerBlock;
  const float sum = sum_of_warp((mine[thread] + mine[thread + 256]) + (mine[thread + 512] + mine[thread + 768]));
  if (lane == 0) part[warp] = sum;
  __syncthreads();
  if (thread == 0) {
    float total = blockIdx.x + 1 < gridDim.x ? 0 : mine[7];
    for (int i = 0; i < kThreads / 32; ++i) total += part[i];
    out[blockIdx.x] = total;
  }
}

// Every block is right, and the second's place is written by two of them.
//! block = [256]
extern "C" __global__ void racy_output(const float* x, float* out) {
  __shared__ float part[kThreads / 32];
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const float* mine = x + blockIdx.x * kPerBlock;
  const float sum = sum_of_warp((mine[thread] + mine[thread + 256]) + (mine[thread + 512] + mine[thread + 768]));
  if (lane == 0) part[warp] = sum;
  __syncthreads();
  if (thread == 0) {
    float total = 0;
    for (int i = 0; i < kThreads / 32; ++i) total += part[i];
    if (blockIdx.x == 0) out[1] = 0;
    out[blockIdx.x] = total;  // RACE
  }
}
