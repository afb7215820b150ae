# SPDX-License-Identifier: Apache-2.0
"""Evaluates the generated kernels (cases.py) and compares with what is known to agree with Triton's interpreter.

    check_generated.py TRITON_EVALUATE AGREED

AGREED was written by compare_generated.py: the seed and the number of modules, then for each case the digest of its
results, or `-` where there is nothing to compare. Needs no package.
"""
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

import cases


def serve(program, cache):
    return subprocess.Popen([program, "--serve", cache], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ask(server, case):
    arguments = {}
    for name, (kind, value) in case.arguments.items():
        if isinstance(value, bytes):
            arguments[name] = {"type": kind, "hex": value.hex()}
        elif kind == "constexpr":
            arguments[name] = {"type": kind, "value": value}
        else:
            arguments[name] = {"type": kind, "bits": value & (2**64 - 1)}
    request = {"source": case.module, "function": case.function, "grid": case.grid, "arguments": arguments, "workers": 1}
    server.stdin.write(json.dumps(request) + "\n")
    server.stdin.flush()
    line = server.stdout.readline()
    if not line:
        raise RuntimeError(f"the evaluator ended at {case.name}")
    return json.loads(line)


def digest(case, outputs):
    return hashlib.sha256("".join(outputs[name] for name in case.outputs).encode()).hexdigest()[:8]


def main() -> int:
    lines = pathlib.Path(sys.argv[2]).read_text().split("\n")
    seed, modules = (int(word) for word in lines[0].split())
    compared, wrong = 0, []
    with tempfile.TemporaryDirectory() as name:
        server = serve(sys.argv[1], str(pathlib.Path(name) / "trees"))
        for case, expected in zip(cases.generate(seed, modules, pathlib.Path(name)), lines[1:]):
            if expected == "-":
                continue
            answer = ask(server, case)
            compared += 1
            if "code" in answer:
                wrong.append(f"{case.name}: {answer['message']}")
            elif digest(case, answer["outputs"]) != expected:
                wrong.append(f"{case.name}: other results than those that agreed")
        server.stdin.close()
    print("\n".join(wrong[:20]))
    print(f"{compared} cases compared, {len(wrong)} differ")
    return 1 if wrong or compared == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
