"""cuBLAS with B transposed beforehand, through PyTorch."""

import torch


def library(a_ptr, b_ptr, **_):
    columns = b_ptr.t().contiguous().t()  # the only order of B that cuBLAS takes
    one = torch.ones((), device=a_ptr.device)
    return lambda: torch._scaled_mm(a_ptr, columns, one, one, out_dtype=torch.float16)
