"""PyTorch's RMS norm."""

import torch


def library(x_ptr, w_ptr, n_cols, eps, **_):
    return lambda: torch.nn.functional.rms_norm(x_ptr, (n_cols,), w_ptr, eps)
