# SPDX-License-Identifier: Apache-2.0
"""Bad input of every kind gives one clear message with its place and exit code 2, through every command that reads it."""
import json
import os
import shutil

from harness import CORPUS, plumb, read, refused, run_tests, same, write

TASK = os.path.join(CORPUS, "vector_add")
GOOD_PTX = read(os.path.join(TASK, "sm_89", "vector_add.ptx"))
GOOD_JSON = read(os.path.join(TASK, "sm_89", "vector_add.json"))
GOOD_TASK = read(os.path.join(TASK, "task.toml"))
GOOD_KERNEL = read(os.path.join(TASK, "kernel.py"))


def candidate(text, name="bad"):
    write(f"{name}.json", GOOD_JSON)
    return write(f"{name}.ptx", text)


def refused_everywhere(path, **wanted):
    for arguments in (["prove", TASK, path], ["check", path], ["check", path, "--task", TASK], ["run", TASK, path]):
        refused(plumb(*arguments), **wanted)


def replaced(text, old, new):
    assert text.count(old) >= 1, old
    return text.replace(old, new, 1)


def line_of(text, part):
    return text[: text.index(part)].count("\n") + 1


def task(toml=GOOD_TASK, kernel=GOOD_KERNEL, name="vector_add"):
    write(f"{name}/kernel.py", kernel)
    write(f"{name}/task.toml", toml)
    return name


def good():
    return os.path.join(TASK, "sm_89", "vector_add.ptx")


def test_a_file_that_is_not_there():
    refused_everywhere("absent.ptx", place="plumb", words=["absent.ptx"], code="file.unreadable")
    refused(plumb("prove", "absent", good()), words=["absent"], code="file.unreadable")
    refused(plumb("fmt", "absent.ptx"), words=["absent.ptx"], code="file.unreadable")
    refused(plumb("prove", TASK, "."), code="file.unreadable")


def test_truncated_ptx_at_every_sort_of_place():
    for part in ("add.f32", ".param .u32", "ret;", "%rd7, [", ".version"):
        cut = GOOD_PTX.index(part) + len(part) - 1
        refused_everywhere(candidate(GOOD_PTX[:cut]), place=r"bad\.ptx:\d+:\d+")


def test_an_unknown_instruction():
    text = replaced(GOOD_PTX, "add.f32", "frob.f32")
    refused_everywhere(candidate(text), place=rf"bad\.ptx:{line_of(text, 'frob.f32')}:\d+", words=["frob"])


def test_a_wrong_operand_type():
    text = replaced(GOOD_PTX, "shl.b32 \t%r29, %r28, 2;", "shl.b32 \t%r29, %rd7, 2;")
    refused_everywhere(candidate(text), place=rf"bad\.ptx:{line_of(text, '%r29, %rd7, 2')}:\d+", words=["%rd7"])


def test_a_register_used_before_its_declaration():
    text = replaced(GOOD_PTX, "shl.b32 \t%r29, %r28, 2;", "shl.b32 \t%r29, %late, 2;\n\t.reg .b32 \t%late;")
    refused_everywhere(candidate(text), place=rf"bad\.ptx:{line_of(text, '%r29, %late')}:\d+", words=["%late"])


def test_an_entry_that_is_not_there():
    text = "//! entry = \"other\"\n//! block = [128]\n" + GOOD_PTX
    path = candidate(text)
    for arguments in (["prove", TASK, path], ["check", path, "--task", TASK], ["run", TASK, path]):
        refused(plumb(*arguments), place=r"bad\.ptx:1:\d+", words=["other"], code="session.entry")


def test_an_entry_in_the_launch_json_that_is_not_there():
    path = candidate(GOOD_PTX)
    write("bad.json", GOOD_JSON.replace('"entry": "vector_add"', '"entry": "other"'))
    refused(plumb("prove", TASK, path), place=r"bad\.json:1:\d+", words=["other"], code="session.entry")


def test_a_shape_that_does_not_fit_its_grid():
    for sizes, what in (("n = 0", "no elements"), ("n = -5", "-5"), ("n = 99999999999999", "i32")):
        toml = replaced(GOOD_TASK, "n = 1024 }", sizes + " }")
        name = task(toml)
        refused(plumb("prove", name, good()), place=rf"vector_add/task\.toml:{line_of(toml, sizes)}:\d+", words=[what])
    toml = replaced(GOOD_TASK, 'shape = ["n"]', 'shape = ["n * 1000000000"]')
    refused(plumb("prove", task(toml), good()), place=r"vector_add/task\.toml:\d+:\d+", words=["2^40"],
            code="task.shape-size")
    toml = replaced(GOOD_TASK, 'grid = ["cdiv(n, BLOCK)"]', 'grid = [1, "cdiv(n, BLOCK) * 100000"]')
    refused(plumb("prove", task(toml), good()), place=r"vector_add/task\.toml:\d+:\d+", words=["grid"],
            code="task.shape-grid")
    refused(plumb("prove", TASK, good(), "--shape", "n=0"), place=r"--shape:1:1", words=["no elements"])


def test_python_that_does_not_parse():
    kernel = replaced(GOOD_KERNEL, "offs = ", "offs = = ")
    refused(plumb("prove", task(kernel=kernel), good()),
            place=rf"vector_add/kernel\.py:{line_of(kernel, 'offs = =')}:\d+")


