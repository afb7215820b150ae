// SPDX-License-Identifier: Apache-2.0
// The program that `plumb baseline` gives to python3: Triton and PyTorch are only there. It reads a plan
// (gpu_baseline.h) on standard input, compiles and times every configuration, and prints one JSON object on the last
// line.
#pragma once

namespace plumb::session {

inline constexpr const char* kBaselineScript = R"py(
import importlib.util, json, os, random, sys

os.environ["TRITON_DISABLE_LINE_INFO"] = "1"  # paths of this machine have no place in an artifact

plan = json.loads(open(sys.argv[1]).read())
try:
    import torch, triton
    import triton.testing
    from triton.runtime.jit import MockTensor
except ImportError as error:
    print(json.dumps({"status": "missing", "message": f"python3 cannot import {error.name}"}))
    raise SystemExit(0)
def load(name, file):
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

kernel = getattr(load("kernel_source", plan["file"]), plan["function"])
# A source that makes tensor descriptors on the device asks for scratch memory through this.
if hasattr(triton, "set_allocator"):
    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))

TYPES = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32, "fp64": torch.float64,
         "fp8e4nv": torch.float8_e4m3fn, "fp8e5": torch.float8_e5m2, "i1": torch.bool, "u1": torch.bool,
         "i8": torch.int8, "u8": torch.uint8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
         "u16": torch.uint16, "u32": torch.uint32, "u64": torch.uint64}

# Compiling takes far longer than timing: every core compiles a share of the configurations into Triton's cache first. The
# children are forked before this process has a CUDA context; what fails in one fails again below, where it is recorded.
def compile_share(share):
    args = {arg["name"]: MockTensor(TYPES[arg["type"][1:]]) if arg["type"].startswith("*") else arg["value"]
            for arg in plan["args"]}
    for config in share:
        try:
            kernel.warmup(**args, **config["constexprs"], num_warps=config["num_warps"],
                          num_stages=config["num_stages"], grid=tuple(config["grid"]))
        except Exception:
            pass

workers = min(len(os.sched_getaffinity(0)), len(plan["configs"]), 16)
children = []
for i in range(workers if workers > 1 else 0):
    child = os.fork()
    if child == 0:
        try:
            compile_share(plan["configs"][i::workers])
        finally:
            os._exit(0)
    children.append(child)
for child in children:
    os.waitpid(child, 0)

if not torch.cuda.is_available():
    print(json.dumps({"status": "none", "message": "PyTorch sees no GPU"}))
    raise SystemExit(0)

def tensor(arg):
    kind, count = TYPES[arg["type"][1:]], arg["elements"]
    if kind.is_floating_point:
        return torch.randn(count, device="cuda", dtype=torch.float32).to(kind)
    low, high = arg.get("low", 0), arg.get("high", 100)
    if arg.get("init") == "permutation":
        return torch.randperm(count, device="cuda").to(kind)
    if arg.get("init") == "arange":
        return torch.arange(count, device="cuda").to(kind)
    if arg.get("init") == "zeros":
        return torch.zeros(count, device="cuda", dtype=kind)
    return torch.randint(low, max(high, low + 1), (count,), device="cuda").to(kind)

args = {arg["name"]: tensor(arg) if arg["type"].startswith("*") else arg["value"] for arg in plan["args"]}

def constants(compiled):
    names = list(compiled.src.fn.arg_names) if hasattr(compiled.src, "fn") else kernel.arg_names
    return {names[path[0]]: value for path, value in compiled.src.constants.items() if len(path) == 1}

