"""cuBLAS, through PyTorch."""

import torch


def library(a_ptr, b_ptr, **_):
    return lambda: torch.matmul(a_ptr, b_ptr)
