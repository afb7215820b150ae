# SPDX-License-Identifier: Apache-2.0
"""What the commands do on good input: proofs and their exit codes, arrays in and out, tools, run logs and replays."""
import json
import os
import shutil
import struct
import subprocess
import time

from harness import CORPUS, PLUMB, SOURCE, plumb, read, refused, run_tests, same, write

TASK = os.path.join(CORPUS, "vector_add")
PTX = os.path.join(TASK, "sm_89", "vector_add.ptx")
HEADER = '//! entry = "vector_add"\n//! block = [128]\n//! divisible_by_16 = true\n' \
         '//! params = ["x_ptr", "y_ptr", "out_ptr", "n", "null", "null"]\n'
CANDIDATE = HEADER + read(PTX)


def with_subtraction(text):
    """The same kernel, computing x - y: a different function."""
    assert text.count("add.f32") >= 1
    return text.replace("add.f32", "sub.f32")


def events(path):
    return [json.loads(line) for line in read(path).splitlines()]


def npy(path, kind, shape, data):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({', '.join(map(str, shape))},), }}".encode()
    return write(path, b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data)


def npy_data(path):
    content = read(path, "rb")
    assert content[:8] == b"\x93NUMPY\x01\x00", content[:8]
    begin = 10 + int.from_bytes(content[8:10], "little")
    same(begin % 64, 0, "alignment of the data")
    return content[10:begin].decode(), content[begin:]


def test_prove_says_proved_and_exits_0():
    result = plumb("prove", TASK, PTX, "--json")
    same((result.code, result.err), (0, ""))
    proof = json.loads(result.out)
    same((proof["verdict"], proof["contract"]), ("proved", "kept"))
    assert 0 < proof["failure_probability"] < 2**-40
    same(len(proof["shapes"]), 3, "shapes that the aligned code claims")
    for key in ("assumptions", "findings", "seconds"):
        assert key in proof, key


def test_prove_says_different_and_exits_1():
    write("sub.json", read(os.path.join(TASK, "sm_89", "vector_add.json")))
    write("sub.ptx", with_subtraction(read(PTX)))
    result = plumb("prove", TASK, "sub.ptx", "--json")
    same((result.code, json.loads(result.out)["verdict"]), (1, "different"))
    text = plumb("prove", TASK, "sub.ptx")
    assert "out_ptr[" in text.out, text.out


def test_shapes_of_the_command_line_replace_the_task_s():
    proof = json.loads(plumb("prove", TASK, PTX, "--json", "--shape", "n=4096", "--shape", "n=16").out)
    same([shape["shape"] for shape in proof["shapes"]], ["n=4096", "n=16"])


def test_a_seed_repeats_a_proof():
    one, two = (json.loads(plumb("prove", TASK, PTX, "--json", "--seed", "7").out) for _ in range(2))
    same(one["primes"], two["primes"])
    same(one["seed"], 7)


def test_a_certificate_holds_until_the_code_changes():
    write("a.json", read(os.path.join(TASK, "sm_89", "vector_add.json")))
    write("a.ptx", read(PTX))
    same(plumb("prove", TASK, "a.ptx", "--certificate", "cert.json").code, 0)
    same(plumb("prove", TASK, "a.ptx", "--recheck", "cert.json").code, 0)
    write("a.ptx", read(PTX) + "\n// another text\n")
    same(plumb("prove", TASK, "a.ptx", "--recheck", "cert.json").code, 1)


def without_seconds(value):
    if isinstance(value, dict):
        return {key: without_seconds(each) for key, each in value.items() if key != "seconds"}
    return [without_seconds(each) for each in value] if isinstance(value, list) else value


