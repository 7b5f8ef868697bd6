"""Draws sequences: made, changed, measured, joined; through If, Loop and functions. Positions and lengths are known.

Left out: sequences as inputs and outputs of the network and positions that the run computes, which are refused;
lists of strings.
"""
from onnx import helper

from case import *


class List:
    """Describes a sequence value: its name, the dims of its elements and their dtype."""

    def __init__(self, name, dims, dtype):
        self.name, self.dims, self.dtype = name, dims, dtype

    def info(self, name=None):
        return helper.make_tensor_sequence_value_info(name or self.name, onnx_type(self.dtype), None)


def position(rng, build, count, end):
    """Returns a constant in [-count, end], of either integer type: the number, counted from the front, and its name."""
    at = int(rng.integers(-count, end + 1))
    name = build.constant(np.array(at, one_of(rng, [np.int64, np.int32])))
    return at + count if at < 0 else at, name


def split(rng, build, dims, dtype):
    x = build.operand(values(rng, dims, dtype))
    axis = int(rng.integers(len(dims)))
    extent = dims[axis]
    named = axis - len(dims) if chance(rng, 0.5) else axis
    kind = one_of(rng, ["ones", "squeezed", "scalar", "list"])
    keepdims = one_of(rng, [None, 0, 1])
    if kind in ("ones", "squeezed"):
        keepdims = 0 if kind == "squeezed" else one_of(rng, [None, 1])
        lengths, operands = [1] * extent, [x]
    elif kind == "scalar":
        piece = int(rng.integers(1, extent + 2))
        lengths = [min(piece, extent - at) for at in range(0, extent, piece)]
        operands = [x, build.constant(np.array(piece, one_of(rng, [np.int64, np.int32])))]
    else:
        cuts = sorted(int(cut) for cut in rng.integers(1, extent + 1, size=int(rng.integers(3))))
        ends = sorted({0, extent, *cuts})
        lengths = [b - a for a, b in zip(ends, ends[1:])]
        operands = [x, build.constant(np.array(lengths, one_of(rng, [np.int64, np.int32])))]
    name = build.node("SplitToSequence", operands, axis=named, keepdims=keepdims)
    pieces = [dims[:axis] + (length,) + dims[axis + 1:] for length in lengths]
    if kind == "squeezed":
        pieces = [dims[:axis] + dims[axis + 1:]] * extent
    return List(name, pieces, dtype)


def start(rng, build, dtype):
    dims = shape(rng, int(rng.integers(1, 4)), high=5)
    kind = one_of(rng, ["split", "split", "construct", "empty"])
    if kind == "split":
        return split(rng, build, dims, dtype)
    if kind == "empty":
        name = build.node("SequenceEmpty", [], dtype=onnx_type(dtype))
        return insert(rng, build, List(name, [], dtype), dims)
    count = int(rng.integers(1, 4))
    names = [build.operand(values(rng, dims, dtype)) for _ in range(count)]
    return List(build.node("SequenceConstruct", names), [dims] * count, dtype)


def insert(rng, build, sequence, dims):
    tensor = build.operand(values(rng, dims, sequence.dtype))
    count = len(sequence.dims)
    operands, at = [sequence.name, tensor], count
    if chance(rng, 0.7):
        at, name = position(rng, build, count, count)
        operands.append(name)
    after = list(sequence.dims)
    after.insert(at, dims)
    return List(build.node("SequenceInsert", operands), after, sequence.dtype)


def erase(rng, build, sequence):
    count = len(sequence.dims)
    operands, at = [sequence.name], count - 1
    if chance(rng, 0.7):
        at, name = position(rng, build, count, count - 1)
        operands.append(name)
    return List(build.node("SequenceErase", operands), sequence.dims[:at] + sequence.dims[at + 1:], sequence.dtype)


def in_branch(rng, build, sequence):
    """Adds an If whose branches both return a sequence; the condition is known, or the branches have the same form."""
    def branch(name, op):
        inner, length = build.name("i"), build.name("s")
        nodes = [helper.make_node("SequenceAt", [sequence.name, zero], [inner])]
        nodes.append(helper.make_node("Neg" if op else "Identity", [inner], [inner + "n"]))
        nodes.append(helper.make_node("SequenceInsert", [sequence.name, inner + "n"], [length]))
        return helper.make_graph(nodes, name, [], [sequence.info(length)])

    zero = build.constant(np.array(0, np.int64))
    condition = np.array(chance(rng, 0.5))
    name = build.node("If", [one_of(rng, [build.constant, build.operand])(condition)],
                      then_branch=branch("then", True), else_branch=branch("else", False))
    return List(name, sequence.dims + [sequence.dims[0]], sequence.dtype)


