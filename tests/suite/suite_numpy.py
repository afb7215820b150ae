# SPDX-License-Identifier: Apache-2.0
"""The references of the suite (suite/NAME/reference.py), and what they share: numbers of narrow formats as float64
arrays."""
import importlib.util

import numpy as np


def load_reference(folder):
    """The function `reference` of a task's folder."""
    spec = importlib.util.spec_from_file_location(f"reference_of_{folder.name}", folder / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.reference


def bf16_bits(values):
    """Round to nearest even; returns the bits as uint16."""
    single = np.asarray(values, dtype=np.float32)
    bits = single.view(np.uint32).astype(np.uint64)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(single), np.uint16(0x7FC0), rounded)


def to_bf16(values):
    """Round to nearest even; returns float64."""
    return as_float64(bf16_bits(values), "bf16")


def to_fp16(values):
    return np.asarray(values, dtype=np.float64).astype(np.float16).astype(np.float64)


def from_e4m3(bits):
    """float8 e4m3 without infinities: 1 sign, 4 exponent (bias 7), 3 mantissa bits; 0x7f is NaN."""
    bits = np.asarray(bits).astype(np.int64) & 0xFF
    exponent, mantissa = bits >> 3 & 15, bits & 7
    value = np.where(exponent == 0, mantissa * 2.0**-9, (8 + mantissa) * 2.0 ** (exponent - 10.0))
    value = np.where(bits & 0x7F == 0x7F, np.nan, value)
    return np.where(bits >> 7 != 0, -value, value)


def to_e4m3(values):
    """Round to nearest even, saturating; returns float64."""
    x = np.asarray(values, dtype=np.float64)
    exponent = np.clip(np.floor(np.log2(np.maximum(np.abs(x), 2.0**-60))), -6, None)
    unit = 2.0 ** (exponent - 3)
    return np.clip(np.round(x / unit) * unit, -448, 448)


def as_float64(array, element_type):
    """What `plumb run` writes, as numbers: bf16 as uint16 bits, fp8 as uint8 bits, the others as they are."""
    if element_type == "bf16":
        return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if element_type == "fp8e4nv":
        return from_e4m3(array)
    if element_type.startswith("fp8"):
        raise ValueError(f"no reader of {element_type}")
    return array.astype(np.float64) if array.dtype.kind == "f" else array.astype(np.int64)
