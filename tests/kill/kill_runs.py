# SPDX-License-Identifier: Apache-2.0
"""Kills runs at N seeded moments and goes on with them: whatever the moment, the end is the one of a run that nobody
disturbed. Two doors: `plumb lower` replaying a stored log, and `plumb mcp` driven through the same calls.

    kill_runs.py PLUMB SOURCE [--door lower|mcp] [--times N] [--seed S] [--task NAME] [--record FILE]
"""
import argparse
import datetime
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

options = argparse.ArgumentParser()
options.add_argument("plumb")
options.add_argument("source")
options.add_argument("--door", choices=["lower", "mcp"])
options.add_argument("--times", type=int, default=10)
options.add_argument("--seed", type=int, default=1)
options.add_argument("--task", default="vector_add")
options.add_argument("--record", help="write the outcome there, as results/ has it")
options = options.parse_args()
TASK = os.path.join(options.source, "suite", options.task)
STORED = os.path.join(TASK, "sm_89", "run.jsonl")


def events(path, kinds=None):
    """The whole events of a log; a line that a kill has cut off is none."""
    out = []
    with open(path, "rb") as file:
        for line in file:
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if kinds is None or event["event"] in kinds:
                out.append(event)
    return out


def facts(event):
    """What must not depend on when a run was killed: all but times, and what ptxas says."""
    def strip(value):
        if isinstance(value, dict):
            return {key: strip(each) for key, each in value.items() if key not in ("at", "seconds", "ptxas")}
        return [strip(each) for each in value] if isinstance(value, list) else value
    return json.dumps(strip(event), sort_keys=True)


def state(out, code):
    """The final state of a run: exit code, calls and answers, messages, verdict, artifact, claims of the proof."""
    name = os.path.basename(TASK)
    with open(os.path.join(out, name + ".ptx"), "rb") as file:
        artifact = hashlib.sha256(file.read()).hexdigest()
    with open(os.path.join(out, name + ".proof.json")) as file:
        proof = json.load(file)
    log = os.path.join(out, "run.jsonl")
    last = events(log, ("end",))[-1]
    return {"exit code": code, "events": [facts(event) for event in events(log, ("call", "message"))],
            "verdict": (last["verdict"], last["contract"]), "judged": last["sha256"], "artifact": artifact,
            "proof": (proof["outcome"]["verdict"], proof["outcome"]["contract"], proof["sha256"])}


class Lower:
    name = "plumb lower"

    def start(self, out):
        # --resume begins the run where there is none yet.
        return subprocess.Popen([options.plumb, "lower", TASK, "--target", "sm_89", "--provider", "replay", "--log", STORED,
                                 "--out", out, "-j", "1", "--resume"],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def drive(self, process, out):
        del out
        return process.wait()


class Mcp:
    name = "plumb mcp"
    calls = [event for event in events(STORED, ("call", "message"))]

    def start(self, out):
        log = os.path.join(out, "run.jsonl")
        if not os.path.exists(log):
            # A run begins with the seed of the stored one, so that answers can be compared.
            os.makedirs(out)
            with open(STORED, "rb") as stored, open(log, "wb") as file:
                file.write(stored.readline())
        return subprocess.Popen([options.plumb, "mcp", TASK, "--target", "sm_89", "--out", out, "-j", "1"],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def ask(self, process, method, params):
        process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            raise BrokenPipeError
        return json.loads(line)["result"]

    def drive(self, process, out):
        """Goes on after what the log has."""
        try:
            self.ask(process, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}})
            done = len(events(os.path.join(out, "run.jsonl"), ("call", "message")))
            for event in self.calls[done:]:
                if event["event"] == "message":
                    self.ask(process, "tools/call", {"name": "note", "arguments": {"text": event["text"]}})
                else:
                    self.ask(process, "tools/call", {"name": event["tool"], "arguments": event["input"]})
            self.ask(process, "tools/call", {"name": "finish"})
            process.stdin.close()
        except (BrokenPipeError, ConnectionResetError):
            pass
        return process.wait()


