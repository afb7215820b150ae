# SPDX-License-Identifier: Apache-2.0
"""How many kernels of public packages the front end takes, and why it refuses the others.

    breadth.py TRITON_EVALUATE FOLDER [--list REASON]

FOLDER holds one folder for each package, with its Python files (unpacked wheels). Every function there that
`triton.jit` decorates is loaded as a kernel; nothing of the packages is executed. A kernel is `loaded` when the front end
reports nothing, `refused` when it names a construct, `not parsed` when Python itself refuses the file. The reasons are
counted by the message, a kernel counting once for each. --list prints the kernels refused with a reason.
"""
import argparse
import ast
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

# Folders of back ends other than NVIDIA's, whose kernels call functions of those.
VENDORS = re.compile(r"_(ascend|cambricon|mthreads|metax|kunlunxin|iluvatar|hygon|aipu|arm|tsingmicro|amd|enflame|"
                     r"sunrise|spacemit|thead)/|/(npu|ascend|xpu|rocm|hip)/")


def is_jit(decorator) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    if isinstance(called, ast.Attribute):
        return called.attr == "jit" and isinstance(called.value, ast.Name) and called.value.id == "triton"
    return isinstance(called, ast.Name) and called.id == "jit"


def is_scalar_body(decorator) -> bool:
    """FlagGems makes kernels of such a function; it is none itself."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(called, ast.Name) and called.id == "pointwise_dynamic"


def kernels(path: pathlib.Path):
    """Names of the module-level jitted functions of a file; None when Python does not parse it."""
    text = path.read_text(errors="replace")
    if "triton" not in text:
        return []
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    return [node.name for node in tree.body
            if isinstance(node, ast.FunctionDef) and any(is_jit(each) for each in node.decorator_list)
            and not any(is_scalar_body(each) for each in node.decorator_list)]


def reason(message: str) -> str:
    """The message without what is particular to one place."""
    return re.sub(r"\s+", " ", re.sub(r"\b\d+\b", "N", message))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--list", default="")
    parser.add_argument("--cache", default=tempfile.gettempdir() + "/plumb-breadth-trees")
    options = parser.parse_args()
    asked, unparsed = [], collections.Counter()
    for path in sorted(options.folder.rglob("*.py")):
        package = path.relative_to(options.folder).parts[0]
        if VENDORS.search(str(path)):
            continue
        names = kernels(path)
        if names is None:
            unparsed[package] += 1
        asked += [(package, path, name) for name in names or []]
    lines = "".join(f"{path}\t{name}\n" for _, path, name in asked)
    run = subprocess.run([options.program, "--load", options.cache], input=lines, capture_output=True, text=True, check=False)
    answers = run.stdout.splitlines()
    if len(answers) != len(asked):
        print(f"{len(answers)} answers for {len(asked)} kernels: {run.stderr}")
        return 1
    total, loaded, reasons, alone = (collections.Counter() for _ in range(4))
    for (package, path, name), answer in zip(asked, answers):
        found = json.loads(answer)
        total[package] += 1
        loaded[package] += not found
        seen = {reason(f"{code}: {message}") for code, message, _ in found}
        reasons.update(seen)
        if len(seen) == 1:
            alone.update(seen)
        if options.list and any(options.list in each for each in seen):
            print(path, name, [(message, line) for _, message, line in found][:3])
    print(f"{'package':28} {'kernels':>8} {'loaded':>8} {'share':>7}  files not parsed")
    for package in [*sorted(total), None]:
        all_, good = (total[package], loaded[package]) if package else (total.total(), loaded.total())
        print(f"{package or 'all':28} {all_:8} {good:8} {good / max(all_, 1):7.1%}  {unparsed[package] or ''}")
    print(f"\n{'kernels':>8} {'alone':>6}  reason")
    for each, count in reasons.most_common(60):
        print(f"{count:8} {alone[each]:6}  {each}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
