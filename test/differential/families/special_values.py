"""NaN, infinities and signed zeros through everything that computes: the rule is docs/OPERATORS.md's.

What only moves elements is exact in family `movement`. Left out: infinities where a formula's own evaluation decides
between NaN and a limit (-inf in x * sigmoid(x) is NaN for NumPy, 0 as a limit): see "NaN and infinities" there; NaN
among the operands of ArgMax, TopK and comparisons of indices, which ONNX leaves open.
"""
from case import *

NAN, INF = np.nan, np.inf
# Functions whose value at an infinity is that of NumPy and of any other way to compute it.
UNARY = ["Abs", "Neg", "Ceil", "Floor", "Round", "Sign", "Sqrt", "Exp", "Log", "Sigmoid", "Tanh", "Erf", "Relu",
         "Softplus", "Identity", "Reciprocal", "Atan", "Sinh", "Cosh", "Asinh", "Sin", "Cos", "IsNaN", "IsInf",
         "Elu", "Selu", "Celu", "LeakyRelu", "ThresholdedRelu", "HardSigmoid", "Shrink", "Clip"]
NAN_ONLY = ["HardSwish", "Mish", "Gelu", "Softsign", "Tan", "Asin", "Acos", "Acosh", "Atanh"]
KINDS = ["unary", "unary", "unary", "nan_only", "binary", "binary", "many", "reduce", "max_pool", "average_pool",
         "softmax", "conv", "conv", "matmul", "normalize", "global_pool", "where", "prelu", "fused_pool"]


