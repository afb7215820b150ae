// SPDX-License-Identifier: Apache-2.0
// State spaces, vectors, cache operators, atomics, fences, asynchronous copies, textures and surfaces.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

__constant__ float table[64] = {1.0f, 2.0f, 3.5f};
__device__ int counter = 7;
__device__ const int* pointer = &counter;
__device__ double grid[3][4] = {{1.0, 2.0}, {3.0}};
extern __shared__ char dynamic[];

struct alignas(16) Packed {
  float x[4];
  short y[3];
  char z;
};

extern "C" __global__ void spaces(Packed in, Packed* out, int n) {
  __shared__ float tile[32][33];
  int local[16];
  for (int i = 0; i < 16; ++i) local[i] = n * i;
  tile[threadIdx.y][threadIdx.x] = table[n] + in.x[n & 3] + grid[n % 3][n & 3];
  __syncthreads();
  out->x[0] = tile[threadIdx.x][threadIdx.y] + local[n & 15] + reinterpret_cast<float*>(dynamic)[n] + *pointer;
  out->y[2] = in.y[n % 3];
  out->z = in.z;
}

extern "C" __global__ void vectors(float4* f, int2* i, double2* d, uchar4* c, short4* s, ulonglong2* u) {
  f[1] = f[0];
  i[1] = i[0];
  d[1] = d[0];
  c[1] = c[0];
  s[1] = s[0];
  u[1] = u[0];
}

extern "C" __global__ void caches(const float* __restrict__ a, float4* b, int* c, const double2* d) {
  b[1] = __ldg(b);
  c[0] = __ldca(c + 1) + __ldcg(c + 2) + __ldcs(c + 3) + __ldlu(c + 4) + __ldcv(c + 5);
  __stwb(c + 6, 1);
  __stcg(c + 7, 2);
  __stcs(c + 8, 3);
  __stwt(c + 9, 4);
  c[10] = static_cast<int>(a[threadIdx.x] + __ldg(d).x);
  volatile int* v = c;
  v[11] = v[12];
}

extern "C" __global__ void atomics(int* i, unsigned* u, unsigned long long* l, float* f, double* d, __half2* h) {
  __shared__ int s;
  i[1] = atomicAdd(i, 1) + atomicSub(i, 2) + atomicExch(i, 3) + atomicMin(i, 4) + atomicMax(i, 5) + atomicCAS(i, 6, 7);
  u[1] = atomicInc(u, 9) + atomicDec(u, 9) + atomicAnd(u, 3) + atomicOr(u, 4) + atomicXor(u, 5);
  l[1] = atomicAdd(l, 1ull) + atomicCAS(l, 1ull, 2ull) + atomicExch(l, 4ull) + atomicMax(l, 5ull);
  f[1] = atomicAdd(f, 1.0f) + atomicExch(f, 2.0f);
  d[1] = atomicAdd(d, 1.0);
  h[1] = atomicAdd(h, h[2]);
  atomicAdd(&s, 1);
  i[2] = atomicAdd_block(i, 1) + atomicAdd_system(i, 2) + atomicCAS_block(i, 1, 2) + s;
}

extern "C" __global__ void fences(int* a) {
  a[0] = 1;
  __threadfence_block();
  a[1] = 2;
  __threadfence();
  a[2] = 3;
  __threadfence_system();
  a[3] = 4;
  __nanosleep(20);
  a[4] = static_cast<int>(clock() + clock64());
}

extern "C" __global__ void copies(const float4* in, float4* out) {
  __shared__ float4 stage[2][128];
  __pipeline_memcpy_async(&stage[0][threadIdx.x], in + threadIdx.x, 16);
  __pipeline_commit();
  __pipeline_memcpy_async(&stage[1][threadIdx.x], in + 128 + threadIdx.x, 16, 4);
  __pipeline_commit();
  __pipeline_wait_prior(1);
  __syncthreads();
  out[threadIdx.x] = stage[0][127 - threadIdx.x];
  __pipeline_wait_prior(0);
  __syncthreads();
  out[128 + threadIdx.x] = stage[1][127 - threadIdx.x];
}

extern "C" __global__ void textures(cudaTextureObject_t t, cudaSurfaceObject_t s, float4* out) {
  out[0] = tex1D<float4>(t, 0.5f);
  out[1] = tex2D<float4>(t, 0.5f, 0.25f);
  out[2] = tex3D<float4>(t, 0.5f, 0.25f, 0.75f);
  out[3] = tex2DLod<float4>(t, 0.5f, 0.25f, 1.0f);
  out[4] = tex1Dfetch<float4>(t, 3);
  out[5] = tex2Dgather<float4>(t, 0.5f, 0.5f, 1);
  out[6] = texCubemap<float4>(t, 0.1f, 0.2f, 0.3f);
  out[7] = tex2DLayered<float4>(t, 0.1f, 0.2f, 3);
  surf2Dwrite(out[0], s, 16, 2);
  out[8] = surf2Dread<float4>(s, 0, 1);
  surf1Dwrite(out[1].x, s, 4, cudaBoundaryModeZero);
}