def test_a_killed_proof_goes_on_and_ends_with_the_same_certificate():
    task, ptx = os.path.join(CORPUS, "rmsnorm"), os.path.join(CORPUS, "rmsnorm", "sm_89", "rmsnorm_unaligned.ptx")
    same(plumb("prove", task, ptx, "--seed", "7", "--certificate", "whole.json").code, 0)
    arguments = ["prove", task, ptx, "--seed", "7", "--resume", "progress.json", "--certificate", "resumed.json"]
    killed = subprocess.Popen([PLUMB, *arguments], stdout=subprocess.DEVNULL)
    while not os.path.exists("progress.json"):
        assert killed.poll() is None, "it ended before it could be killed"
        time.sleep(0.001)
    killed.kill()
    killed.wait()
    assert not os.path.exists("resumed.json")
    done = json.loads(read("progress.json"))["state"]["shapes"]
    same(plumb(*arguments).code, 0)
    assert not os.path.exists("progress.json")
    whole, resumed = json.loads(read("whole.json")), json.loads(read("resumed.json"))
    same(without_seconds(resumed), without_seconds(whole))
    seconds = [struct.unpack("<d", struct.pack("<Q", shape["seconds"]))[0] for shape in done]
    assert seconds, "no job was kept"
    same([shape["seconds"] for shape in resumed["outcome"]["shapes"]][:len(seconds)], seconds, "jobs that were not done again")


def test_a_proof_in_progress_is_of_one_proof():
    def begun(*arguments):
        with open("progress.json", "wb") as file:
            file.write(kept)
        return plumb("prove", TASK, *arguments, "--resume", "progress.json")

    task, ptx = os.path.join(CORPUS, "rmsnorm"), os.path.join(CORPUS, "rmsnorm", "sm_89", "rmsnorm_unaligned.ptx")
    process = subprocess.Popen([PLUMB, "prove", task, ptx, "--resume", "progress.json"], stdout=subprocess.DEVNULL)
    while not os.path.exists("progress.json") and process.poll() is None:
        time.sleep(0.001)
    process.kill()
    process.wait()
    kept = read("progress.json", "rb")
    refused(begun(PTX), code="prove.checkpoint")
    kept = b"{}"
    refused(begun(PTX), place=r"progress\.json:1:1", code="prove.checkpoint")


