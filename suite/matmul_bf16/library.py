"""cuBLAS, through PyTorch."""

import torch


def library(a_ptr, b_ptr, M, N, K, **_):
    a, b = a_ptr[:M, :K], b_ptr[:K, :N]
    return lambda: torch.matmul(a, b)
