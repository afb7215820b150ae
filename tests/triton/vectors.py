# SPDX-License-Identifier: Apache-2.0
"""The H200 vectors of the Triton corpus: inputs, outputs and launch facts of its kernels, as calls for `evaluate`."""
import json
import pathlib

import numpy as np

# Entry -> (function of kernels.py, tolerance relative to the largest output). bf16 results round once, so that a unit in
# the last place is 2^-8; matrix products of f8 and tf32 differ by the accumulator that the tensor core keeps.
FUNCTIONS = {
    "vector_add": "vector_add", "swiglu": "swiglu", "softmax": "softmax", "softmax_wide": "softmax",
    "rmsnorm": "rmsnorm", "layernorm": "layernorm", "matmul_bf16": "matmul", "matmul_bf16_large": "matmul",
    "matmul_bf16_strided": "matmul", "matmul_f16_small": "matmul", "matmul_f32_tf32": "matmul", "matmul_fp8": "matmul",
    "matmul_desc": "matmul_desc", "matmul_desc_large": "matmul_desc", "matmul_desc_ws": "matmul_desc_ws",
    "matmul_i8": "matmul_i8", "flash_attention": "flash_attention", "flash_attention_causal": "flash_attention",
    "flash_attention_w8": "flash_attention", "conv1d_causal": "conv1d_causal", "cross_entropy": "cross_entropy",
    "rope": "rope", "cumsum": "cumsum", "bitdelta": "bitdelta", "w4a16": "w4a16",
}
TYPES = {
    "float32": "fp32", "float64": "fp64", "float16": "fp16", "bfloat16": "bf16", "float8_e4m3fn": "fp8e4nv",
    "float8_e5m2": "fp8e5", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8",
}


def load(corpus: pathlib.Path):
    facts = json.loads((corpus / "h200" / "h200.json").read_text())
    arrays = np.load(corpus / "h200" / "h200.npz")
    return facts, arrays


def to_float(raw: np.ndarray, dtype: str) -> np.ndarray:
    """Bits as stored in the vectors -> float64 values."""
    if dtype == "bfloat16":
        return (raw.astype(np.int16).view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if dtype == "float8_e4m3fn":
        code = raw.astype(np.uint8).astype(np.int64)
        exponent, fraction = code >> 3 & 15, code & 7
        size = np.where(exponent == 0, fraction * 2.0**-9, (1 + fraction / 8) * 2.0 ** (exponent - 7.0))
        return np.where(code & 128, -size, size)
    return raw.astype(np.float64)
