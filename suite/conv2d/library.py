"""cuDNN, through PyTorch."""

import torch


def library(x_ptr, w_ptr, **_):
    return lambda: torch.nn.functional.conv2d(x_ptr, w_ptr)
