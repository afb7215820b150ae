// SPDX-License-Identifier: Apache-2.0
// Attention of one head a block row: O = softmax(Q K^T / 8) V, with 64 numbers a key. The f32 ones take q, k, v and write
// o; the f16 ones round the weights to f16 for the second product, as a tensor core wants them. S is the number of
// queries and keys, a multiple of 64.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

constexpr int kDim = 64, kTile = 64;
constexpr float kScale = 0.125f, kNone = -1e30f;

// One block, one query: all of its scores, their maximum, their sum, then the weighted values.
template <bool kCausal>
__device__ void attend(const float* q, const float* k, const float* v, float* o, int keys) {
  extern __shared__ float scores[];
  __shared__ float part[kDim];
  const int query = blockIdx.x, thread = threadIdx.x;
  const int last = kCausal ? query + 1 : keys;
  float largest = kNone;
  for (int key = thread; key < last; key += kDim) {
    float score = 0;
    for (int i = 0; i < kDim; ++i) score += q[query * kDim + i] * k[key * kDim + i];
    scores[key] = score * kScale;
    largest = fmaxf(largest, scores[key]);
  }
  part[thread] = largest;
  __syncthreads();
  largest = kNone;
  for (int i = 0; i < kDim; ++i) largest = fmaxf(largest, part[i]);
  float sum = 0, total = 0;
  for (int key = 0; key < last; ++key) {
    const float weight = __expf(scores[key] - largest);
    sum += weight;
    total += weight * v[key * kDim + thread];
  }
  o[query * kDim + thread] = total / sum;
}

//! grid = ["S"]
//! block = [64]
//! shared = "4 * S"
//! divisible_by_16 = true
extern "C" __global__ void attention(const float* q, const float* k, const float* v, float* o, int keys) {
  attend<false>(q, k, v, o, keys);
}

//! grid = ["S"]
//! block = [64]
//! shared = "4 * S"
//! divisible_by_16 = true
extern "C" __global__ void attention_causal(const float* q, const float* k, const float* v, float* o, int keys) {
  attend<true>(q, k, v, o, keys);
}

// One block, 64 queries; keys and values come by in tiles, and what was summed is scaled whenever the maximum grows.
// A thread has one query and keeps its row of the output.
template <bool kCausal>
__device__ void flash_attend(const float* q, const float* k, const float* v, float* o, int keys) {
  __shared__ float key_tile[kTile][kDim], value_tile[kTile][kDim];
  const int thread = threadIdx.x, query = blockIdx.x * kTile + thread;
  float mine[kDim], total[kDim] = {}, largest = kNone, sum = 0;
#pragma unroll
  for (int i = 0; i < kDim; ++i) mine[i] = q[query * kDim + i] * kScale;
  const int end = kCausal ? (blockIdx.x + 1) * kTile : keys;
  for (int first = 0; first < end; first += kTile) {
    __syncthreads();
    for (int row = 0; row < kTile; ++row) {
      key_tile[row][thread] = k[(first + row) * kDim + thread];
      value_tile[row][thread] = v[(first + row) * kDim + thread];
    }
    __syncthreads();
    for (int row = 0; row < kTile; row += 8) {
      float score[8], before = largest;
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        score[j] = 0;
#pragma unroll
        for (int i = 0; i < kDim; ++i) score[j] += mine[i] * key_tile[row + j][i];
        if (kCausal && first + row + j > query) score[j] = kNone;
        largest = fmaxf(largest, score[j]);
      }
      const float shrink = __expf(before - largest);
      sum *= shrink;
#pragma unroll
      for (int i = 0; i < kDim; ++i) total[i] *= shrink;
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const float weight = __expf(score[j] - largest);
        sum += weight;
#pragma unroll
        for (int i = 0; i < kDim; ++i) total[i] += weight * value_tile[row + j][i];
      }
    }
  }
#pragma unroll
  for (int i = 0; i < kDim; ++i) o[query * kDim + i] = total[i] / sum;
}

//! grid = ["S // 64"]
//! block = [64]
//! divisible_by_16 = true
extern "C" __global__ void flash(const float* q, const float* k, const float* v, float* o, int keys) {
  flash_attend<false>(q, k, v, o, keys);
}

//! grid = ["S // 64"]
//! block = [64]
//! divisible_by_16 = true
extern "C" __global__ void flash_causal(const float* q, const float* k, const float* v, float* o, int keys) {
  flash_attend<true>(q, k, v, o, keys);
}

// The plain one on f16: the scores in f32, the weights rounded.
template <bool kCausal>
__device__ void attend_half(const __half* q, const __half* k, const __half* v, float* o, int keys) {
  extern __shared__ float scores[];
  __shared__ float part[kDim];
  const int query = blockIdx.x, thread = threadIdx.x;
  const int last = kCausal ? query + 1 : keys;
  float largest = kNone;
  for (int key = thread; key < last; key += kDim) {
    float score = 0;
    for (int i = 0; i < kDim; ++i) score += __half2float(q[query * kDim + i]) * __half2float(k[key * kDim + i]);
    scores[key] = score * kScale;
    largest = fmaxf(largest, scores[key]);
  }
  part[thread] = largest;
  __syncthreads();
  largest = kNone;
  for (int i = 0; i < kDim; ++i) largest = fmaxf(largest, part[i]);
  float sum = 0, total = 0;
  for (int key = 0; key < last; ++key) {
    const float weight = __expf(scores[key] - largest);
    sum += weight;
    total += __half2float(__float2half(weight)) * __half2float(v[key * kDim + thread]);
  }
  o[query * kDim + thread] = total / sum;
}

