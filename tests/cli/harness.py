# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests share: running the binary in a scratch folder, and saying which claim failed."""
import os
import re
import subprocess
import sys
import tempfile
import traceback

PLUMB = sys.argv[1]
SOURCE = sys.argv[2]
CORPUS = os.path.join(SOURCE, "tests", "corpus")


class Result:
    def __init__(self, done):
        self.code = done.returncode
        self.out = done.stdout.decode("utf-8", "replace")
        self.err = done.stderr.decode("utf-8", "replace")


def plumb(*arguments, stdin=b"", env=None, timeout=120):
    """Runs plumb; a crash (a signal) or a hang is a failure of the test."""
    environment = dict(os.environ, XDG_CACHE_HOME=os.path.join(os.getcwd(), "cache"), **(env or {}))
    done = subprocess.run([PLUMB, *map(str, arguments)], input=stdin, capture_output=True, timeout=timeout, env=environment)
    assert done.returncode in (0, 1, 2), f"plumb {arguments} ended with {done.returncode}: {done.stderr!r}"
    return Result(done)


def write(path, content):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    return path


def read(path, mode="r"):
    with open(path, mode) as file:
        return file.read()


def same(got, wanted, what=""):
    assert got == wanted, f"{what}: got {got!r}, wanted {wanted!r}"


def refused(result, place=None, words=(), code=None):
    """Exactly one error on standard error, with its place, exit code 2, and nothing on standard output."""
    same(result.code, 2, f"exit code; stderr {result.err!r}")
    same(result.out, "", "standard output")
    errors = re.findall(r"^(.*?): error: (.*)$", result.err, re.M)
    same(len(errors), 1, f"number of errors in {result.err!r}")
    if place:
        assert re.fullmatch(place, errors[0][0]), f"place {errors[0][0]!r} is not {place!r}"
    for word in words:
        assert word in errors[0][1], f"{word!r} is not in {errors[0][1]!r}"
    if code:
        assert errors[0][1].endswith(f"[{code}]"), f"{errors[0][1]!r} has not the code {code}"


def run_tests(namespace):
    """Runs every function test_* of a module in a folder of its own."""
    failures = 0
    for name, test in list(namespace.items()):
        if not name.startswith("test_"):
            continue
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                test()
                print(f"ok    {name}")
            except Exception:
                failures += 1
                print(f"FAIL  {name}")
                traceback.print_exc(file=sys.stdout)
            finally:
                os.chdir("/")
    sys.exit(1 if failures else 0)
