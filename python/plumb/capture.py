# SPDX-License-Identifier: Apache-2.0
"""Writes plumb tasks from Triton kernels as a program launches them.

    import plumb.capture
    with plumb.capture.launches("tasks"):
        model(x)                              # whatever launches Triton kernels

leaves a folder tasks/KERNEL for every kernel that was launched, with kernel.py (the file that defines it) and task.toml: types,
extents and strides of the tensors, constexprs, grid, warps. Launches of one kernel that differ only in sizes become shapes of one
task. It promises that the task describes every launch that it lists; what cannot be described is named in `skipped`, and no
task is written for it. Reading `plumb prove FOLDER ...` is left to its user, and so is a look at the shapes: those of a program
are often larger than a proof needs.
"""
import ast
import contextlib
import inspect
import itertools
import math
import pathlib
import re
import shutil

TYPES = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64", "float8_e4m3fn": "fp8e4nv",
         "float8_e5m2": "fp8e5", "bool": "i1", "int8": "i8", "uint8": "u8", "int16": "i16", "int32": "i32", "int64": "i64",
         "uint16": "u16", "uint32": "u32", "uint64": "u64"}
TOLERANCE = {"fp64": (1e-10, 1e-12), "fp32": (1e-5, 1e-6), "fp16": (2e-3, 1e-4), "bf16": (1.6e-2, 1e-3)}
OPTIONS = ("num_warps", "num_stages")


class Unsupported(Exception):
    """What a task cannot say."""


