"""Numbers whose digits float32 does not have: integers beyond 2^24 through arithmetic, comparisons, reductions, moves and integer products; doubles that carry them.

Left out: integers that overflow, and what doubles round; ONNX leaves both open.
"""
from case import *

WIDE = (np.int32, np.int64, np.uint32, np.uint64)
ODD = (1 << 24) + 1


def wide(rng, dims, dtype, limit=1 << 30):
    """Returns integers around 2^24 and more, many of them neighbours."""
    array = rng.integers(ODD - 3, limit, size=dims)
    near = rng.integers(ODD - 2, ODD + 3, size=dims)
    array = np.where(rng.random(dims) < 0.5, near, array)
    if np.dtype(dtype).kind == "i":
        array = np.where(rng.random(dims) < 0.3, -array, array)
    return array.astype(dtype)


def draw(rng):
    build = Build(rng)
    dtype = one_of(rng, WIDE)
    dims = shape(rng, int(rng.integers(1, 4)), high=6)
    axis = int(rng.integers(len(dims)))
    x = wide(rng, dims, dtype)
    kind = one_of(rng, ["pair", "compare", "one", "reduce", "place", "move", "pow", "carried", "convolution", "product",
                        "double"])

    def done(*outputs):
        return build.case(list(outputs), 0, 0)
    if kind == "pair":
        op = one_of(rng, ["Add", "Sub", "Div", "Mod", "Max", "Min", "Sum"])
        other = x if op == "Sub" and np.dtype(dtype).kind == "u" else wide(rng, dims, dtype)
        return done(build.node(op, [build.operand(x), build.operand(other)]))
    if kind == "compare":
        other = x + rng.integers(0, 2, size=dims).astype(dtype)
        op = one_of(rng, ["Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"])
        return done(build.node(op, [build.operand(x), build.operand(other)]))
    if kind == "one":
        signed = np.dtype(dtype).kind == "i"
        if chance(rng, 0.3):
            bounds = [build.operand(np.array(b, dtype)) for b in (ODD - 1, ODD + 1)]
            return done(build.node("Clip", [build.operand(x), *bounds]))
        return done(build.node(one_of(rng, ["Abs", "Neg", "Sign"] if signed else ["Abs", "Sign"]), [build.operand(x)]))
    if kind == "reduce":
        op = one_of(rng, ["ReduceSum", "ReduceMax", "ReduceMin", "CumSum"])
        few = (x // 512).astype(dtype) * np.array(2, dtype) + np.array(1, dtype) if op in ("ReduceSum", "CumSum") else x
        if op == "CumSum":
            return done(build.node(op, [build.operand(few), build.constant(np.array(axis, np.int64))]))
        return done(build.node(op, [build.operand(few), build.constant(np.array([axis], np.int64))]))
    if kind == "place":
        x = (rng.permutation(int(np.prod(dims))).reshape(dims) + ODD).astype(one_of(rng, [np.int64, np.int32, np.float64]))
        if chance(rng, 0.5):
            return done(build.node(one_of(rng, ["ArgMax", "ArgMin"]), [build.operand(x)], axis=axis))
        x = x.astype(np.int64)
        return done(*build.node("TopK", [build.operand(x), build.constant(np.array([1], np.int64))], 2, axis=axis))
    if kind == "move":
        if chance(rng, 0.5):
            condition = build.operand(rng.random(dims) < 0.5)
            return done(build.node("Where", [condition, build.operand(x), build.operand(wide(rng, dims, dtype))]))
        return done(build.node("Concat", [build.operand(x), build.operand(x)], axis=axis))
    if kind == "pow":
        base = rng.integers(2, 46341, size=dims).astype(one_of(rng, [np.int32, np.int64]))
        exponent = np.array(2, one_of(rng, [np.float32, np.float64, np.int32, np.int64]))
        return done(build.node("Pow", [build.operand(base), build.operand(exponent)]))
    if kind in ("carried", "double"):
        x = x.astype(np.int64)
        value = build.node("Cast", [build.operand(x)], to=onnx_type(np.float64))
        for _ in range(int(rng.integers(0, 4))):
            op = one_of(rng, ["Add", "Sub", "Mul", "Floor", "Neg", "Max", "Abs", "Transpose", "ReduceSum"])
            if op in ("Add", "Sub", "Mul", "Max"):
                value = build.node(op, [value, build.operand(np.array(rng.integers(1, 4), np.float64))])
            elif op == "ReduceSum":
                value = build.node(op, [value, build.constant(np.array([-1], np.int64))], keepdims=1)
            else:
                value = build.node(op, [value])
        if kind == "double":
            return done(value)
        return done(build.node("Cast", [value], to=onnx_type(np.int64)))
    a, b = one_of(rng, [(np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8)])
    depth = int(rng.integers(300, 1100))
    if kind == "product":
        return done(build.node("MatMulInteger", [build.operand(values(rng, (3, depth), a, 100, 256)),
                                                 build.operand(values(rng, (depth, 2), b, 100, 256))]))
    groups = one_of(rng, [1, 1, 2])
    x = build.operand(values(rng, (1, depth * groups, 3, 3), a, 100, 256))
    w = build.operand(values(rng, (2 * groups, depth, 2, 2), b, 100, 256))
    points = [build.constant(values(rng, (), t, 0, 9)) for t in (a, b)] if chance(rng, 0.5) else []
    return done(build.node("ConvInteger", [x, w, *points], group=groups, pads=[int(rng.integers(2))] * 4))
