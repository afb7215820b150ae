// SPDX-License-Identifier: Apache-2.0
// C = A B in f32, one 64 x 64 tile of C at a time, in seven stages of optimisation. Row-major; N and K are the kernel's
// parameters, and multiples of what the stages step by.
#include <cuda_runtime.h>

// 1. One thread, one element; neighbouring threads in one column.
//! grid = ["N // 16", "M // 16"]
//! block = [16, 16]
//! requires = ["M % 64 == 0", "N % 64 == 0", "K % 16 == 0"]
//! divisible_by_16 = true
extern "C" __global__ void naive(const float* a, const float* b, float* c, int n, int k) {
  const int row = blockIdx.y * 16 + threadIdx.x, column = blockIdx.x * 16 + threadIdx.y;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + column];
  c[row * n + column] = sum;
}

// 2. Neighbouring threads in one row: their loads are one transaction.
//! grid = ["N // 16", "M // 16"]
//! block = [16, 16]
//! requires = ["M % 64 == 0", "N % 64 == 0", "K % 16 == 0"]
//! divisible_by_16 = true
extern "C" __global__ void coalesced(const float* a, const float* b, float* c, int n, int k) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + column];
  c[row * n + column] = sum;
}

// 3. Tiles of 16 x 16 in shared memory.
//! grid = ["N // 16", "M // 16"]
//! block = [16, 16]
//! requires = ["M % 64 == 0", "N % 64 == 0", "K % 16 == 0"]
//! divisible_by_16 = true
extern "C" __global__ void shared_tiles(const float* a, const float* b, float* c, int n, int k) {
  __shared__ float left[16][16], right[16][16];
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float sum = 0;
  for (int step = 0; step < k; step += 16) {
    left[y][x] = a[row * k + step + x];
    right[y][x] = b[(step + y) * n + column];
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += left[y][i] * right[i][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

// 4. Eight rows of one column for each thread: 64 x 64 by 512 threads, steps of 8.
//! grid = ["N // 64", "M // 64"]
//! block = [512]
//! requires = ["M % 64 == 0", "N % 64 == 0", "K % 16 == 0"]
//! divisible_by_16 = true
extern "C" __global__ void column_of_eight(const float* a, const float* b, float* c, int n, int k) {
  __shared__ float left[64][8], right[8][64];
  const int thread = threadIdx.x, column = thread % 64, group = thread / 64;
  const int first_row = blockIdx.y * 64, first_column = blockIdx.x * 64;
  float sums[8] = {};
  for (int step = 0; step < k; step += 8) {
    left[thread / 8][thread % 8] = a[(first_row + thread / 8) * k + step + thread % 8];
    right[thread / 64][column] = b[(step + thread / 64) * n + first_column + column];
    __syncthreads();
    for (int i = 0; i < 8; ++i) {
      const float one = right[i][column];
      for (int j = 0; j < 8; ++j) sums[j] += left[group * 8 + j][i] * one;
    }
    __syncthreads();
  }
  for (int j = 0; j < 8; ++j) c[(first_row + group * 8 + j) * n + first_column + column] = sums[j];
}

// 5. Squares of 8 x 8 for each thread: 64 x 64 by 64 threads.
//! grid = ["N // 64", "M // 64"]
//! block = [64]
//! requires = ["M % 64 == 0", "N % 64 == 0", "K % 16 == 0"]
//! divisible_by_16 = true
extern "C" __global__ void squares(const float* a, const float* b, float* c, int n, int k) {
  __shared__ float left[64][8], right[8][64];
  const int thread = threadIdx.x, x = thread % 8, y = thread / 8;
  const int first_row = blockIdx.y * 64, first_column = blockIdx.x * 64;
  float sums[8][8] = {};
  for (int step = 0; step < k; step += 8) {
    for (int i = 0; i < 8; ++i) {
      left[i * 8 + y][x] = a[(first_row + i * 8 + y) * k + step + x];
      right[i][thread] = b[(step + i) * n + first_column + thread];
    }
    __syncthreads();
    for (int i = 0; i < 8; ++i) {
      float column[8], row[8];
      for (int j = 0; j < 8; ++j) {
        column[j] = left[y * 8 + j][i];
        row[j] = right[i][x * 8 + j];
      }
      for (int j = 0; j < 8; ++j)
        for (int l = 0; l < 8; ++l) sums[j][l] += column[j] * row[l];
    }
    __syncthreads();
  }
  for (int j = 0; j < 8; ++j)
    for (int l = 0; l < 8; ++l) c[(first_row + y * 8 + j) * n + first_column + x * 8 + l] = sums[j][l];
}

// 6. Four numbers a load, the left tile transposed in shared memory, so that both are read four at a time.
//! grid = ["N // 64", "M // 64"]
//! block = [64]
//! requires = ["M % 64 == 0", "N % 64 == 0", "K % 16 == 0"]
//! divisible_by_16 = true
extern "C" __global__ void vectors(const float* a, const float* b, float* c, int n, int k) {
  __shared__ __align__(16) float left[8][64], right[8][64];
  const int thread = threadIdx.x, x = thread % 8, y = thread / 8;
  const int first_row = blockIdx.y * 64, first_column = blockIdx.x * 64;
  float sums[8][8] = {};
  for (int step = 0; step < k; step += 8) {
    for (int i = 0; i < 2; ++i) {
      const int part = thread + 64 * i;
      const float4 four = *reinterpret_cast<const float4*>(&a[(first_row + part / 2) * k + step + part % 2 * 4]);
      left[part % 2 * 4][part / 2] = four.x;
      left[part % 2 * 4 + 1][part / 2] = four.y;
      left[part % 2 * 4 + 2][part / 2] = four.z;
      left[part % 2 * 4 + 3][part / 2] = four.w;
      *reinterpret_cast<float4*>(&right[part / 16][part % 16 * 4]) =
          *reinterpret_cast<const float4*>(&b[(step + part / 16) * n + first_column + part % 16 * 4]);
    }
    __syncthreads();
    for (int i = 0; i < 8; ++i) {
      float column[8], row[8];
      for (int j = 0; j < 8; j += 4) {
        *reinterpret_cast<float4*>(&column[j]) = *reinterpret_cast<const float4*>(&left[i][y * 8 + j]);
        *reinterpret_cast<float4*>(&row[j]) = *reinterpret_cast<const float4*>(&right[i][x * 8 + j]);
      }
      for (int j = 0; j < 8; ++j)
        for (int l = 0; l < 8; ++l) sums[j][l] += column[j] * row[l];
    }
    __syncthreads();
  }
  for (int j = 0; j < 8; ++j)
    for (int l = 0; l < 8; l += 4) {
      float4 four;
      four.x = sums[j][l];
      four.y = sums[j][l + 1];
      four.z = sums[j][l + 2];
      four.w = sums[j][l + 3];
      *reinterpret_cast<float4*>(&c[(first_row + y * 8 + j) * n + first_column + x * 8 + l]) = four;
    }
}

// 7. Two buffers: `cp.async` fetches the next step while this one is multiplied. One barrier a step.
__device__ void fetch(float* to, const float* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(
                   static_cast<unsigned>(__cvta_generic_to_shared(to))),
               "l"(from)
               : "memory");
}

//! grid = ["N // 64", "M // 64"]
//! block = [64]
//! requires = ["M % 64 == 0", "N % 64 == 0", "K % 16 == 0"]
//! divisible_by_16 = true
extern "C" __global__ void two_buffers(const float* a, const float* b, float* c, int n, int k) {
  __shared__ __align__(16) float left[2][64][8], right[2][8][64];
  const int thread = threadIdx.x, x = thread % 8, y = thread / 8;
  const int first_row = blockIdx.y * 64, first_column = blockIdx.x * 64;
  float sums[8][8] = {};
  const auto fetch_step = [&](int step, int buffer) {
    for (int i = 0; i < 2; ++i) {
      const int part = thread + 64 * i;
      fetch(&left[buffer][part / 2][part % 2 * 4], &a[(first_row + part / 2) * k + step + part % 2 * 4]);
      fetch(&right[buffer][part / 16][part % 16 * 4], &b[(step + part / 16) * n + first_column + part % 16 * 4]);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  fetch_step(0, 0);
  for (int step = 0; step < k; step += 8) {
    const int buffer = step / 8 % 2;
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    if (step + 8 < k) fetch_step(step + 8, 1 - buffer);
    for (int i = 0; i < 8; ++i) {
      float column[8], row[8];
      for (int j = 0; j < 8; ++j) column[j] = left[buffer][y * 8 + j][i];
      for (int j = 0; j < 8; j += 4)
        *reinterpret_cast<float4*>(&row[j]) = *reinterpret_cast<const float4*>(&right[buffer][i][x * 8 + j]);
      for (int j = 0; j < 8; ++j)
        for (int l = 0; l < 8; ++l) sums[j][l] += column[j] * row[l];
    }
  }
  for (int j = 0; j < 8; ++j)
    for (int l = 0; l < 8; l += 4) {
      float4 four;
      four.x = sums[j][l];
      four.y = sums[j][l + 1];
      four.z = sums[j][l + 2];
      four.w = sums[j][l + 3];
      *reinterpret_cast<float4*>(&c[(first_row + y * 8 + j) * n + first_column + x * 8 + l]) = four;
    }
}
