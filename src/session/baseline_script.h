// SPDX-License-Identifier: Apache-2.0
// The program that `plumb baseline` gives to python3: Triton and PyTorch are only there. It reads a plan
// (gpu_baseline.h), compiles and times every configuration, and writes one JSON object to a
// file: texts of PTX would not fit what is kept of a program's output.
#pragma once

namespace plumb::session {

inline constexpr const char* kBaselineScript = R"py(
import importlib.util, json, multiprocessing, os, random, re, sys
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, wait

os.environ["TRITON_DISABLE_LINE_INFO"] = "1"  # paths of this machine have no place in an artifact

plan = json.loads(open(sys.argv[1]).read())
def answer_with(what):
    with open(sys.argv[2], "w") as file:
        json.dump(what, file, default=str)
try:
    import torch, triton
    import triton.testing
    from triton.runtime.jit import MockTensor
    from triton.tools.tensor_descriptor import TensorDescriptor
except ImportError as error:
    answer_with({"status": "missing", "message": f"python3 cannot import {error.name}"})
    raise SystemExit(0)
def load(name, file):
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

# A source that makes tensor descriptors on the device asks for scratch memory through this.
if hasattr(triton, "set_allocator"):
    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))

TYPES = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32, "fp64": torch.float64,
         "fp8e4nv": torch.float8_e4m3fn, "fp8e5": torch.float8_e5m2, "i1": torch.bool, "u1": torch.bool,
         "i8": torch.int8, "u8": torch.uint8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
         "u16": torch.uint16, "u32": torch.uint32, "u64": torch.uint64}

# The same computation under the task's own source (the first) and under other forms of it.
class Form:
    def __init__(self, row):
        self.row, self.kernel = row, getattr(load("form_" + row["form"], row["file"]), row["function"])
        self.tried, self.best = [], None

    def arguments(self, config, args):
        """The kernel's parameters by name: the task's arguments, the form's own, descriptors, constexprs."""
        out = {**args, **config["constexprs"], **config.get("values", {})}
        for name, what in config.get("descriptors", {}).items():
            out[name] = TensorDescriptor(args[what["tensor"]], what["shape"], what["strides"], what["block"])
        return {name: out[name] for name in self.kernel.arg_names}

    def options(self, config):
        return {"num_warps": config["num_warps"], "num_stages": config["num_stages"]}

    def launch(self, config):
        arguments, grid = self.arguments(config, args), tuple(config["grid"])
        return lambda: self.kernel[grid](**arguments, **self.options(config))

forms = [Form(row) for row in plan["forms"]]

# Compiling takes far longer than timing: every core compiles a share of the configurations into Triton's cache first. The
# children are forked before this process has a CUDA context; what fails in one fails again below, where it is recorded.
def compile_one(index, config):
    args = {arg["name"]: MockTensor(TYPES[arg["type"][1:]]) if arg["type"].startswith("*") else arg["value"]
            for arg in plan["args"]}
    form = forms[index]
    try:
        form.kernel.warmup(**form.arguments(config, args), **form.options(config), grid=tuple(config["grid"]))
    except Exception:
        pass

workers = min(len(os.sched_getaffinity(0)), 16)
pool = ProcessPoolExecutor(workers, multiprocessing.get_context("fork")) if workers > 1 else None

def compile_all(work):
    if pool is not None:
        try:
            wait([pool.submit(compile_one, index, config) for index, config in work])
        except BrokenExecutor:  # a compiler that crashes takes the pool along
            pass

compile_all([(index, config) for index, form in enumerate(forms) for config in form.row["configs"]])

if not torch.cuda.is_available():
    answer_with({"status": "none", "message": "PyTorch sees no GPU"})
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
outs = [arg["name"] for arg in plan["args"] if arg.get("is_written")]

def constants(compiled, kernel):
    names = list(compiled.src.fn.arg_names) if hasattr(compiled.src, "fn") else kernel.arg_names
    return {names[path[0]]: value for path, value in compiled.src.constants.items() if len(path) == 1}

def aligned_names(compiled):
    names = list(compiled.src.signature)
    attrs = getattr(compiled.src, "attrs", {})
    return {names[path[0]] for path, rows in attrs.items() if any(row[0] == "tt.divisibility" for row in rows)}

SWIZZLES = ["none", "32B", "64B", "128B"]