def test_a_triton_construct_that_is_not_supported():
    kernel = replaced(GOOD_KERNEL, "    m = offs < n", "    while True:\n        break\n    m = offs < n")
    refused(plumb("prove", task(kernel=kernel), good()), place=r"vector_add/kernel\.py:\d+:\d+")
    kernel = replaced(GOOD_KERNEL, "    m = offs < n", "    m = tl.frobnicate(offs < n)")
    refused(plumb("prove", task(kernel=kernel), good()),
            place=rf"vector_add/kernel\.py:{line_of(kernel, 'frobnicate')}:\d+", words=["frobnicate"])


def test_a_function_that_the_source_does_not_have():
    toml = replaced(GOOD_TASK, 'function = "vector_add"', 'function = "vector_sub"')
    write("none.json", GOOD_JSON.replace('"function": "vector_add"', '"function": "vector_sub"'))
    shutil.copy(good(), "none.ptx")
    refused(plumb("prove", task(toml), "none.ptx"), words=["vector_sub"])


def test_a_binary_file():
    for content in (bytes(range(256)) * 40, b"\x7fELF\x02\x01\x01" + bytes(500), GOOD_PTX.encode()[:300] + b"\0\1\2"):
        refused_everywhere(candidate(content), place=r"bad\.ptx:\d+:\d+")
    refused(plumb("fmt", candidate(bytes(range(256)))), place=r"bad\.ptx:\d+:\d+")
    write("vector_add/kernel.py", GOOD_KERNEL)
    write("vector_add/task.toml", bytes(range(256)))
    refused(plumb("prove", "vector_add", good()), place=r"vector_add/task\.toml:\d+:\d+")


def test_an_empty_file():
    for content in ("", "\n", "  \n\t\n", "// only a comment\n"):
        refused_everywhere(candidate(content), place=r"bad\.ptx:\d+:\d+")
    refused(plumb("prove", task(toml=""), good()), place=r"vector_add/task\.toml:1:1")
    refused(plumb("prove", task(kernel=""), good()), place=r"vector_add/kernel\.py:1:1|plumb")


def test_a_task_with_a_wrong_key():
    toml = replaced(GOOD_TASK, "role = ", "rule = ")
    refused(plumb("prove", task(toml), good()), place=rf"vector_add/task\.toml:{line_of(toml, 'rule = ')}:\d+",
            words=["rule"], code="task.key")


def test_a_candidate_without_a_launch():
    write("lone.ptx", GOOD_PTX)
    refused(plumb("prove", TASK, "lone.ptx"), place=r"lone\.ptx:1:1", code="launch.missing")


def test_a_shape_that_breaks_what_the_candidate_relies_on():
    refused(plumb("run", TASK, good(), "--shape", "n=7"), words=["n % 16 == 0"], code="launch.promise")


def test_arrays_that_do_not_suit():
    write("not.npy", b"hello")
    refused(plumb("run", TASK, good(), "--input", "x_ptr=not.npy"), words=["not.npy"], code="session.array")
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"
    array = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(8)
    write("small.npy", array)
    refused(plumb("run", TASK, good(), "--input", "x_ptr=small.npy"), words=["x_ptr", "1024"], code="session.array-type")
    write("short.npy", array[:-1])
    refused(plumb("run", TASK, good(), "--input", "x_ptr=short.npy"), code="session.array")
    refused(plumb("run", TASK, good(), "--input", "z_ptr=small.npy"), words=["z_ptr"], code="session.array-type")
    refused(plumb("run", TASK, good(), "--input", "x_ptr"), code="session.input")


def test_a_certificate_that_is_none():
    write("bad.json", "{}")
    refused(plumb("prove", TASK, good(), "--recheck", "bad.json"), code="prove.certificate")
    write("bad.json", "not json")
    refused(plumb("prove", TASK, good(), "--recheck", "bad.json"), place=r"bad\.json:1:1", code="prove.certificate")


def test_wrong_use():
    for arguments in ([], ["frobnicate"], ["prove"], ["prove", TASK], ["prove", TASK, good(), "--seed", "x"],
                      ["prove", TASK, good(), "--frob"], ["fmt", "--check", "--write", good()]):
        result = plumb(*arguments)
        same(result.code, 2, arguments)
        same(result.out, "", arguments)
        same(result.err.count("\n"), 1, result.err)
    refused(plumb("prove", TASK, good(), "--shape", "n"), place="--shape:1:1", code="task.shape-text")
    refused(plumb("explain", "no.such-code"), words=["no.such-code"])
    refused(plumb("isa", "frobnicate"), words=["frobnicate"])
    refused(plumb("lower", TASK, "--target", "sm_89", "--provider", "openai"), code="agent.provider-setting")
    refused(plumb("lower", TASK, "--target", "sm_89", "--provider", "x"), code="agent.provider-unknown")
    refused(plumb("lower", TASK, "--target", "sm_89"), words=["run.jsonl"], code="file.unreadable")


def test_json_has_the_findings_and_nothing_is_on_standard_error():
    result = plumb("prove", TASK, candidate(""), "--json")
    same((result.code, result.err), (2, ""))
    proof = json.loads(result.out)
    same(proof["verdict"], "unknown")
    same(len(proof["findings"]), 1)
    for arguments in (["check", "bad.ptx"], ["run", TASK, "bad.ptx"], ["fmt", "bad.ptx"], ["isa", "frobnicate"],
                      ["lower", TASK, "--target", "sm_89"]):
        result = plumb(*arguments, "--json")
        same((result.code, result.err), (2, ""), arguments)
        same(len(json.loads(result.out)["findings"]), 1, arguments)


if __name__ == "__main__":
    run_tests(globals())
