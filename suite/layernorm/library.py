"""PyTorch's layer norm."""

import torch


def library(x_ptr, w_ptr, b_ptr, n_cols, eps, **_):
    return lambda: torch.nn.functional.layer_norm(x_ptr, (n_cols,), w_ptr, b_ptr, eps)