def cdiv(a, b):
    return -(-a // b)


class Tensor:
    """A tensor as task.toml describes it: a dense buffer of `dims`, of which `extent` is used."""

    def __init__(self, tensor, block=None, extent=None, strides=None):
        name = str(tensor.dtype).rsplit(".", 1)[-1]
        if name not in TYPES:
            raise Unsupported(f"tensors of {name}")
        self.type, self.block = TYPES[name], block
        own = tensor.size() if extent is None else extent
        steps = tensor.stride() if strides is None else strides
        pairs = sorted(((int(step), int(size)) for size, step in zip(own, steps) if size > 1 and step > 0), reverse=True)
        self.extent = [size for step, size in pairs]
        self.dims = self.nested(pairs)
        if block is not None:
            self.extent, self.dims = list(map(int, extent)), self.described(extent, strides)
        self.values = self.range_of(tensor) if not self.type.startswith(("fp", "bf")) else None

    @staticmethod
    def nested(pairs):
        """Extents of a dense buffer that holds the elements: rows may be longer than what is used of them."""
        if not pairs:
            return [1]
        dims, steps = [pairs[0][1]], [step for step, size in pairs]
        for (step, size), (inner, inner_size) in zip(pairs, pairs[1:]):
            if step % inner or step // inner < inner_size:
                return [1 + sum((size - 1) * step for step, size in pairs)]
            dims.append(step // inner)
        return dims if steps[-1] == 1 else dims + [steps[-1]]

    @staticmethod
    def described(extent, strides):
        if strides[-1] != 1 or any(a % b for a, b in zip(strides, strides[1:])):
            raise Unsupported("a descriptor whose strides are no multiples of each other")
        return [int(extent[0])] + [int(a // b) for a, b in zip(strides, strides[1:])]

    @staticmethod
    def range_of(tensor):
        """Integers may be addresses: their least and largest value, where the tensor can tell."""
        if not hasattr(tensor, "min") or math.prod(tensor.size()) == 0:
            return None
        whole = tensor.long() if hasattr(tensor, "long") else tensor  # PyTorch has no extremes of its unsigned types
        return int(whole.min()), int(whole.max())


class Launch:
    """One launch: constexprs, scalars and tensors by parameter, and the grid."""

    def __init__(self, function, grid, args, kwargs):
        signature = inspect.signature(function)
        self.options = {name: kwargs[name] for name in OPTIONS if name in kwargs}
        known = {name: value for name, value in kwargs.items() if name in signature.parameters}
        bound = signature.bind(*args, **known)
        bound.apply_defaults()
        self.constexprs, self.scalars, self.tensors = {}, {}, {}
        for name, value in bound.arguments.items():
            value = getattr(value, "value", value) if type(value).__name__ == "constexpr" else value
            try:
                self.put(name, value, "constexpr" in str(signature.parameters[name].annotation))
            except Unsupported as error:
                raise Unsupported(f"`{name}`: {error}") from None
        if callable(grid):
            grid = grid({**bound.arguments, **kwargs})
        self.grid = [int(extent) for extent in (grid if isinstance(grid, (tuple, list)) else (grid,))]

    def put(self, name, value, is_constexpr):
        if is_constexpr:
            if not isinstance(value, (bool, int, float, str)):
                raise Unsupported(f"a constexpr of {type(value).__name__}")
            self.constexprs[name] = value
        elif hasattr(value, "block_shape"):
            self.tensors[name] = Tensor(value.base, list(value.block_shape), list(value.shape), list(value.strides))
        elif hasattr(value, "data_ptr"):
            self.tensors[name] = Tensor(value)
        elif isinstance(value, bool):
            self.scalars[name] = ("i1", int(value))
        elif isinstance(value, int):
            self.scalars[name] = ("i32" if -2**31 <= value < 2**31 else "i64", value)
        elif isinstance(value, float):
            self.scalars[name] = ("fp32", value)
        else:
            raise Unsupported(f"an argument of {type(value).__name__}")

    def key(self):
        """What launches of one task have in common."""
        floats = {name: value for name, (kind, value) in self.scalars.items() if kind.startswith("fp")}
        return repr((sorted(self.constexprs.items()), sorted(floats.items()),
                     [(name, tensor.type, tensor.block, len(tensor.dims)) for name, tensor in self.tensors.items()],
                     [(name, kind) for name, (kind, value) in self.scalars.items()], len(self.grid)))


def roles_of(function):
    """"in", "out" or "inout" by parameter, from what the source does with it. A pointer that another function gets may be both."""
    tree = ast.parse(inspect.cleandoc("\n" + inspect.getsource(function)))
    definition = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    names = [argument.arg for argument in definition.args.args]
    taint = {name: {name} for name in names}

    def of(node):
        return set().union(*(taint.get(part.id, set()) for part in ast.walk(node) if isinstance(part, ast.Name)))

    assignments = [node for node in ast.walk(definition) if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For))]
    for _ in range(len(assignments) + 1):  # as long as a chain of assignments can be
        for node in assignments:
            source = node.iter if isinstance(node, ast.For) else node.value
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                for part in ast.walk(target):
                    if isinstance(part, ast.Name) and source is not None and not is_value(source):
                        taint[part.id] = taint.get(part.id, set()) | of(source)
    read, written = set(), set()
    for node in ast.walk(definition):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        is_method = isinstance(node.func, ast.Attribute) and not is_module(node.func.value)
        address = node.func.value if is_method else node.args[0] if node.args else None
        if name in ("load", "gather"):
            read |= of(address) if address is not None else set()
        elif name in ("store", "scatter"):
            written |= of(address) if address is not None else set()
        elif name.startswith("atomic_"):
            read |= of(address)
            written |= of(address)
        elif not is_method and isinstance(node.func, ast.Name):
            passed = set().union(set(), *(of(argument) for argument in node.args))
            read |= passed
            written |= passed
    return {name: "inout" if name in read & written else "out" if name in written else "in" for name in names}


def is_module(node):
    return isinstance(node, ast.Name) and node.id in ("tl", "language", "triton", "libdevice", "math")


def is_value(node):
    """A loaded value is no address of what it was loaded from."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("load", "sum", "max", "dot")


class Writer:
    """One task from launches that have a key in common."""

    def __init__(self, function, launches):
        self.function, self.launches, self.roles = function, launches, roles_of(function)
        self.sizes = [dict() for _ in launches]  # of each launch's shape
        first = launches[0]
        for name, (kind, _) in first.scalars.items():
            if not kind.startswith("fp"):
                self.add_size(name, [launch.scalars[name][1] for launch in launches])
        self.extents = {name: self.name_extents(name, "dims") for name in first.tensors}
        self.used = {name: self.name_extents(name, "extent") for name, tensor in first.tensors.items() if tensor.block is not None}

    def add_size(self, name, values):
        for sizes, value in zip(self.sizes, values):
            sizes[name] = value

    def named(self, values):
        """An expression that has these values in all launches; sizes first, then constexprs."""
        known = {name: [sizes[name] for sizes in self.sizes] for name in self.sizes[0]}
        for name, held in known.items():
            if held == values:
                return name
        for name, held in self.launches[0].constexprs.items():
            if type(held) is int and [held] * len(values) == values:
                return name
        return None

    def name_extents(self, tensor, what):
        out = []
        for axis in range(len(getattr(self.launches[0].tensors[tensor], what))):
            values = [getattr(launch.tensors[tensor], what)[axis] for launch in self.launches]
            name = self.named(values)
            if name is None:
                name = re.sub("_ptr$", "", tensor) + f"_{axis}" + ("" if what == "dims" else "_used")
                while name in self.sizes[0] or name in self.launches[0].constexprs or name in self.roles:
                    name += "_"
                self.add_size(name, values)
            out.append(name)
        return out

    def grid(self, axis):
        values = [launch.grid[axis] for launch in self.launches]
        if set(values) == {1}:
            return 1
        constants = {name: value for name, value in self.launches[0].constexprs.items() if type(value) is int and value > 0}
        known = {name: [sizes[name] for sizes in self.sizes] for name in self.sizes[0]}
        factors = [(name, held) for name, held in known.items()]
        factors += [(f"cdiv({name}, {block})", [cdiv(value, size) for value in held])
                    for name, held in known.items() for block, size in constants.items()]
        for count in (1, 2):
            for chosen in itertools.combinations(factors, count):
                products = [math.prod(values) for values in zip(*(held for _, held in chosen))]
                if products == values and any(text.startswith("cdiv") or count == 1 for text, _ in chosen):
                    return " * ".join(text for text, _ in chosen)
        if len(set(values)) == 1:
            return values[0]
        raise Unsupported(f"a grid of {values} programs at the sizes {self.sizes}")

    def text(self):
        first = self.launches[0]
        lines = ["# Captured from a live launch.", f"grid = [{', '.join(quoted(self.grid(i)) for i in range(len(first.grid)))}]", "",
                 "[kernel]", 'file = "kernel.py"', f'function = "{self.function.__name__}"', ""]
        if first.constexprs:
            lines += ["[constexpr]", *(f"{name} = {constant(value)}" for name, value in first.constexprs.items()), ""]
        for name in inspect.signature(self.function).parameters:
            if name in first.tensors:
                lines += self.tensor(name)
            elif name in first.scalars:
                kind, value = first.scalars[name]
                lines += ["[[args]]", f'name = "{name}"', f'type = "{kind}"',
                          f"value = {value!r}" if kind.startswith("fp") else f'value = "{name}"', ""]
        written = [first.tensors[name].type for name in first.tensors if self.roles[name] != "in"]
        if not written:
            raise Unsupported("a kernel that stores to none of its arguments")
        relative = max(TOLERANCE.get(kind, (0.125, 0.01) if kind.startswith("fp") else (0, 0)) for kind in written)
        lines += ["[tolerance]", f"relative = {relative[0]}", f"absolute = {relative[1]}", ""]
        if first.options:
            lines += ["[baseline]", *(f"{name} = [{value}]" for name, value in first.options.items()), ""]
        shapes = sorted({tuple(sizes.items()) for sizes in self.sizes}, key=lambda shape: math.prod(max(1, v) for _, v in shape))
        texts = ["{ " + ", ".join(f"{name} = {value}" for name, value in shape) + " }" for shape in shapes]
        lines += ["[shapes]", f"prove = [{texts[0]}]", f"test = [{texts[-1]}]", f"bench = [{', '.join(texts)}]", ""]
        return "\n".join(lines)

    def tensor(self, name):
        what = self.launches[0].tensors[name]
        lines = ["[[args]]", f'name = "{name}"', f'type = "*{what.type}"', f"shape = {listed(self.extents[name])}"]
        if what.block is not None:
            lines += [f"extent = {listed(self.used[name])}", f"block = {what.block}"]
        role = self.roles[name]
        if role != "in":
            lines.append(f'role = "{role}"')
        ranges = [launch.tensors[name].values for launch in self.launches]
        if role == "in" and all(ranges) and ranges:
            lines += ["metadata = true", f'init = "randint({min(low for low, _ in ranges)}, {max(high for _, high in ranges) + 1})"']
        return [*lines, ""]


def quoted(value):
    return str(value) if isinstance(value, int) else f'"{value}"'


def listed(names):
    return "[" + ", ".join(quoted(name) for name in names) + "]"


def constant(value):
    if isinstance(value, bool):
        return str(value).lower()
    return f'{{ text = "{value}" }}' if isinstance(value, str) else repr(value)


class Captured:
    """The folders that were written, and why a kernel has none."""

    def __init__(self):
        self.seen, self.written, self.skipped = {}, [], {}

    def add(self, function, grid, args, kwargs):
        try:
            launch = Launch(function, grid, args, kwargs)
        except (Unsupported, TypeError) as error:
            self.skipped[function.__name__] = str(error)
            return
        self.seen.setdefault((function, launch.key()), []).append(launch)

    def write(self, folder):
        taken = set()
        for (function, _), found in self.seen.items():
            name = function.__name__
            while name in taken:
                name += "_"
            try:
                text = Writer(function, found).text()
            except (Unsupported, OSError) as error:
                self.skipped[function.__name__] = str(error)
                continue
            taken.add(name)
            place = pathlib.Path(folder, name)
            place.mkdir(parents=True)  # a task that is there already stays as it is
            shutil.copyfile(inspect.getsourcefile(function), place / "kernel.py")
            (place / "task.toml").write_text(text)
            self.written.append(place)


@contextlib.contextmanager
def launches(folder):
    """Captures every launch of a Triton kernel within the block; tasks are written at its end."""
    from triton.runtime import autotuner, interpreter, jit
    captured, kept, is_trial = Captured(), {}, False
    bench = autotuner.Autotuner._bench

    def try_config(self, *args, **kwargs):
        """The autotuner's own launches are no launches of the program."""
        nonlocal is_trial
        is_trial = True
        try:
            return bench(self, *args, **kwargs)
        finally:
            is_trial = False

    def watch(kind):
        kept[kind] = kind.run

        def run(self, *args, grid, warmup=False, **kwargs):
            if not warmup and not is_trial:
                captured.add(self.fn, grid, args, kwargs)
            return kept[kind](self, *args, grid=grid, warmup=warmup, **kwargs)

        kind.run = run

    for kind in (jit.JITFunction, interpreter.InterpretedFunction):
        watch(kind)
    autotuner.Autotuner._bench = try_config
    try:
        yield captured
    finally:
        autotuner.Autotuner._bench = bench
        for kind, run in kept.items():
            kind.run = run
    captured.write(folder)
