"""PyTorch's softmax."""

import torch


def library(in_ptr, n_cols, **_):
    x = in_ptr[:, :n_cols]
    return lambda: torch.softmax(x, dim=1)