def test_a_sample_is_no_proof():
    write("a.json", read(os.path.join(TASK, "sm_89", "vector_add.json")))
    write("a.ptx", read(PTX))
    whole = plumb("prove", TASK, "a.ptx", "--shape", "n=65536", "--json")
    ctas = json.loads(whole.out)["shapes"][0]["ctas"]
    assert ctas > 3, ctas
    result = plumb("prove", TASK, "a.ptx", "--shape", "n=65536", "--sample", "3", "--json", "--certificate", "cert.json")
    proof = json.loads(result.out)
    same((result.code, proof["verdict"], proof["contract"], proof["sample"]), (1, "sampled", None, 3))
    row = proof["shapes"][0]
    same((row["verdict"], row["ctas"], row["ctas_of_grid"]), ("sampled", 3, ctas))
    assert any(f"3 of {ctas}" in text for text in proof["assumptions"]), proof["assumptions"]
    same(row["elements"], 3 * 65536 // ctas, "outputs of three CTAs")
    again = json.loads(plumb("prove", TASK, "a.ptx", "--recheck", "cert.json", "--json").out)
    same((again["verdict"], again["findings"]), ("sampled", []))
    assert "3 of" in plumb("prove", TASK, "a.ptx", "--shape", "n=65536", "--sample", "3").out
    same(json.loads(plumb("prove", TASK, "a.ptx", "--shape", "n=65536", "--sample", "999", "--json").out)["verdict"], "proved")
    write("a.ptx", with_subtraction(read(PTX)))
    same(json.loads(plumb("prove", TASK, "a.ptx", "--shape", "n=65536", "--sample", "3", "--json").out)["verdict"], "different")
    write("a.ptx", read(PTX).replace("ret;", "fence.acq_rel.gpu;\n\tret;"))
    refused(plumb("prove", TASK, "a.ptx", "--shape", "n=65536", "--sample", "3"), code="prove.sample")


def test_nothing_coloured_goes_into_a_pipe():
    for arguments in (["prove", TASK, PTX], ["doctor"], ["isa", "add"], ["explain", "race.shared"]):
        result = plumb(*arguments)
        same(result.code, 0, arguments)
        assert "\x1b" not in result.out + result.err, arguments


def test_check_validates_and_looks_for_races():
    result = plumb("check", PTX, "--json")
    answer = json.loads(result.out)
    same((result.code, answer["valid"], len(answer["functions"])), (0, True, 1))
    same(answer["functions"][0]["name"], "vector_add")
    if answer["ptxas"]["is_here"]:
        assert answer["functions"][0]["ptxas"]["registers"] > 0, answer
    softmax = os.path.join(CORPUS, "softmax")
    same(plumb("check", os.path.join(softmax, "sm_89", "softmax.ptx"), "--task", softmax).code, 0)
    text = read(os.path.join(softmax, "sm_89", "softmax.ptx"))
    write("race.json", read(os.path.join(softmax, "sm_89", "softmax.json")))
    write("race.ptx", text.replace("bar.sync", "// bar.sync", 1))
    result = plumb("check", "race.ptx", "--task", softmax, "--json")
    same(result.code, 1)
    assert "race.shared" in [finding["code"] for finding in json.loads(result.out)["findings"]], result.out


def test_check_of_a_text_alone_advises_and_estimates():
    body = ["st.global.u32 [%a], %r1;", "mov.u32 %r2, %tid.x;", "add.u32 %r3, %r2, 1;", "ret;", "add.u32 %r2, %r2, 1;",
            "nobody:", "ret;"]
    write("a.ptx", ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
          ".reg .b32 %r<5>;\n.reg .b64 %a;\n.shared .b32 kept[32];\nld.param.u64 %a, [p];\nst.shared.b32 [kept], 1;\n"
          + "\n".join(body) + "\n}\n")
    result = plumb("check", "a.ptx", "--json")
    answer = json.loads(result.out)
    same((result.code, answer["valid"]), (0, True))
    told = {(finding["code"], finding["line"]) for finding in answer["findings"]}
    first = 11
    for wanted in (("ptx.unwritten", first), ("ptx.unused-result", first + 2), ("ptx.unreachable", first + 4),
                   ("ptx.unused-name", first + 5)):
        assert wanted in told, (wanted, told)
    facts = answer["functions"][0]
    same((facts["shared_bytes"], facts["live_registers"] >= 3), (128, True))
    if answer["ptxas"]["is_here"]:
        same((answer["ptxas"]["accepts"], facts["ptxas"]["shared_bytes"], facts["ptxas"]["spill_stores"]), (True, 128, 0))


def test_run_adds_the_arrays_that_it_is_given():
    x = [float(i) for i in range(48)]
    y = [0.5 * i - 7 for i in range(46)] + [float("inf"), 1e-45]
    npy("x.npy", "<f4", [48], struct.pack("<48f", *x))
    npy("y.npy", "<f4", [48], struct.pack("<48f", *y))
    result = plumb("run", TASK, PTX, "--shape", "n=48", "--input", "x_ptr=x.npy", "--input", "y_ptr=y.npy", "--out", "o",
                   "--compare", "--json")
    same(result.code, 0)
    header, data = npy_data("o/out_ptr.npy")
    assert "'<f4'" in header and "(48,)" in header, header
    wanted = [struct.unpack("<f", struct.pack("<f", a + b))[0] for a, b in zip(x, y)]
    same(list(struct.unpack("<48f", data)), wanted)
    same(json.loads(result.out)["outputs"][0]["against_triton"]["outside_tolerance"], 0)


def test_run_without_ptx_evaluates_the_source_and_saves_what_it_read():
    result = plumb("run", TASK, "--shape", "n=48", "--out", "o", "--save-inputs", "--json")
    same(result.code, 0)
    x, y, out = (struct.unpack("<48f", npy_data(f"o/{name}.npy")[1]) for name in ("x_ptr.in", "y_ptr.in", "out_ptr"))
    same(list(out), [struct.unpack("<f", struct.pack("<f", a + b))[0] for a, b in zip(x, y)])
    assert len(set(x)) > 40, x
    same(json.loads(result.out)["scalars"]["n"], 48)
    # The same draws as for a candidate.
    plumb("run", TASK, PTX, "--shape", "n=48", "--out", "p", "--save-inputs")
    same(npy_data("p/x_ptr.in.npy")[1], npy_data("o/x_ptr.in.npy")[1])


def test_a_profile_counts_what_the_run_moves():
    result = plumb("run", TASK, PTX, "--shape", "n=1024", "--profile", "--json")
    profile = json.loads(result.out)["profile"]
    moved = {row["access"]: row for row in profile["memory"] if row["space"] == "global"}
    same({access: (row["bytes"], row["sectors"]) for access, row in moved.items()},
         {"read": (2 * 4096, 2 * 4096 // 32), "write": (4096, 4096 // 32)})
    same("lines" in profile, False)
    text = plumb("run", TASK, PTX, "--shape", "n=1024", "--profile", "--lines").out
    lines = [row.split() for row in text.splitlines() if "sectors a request" in row]
    same(sorted(row[3].split(".")[0] for row in lines), ["ld"] * 4 + ["st"] * 2)
    for row in lines:
        assert row[3] in read(PTX).splitlines()[int(row[0]) - 1], row
    same([plumb("run", TASK, *rest).code for rest in (["--profile"], [PTX, "--lines"])], [2, 2])


def test_run_holds_bf16_as_bits():
    task = os.path.join(CORPUS, "swiglu")
    zeros, ones = struct.pack("<48H", *[0] * 48), struct.pack("<48H", *[0x3F80] * 48)
    npy("gate.npy", "<u2", [48], zeros)
    npy("up.npy", "<i2", [48], ones)
    arguments = ["run", task, os.path.join(task, "sm_80", "swiglu.ptx"), "--shape", "n=48", "--out", "."]
    same(plumb(*arguments, "--input", "gate_ptr=gate.npy", "--input", "up_ptr=up.npy").code, 0)
    header, data = npy_data("out_ptr.npy")
    assert "'<u2'" in header, header
    same(data, zeros, "0 * sigmoid(0) * 1")
    npy("gate.npy", "<f2", [48], zeros)
    same(plumb(*arguments, "--input", "gate_ptr=gate.npy").code, 2)


def test_suite_proves_keeps_and_shows():
    arguments = ["suite", os.path.join(SOURCE, "suite"), "--task", "vector_add", "--task", "cumsum", "--results", "r.json",
                 "--html", "page.html", "--seed", "1"]
    result = plumb(*arguments)
    same(result.code, 0, result.out + result.err)
    assert "1 of 1 lowerings hold" in result.out and "(kept" not in result.out, result.out
    first = json.loads(read("r.json"))
    same(first["without_lowering"], ["cumsum"])
    same(first["rows"][0]["steps"]["prove"]["verdict"], "proved")
    page = read("page.html")
    assert page.startswith("<!doctype html>") and "vector_add" in page and "src=" not in page and "href=" not in page
    # Nothing changed: nothing is proved again.
    again = json.loads(plumb(*arguments, "--json").out)
    same(again["rows"][0]["kept"], ["prove"])
    same(again["rows"][0]["steps"], first["rows"][0]["steps"])
    same(json.loads(plumb(*arguments, "--json", "--force").out)["rows"][0]["kept"], [])
    same(plumb("suite", os.path.join(SOURCE, "suite"), "--task", "nothing").code, 2)
    # What a run began with is told from its log, and the three beginnings share no table.
    task = os.path.join(SOURCE, "suite", "vector_add")
    for name, beginning in (("one", "source"), ("two", "scaffold"), ("three", "seed")):
        shutil.copytree(task, f"mixed/{name}")
        first_line, *rest = read(f"mixed/{name}/sm_89/run.jsonl").splitlines()
        write(f"mixed/{name}/sm_89/run.jsonl", "\n".join([json.dumps({**json.loads(first_line), "from": beginning}), *rest]))
    mixed = json.loads(plumb("suite", "mixed", "--html", "mixed.html", "--json").out)
    same({row["task"]: row["from"] for row in mixed["rows"]}, {"one": "source", "two": "scaffold", "three": "seed"})
    told = plumb("suite", "mixed").out
    for words in ("1 of 1 lowerings hold", "1 of 1 lowerings that began with a scaffold hold", "lowerings that began with a seed hold"):
        assert words in told, told
    page = read("mixed.html")
    tables = page.split("<table>")[1:]
    same([[name for name in ("one", "two", "three") if f"<td>{name}</td>" in table] for table in tables],
         [["one"], ["two"], ["three"]])
    assert page.index("began with a scaffold") < page.index("began with a seed")
    write("r.json", "[]")
    same(plumb(*arguments).code, 2)
    same(read("r.json"), "[]", "results that are none are left alone")


def test_new_task_writes_a_task_that_runs():
    kernel = os.path.join(SOURCE, "suite", "rmsnorm", "kernel.py") + ":rmsnorm"
    arguments = ["new-task", kernel, "--out", "task", "--grid", "rows", "--shape", "rows=3,n_cols=50", "--arg",
                 "x_ptr=*bf16[rows, n_cols]", "--arg", "w_ptr=*bf16[n_cols]", "--arg", "out_ptr=*bf16[rows, n_cols] out",
                 "--arg", "eps=1e-6", "--arg", "BLOCK=next_power_of_2(n_cols)"]
    result = plumb(*arguments)
    same(result.code, 2)
    assert "n_cols" in result.err and not os.path.exists("task"), result.err
    same(plumb(*arguments, "--arg", "n_cols=n_cols").code, 0)
    same(plumb("run", "task").code, 0)
    proof = plumb("prove", "task", os.path.join(SOURCE, "suite", "rmsnorm", "sm_89", "rmsnorm.ptx"))
    same(proof.code, 0, proof.out + proof.err)
    same(plumb(*arguments, "--arg", "n_cols=n_cols").code, 2, "the task that is there stays")


def test_new_task_describes_tensor_descriptors():
    kernel = os.path.join(SOURCE, "suite", "matmul_descriptors", "kernel.py") + ":matmul"
    result = plumb("new-task", kernel, "--out", "task", "--grid", "min(CTAS, cdiv(M, BM) * cdiv(N, BN))", "--shape",
                   "M=64,N=40,K=48,row=56", "--arg", "a=*bf16[M, row] extent=[M, K] block=[BM, BK]", "--arg",
                   "b=*bf16[N, K] block=[BN, BK]", "--arg", "c=*bf16[M, N] out block=[BM, BN]", "--arg", "M=M", "--arg", "N=N",
                   "--arg", "K=K", "--arg", "BM=64", "--arg", "BN=64", "--arg", "BK=32", "--arg", "GROUP=8", "--arg", "CTAS=132")
    same(result.code, 0, result.err)
    triton = os.path.join(SOURCE, "tests", "suite", "triton", "matmul_descriptors.sm_90.ptx")
    proof = plumb("prove", "task", triton)
    same(proof.code, 0, proof.out + proof.err)


def test_fmt_is_stable_and_checked():
    write("a.ptx", read(PTX))
    same(plumb("fmt", "a.ptx", "--check").code, 1)
    shown = plumb("fmt", "a.ptx")
    same(shown.code, 0)
    same(plumb("fmt", "a.ptx", "--write").code, 0)
    same(read("a.ptx"), shown.out)
    same(plumb("fmt", "a.ptx", "--check").code, 0)
    write("a.json", read(os.path.join(TASK, "sm_89", "vector_add.json")))
    same(plumb("prove", TASK, "a.ptx").code, 0)


def test_mutants_are_listed_written_and_judged():
    task = os.path.join(SOURCE, "suite", "vector_add")
    ptx = os.path.join(task, "sm_89", "vector_add.ptx")
    names = [row["name"] for row in json.loads(plumb("mutate", "--operators", "--json").out)["operators"]]
    assert len(names) >= 25, names
    os.makedirs("mutants")
    listed = json.loads(plumb("mutate", ptx, "--most", "5", "--out", "mutants", "--json").out)["mutants"]
    same(sorted(os.listdir("mutants")), sorted(row["file"] for row in listed))
    for row in listed:
        assert read(ptx) != read(f"mutants/{row['file']}"), row
    judged = plumb("mutate", ptx, "--task", task, "--shape", "n=1001", "--operator", "store-drop", "--most", "3", "--json")
    same(judged.code, 0)
    same(json.loads(judged.out)["counts"], {"broken": 0, "caught": 3, "survived": 0, "unfinished": 0, "unknown": 0})
    same(plumb("mutate", ptx, "--operator", "barier-drop").code, 2)
    same(plumb("mutate").code, 2)


def test_scaffolds_are_listed_printed_and_written():
    rows = json.loads(plumb("scaffold", "--json").out)["scaffolds"]
    assert len(rows) >= 4, rows
    same([row["kind"] for row in json.loads(plumb("scaffold", "--target", "sm_89", "--json").out)["scaffolds"]],
         ["row-reduction", "fragment-map", "mma-loop"])
    for row in rows:
        target = row["targets"].split(" ")[0]
        printed = plumb("scaffold", row["kind"], "--target", target)
        same(printed.code, 0)
        out = f"out/{row['kind']}"
        same(plumb("scaffold", row["kind"], "--target", target, "--out", out).code, 0)
        same(sorted(os.listdir(out)), sorted(["kernel.py", "task.toml", f"{row['kind']}.ptx"]))
        same(read(f"{out}/{row['kind']}.ptx"), printed.out)
        same(plumb("prove", out, f"{out}/{row['kind']}.ptx").code, 0)
        same(plumb("run", out, f"{out}/{row['kind']}.ptx", "--compare").code, 0)
        refused(plumb("scaffold", row["kind"], "--target", target, "--out", out), code="session.scaffold")
    refused(plumb("scaffold", "absent", "--target", "sm_89"), words=["absent"], code="session.scaffold")
    refused(plumb("scaffold", "tcgen05-epilogue", "--target", "sm_90a"), code="session.scaffold")
    same(plumb("scaffold", "mma-loop").code, 2, "a kind needs a target")


def test_isa_and_explain_answer():
    forms = json.loads(plumb("isa", "cp.async", "--json").out)["forms"]
    assert any("cp.async.commit_group" in line for form in forms for line in form["syntax"]), forms
    codes = [code["code"] for code in json.loads(plumb("explain", "--json").out)["codes"]]
    same(len(codes), len(set(codes)), "codes are unique")
    for code in codes:
        explained = json.loads(plumb("explain", code, "--json").out)
        assert explained["summary"] and explained["explanation"], code


def test_doctor_finds_python():
    result = plumb("doctor", "--json")
    same((result.code, json.loads(result.out)["python3"]["here"]), (0, True))
    result = plumb("doctor", "--json", env={"PATH": "/nowhere"})
    same((result.code, json.loads(result.out)["can_prove"]), (1, False))


def test_tools_are_described_and_take_only_what_their_schema_allows():
    tools = json.loads(plumb("tool", "--list", "--json").out)["tools"]
    names = {tool["name"] for tool in tools}
    assert {"task", "write_candidate", "patch_candidate", "read_candidate", "assemble", "check", "prove", "run", "isa",
            "explain"} <= names, names
    for arguments in (["prove", '{"shape": 3}'], ["prove", '{"shapes": [{"n": "x"}]}'], ["write_candidate"],
                      ["frobnicate"], ["isa", '{"query": 3}'], ["isa", "not json"]):
        same(plumb("tool", *arguments, "--task", TASK).code, 2, arguments)


def test_tools_do_not_leave_the_run_folder():
    os.mkdir("run")
    write("secret.ptx", "secret")
    os.symlink(os.path.abspath("secret.ptx"), "run/link.ptx")
    for name in ("../secret.ptx", "/etc/x.ptx", "a/b.ptx", ".hidden.ptx", "x.txt", "", ".ptx", "-x.ptx", "link.ptx",
                 "a\0.ptx"):
        for tool in ("write_candidate", "read_candidate", "assemble", "prove"):
            data = {"file": name, **({"text": "x"} if tool == "write_candidate" else {})}
            result = plumb("tool", tool, json.dumps(data), "--folder", "run", "--task", TASK)
            same(result.code, 2, (tool, name))
            assert "secret" not in result.out.replace(name, ""), result.out
    same(read("secret.ptx"), "secret")
    same(os.listdir("run"), ["link.ptx"])


def record(log):
    """A short true history: a wrong kernel, a refused patch, the mend, the proof."""
    def tool(*arguments, code=0):
        result = plumb("tool", *arguments, "--task", TASK, "--target", "sm_89", "--log", log)
        same(result.code, code, (arguments, result.out, result.err))
        return json.loads(result.out)

    tool("task", "{}", "--message", "What is it?")
    write("draft.ptx", with_subtraction(CANDIDATE))
    written = tool("write_candidate", "--text", "draft.ptx", "--message", "A first try.")
    same(tool("prove", code=1)["verdict"], "different")
    edits = [{"search": "no such text", "replace": ""}]
    tool("patch_candidate", json.dumps({"base_sha256": written["sha256"], "edits": edits}), code=2)
    tool("patch_candidate", json.dumps({"base_sha256": "0" * 64, "edits": []}), code=2)
    whole = tool("read_candidate")["text"]
    lines = [line for line in whole.splitlines(True) if "sub.f32" in line]
    edits = [{"search": line, "replace": line.replace("sub.f32", "add.f32")} for line in lines]
    patched = tool("patch_candidate", json.dumps({"base_sha256": written["sha256"], "edits": edits}))
    same(read(os.path.join(os.path.dirname(log), patched["file"])), CANDIDATE)
    same(tool("assemble")["accepts"], True)
    same(tool("check")["verdict"], "proved")
    same(tool("prove")["verdict"], "proved")
    same(tool("run", '{"save": true}')["holds"], True)


def lower(log, out, *more):
    return plumb("lower", TASK, "--target", "sm_89", "--provider", "replay", "--log", log, "--out", out, *more)


def test_a_recorded_run_replays_to_a_lowering():
    record("rec/run.jsonl")
    first = events("rec/run.jsonl")[0]
    same((first["event"], first["task"], first["target"]), ("start", "vector_add", "sm_89"))
    for _ in range(2):  # a second time over the first's files
        result = lower("rec/run.jsonl", "out")
        same(result.code, 0, result.out + result.err)
    same(result.err, "", "quiet in a pipe")
    assert "A first try." in lower("rec/run.jsonl", "shown", "--progress", "always").err
    same(sorted(os.listdir("out")), ["run-1.jsonl", "run.jsonl", "vector_add.proof.json", "vector_add.ptx"])
    same(read("out/vector_add.ptx"), CANDIDATE)
    same(plumb("prove", TASK, "out/vector_add.ptx", "--recheck", "out/vector_add.proof.json").code, 0)
    same([e["tool"] for e in events("out/run.jsonl") if e["event"] == "call"],
         [e["tool"] for e in events("rec/run.jsonl") if e["event"] == "call"])
    same(events("out/run.jsonl")[-1]["verdict"], "proved")
    same(lower("out/run.jsonl", "again").code, 0, "the replay's own log replays")
    assert os.getcwd() not in read("out/run.jsonl") + read("rec/run.jsonl"), "logs say where they were written"


def test_a_replay_says_which_event_answers_differently():
    record("rec/run.jsonl")
    history = events("rec/run.jsonl")
    for tool, change in (("prove", lambda e: e["output"].update(verdict="proved")),
                         ("prove", lambda e: e["output"]["findings"][0].update(code="race.shared")),
                         ("prove", lambda e: e["output"]["shapes"].pop()),
                         ("assemble", lambda e: e["output"].update(accepts=False)),
                         ("patch_candidate", lambda e: e.update(is_answer=True)),
                         ("write_candidate", lambda e: e["input"].update(text=e["input"]["text"] + "\n"))):
        altered = json.loads(json.dumps(history))
        index = next(i for i, event in enumerate(altered) if event.get("tool") == tool)
        change(altered[index])
        write("altered.jsonl", "".join(json.dumps(event) + "\n" for event in altered))
        result = lower("altered.jsonl", "out", "--json")
        same(result.code, 1, tool)
        finding = json.loads(result.out)["findings"][-1]
        same((finding["code"], finding["line"]), ("agent.replay-differs", index + 1), tool)
        assert f"event {index + 1}, `{tool}`" in finding["message"], finding
        assert not os.path.exists("out/vector_add.ptx"), "no lowering from a replay that differs"


def test_what_the_log_says_of_wording_times_and_ptxas_does_not_count():
    record("rec/run.jsonl")
    altered = events("rec/run.jsonl")
    for event in altered:
        event["seconds"] = 1e6
        if event.get("tool") == "assemble":
            event["output"]["ptxas"] = {"is_here": False}
        if event.get("tool") == "prove":
            event["output"]["seconds"] = 1e6
            for finding in event["output"]["findings"]:
                finding["message"] = finding["hint"] = "in other words"
            event["output"]["assumptions"] = ["in other words" for _ in event["output"]["assumptions"]]
    write("altered.jsonl", "".join(json.dumps(event) + "\n" for event in altered))
    same(lower("altered.jsonl", "out").code, 0)


def test_the_word_of_a_log_makes_no_lowering():
    """A log that ends with a wrong candidate, whatever it says, does not become a lowering."""
    record("rec/run.jsonl")
    history = events("rec/run.jsonl")
    index = next(i for i, event in enumerate(history) if event.get("tool") == "prove")
    history = history[: index + 1] + [{"event": "message", "role": "model", "text": "It is proved."},
                                      {"event": "end", "verdict": "proved", "contract": "kept"}]
    write("short.jsonl", "".join(json.dumps(event) + "\n" for event in history))
    result = lower("short.jsonl", "out")
    same(result.code, 1)
    assert "agent.not-proved" in result.out, result.out
    same(os.listdir("out"), ["run.jsonl"])


def test_logs_that_do_not_fit_are_bad_input():
    record("rec/run.jsonl")
    lines = read("rec/run.jsonl").splitlines(True)
    first = json.loads(lines[0])
    for start in ({**first, "task": "other"}, {**first, "target": "sm_80"}, {**first, "task_sha256": "0" * 64},
                  {**first, "format": "x"}, {"event": "call"}):
        write("bad.jsonl", json.dumps(start) + "\n" + "".join(lines[1:]))
        same(lower("bad.jsonl", "out").code, 2, start)
    for text in ("", "{", "[]\n", "\0\1\2", lines[0] + '{"event": "frob"}\n', lines[0] + lines[1][:-20] + "\n"):
        write("bad.jsonl", text)
        result = lower("bad.jsonl", "out")
        same((result.code, result.err.count("error:")), (2, 1), text)


def recorded_seconds(log):
    events = [json.loads(line) for line in read(log).splitlines()]
    return sum(event.get("seconds", 0) for event in events if event["event"] == "call")


def test_the_suite_s_lowerings_replay():
    """Those whose tools took long when they were recorded only where PLUMB_ALL_REPLAYS is set: minutes of proofs each."""
    most = float("inf") if os.environ.get("PLUMB_ALL_REPLAYS") else 100
    found = 0
    for name in sorted(os.listdir(os.path.join(SOURCE, "suite"))):
        task = os.path.join(SOURCE, "suite", name)
        for target in sorted(os.listdir(task)):
            log = os.path.join(task, target, "run.jsonl")
            if not os.path.exists(log) or recorded_seconds(log) > most:
                continue
            found += 1
            out = name + "-" + target
            result = plumb("lower", task, "--target", target, "--out", out, timeout=1500)
            same(result.code, 0, (name, target, result.out, result.err))
            stored = read(os.path.join(task, target, name + ".ptx"))
            same(read(os.path.join(out, name + ".ptx")), stored, (name, target))
            certificate = os.path.join(task, target, name + ".proof.json")
            recheck = plumb("prove", task, os.path.join(out, name + ".ptx"), "--recheck", certificate)
            same(recheck.code, 0, (name, target))
    assert found >= 12, found


if __name__ == "__main__":
    run_tests(globals())
