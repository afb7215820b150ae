# SPDX-License-Identifier: Apache-2.0
"""How many times faster than Triton's own interpreter the evaluator is, kernel by kernel.

    triton_bench.py TRITON_EVALUATE KERNELS.py

KERNELS.py holds the kernels of the corpus. Both sides run the same calls on the same inputs, the evaluator on one
worker and on all; the least of three times is taken. Exits 77 with the reason when Triton or NumPy is missing.
"""
import os
import pathlib
import sys
import tempfile

os.environ["TRITON_INTERPRET"] = "1"  # read while Triton is imported
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "triton"))

try:
    import numpy as np
    import triton  # noqa: F401
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import bridge
import interpreter

random = np.random.default_rng(0)


def half(*shape):
    return "*fp16", random.standard_normal(shape).astype(np.float16)


def bf16(*shape):
    return "*bf16", (random.standard_normal(shape).astype(np.float32).view(np.uint32) >> 16).astype(np.int16)


def single(*shape):
    return "*fp32", random.standard_normal(shape).astype(np.float32)


def integers(**values):
    return {name: ("i32", value) for name, value in values.items()}


def constants(**values):
    return {name: ("constexpr", value) for name, value in values.items()}


def calls():
    n = 1 << 18
    yield "vector_add", [n // 1024], {"x_ptr": single(n), "y_ptr": single(n), "out_ptr": single(n), **integers(n=n),
                                      **constants(BLOCK=1024)}
    yield "swiglu", [n // 1024], {"gate_ptr": bf16(n), "up_ptr": bf16(n), "out_ptr": bf16(n), **integers(n=n),
                                  **constants(BLOCK=1024)}
    yield "softmax", [64], {"x_ptr": bf16(64, 4096), "out_ptr": bf16(64, 4096), **integers(stride=4096, n_cols=4096),
                            **constants(BLOCK=4096)}
    yield "layernorm", [64], {"x_ptr": bf16(64, 1000), "w_ptr": bf16(1000), "b_ptr": bf16(1000),
                              "out_ptr": bf16(64, 1000), "eps": ("fp32", 1e-6), **integers(n_cols=1000),
                              **constants(BLOCK=1024)}
    m = 256
    yield "matmul", [4], {"a_ptr": half(m, m), "b_ptr": half(m, m), "c_ptr": half(m, m),
                          **integers(M=m, N=m, K=m, sam=m, sak=1, sbk=m, sbn=1, scm=m, scn=1),
                          **constants(BM=128, BN=128, BK=64, GROUP=8)}
    yield "flash_attention", [2, 4], {**{name: half(4, 256, 64) for name in ("q_ptr", "k_ptr", "v_ptr", "o_ptr")},
                                      "sm_scale": ("fp32", 0.125), **integers(S=256),
                                      **constants(CAUSAL=False, D=64, BM=128, BN=64)}
    yield "rope", [64, 16], {"x_ptr": bf16(64, 16, 128), "cos_ptr": bf16(64, 64), "sin_ptr": bf16(64, 64),
                             "out_ptr": bf16(64, 16, 128), **integers(S=64, H=16), **constants(D=128)}
    yield "conv1d_causal", [16, 2, 2], {"x_ptr": bf16(2, 256, 200), "w_ptr": bf16(4, 200), "out_ptr": bf16(2, 256, 200),
                                        **integers(T=256, C=200), **constants(WIDTH=4, BT=16, BC=128)}
    yield "cumsum", [64], {"x_ptr": single(64, 900), "out_ptr": single(64, 900), **integers(n_cols=900),
                           **constants(BLOCK=1024)}


def main() -> int:
    program, source = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    print(f"{'kernel':18} {'interpreter':>14} {'one worker':>12} {'all':>10} {'ratio':>8} {'ratio, all':>10}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for function, grid, arguments in calls():
            theirs = min(interpreter.run(source, function, grid, arguments) for _ in range(3))
            times = []
            for workers in (1, 0):
                runs = [bridge.evaluate(program, folder, source, function, grid, arguments, workers) for _ in range(3)]
                if runs[0][0] is None:
                    print(runs[0][1])
                    return 1
                times.append(min(facts["seconds"] for facts, _ in runs))
            print(f"{function:18} {theirs * 1e3:11.2f} ms {times[0] * 1e3:9.2f} ms {times[1] * 1e3:7.2f} ms "
                  f"{theirs / times[0]:7.1f}x {theirs / times[1]:9.1f}x")
    return 0


if __name__ == "__main__":
    sys.exit(main())