def salted(rng, dims, special=(NAN, INF, -INF, 0.0, -0.0), low=-4, high=4, share=12):
    """Values with a special one at about one place in `share`, at least one."""
    x = np.asarray(rng.uniform(low, high, size=dims).astype(np.float32))
    flat = x.reshape(-1)
    for place in rng.choice(flat.size, max(1, flat.size // share), replace=False):
        flat[place] = one_of(rng, special)
    return flat.reshape(dims)


def draw(rng):
    build = Build(rng)
    kind = one_of(rng, KINDS)
    dims = (1, one_of(rng, [1, 3, 4, 5, 8, 17]), int(rng.integers(3, 12)), int(rng.integers(3, 12)))
    if chance(rng, 0.3):
        dims = shape(rng, int(rng.integers(1, 5)), high=8)
    if kind in ("unary", "nan_only"):
        op = one_of(rng, UNARY if kind == "unary" else NAN_ONLY)
        special = (NAN, INF, -INF, 0.0, -0.0) if kind == "unary" else (NAN, 0.0)
        if op in ("Sin", "Cos"):
            special = (NAN, 0.0)
        if op == "Celu" and chance(rng, 0.5):
            special = (NAN, -INF, 0.0)
        names = [build.operand(salted(rng, dims, special, *((1.1, 4) if op == "Acosh" else (-0.9, 0.9) if op in (
            "Asin", "Acos", "Atanh", "Tan") else (-4, 4))))]
        if op == "Clip":
            names += [build.constant(np.array(v, np.float32)) for v in (-1, 2)]
        return build.case([build.node(op, names)], 1e-5, 1e-5)
    if kind in ("binary", "many"):
        op = one_of(rng, ["Add", "Sub", "Mul", "Div", "Min", "Max", "Equal", "Less", "GreaterOrEqual"])
        if kind == "many":
            op = one_of(rng, ["Min", "Max", "Sum", "Mean"])
        count = int(rng.integers(2, 5)) if kind == "many" else 2
        names = [build.operand(salted(rng, dims if i == 0 or chance(rng, 0.6) else dims[-1:])) for i in range(count)]
        return build.case([build.node(op, names)], 1e-5, 1e-5)
    if kind == "where":
        names = [build.operand(values(rng, dims, np.bool_)), build.operand(salted(rng, dims)),
                 build.operand(salted(rng, dims))]
        return build.case([build.node("Where", names)], 0, 0)
    if kind == "prelu":
        names = [build.operand(salted(rng, dims)), build.operand(values(rng, dims[-1:], np.float32, 0.1, 1))]
        return build.case([build.node("PRelu", names)], 1e-5, 1e-5)
    if kind == "reduce":
        op = one_of(rng, ["ReduceMax", "ReduceMin", "ReduceSum", "ReduceMean", "ReduceProd", "ReduceL1", "ReduceL2"])
        axes = [a for a in range(len(dims)) if chance(rng, 0.5)] or [0]
        names = [build.operand(salted(rng, dims, one_of(rng, [(NAN,), (INF,), (-INF,), (INF, NAN)]), share=30)),
                 build.constant(np.array(axes, np.int64))]
        return build.case([build.node(op, names, keepdims=int(rng.integers(2)))], 1e-4, 1e-4)
    if kind == "softmax":
        special = one_of(rng, [(NAN,), (-INF,)])
        x = salted(rng, dims, special, share=30)
        if special == (-INF,):
            x[..., 0] = 1  # a row of -inf alone is NaN
        return build.case([build.node(one_of(rng, ["Softmax", "LogSoftmax"]), [build.operand(x)], axis=-1)], 1e-4, 1e-5)
    dims = (1, one_of(rng, [1, 3, 4, 5, 8, 17]), int(rng.integers(4, 14)), int(rng.integers(4, 14)))
    if kind in ("max_pool", "average_pool", "fused_pool"):
        op = "AveragePool" if kind == "average_pool" else "MaxPool"
        special = (NAN,) if kind == "average_pool" else (NAN, -INF, INF)
        k = int(rng.integers(1, 4))
        y = build.node(op, [build.operand(salted(rng, dims, special, share=40))], kernel_shape=[k, k],
                       strides=[int(rng.integers(1, 3))] * 2, pads=[k // 2] * 4)
        if kind == "fused_pool":
            y = build.node("Relu", [y])
        return build.case([y], 1e-5, 1e-5)
    if kind == "global_pool":
        op = one_of(rng, ["GlobalAveragePool", "GlobalMaxPool"])
        return build.case([build.node(op, [build.operand(salted(rng, dims, (NAN,), share=200))])], 1e-5, 1e-5)
    if kind == "normalize":
        c = dims[1]
        x = build.operand(salted(rng, dims, (NAN,), share=100))
        if chance(rng, 0.5):
            names = [x] + [build.constant(values(rng, (c,), np.float32, 0.5, 2)) for _ in range(4)]
            return build.case([build.node("BatchNormalization", names)], 1e-4, 1e-4)
        names = [x] + [build.constant(values(rng, (c,), np.float32, 0.5, 2)) for _ in range(2)]
        return build.case([build.node("InstanceNormalization", names)], 1e-4, 1e-4)
    if kind == "matmul":
        m, k, n = (one_of(rng, [1, 3, 8, 17, 33]) for _ in range(3))
        a, b = salted(rng, (m, k), (NAN, INF), share=60), values(rng, (k, n), np.float32, 0.5, 2)
        return build.case([build.node("MatMul", [build.operand(a), build.operand(b)])], 1e-4, 1e-4)
    # A convolution: NaN and infinities reach exactly the outputs whose windows hold them.
    c = dims[1]
    depthwise = chance(rng, 0.4)
    k = one_of(rng, [1, 3, 3, 5])
    out = c if depthwise else one_of(rng, [1, 4, 9, 16])
    special = one_of(rng, [(NAN,), (INF,)])
    x = build.operand(salted(rng, dims, special, share=150))
    # Weights of one sign: infinities do not meet their opposites.
    w = build.operand(values(rng, (out, 1 if depthwise else c, k, k), np.float32, 0.1, 1))
    y = build.node("Conv", [x, w], pads=[k // 2] * 4, group=c if depthwise else 1,
                   strides=[int(rng.integers(1, 3))] * 2)
    op = one_of(rng, [None, "Relu", "Sigmoid", "Clip", "LeakyRelu"])
    if op == "Clip":
        y = build.node(op, [y] + [build.constant(np.array(v, np.float32)) for v in (0, 6)])
    elif op:
        y = build.node(op, [y])
    return build.case([y], 1e-4, 1e-4)