def undisturbed(door, folder):
    out = os.path.join(folder, "whole")
    begin = time.monotonic()
    process = door.start(out)
    code = door.drive(process, out)
    if code != 0:
        sys.exit(f"{door.name}: the undisturbed run ended with {code}: {process.stderr.read().decode()}")
    return state(out, code), time.monotonic() - begin


def difference(key, got, wanted):
    if not isinstance(got, list):
        return f"{key}: {got!r:.300}, wanted {wanted!r:.300}"
    at = next((i for i, pair in enumerate(zip(got, wanted)) if pair[0] != pair[1]), min(len(got), len(wanted)))
    return f"{key}: {len(got)}, wanted {len(wanted)}; at {at} {got[at:at + 1]!r:.600}, wanted {wanted[at:at + 1]!r:.600}"


def killed(door, folder, number, draw, length, whole):
    """One run, killed once and every third time twice: the kills, what is wrong with its end, or nothing, and how long a run
    takes now. A busy machine may have been slow for the first one, and moments beyond a run's end kill nothing."""
    out = os.path.join(folder, f"run{number}")
    kills = 0
    for _ in range(2 if draw.random() < 1 / 3 else 1):
        moment = draw.uniform(0, length)
        begin = time.monotonic()
        process = door.start(out)
        clock = threading.Timer(moment, process.kill)
        clock.start()
        code = door.drive(process, out)
        clock.cancel()
        kills += code == -signal.SIGKILL
        if code == 0 and not kills:  # a whole run, begun here
            length = min(length, time.monotonic() - begin)
    process = door.start(out)
    code = door.drive(process, out)
    error = process.stderr.read().decode()
    if code != 0:
        return kills, f"ends with {code}: {error}", length
    end = state(out, code)
    wrong = "; ".join(difference(key, end[key], whole[key]) for key in whole if end[key] != whole[key])
    return kills, wrong, length


def main():
    rows = []
    cache = tempfile.TemporaryDirectory(prefix="plumb-kill-cache-")
    os.environ.setdefault("XDG_CACHE_HOME", cache.name)
    for door in (Lower(), Mcp()):
        if options.door and not door.name.endswith(options.door):
            continue
        draw = random.Random(f"{options.seed} {door.name}")
        with tempfile.TemporaryDirectory(prefix="plumb-kill-") as folder:
            whole, length = undisturbed(door, folder)
            kills = runs = failures = 0
            while kills < options.times and runs < 4 * options.times:  # some end before their moment comes
                hit, wrong, length = killed(door, folder, runs, draw, length, whole)
                kills += hit
                runs += 1
                if wrong:
                    failures += 1
                    print(f"FAIL  {door.name}, run {runs} of seed {options.seed}: {wrong}")
        print(f"{door.name}: {runs} runs of {length:.1f} s, {kills} kills, {failures} ends that differ", flush=True)
        if kills < options.times:
            print("FAIL  too few were killed: the moments are too late")
            failures += 1
        rows.append({"door": door.name, "task": options.task, "runs": runs, "seconds": round(length, 2), "kills": kills,
                     "ends_that_differ": failures})
    if options.record:
        version = subprocess.run([options.plumb, "--version"], capture_output=True, text=True).stdout.strip()
        with open(options.record, "w") as file:
            json.dump({"plumb": version, "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
                       "command": ["tests/kill/kill_runs.py", "--times", str(options.times), "--seed", str(options.seed),
                                   "--task", options.task],
                       "method": "each run is killed at a uniformly drawn moment, every third one twice, then resumed; its end is "
                                 "held against the end of a run that nobody disturbed",
                       "result": rows}, file, indent=1)
            file.write("\n")
    sys.exit(1 if any(row["ends_that_differ"] for row in rows) else 0)


main()
