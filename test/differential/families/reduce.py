"""Draws reductions, ArgMax and ArgMin, cumulative sums: any axes, kept dims or not, axes as attribute or operand.

Left out: ties in ArgMax with float16 (both sides round before they compare).
"""
from case import *

SUMS = ["ReduceSum", "ReduceMean", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp", "ReduceLogSum"]
ORDERS = ["ReduceMax", "ReduceMin"]


def axes_of(rng, rank):
    axes = [a for a in range(rank) if chance(rng, 0.5)]
    return [a - rank if chance(rng, 0.3) else a for a in axes]


def draw(rng):
    opset = one_of(rng, [11, 13, 18, 20, OPSET])
    build = Build(rng, opset=opset)
    rank = int(rng.integers(1, 6))
    dims = shape(rng, rank, high=7)
    kind = rng.random()
    if kind < 0.15:
        axis = int(rng.integers(-rank, rank))
        dtype = one_of(rng, (np.float32, np.int32, np.int64))
        x = build.operand(values(rng, dims, dtype))
        where = build.constant(np.array(axis, np.int64))
        node = build.node("CumSum", [x, where], exclusive=int(rng.integers(2)), reverse=int(rng.integers(2)))
        return build.case([node], *tolerance_of(dtype, dims[axis], 4))
    if kind < 0.35:
        op, dtype = one_of(rng, ["ArgMax", "ArgMin"]), one_of(rng, (np.float32, np.int32, np.uint8))
        x = build.operand(values(rng, dims, dtype, -3, 3))
        attributes = {"select_last_index": int(rng.integers(2))} if opset >= 12 else {}
        node = build.node(op, [x], axis=int(rng.integers(-rank, rank)), keepdims=int(rng.integers(2)), **attributes)
        return build.case([node], 0, 0)
    op = one_of(rng, SUMS + ORDERS + ["ReduceProd"])
    dtype = one_of(rng, (np.float32,) * 4 + (np.float64, np.int32, np.int64))
    if op in ORDERS and opset >= 12:
        dtype = one_of(rng, (np.float32, np.float64, np.int32, np.int64, np.uint8, np.int8))
    if op.startswith("ReduceLog") or op in ("ReduceL2", "ReduceMean", "ReduceProd"):
        dtype = np.float32
    low, high, special = -3, 3, ()
    if op == "ReduceLogSum":
        low = 0.5
    if op == "ReduceProd":
        low, high = 0.7, 1.4
    if op in ORDERS and np.dtype(dtype).kind == "f":
        special = (0.0, np.inf, -np.inf)
    axes = axes_of(rng, rank)
    operands = [build.operand(values(rng, dims, dtype, low, high, special))]
    attributes = {"keepdims": int(rng.integers(2))}
    as_operand = opset >= 18 or (opset >= 13 and op == "ReduceSum")
    if axes and as_operand:
        operands.append(build.constant(np.array(axes, np.int64)))
    elif axes:
        attributes["axes"] = axes
    if as_operand and not axes and chance(rng, 0.3):
        attributes["noop_with_empty_axes"] = 1
    terms = int(np.prod([dims[a] for a in axes])) if axes else int(np.prod(dims))
    rtol, atol = tolerance_of(dtype, terms, 9) if np.dtype(dtype).kind == "f" else (0, 0)
    return build.case([build.node(op, operands, **attributes)], max(rtol, 2e-5) if rtol else 0, atol)
