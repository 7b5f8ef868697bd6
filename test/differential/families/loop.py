"""Draws loops and scans whose trips are known: counts, conditions of the trip, none at all; nested; with If inside.

Left out: trip counts and conditions that the run computes, and more than 1024 trips, which are refused.
"""
from onnx import helper

from case import *

TENSOR = helper.make_tensor_value_info
INT, BOOL = onnx_type(np.int64), onnx_type(np.bool_)


class Body:
    """Makes nodes of a Loop's body, with names of their own."""

    def __init__(self, build):
        self.build, self.nodes = build, []

    def node(self, op, operands, **attributes):
        name = self.build.name("b")
        self.nodes.append(helper.make_node(op, operands, [name], **attributes))
        return name

    def constant(self, value, dtype=np.int64):
        return self.node("Constant", [], value=numpy_helper.from_array(np.array(value, dtype)))


def branch(build, name, op, x):
    out = build.name("o")
    return helper.make_graph([helper.make_node(op, [x], [out])], name, [],
                             [helper.make_empty_tensor_value_info(out)])


def changed(rng, build, body, value, trip, dtype):
    """Returns the carried value of the next trip."""
    kind = one_of(rng, ["double", "trip", "if", "outer"])
    if kind == "double":
        return body.node("Add", [value, value])
    if kind == "trip":
        return body.node("Add", [value, body.node("Cast", [trip], to=onnx_type(dtype))])
    if kind == "outer":
        return body.node("Sub", [value, build.operand(values(rng, (1,), dtype))])
    even = body.node("Equal", [body.node("Mod", [trip, body.constant(2)]), body.constant(0)])
    return body.node("If", [even], then_branch=branch(build, "then", "Neg", value),
                     else_branch=branch(build, "else", "Abs", value))


def condition(rng, body, go, trip, stops_at):
    """Returns true for the next trip while it is below stops_at."""
    if stops_at is None:
        return body.node("Identity", [go])
    return body.node("Less", [trip, body.constant(stops_at - 1)])


def loop(rng, build, x, dims, dtype):
    trips = one_of(rng, [0, 0, 1, 2, 3, 5])
    stops_at = one_of(rng, [None, None, int(rng.integers(1, 4))])
    begins = chance(rng, 0.9)
    body = Body(build)
    trip, go, value = build.name("t"), build.name("g"), build.name("v")
    after = changed(rng, build, body, value, trip, dtype)
    scanned = body.node("Transpose", [after]) if chance(rng, 0.6) else None
    counted = body.node("Mul", [trip, trip]) if chance(rng, 0.3) else None
    out = condition(rng, body, go, trip, stops_at)
    kind = onnx_type(dtype)
    # A body may declare all, some or none of the known dims.
    declared = one_of(rng, [dims[::-1], [None] * len(dims), None])
    results = [TENSOR(out, BOOL, []), TENSOR(after, kind, None)]
    results += [TENSOR(scanned, kind, declared)] if scanned else []
    results += [TENSOR(counted, INT, one_of(rng, [[], None]))] if counted else []
    graph = helper.make_graph(body.nodes, "body", [TENSOR(trip, INT, []), TENSOR(go, BOOL, []),
                                                   TENSOR(value, kind, None)], results)
    count = build.constant(np.array(trips, np.int64))
    if stops_at is not None and chance(rng, 0.3):
        count = ""
    names = build.node("Loop", [count, build.constant(np.array(begins)), x], outputs=len(results) - 1, body=graph)
    return names if isinstance(names, list) else [names]


def scan(rng, build, x, dims, dtype):
    length = one_of(rng, [1, 2, 3, 5])
    axis = int(rng.integers(-len(dims) - 1, len(dims) + 1))
    from_front = axis % (len(dims) + 1)
    rows = build.operand(values(rng, dims[:from_front] + (length,) + dims[from_front:], dtype))
    body = Body(build)
    value, row = build.name("v"), build.name("r")
    after = body.node("Sub", [value, row])
    given = body.node("Neg", [after])
    kind = onnx_type(dtype)
    graph = helper.make_graph(body.nodes, "body", [TENSOR(value, kind, None), TENSOR(row, kind, None)],
                              [TENSOR(after, kind, None), TENSOR(given, kind, None)])
    return build.node("Scan", [x, rows], outputs=2, body=graph, num_scan_inputs=1, scan_input_axes=[axis],
                      scan_input_directions=[int(rng.integers(2))], scan_output_directions=[int(rng.integers(2))],
                      scan_output_axes=[int(rng.integers(-len(dims) - 1, len(dims) + 1))])


def draw(rng):
    build = Build(rng)
    dtype = one_of(rng, [np.float32, np.float32, np.float16, np.int32])
    dims = shape(rng, int(rng.integers(1, 4)), high=4)
    x = build.operand(values(rng, dims, dtype, low=-2, high=2))
    outputs = (scan if chance(rng, 0.25) else loop)(rng, build, x, dims, dtype)
    if chance(rng, 0.3):
        outputs = loop(rng, build, outputs[0], dims, dtype) + outputs[1:]
    # The network computes values of its own.
    outputs = [build.node("Neg", [outputs[0]])] + outputs[1:]
    return build.case(outputs, *tolerance_of(dtype, 16, 64))