//! grid = ["S"]
//! block = [64]
//! shared = "4 * S"
//! divisible_by_16 = true
extern "C" __global__ void attention_half(const __half* q, const __half* k, const __half* v, float* o, int keys) {
  attend_half<false>(q, k, v, o, keys);
}

//! grid = ["S"]
//! block = [64]
//! shared = "4 * S"
//! divisible_by_16 = true
extern "C" __global__ void attention_half_causal(const __half* q, const __half* k, const __half* v, float* o, int keys) {
  attend_half<true>(q, k, v, o, keys);
}

// On tensor cores: four warps, each with 16 of the block's 64 queries. Scores, weights and the output of a warp lie in
// shared memory between the products, where a lane pair has one row.
namespace wmma = nvcuda::wmma;

template <bool kCausal>
__device__ void flash_tensor(const __half* q, const __half* k, const __half* v, float* o, int keys) {
  extern __shared__ float dynamic[];
  float* scores = dynamic + threadIdx.x / 32 * 16 * (kTile + kDim);
  float* total = scores + 16 * kTile;
  __half* weights = reinterpret_cast<__half*>(dynamic + 4 * 16 * (kTile + kDim)) + threadIdx.x / 32 * 16 * kTile;
  const int lane = threadIdx.x % 32, row = lane / 2, half = lane % 2 * 32;
  const int first_query = blockIdx.x * kTile + threadIdx.x / 32 * 16;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> left[kDim / 16];
#pragma unroll
  for (int i = 0; i < kDim / 16; ++i) wmma::load_matrix_sync(left[i], q + first_query * kDim + i * 16, kDim);
  float largest = kNone, sum = 0;
  for (int i = 0; i < 32; ++i) total[row * kDim + half + i] = 0;
  __syncwarp();
  const int end = kCausal ? (blockIdx.x + 1) * kTile : keys;
  for (int first = 0; first < end; first += kTile) {
#pragma unroll
    for (int j = 0; j < kTile / 16; ++j) {
      wmma::fragment<wmma::accumulator, 16, 16, 16, float> score;
      wmma::fill_fragment(score, 0.0f);
#pragma unroll
      for (int i = 0; i < kDim / 16; ++i) {
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> right;
        wmma::load_matrix_sync(right, k + (first + j * 16) * kDim + i * 16, kDim);
        wmma::mma_sync(score, left[i], right, score);
      }
      wmma::store_matrix_sync(scores + j * 16, score, kTile, wmma::mem_row_major);
    }
    __syncwarp();
    float before = largest;
    for (int i = 0; i < 32; ++i) {
      float& score = scores[row * kTile + half + i];
      score = kCausal && first + half + i > first_query + row ? kNone : score * kScale;
      largest = fmaxf(largest, score);
    }
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
    const float shrink = __expf(before - largest);
    sum *= shrink;
    for (int i = 0; i < 32; ++i) {
      const float weight = __expf(scores[row * kTile + half + i] - largest);
      sum += weight;
      weights[row * kTile + half + i] = __float2half(weight);
      total[row * kDim + half + i] *= shrink;
    }
    __syncwarp();
#pragma unroll
    for (int j = 0; j < kDim / 16; ++j) {
      wmma::fragment<wmma::accumulator, 16, 16, 16, float> part;
      wmma::load_matrix_sync(part, total + j * 16, kDim, wmma::mem_row_major);
#pragma unroll
      for (int i = 0; i < kTile / 16; ++i) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> weight;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> value;
        wmma::load_matrix_sync(weight, weights + i * 16, kTile);
        wmma::load_matrix_sync(value, v + (first + i * 16) * kDim + j * 16, kDim);
        wmma::mma_sync(part, weight, value, part);
      }
      wmma::store_matrix_sync(total + j * 16, part, kDim, wmma::mem_row_major);
    }
    __syncwarp();
  }
  sum += __shfl_xor_sync(0xffffffffu, sum, 1);
  for (int i = 0; i < 32; ++i) o[(first_query + row) * kDim + half + i] = total[row * kDim + half + i] / sum;
}

//! grid = ["S // 64"]
//! block = [128]
//! shared = "4 * 16 * 128 * 4 + 4 * 16 * 64 * 2"
//! divisible_by_16 = true
extern "C" __global__ void flash_tensor_cores(const __half* q, const __half* k, const __half* v, float* o, int keys) {
  flash_tensor<false>(q, k, v, o, keys);
}

//! grid = ["S // 64"]
//! block = [128]
//! shared = "4 * 16 * 128 * 4 + 4 * 16 * 64 * 2"
//! divisible_by_16 = true
extern "C" __global__ void flash_tensor_cores_causal(const __half* q, const __half* k, const __half* v, float* o,
                                                     int keys) {
  flash_tensor<true>(q, k, v, o, keys);
}