def tensor_maps(compiled):
    """What the host encodes for each descriptor, innermost extent first; nothing where the target has no tensor maps."""
    names = [name for name, kind in compiled.src.signature.items() if kind.startswith("tensordesc")]
    encoded = getattr(compiled.metadata, "tensordesc_meta", None) or []
    return {name: {"swizzle": SWIZZLES[row["swizzle"]], "box": row["block_size"][::-1]} for name, row in zip(names, encoded)}

def facts(compiled, form, config):
    meta = compiled.metadata
    signature = dict(compiled.src.signature)
    aligned = aligned_names(compiled)
    needed = {name for name, kind in signature.items() if kind.startswith("*") or kind in ("i32", "i64")}
    maps = tensor_maps(compiled)
    return {**({"tensor_maps": maps} if maps else {}),
            "entry": meta.name, "num_warps": meta.num_warps, "num_ctas": meta.num_ctas, "shared": meta.shared,
            "function": form.row["function"], "signature": signature, "constexprs": constants(compiled, form.kernel),
            "options": form.options(config),
            "divisible_by_16": needed <= aligned, "relies_on_divisibility": sorted(aligned),
            "tmem": getattr(meta, "tmem_size", 0) or 0,
            "global_scratch": getattr(meta, "global_scratch_size", 0) or 0}

# A form is no task's source, so its PTX is kept as a candidate, with a launch header for this shape. Triton passes a descriptor
# as its tensor map, the extents as i32 and the strides as i64; after all arguments come two pointers to scratch memory.
def header(compiled, form, config):
    meta, signature = compiled.metadata, compiled.src.signature
    maps, params = [], []
    described = tensor_maps(compiled)
    for name, kind in signature.items():
        if kind == "constexpr":
            continue
        if not kind.startswith("tensordesc"):
            params.append(str(config["values"][name]) if name in config.get("values", {}) else name)
            continue
        what, size = config["descriptors"][name], args[config["descriptors"][name]["tensor"]].dtype.itemsize
        maps += [f"[tensor_maps.map_{name}]", f"tensor = \"{what['tensor']}\"", f"dims = {what['shape'][::-1]}",
                 f"strides = {[stride * size for stride in what['strides'][-2::-1]]}", f"box = {described[name]['box']}",
                 f"swizzle = \"{described[name]['swizzle']}\"", "promotion = \"128B\""]
        params += [f"map_{name}", *map(str, what["shape"]), *map(str, what["strides"])]
    scratch = getattr(meta, "global_scratch_size", 0) or 0
    params += ["workspace" if scratch else "null", "null"]
    threads = max([32 * meta.num_warps, *map(int, re.findall(r"\.reqntid\s+(\d+)", compiled.asm["ptx"])[:1])])
    lines = [f"entry = \"{meta.name}\"", f"grid = {config['grid']}", f"block = [{threads}]", f"cluster = [{meta.num_ctas}]",
             f"shared = {meta.shared}", f"params = {json.dumps(params)}",
             f"requires = {json.dumps([f'{name} == {value}' for name, value in plan['sizes'].items()])}"]
    if scratch:
        lines.append(f"workspace = \"{scratch} * grid_x * grid_y * grid_z\"")
    if aligned_names(compiled):
        lines.append("divisible_by_16 = true")
    return "".join(f"//! {line}\n" for line in lines + maps)

def distance(one, other):
    one, other = one.float(), other.float()
    both = torch.isnan(one) & torch.isnan(other)
    return ((one - other).masked_fill(both, 0).norm() / other.nan_to_num().norm().clamp_min(1e-30)).item()

# Calls by name, each timed once a round: in random order, each after a sweep over the L2.
def side_by_side(calls, count):
    flush = torch.empty(256 << 20, dtype=torch.int8, device="cuda")
    rounds = []
    for i in range(count + 10):
        events = {}
        for name in random.sample(list(calls), len(calls)):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            flush.zero_()
            begin.record()
            calls[name]()
            end.record()
            events[name] = begin, end
        rounds.append(events)
    torch.cuda.synchronize()
    return [{name: begin.elapsed_time(end) for name, (begin, end) in events.items()} for events in rounds[10:]]