def in_loop(rng, build, sequence):
    """Adds a Loop that appends the element at the trip's index, or removes the last one."""
    trips = int(rng.integers(0, len(sequence.dims) + 1))
    appends = chance(rng, 0.6)
    trip, go, before, after, out = (build.name(stem) for stem in ("t", "g", "s", "s", "g"))
    nodes = [helper.make_node("Identity", [go], [out])]
    dims = list(sequence.dims)
    if appends:
        element = build.name("e")
        nodes += [helper.make_node("SequenceAt", [before, trip], [element]),
                  helper.make_node("SequenceInsert", [before, element], [after])]
        dims += sequence.dims[:trips]
    else:
        trips = min(trips, len(dims) - 1)
        nodes.append(helper.make_node("SequenceErase", [before], [after]))
        dims = dims[:len(dims) - trips]
    scalar = helper.make_tensor_value_info
    body = helper.make_graph(nodes, "body", [scalar(trip, onnx_type(np.int64), []), scalar(go, onnx_type(np.bool_), []),
                                             sequence.info(before)],
                             [scalar(out, onnx_type(np.bool_), []), sequence.info(after)])
    count = build.constant(np.array(trips, np.int64))
    return List(build.node("Loop", [count, build.constant(np.array(True)), sequence.name], body=body), dims,
                sequence.dtype)


def joined(rng, build, sequence):
    """Adds ConcatFromSequence if the dims fit; else returns one element."""
    count = len(sequence.dims)
    first = sequence.dims[0]
    if all(dims == first for dims in sequence.dims) and chance(rng, 0.5):
        axis = int(rng.integers(-len(first) - 1, len(first) + 1))
        return build.node("ConcatFromSequence", [sequence.name], axis=axis, new_axis=1)
    fitting = [axis for axis in range(len(first))
               if all(len(dims) == len(first) and dims[:axis] + dims[axis + 1:] == first[:axis] + first[axis + 1:]
                      for dims in sequence.dims)]
    if fitting and chance(rng, 0.8):
        axis = one_of(rng, fitting)
        axis = axis - len(first) if chance(rng, 0.5) else axis
        return build.node("ConcatFromSequence", [sequence.name], axis=axis, new_axis=one_of(rng, [None, 0]))
    return build.node("SequenceAt", [sequence.name, position(rng, build, count, count - 1)[1]])


def mapped(rng, build, sequence):
    element, factor, out = build.name("e"), build.name("f"), build.name("m")
    tensor = helper.make_tensor_value_info
    kind = onnx_type(sequence.dtype)
    body = helper.make_graph([helper.make_node("Add", [element, factor], [out])], "body",
                             [tensor(element, kind, None), tensor(factor, kind, None)], [tensor(out, kind, None)])
    addend = build.operand(values(rng, (1,), sequence.dtype))
    dims = [dims or (1,) for dims in sequence.dims]
    return List(build.node("SequenceMap", [sequence.name, addend], body=body), dims, sequence.dtype)


def draw(rng):
    build = Build(rng)
    dtype = one_of(rng, [np.float32, np.float32, np.float16, np.int64, np.int32])
    sequence = start(rng, build, dtype)
    for _ in range(int(rng.integers(4))):
        step = one_of(rng, ["insert", "insert", "erase", "if", "loop", "map"])
        if step == "insert":
            sequence = insert(rng, build, sequence, one_of(rng, sequence.dims))
        elif step == "erase" and len(sequence.dims) > 1:
            sequence = erase(rng, build, sequence)
        elif step == "if":
            sequence = in_branch(rng, build, sequence)
        elif step == "loop":
            sequence = in_loop(rng, build, sequence)
        elif step == "map":
            sequence = mapped(rng, build, sequence)
    outputs = [joined(rng, build, sequence)]
    # A network must compute something, but the joined value may be an unchanged input.
    if chance(rng, 0.5):
        outputs[0] = build.node("Neg", outputs)
    if chance(rng, 0.3):
        outputs.append(build.node("SequenceLength", [sequence.name]))
    return build.case(outputs, *tolerance_of(dtype))
