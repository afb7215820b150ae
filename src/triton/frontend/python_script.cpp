// SPDX-License-Identifier: Apache-2.0
#include "triton/frontend/python_script.h"

namespace plumb::triton {

// A node is ["Name", [line, column, end line, end column], {field: value}], columns in UTF-8 bytes from 0. Operators
// and contexts are bare strings. A constant's value is [kind, text]. Bodies of undecorated functions and of classes are
// left out: no kernel is in them. The tree is {"tree": [statements]}, a refusal {"error": [message, line, column, end
// line, end column]} with columns from 1 and 0 for "unknown".
extern constexpr std::string_view kPythonScript = R"python(
import ast, json, sys

DEPTH = 150
NODES = 1000000
count = 0

class Refused(Exception):
    def __init__(self, message, node=None):
        self.message = message
        self.line = getattr(node, "lineno", 0)
        self.column = getattr(node, "col_offset", -1) + 1

def constant(v):
    if v is None: return ["none", ""]
    if v is True or v is False: return ["bool", "1" if v else "0"]
    if isinstance(v, int): return ["int", hex(v)]
    if isinstance(v, float): return ["float", v.hex()]
    if isinstance(v, str): return ["str", v.encode("utf-8", "replace").decode("utf-8")]
    return ["other", type(v).__name__]

def dump(n, depth):
    global count
    count += 1
    if count > NODES: raise Refused("the source is too large")
    if depth > DEPTH: raise Refused("the source is nested too deeply", n)
    if n is None or isinstance(n, (bool, int, str)): return n
    if isinstance(n, list): return [dump(x, depth + 1) for x in n]
    name = type(n).__name__
    if name == "Index": return dump(n.value, depth + 1)
    if isinstance(n, (ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context)): return name
    place = [getattr(n, "lineno", 0), getattr(n, "col_offset", 0),
             getattr(n, "end_lineno", None) or 0, getattr(n, "end_col_offset", None) or 0]
    if isinstance(n, ast.Constant): return ["Constant", place, {"value": constant(n.value)}]
    fields = {}
    bare = name == "ClassDef" or (name in ("FunctionDef", "AsyncFunctionDef") and not n.decorator_list)
    for field, value in ast.iter_fields(n):
        if field in ("ctx", "type_comment", "kind", "type_params", "type_ignores"): continue
        if bare and field != "name": continue
        if value is None or value == []: continue
        fields[field] = dump(value, depth + 1)
    return [name, place, fields]

def byte_column(data, line, offset):
    lines = data.splitlines()
    if not line or not offset or offset < 1 or line > len(lines): return 0
    return len(lines[line - 1].decode("utf-8", "replace")[:offset - 1].encode("utf-8")) + 1

def main():
    data = sys.stdin.buffer.read()
    try:
        tree = ast.parse(data)
        out = {"tree": [dump(s, 0) for s in tree.body]}
    except SyntaxError as e:
        line, end = e.lineno or 0, getattr(e, "end_lineno", None) or 0
        out = {"error": [str(e.msg), line, byte_column(data, line, e.offset), end,
                         byte_column(data, end, getattr(e, "end_offset", None))]}
    except Refused as e:
        out = {"error": [e.message, e.line, e.column, 0, 0]}
    except (RecursionError, MemoryError):
        out = {"error": ["the source is nested too deeply", 0, 0, 0, 0]}
    except ValueError as e:
        out = {"error": [str(e), 0, 0, 0, 0]}
    sys.stdout.write(json.dumps(out, separators=(",", ":")))
    sys.stdout.flush()

main()
)python";

}  // namespace plumb::triton