def facts(compiled, config):
    meta = compiled.metadata
    attrs = getattr(compiled.src, "attrs", {})
    signature = dict(compiled.src.signature)
    names = list(signature)
    aligned = {names[path[0]] for path, rows in attrs.items() if any(row[0] == "tt.divisibility" for row in rows)}
    needed = {name for name, kind in signature.items() if kind.startswith("*") or kind in ("i32", "i64")}
    return {"entry": meta.name, "num_warps": meta.num_warps, "num_ctas": meta.num_ctas, "shared": meta.shared,
            "function": plan["function"], "signature": signature, "constexprs": constants(compiled),
            "options": {"num_warps": config["num_warps"], "num_stages": config["num_stages"]},
            "divisible_by_16": needed <= aligned, "relies_on_divisibility": sorted(aligned),
            "tmem": getattr(meta, "tmem_size", 0) or 0,
            "global_scratch": getattr(meta, "global_scratch_size", 0) or 0}

# The vendor's library beside the winner: in every round both, in random order, each after a sweep over the L2.
def time_library(config):
    module = load("library", plan["library"])
    shapes = {arg["name"]: arg["shape"] for arg in plan["args"] if "shape" in arg}
    named = {name: value.view(shapes[name]) if name in shapes else value for name, value in args.items()}
    compute = module.library(**{**plan["sizes"], **config["constexprs"], **named})
    def winner():
        kernel[tuple(config["grid"])](**args, **config["constexprs"], num_warps=config["num_warps"],
                                      num_stages=config["num_stages"])
    outs = [arg["name"] for arg in plan["args"] if arg.get("is_written")]
    for name in outs:
        args[name].zero_()
    winner()
    results = compute()
    for name, result in zip(outs, results if isinstance(results, tuple) else (results,)):
        whole = named[name].float()[tuple(slice(0, extent) for extent in result.shape)]
        distance = ((result.float() - whole).norm() / whole.norm()).item()
        if not distance < 0.02:
            return {"error": f"{name} of the library lies {distance:.3g} from the source's, of its norm"}
    flush = torch.empty(256 << 20, dtype=torch.int8, device="cuda")
    def sample(call):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        flush.zero_()
        begin.record()
        call()
        end.record()
        return begin, end
    rounds = []
    for i in range(60):
        pair = {}
        for key, call in random.sample([("library", compute), ("winner", winner)], 2):
            pair[key] = sample(call)
        rounds.append(pair)
    torch.cuda.synchronize()
    times = [[pair[key][0].elapsed_time(pair[key][1]) for key in ("library", "winner")] for pair in rounds[10:]]
    return {"name": (module.__doc__ or "").strip().rstrip("."), "rounds_ms": times}

tried, best = [], None
for config in plan["configs"]:
    grid = tuple(config["grid"])
    def launch():
        return kernel[grid](**args, **config["constexprs"], num_warps=config["num_warps"],
                            num_stages=config["num_stages"])
    row = {"constexprs": config["constexprs"], "num_warps": config["num_warps"], "num_stages": config["num_stages"]}
    try:
        compiled = launch()
        torch.cuda.synchronize()
        row["ms"] = triton.testing.do_bench(launch, warmup=plan["warmup_ms"], rep=plan["rep_ms"], return_mode="median")
    except Exception as error:  # a configuration that the card or Triton does not take is no winner
        row["error"] = f"{type(error).__name__}: {str(error)[:200]}"
        tried.append(row)
        if "CUDA" in str(error) and "illegal" in str(error):
            break
        continue
    tried.append(row)
    if best is None or row["ms"] < best[0]:
        best = (row["ms"], compiled.asm["ptx"], facts(compiled, config), row, config)

answer = {"status": "done" if best else "failed", "tried": tried, "triton": triton.__version__,
          "torch": torch.__version__, "card": torch.cuda.get_device_name(0)}
if best:
    # The signature's order counts: as text, it survives readers that sort keys.
    answer.update(ms=best[0], ptx=best[1], launch=json.dumps(best[2], default=str), winner=best[3])
    if plan.get("library"):
        try:
            answer["library"] = time_library(best[4])
        except Exception as error:
            answer["library"] = {"error": f"{type(error).__name__}: {str(error)[:200]}"}
else:
    answer["message"] = "no configuration ran: " + (tried[0].get("error", "") if tried else "there is none")
print(json.dumps(answer, default=str))
)py";

}  // namespace plumb::session
