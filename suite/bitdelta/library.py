"""cuBLAS on weights decoded beforehand, through PyTorch."""

import torch


def library(x_ptr, w_ptr, alpha_ptr, **_):
    bits = w_ptr[:, :, None, :] >> torch.arange(32, device=w_ptr.device)[None, None, :, None] & 1
    signs = (2 * bits - 1).flatten(1, 2).to(torch.float32)
    weights = (alpha_ptr[:, None, None] * signs).to(torch.float16)
    return lambda: torch.bmm(x_ptr, weights)