# The vendor's library beside the source's winner.
def time_library(winner, config):
    module = load("library", plan["library"])
    shapes = {arg["name"]: arg["shape"] for arg in plan["args"] if "shape" in arg}
    named = {name: value.view(shapes[name]) if name in shapes else value for name, value in args.items()}
    compute = module.library(**{**plan["sizes"], **config["constexprs"], **named})
    for name in outs:
        args[name].zero_()
    winner()
    results = compute()
    for name, result in zip(outs, results if isinstance(results, tuple) else (results,)):
        whole = named[name].float()[tuple(slice(0, extent) for extent in result.shape)]
        apart = distance(result, whole)
        if not apart < 0.02:
            return {"error": f"{name} of the library lies {apart:.3g} from the source's, of its norm"}
    rounds = side_by_side({"library": compute, "winner": winner}, 50)
    return {"name": (module.__doc__ or "").strip().rstrip("."), "rounds_ms": [[row["library"], row["winner"]] for row in rounds]}

# A form that does not compute what the source computes is no baseline: its outputs lie near the source's, from equal inputs.
def reset():
    for name in outs:
        args[name].copy_(starts[name])

starts = {name: args[name].clone() for name in outs}
expected, is_broken = None, False

def time_config(form, config):
    global expected, is_broken
    row = {"constexprs": config["constexprs"], **form.options(config)}
    form.tried.append(row)
    try:
        launch = form.launch(config)
        reset()
        compiled = launch()
        torch.cuda.synchronize()
        results = {name: args[name].clone() for name in outs}
        if expected is None:
            expected = results
        apart = max(distance(results[name], expected[name]) for name in outs)
        if not apart < 0.02:
            row["error"] = f"the outputs lie {apart:.3g} from the source's, of their norm"
            return
        row["ms"] = triton.testing.do_bench(launch, warmup=plan["warmup_ms"], rep=plan["rep_ms"], return_mode="median")
    except Exception as error:  # a configuration that the card or Triton does not take is no winner
        row["error"] = f"{type(error).__name__}: {str(error)[:200]}"
        is_broken = "CUDA" in str(error) and ("illegal" in str(error) or "unspecified" in str(error))
        return
    if form.best is None or row["ms"] < form.best[0]:
        form.best = (row["ms"], compiled, row, config)

def values_of(config):
    return {**config["constexprs"], "num_warps": config["num_warps"], "num_stages": config["num_stages"]}

# Where the space was thinned, the best of it may have a better neighbour that was not drawn.
def climb(index, form):
    rest = list(form.row.get("rest", []))
    while rest and form.best and not is_broken:
        best, here = form.best[0], values_of(form.best[3])
        near = [config for config in rest if sum(here[name] != value for name, value in values_of(config).items()) == 1]
        rest = [config for config in rest if config not in near]
        compile_all([(index, config) for config in near])
        for config in near:
            if not is_broken:
                time_config(form, config)
        if form.best[0] == best:
            break

def time_form(index, form):
    for config in form.row["configs"]:
        if not is_broken:
            time_config(form, config)
    climb(index, form)

answers = []
for index, form in enumerate(forms):
    if not is_broken:
        time_form(index, form)
    answer = {"form": form.row["form"], "status": "done" if form.best else "failed", "tried": form.tried}
    if form.best:
        ms, compiled, row, config = form.best
        # The signature's order counts: as text, it survives readers that sort keys.
        answer.update(ms=ms, ptx=compiled.asm["ptx"], launch=json.dumps(facts(compiled, form, config), default=str),
                      header=header(compiled, form, config), winner=row)
    else:
        errors = [row["error"] for row in form.tried if "error" in row]
        answer["message"] = "no configuration ran: " + (errors[0] if errors else "there is none")
    answers.append(answer)

out = {"status": "done", "triton": triton.__version__, "torch": torch.__version__, "card": torch.cuda.get_device_name(0),
       "forms": answers}
# Clocks differ from one configuration's time to the next, on a card at its power cap above all: winners are timed side by side.
ran = {form.row["form"]: form.launch(form.best[3]) for form in forms if form.best}
if len(ran) > 1 and "" in ran and not is_broken:
    rounds = side_by_side(ran, 30)
    for answer in answers:
        if answer["form"] in ran:
            answer["beside_source"] = {"name": answer["form"], "rounds_ms": [[row[answer["form"]], row[""]] for row in rounds]}
if plan.get("library") and forms[0].best and not is_broken:
    try:
        reset()
        out["library"] = time_library(forms[0].launch(forms[0].best[3]), forms[0].best[3])
    except Exception as error:
        out["library"] = {"error": f"{type(error).__name__}: {str(error)[:200]}"}
answer_with(out)
if pool is not None:
    pool.shutdown(wait=False)
)py";

}  // namespace plumb::session
