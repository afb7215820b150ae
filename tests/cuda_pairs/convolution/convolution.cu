// SPDX-License-Identifier: Apache-2.0
// A convolution of 100 images of 3 x 224 x 224 with a filter of 3 x 11 x 11, four pixels apart: 54 x 54 sums of 363.
#include <cuda_runtime.h>

constexpr int kChannels = 3, kSide = 224, kFilter = 11, kStride = 4, kOut = 54;

// One thread, one sum, straight from global memory.
//! grid = ["cdiv(54 * 54, 256)", "images"]
//! block = [256]
extern "C" __global__ void direct(const float* x, const float* w, float* out) {
  const int at = blockIdx.x * 256 + threadIdx.x, image = blockIdx.y;
  if (at >= kOut * kOut) return;
  const int row = at / kOut * kStride, column = at % kOut * kStride;
  float sum = 0;
  for (int channel = 0; channel < kChannels; ++channel)
    for (int i = 0; i < kFilter; ++i)
      for (int j = 0; j < kFilter; ++j)
        sum += x[((image * kChannels + channel) * kSide + row + i) * kSide + column + j] *
               w[(channel * kFilter + i) * kFilter + j];
  out[image * kOut * kOut + at] = sum;
}

// One block, two rows of the output: filter and rows of the picture in shared memory, the filter's rows unrolled, the
// channels one after the other.
constexpr int kRows = 2, kTall = kFilter + (kRows - 1) * kStride;

//! grid = ["27", "images"]
//! block = [128]
//! divisible_by_16 = true
extern "C" __global__ void tiled(const float* x, const float* w, float* out) {
  __shared__ __align__(16) float picture[kTall][kSide];
  __shared__ float filter[kFilter * kFilter];
  const int thread = threadIdx.x, image = blockIdx.y, first = blockIdx.x * kRows;
  const int row = thread / kOut, column = thread % kOut;
  float sum = 0;
  for (int channel = 0; channel < kChannels; ++channel) {
    const float4* from =
        reinterpret_cast<const float4*>(x + ((image * kChannels + channel) * kSide + first * kStride) * kSide);
    for (int i = thread; i < kTall * kSide / 4; i += 128) reinterpret_cast<float4*>(&picture[0][0])[i] = from[i];
    if (thread < kFilter * kFilter) filter[thread] = w[channel * kFilter * kFilter + thread];
    __syncthreads();
    if (row < kRows) {
      for (int i = 0; i < kFilter; ++i) {
        const float* pixels = &picture[row * kStride + i][column * kStride];
        const float4 a = *reinterpret_cast<const float4*>(pixels), b = *reinterpret_cast<const float4*>(pixels + 4);
        const float* weights = &filter[i * kFilter];
        float even = a.x * weights[0] + a.z * weights[2] + b.x * weights[4] + b.z * weights[6];
        float odd = a.y * weights[1] + a.w * weights[3] + b.y * weights[5] + b.w * weights[7];
        even += pixels[8] * weights[8] + pixels[10] * weights[10];
        odd += pixels[9] * weights[9];
        sum += even + odd;
      }
    }
    __syncthreads();
  }
  if (row < kRows) out[(image * kOut + first + row) * kOut + column] = sum;
}
