"""cuDNN attention, through PyTorch."""

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel


def library(q_ptr, k_ptr, v_ptr, scale, SHARED, CAUSAL, **_):
    attend = torch.nn.functional.scaled_dot_product_attention

    def compute():
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return attend(q_ptr, k_ptr, v_ptr, is_causal=bool(CAUSAL), scale=scale, enable_gqa=SHARED > 1)

    return compute
