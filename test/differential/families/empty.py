"""Sends values without elements through every kind of operator: inputs, constants, what a Slice or a NonZero leaves.

Left out: LayerNormalization, which the evaluator does not do of no elements; reductions that have no neutral element (max, min, mean) over no elements, which the evaluator refuses.
"""
from case import *

DTYPES = (np.float32, np.float32, np.int64, np.int32, np.bool_, np.uint8)


def holed(rng, rank):
    """Returns dims with at least one 0."""
    dims = list(shape(rng, rank, high=5))
    dims[int(rng.integers(rank))] = 0
    return tuple(0 if chance(rng, 0.1) else d for d in dims)


def draw(rng):
    build = Build(rng)
    rank = int(rng.integers(1, 5))
    dims = holed(rng, rank)
    dtype = one_of(rng, DTYPES)
    axis = int(rng.integers(-rank, rank))

    def ints(*elements):
        return build.constant(np.array(elements, np.int64))

    def operand(d=dims, t=None):
        return build.operand(values(rng, d, t or dtype))

    def done(outputs):
        return build.case(outputs if isinstance(outputs, list) else [outputs], 1e-5, 1e-6)
    kind = one_of(rng, ["unary", "binary", "compare", "where", "cast", "concat", "slice", "split", "pad", "transpose",
                        "reshape", "squeeze", "expand", "tile", "gather", "reduce", "conv", "pool", "matmul", "gemm",
                        "softmax", "resize", "chain", "passthrough", "scatter", "shape", "gather_nothing",
                        "nonzero", "logic", "cumsum", "flatten", "topk", "identity", "constant_of_shape", "argmax"])
    if kind == "unary":
        return done(build.node(one_of(rng, ["Relu", "Sigmoid", "Exp", "Abs", "Erf"]), [operand(t=np.float32)]))
    if kind == "binary":
        other = dims if chance(rng, 0.5) else (1,) * rank if chance(rng, 0.5) else ()
        return done(build.node(one_of(rng, ["Add", "Mul", "Sub", "Max"]), [operand(t=np.float32), operand(other, np.float32)]))
    if kind == "compare":
        return done(build.node(one_of(rng, ["Equal", "Less"]), [operand(t=np.float32), operand((), np.float32)]))
    if kind == "logic":
        return done(build.node("And", [operand(t=np.bool_), operand((1,) * rank, np.bool_)]))
    if kind == "where":
        return done(build.node("Where", [operand((1,) * rank, np.bool_), operand(), operand()]))
    if kind == "cast":
        return done(build.node("Cast", [operand()], to=onnx_type(one_of(rng, DTYPES))))
    if kind == "identity":
        return done(build.node("Identity", [operand()]))
    if kind == "concat":
        parts = []
        for _ in range(int(rng.integers(1, 4))):
            part = list(dims)
            part[axis] = int(rng.integers(0, 3))
            parts.append(operand(part))
        return done(build.node("Concat", parts, axis=axis))
    if kind == "slice":
        x = operand(shape(rng, rank, high=5))
        at = int(rng.integers(0, 3))
        return done(build.node("Slice", [x, ints(at), ints(at), ints(axis)]))
    if kind == "split":
        full = shape(rng, rank, high=5)
        return done(build.node("Split", [operand(full), ints(0, full[axis])], 2, axis=axis))
    if kind == "pad":
        return done(build.node("Pad", [operand(t=np.float32), ints(*[int(p) for p in rng.integers(0, 3, size=2 * rank)])]))
    if kind == "transpose":
        return done(build.node("Transpose", [operand()], perm=[int(p) for p in rng.permutation(rank)]))
    if kind == "reshape":
        target = one_of(rng, [(0,), (0, 4), (3, 0, 2)])
        return done(build.node("Reshape", [operand(), ints(*target)], allowzero=1))
    if kind == "flatten":
        return done(build.node("Flatten", [operand()], axis=int(rng.integers(0, rank + 1))))
    if kind == "squeeze":
        return done(build.node("Unsqueeze", [operand(), ints(0)]))
    if kind == "expand":
        return done(build.node("Expand", [operand((1,)), ints(*dims)]))
    if kind == "tile":
        repeats = [int(r) for r in rng.integers(0, 3, size=rank)]
        return done(build.node("Tile", [operand(shape(rng, rank, high=4)), ints(*repeats)]))
    if kind in ("gather", "gather_nothing"):
        full = list(dims) if kind == "gather" else list(shape(rng, rank, high=5))
        full[axis] = 4
        where = rng.integers(0, 4, size=(2, 3) if kind == "gather" else (0, 2)).astype(np.int64)
        return done(build.node("Gather", [operand(full), build.operand(where)], axis=axis))
    if kind == "reduce":
        op = one_of(rng, ["ReduceSum", "ReduceL1", "ReduceProd", "ReduceSumSquare"])
        axes = [a for a in range(rank) if chance(rng, 0.5)] or [0]
        return done(build.node(op, [operand(t=np.float32), ints(*axes)], keepdims=int(rng.integers(2))))
    if kind == "argmax":
        full = list(dims)
        full[axis] = 3
        return done(build.node("ArgMax", [operand(full, np.float32)], axis=axis))
    if kind == "conv":
        x = operand((0, 3, 6, 5), np.float32)
        return done(build.node("Conv", [x, operand((4, 3, 3, 3), np.float32)], pads=[1] * 4))
    if kind == "pool":
        op = one_of(rng, ["MaxPool", "AveragePool"])
        return done(build.node(op, [operand((0, 3, 6, 5), np.float32)], kernel_shape=[2, 2]))
    if kind == "matmul":
        m, k, n = one_of(rng, [(0, 3, 4), (2, 0, 4), (2, 3, 0)])
        return done(build.node("MatMul", [operand((m, k), np.float32), operand((k, n), np.float32)]))
    if kind == "gemm":
        m, k, n = one_of(rng, [(0, 3, 4), (2, 0, 4), (2, 3, 0)])
        return done(build.node("Gemm", [operand((m, k), np.float32), operand((k, n), np.float32), operand((n,), np.float32)]))
    if kind == "softmax":
        return done(build.node("Softmax", [operand(t=np.float32)], axis=axis))
    if kind == "resize":
        scales = build.constant(np.array([1, 1, 2, 2], np.float32))
        return done(build.node("Resize", [operand((0, 2, 3, 4), np.float32), "", scales], mode="nearest"))
    if kind == "scatter":
        x = operand((4, 3), np.float32)
        where = build.operand(np.zeros((0, 3), np.int64))
        return done(build.node("ScatterElements", [x, where, operand((0, 3), np.float32)], axis=0))
    if kind == "shape":
        x = operand()
        return done([build.node("Shape", [x]), build.node("Size", [x])])
    if kind == "nonzero":
        return done(build.node("NonZero", [build.operand(np.zeros(dims, np.float32))]))
    if kind == "cumsum":
        return done(build.node("CumSum", [operand(t=np.float32), build.constant(np.array(axis, np.int64))]))
    if kind == "topk":
        full = list(dims)
        full[axis] = 3
        return done(build.node("TopK", [operand(full, np.float32), ints(2)], 2, axis=axis))
    if kind == "constant_of_shape":
        return done(build.node("ConstantOfShape", [ints(*dims)]))
    if kind == "passthrough":
        build.constants = 0
        x, y = operand(), operand(shape(rng, 2), np.float32)
        return done([build.node("Identity", [x]), build.node("Relu", [y])])
    # A value in the middle has no elements, the output has some.
    x = operand((4, 3), np.float32)
    none = build.node("Slice", [x, ints(1), ints(1), ints(0)])
    more = build.node("Relu", [none])
    return done([build.node("Concat", [x, more], axis=0), more])
