# SPDX-License-Identifier: Apache-2.0
"""Runs a kernel under Triton's own interpreter (TRITON_INTERPRET=1) on NumPy arrays, without torch or a GPU."""
import importlib.util
import os
import pathlib
import time

os.environ["TRITON_INTERPRET"] = "1"

import numpy as np  # noqa: E402

NAMES = {"*fp32": "float32", "*fp64": "float64", "*fp16": "float16", "*bf16": "bfloat16", "*fp8e4nv": "float8_e4m3fn",
         "*fp8e5": "float8_e5m2", "*i8": "int8", "*i16": "int16", "*i32": "int32", "*i64": "int64", "*u8": "uint8", "*u16": "uint16",
         "*u32": "uint32", "*u64": "uint64", "*i1": "bool"}

BYTES = {"float8_e4m3fn": 1, "float8_e5m2": 1, "bool": 1}


class Storage:
    """The memory of a tensor, as far as the interpreter asks: it copies host tensors in and out."""

    def __init__(self, array):
        self.array = array

    def data_ptr(self):
        return self.array.ctypes.data

    def cpu(self):
        return self

    def copy_(self, other):
        if other is not self:
            self.array[...] = other.array


class Dtype:
    def __init__(self, name):
        self.name = name

    def __str__(self):
        return "torch." + self.name

    @property
    def itemsize(self):  # tensor descriptors ask for it
        return BYTES.get(self.name) or int("".join(filter(str.isdigit, self.name))) // 8

    def __eq__(self, other):  # Triton keeps types in a table that outlives the tensors
        return self.name == other.name

    def __hash__(self):
        return hash(self.name)


class Tensor:
    """Looks enough like a torch tensor in host memory for Triton's interpreter."""

    def __init__(self, array, kind):
        self.storage, self.dtype, self.device = Storage(array), Dtype(NAMES[kind]), "cpu"

    def data_ptr(self):
        return self.storage.data_ptr()

    def untyped_storage(self):
        return self.storage

    def new_empty(self, *_, **__):
        return Tensor(self.storage.array, "*" + {v: k[1:] for k, v in NAMES.items()}[self.dtype.name])

    def set_(self, storage, *_):
        self.storage = storage

    def storage_offset(self):
        return 0

    def size(self):
        return self.storage.array.shape

    def stride(self):
        return tuple(step // self.storage.array.itemsize for step in self.storage.array.strides)

    def is_contiguous(self):
        return True


def load_module(path: pathlib.Path):
    spec = importlib.util.spec_from_file_location("kernels_under_test", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(path: pathlib.Path, function: str, grid, arguments: dict) -> float:
    """Arguments as for bridge.evaluate; arrays are updated in place. Returns the seconds that it took."""
    kernel = getattr(load_module(path), function)
    given = {}
    for name, (kind, value) in arguments.items():
        given[name] = Tensor(value, kind) if isinstance(value, np.ndarray) else value
    start = time.perf_counter()
    kernel[tuple(grid)](**given)
    return time.perf_counter() - start
