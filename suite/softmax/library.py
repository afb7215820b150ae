"""PyTorch's softmax."""

import torch


def library(x_ptr, n_cols, **_):
    x = x_ptr[:, :n_cols]
    return lambda: torch.softmax(x, dim=1)
