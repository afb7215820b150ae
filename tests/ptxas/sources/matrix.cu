// SPDX-License-Identifier: Apache-2.0
// Warp matrix products of every type that the toolkit's fragments have.
#include <mma.h>

using namespace nvcuda;

template <class In, class Out, int M, int N, int K, class ALayout, class BLayout>
__device__ void product(const In* a, const In* b, Out* c) {
  wmma::fragment<wmma::matrix_a, M, N, K, In, ALayout> fa;
  wmma::fragment<wmma::matrix_b, M, N, K, In, BLayout> fb;
  wmma::fragment<wmma::accumulator, M, N, K, Out> fc;
  wmma::fill_fragment(fc, static_cast<Out>(0));
  wmma::load_matrix_sync(fa, a, K);
  wmma::load_matrix_sync(fb, b, K);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(c, fc, N, wmma::mem_row_major);
}

extern "C" __global__ void halves(const __half* a, const __half* b, float* c, __half* d) {
  product<__half, float, 16, 16, 16, wmma::row_major, wmma::col_major>(a, b, c);
  product<__half, __half, 32, 8, 16, wmma::col_major, wmma::row_major>(a, b, d);
  product<__half, float, 8, 32, 16, wmma::col_major, wmma::col_major>(a, b, c + 256);
}

extern "C" __global__ void bytes(const signed char* a, const unsigned char* b, int* c) {
  product<signed char, int, 16, 16, 16, wmma::row_major, wmma::col_major>(a, a, c);
  product<unsigned char, int, 32, 8, 16, wmma::row_major, wmma::col_major>(b, b, c);
}

#if __CUDA_ARCH__ >= 800
extern "C" __global__ void wide(const __nv_bfloat16* a, const double* d, float* c, double* e) {
  product<__nv_bfloat16, float, 16, 16, 16, wmma::row_major, wmma::col_major>(a, a, c);
  product<double, double, 8, 8, 4, wmma::row_major, wmma::col_major>(d, d, e);
  wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 8, float> fc;
  wmma::fill_fragment(fc, 0.0f);
  wmma::load_matrix_sync(fa, c, 8);
  wmma::load_matrix_sync(fb, c, 8);
  for (int i = 0; i < fa.num_elements; ++i) fa.x[i] = wmma::__float_to_tf32(fa.x[i]);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(c, fc, 16, wmma::mem_col_major);
}
#endif
