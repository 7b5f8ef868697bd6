"""NaN, infinities and signed zeros through everything that computes; the rules are in docs/reference/operators.md.

A zero's sign is seen by its reciprocal. Left out, because ONNX and NumPy leave it open or their evaluator decides by
accident: what the documentation calls open; powers of 0.5 of -inf (NumPy takes the root of some and the power of others);
infinities in Sin, Cos and Tan (PoCL 3.1 is wrong in the other lanes of a vector that has one, or a number of 1e30).
"""
from case import *

NAN, INF = np.nan, np.inf
ALL = (NAN, INF, -INF, 0.0, -0.0)
UNARY = ["Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Celu", "Cos", "Cosh", "Elu", "Erf", "Exp",
         "Floor", "Gelu", "HardSigmoid", "HardSwish", "Identity", "IsInf", "IsNaN", "LeakyRelu", "Log", "Mish", "Neg",
         "Reciprocal", "Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt",
         "Tan", "Tanh", "ThresholdedRelu"]
DOMAINS = {"Acosh": (1.1, 4), "Asin": (-0.9, 0.9), "Acos": (-0.9, 0.9), "Atanh": (-0.9, 0.9), "Tan": (-0.9, 0.9)}
# These return -0 for -0: IEEE 754 says so of the operation, or the function is odd. Sign returns 0, as NumPy does.
SIGNED_ZERO = ["Abs", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Erf", "Floor", "HardSwish", "Identity", "LeakyRelu",
               "Neg", "Reciprocal", "Round", "Sign", "Sin", "Sinh", "Softsign", "Sqrt", "Tan", "Tanh"]
# These functions may follow a kernel's arithmetic inside it.
ACTIVATIONS = ["Abs", "Celu", "Clip", "Elu", "Erf", "Exp", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu", "Mish", "Neg",
               "Relu", "Selu", "Sigmoid", "Softplus", "Softsign", "Sqrt", "Tanh", "ThresholdedRelu"]


def salted(rng, dims, special=ALL, low=-4, high=4, share=8):
    """Returns values with a special one at about one place in `share`, at least one."""
    x = np.asarray(rng.uniform(low, high, size=dims).astype(np.float32))
    flat = x.reshape(-1)
    for place in rng.choice(flat.size, max(1, flat.size // share), replace=False):
        flat[place] = one_of(rng, special)
    return flat.reshape(dims)


def feature_map(rng, special, share=100):
    channels = one_of(rng, [1, 3, 4, 5, 8, 17, 33])
    return salted(rng, (1, channels, int(rng.integers(4, 14)), int(rng.integers(4, 14))), special, share=share)


def positive(rng, dims):
    """Returns weights of one sign, so that infinities do not meet their opposites."""
    return values(rng, dims, np.float32, 0.1, 1)


def scalar(build, value):
    return build.operand(np.array(value, np.float32))


def activated(build, rng, y):
    op = one_of(rng, ACTIVATIONS)
    limits = [build.constant(np.array(v, np.float32)) for v in (-1, 6)] if op == "Clip" else []
    return build.node(op, [y] + limits)


def unary(build, rng, dims):
    op = one_of(rng, UNARY)
    special = ALL + (0.5, -0.5, 1.5, 2.5)
    if op in ("Sin", "Cos", "Tan"):
        special = (NAN, 0.0, -0.0)
    x = salted(rng, dims, special, *DOMAINS.get(op, (-4, 4)), share=3)
    attributes = {"approximate": one_of(rng, ["none", "tanh"])} if op == "Gelu" else {}
    return [build.node(op, [build.operand(x)], **attributes)]


def zero_of_unary(build, rng, dims):
    x = build.operand(salted(rng, dims, (0.0, -0.0), -0.9, -0.1, share=2))
    return [build.node("Reciprocal", [build.node(one_of(rng, SIGNED_ZERO), [x])])]


def zero_of_binary(build, rng, dims):
    a = build.operand(salted(rng, dims, (0.0, -0.0), -0.9, -0.1, share=2))
    b = build.operand(salted(rng, dims, (0.0, -0.0), 0.1, 0.9, share=2))
    return [build.node("Reciprocal", [build.node(one_of(rng, ["Mul", "Div", "Add", "Sub"]), [a, b])])]


def binary(build, rng, dims):
    op = one_of(rng, ["Add", "Sub", "Mul", "Div", "Pow", "Mod", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"])
    b = salted(rng, dims if chance(rng, 0.6) else dims[-1:], ALL + (1.0, 2.0), share=2)
    if chance(rng, 0.4):
        b = np.full((), one_of(rng, ALL + (2.0, 3.0, -1.0)), np.float32)
    names = [build.operand(salted(rng, dims, ALL + (1.0,), share=2)), build.operand(b)]
    y = build.node(op, names, fmod=1 if op == "Mod" else None)
    return [activated(build, rng, y) if op in ("Add", "Sub", "Mul", "Div") and chance(rng, 0.4) else y]


def many(build, rng, dims):
    names = [build.operand(salted(rng, dims if i == 0 or chance(rng, 0.6) else dims[-1:]))
             for i in range(int(rng.integers(1, 5)))]
    y = build.node(one_of(rng, ["Max", "Min", "Sum", "Mean"]), names)
    return [activated(build, rng, y) if chance(rng, 0.3) else y]


def prelu(build, rng, dims):
    # With a slope that is not finite and a zero, the evaluator multiplies them, but the definition does not.
    x = build.operand(salted(rng, dims, (NAN, INF, -INF)))
    return [build.node("PRelu", [x, build.operand(salted(rng, dims[-1:], (NAN, INF, 0.0)))])]


def clip(build, rng, dims):
    low, high = one_of(rng, [("", 1), (-1, ""), (-1, 1), (2, -2), (NAN, 1), (0, NAN), (-INF, INF), (INF, INF), (-1, -INF)])
    names = [build.operand(salted(rng, dims, share=2))]
    return [build.node("Clip", names + [v if v == "" else scalar(build, v) for v in (low, high)])]


def where(build, rng, dims):
    return [build.node("Where", [build.operand(values(rng, dims, np.bool_)), build.operand(salted(rng, dims)),
                                 build.operand(salted(rng, dims))])]


def pattern(build, rng, _):
    """Draws formulas that the compiler recognises as one function."""
    x = build.operand(feature_map(rng, ALL, 8))
    kind = one_of(rng, ["swish", "hard_swish", "hard_sigmoid", "relu6", "gelu", "mish", "softsign"])
    if kind == "swish":
        return [build.node("Mul", [x, build.node("Sigmoid", [x])])]
    if kind == "hard_swish":
        return [build.node("Mul", [x, build.node("HardSigmoid", [x], alpha=1 / 6, beta=0.5)])]
    if kind in ("relu6", "hard_sigmoid"):
        y = build.node("Clip", [build.node("Add", [x, scalar(build, 3)]), scalar(build, 0), scalar(build, 6)])
        y = build.node("Mul", [x, y]) if kind == "relu6" else y
        return [build.node("Div", [y, scalar(build, 6)])]
    if kind == "gelu":
        share = build.node("Add", [build.node("Erf", [build.node("Div", [x, scalar(build, 2 ** 0.5)])]), scalar(build, 1)])
        return [build.node("Mul", [build.node("Mul", [x, share]), scalar(build, 0.5)])]
    if kind == "mish":
        return [build.node("Mul", [x, build.node("Tanh", [build.node("Softplus", [x])])])]
    return [build.node("Div", [x, build.node("Add", [build.node("Abs", [x]), scalar(build, 1)])])]


def cast(build, rng, dims):
    y = build.node("Cast", [build.operand(salted(rng, dims, share=2))],
                   to=onnx_type(one_of(rng, [np.bool_, np.float16, np.float64])))
    return [build.node("Cast", [y], to=onnx_type(np.float32))]


def place(build, rng, dims):
    op = one_of(rng, ["ArgMax", "ArgMin", "Hardmax"])
    x = build.operand(salted(rng, dims, one_of(rng, [(NAN,), (INF, -INF), ALL])))
    last = {} if op == "Hardmax" else {"select_last_index": int(rng.integers(2))}
    return [build.node(op, [x], axis=int(rng.integers(len(dims))), **last)]


def top_k(build, rng, dims):
    # Each special value appears once in a line, because ONNX leaves the order of equal ones open.
    x = rng.permutation(int(np.prod(dims))).reshape(dims).astype(np.float32)
    axis = int(rng.integers(len(dims)))
    at = [int(rng.integers(d)) for d in dims]
    at[axis] = slice(None)
    line = x[tuple(at)]
    for value, element in zip((NAN, INF, -INF), rng.permutation(len(line))):
        line[element] = value
    k = build.constant(np.array([int(rng.integers(1, dims[axis] + 1))], np.int64))
    return build.node("TopK", [build.operand(x), k], 2, axis=axis, largest=int(rng.integers(2)))


def softmax(build, rng, dims):
    x = salted(rng, dims, one_of(rng, [(NAN,), (INF,), (-INF,), (INF, -INF), ALL]), share=one_of(rng, [3, 30]))
    return [build.node(one_of(rng, ["Softmax", "LogSoftmax"]), [build.operand(x)], axis=int(rng.integers(len(dims))))]


def reduction(build, rng, dims):
    op = one_of(rng, ["ReduceMax", "ReduceMin", "ReduceSum", "ReduceMean", "ReduceProd", "ReduceL1", "ReduceL2",
                      "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"])
    axes = [a for a in range(len(dims)) if chance(rng, 0.5)] or [0]
    x = salted(rng, dims, one_of(rng, [(NAN,), (INF,), (-INF,), ALL]), low=-1.5, high=1.5, share=30)
    return [build.node(op, [build.operand(x), build.constant(np.array(axes, np.int64))], keepdims=int(rng.integers(2)))]


def running(build, rng, dims):
    axis = build.constant(np.array(int(rng.integers(len(dims))), np.int64))
    return [build.node("CumSum", [build.operand(salted(rng, dims, share=30)), axis], exclusive=int(rng.integers(2)),
                       reverse=int(rng.integers(2)))]


def normalisation(build, rng, _):
    op = one_of(rng, ["LayerNormalization", "LpNormalization", "MeanVarianceNormalization", "InstanceNormalization",
                      "GroupNormalization", "BatchNormalization"])
    x = feature_map(rng, one_of(rng, [(NAN,), (INF,), (-INF, INF)]))
    c = x.shape[1]
    extent = x.shape[-1] if op == "LayerNormalization" else c
    count = {"LpNormalization": 0, "MeanVarianceNormalization": 0, "BatchNormalization": 4}.get(op, 2)
    attributes = {}
    if op == "LpNormalization":
        attributes = {"axis": 1, "p": one_of(rng, [1, 2])}
    if op == "GroupNormalization":
        attributes = {"num_groups": c if c % 4 else 4}
    names = [build.constant(values(rng, (extent,), np.float32, 0.5, 2)) for _ in range(count)]
    return [build.node(op, [build.operand(x)] + names, **attributes)]


def convolution(build, rng, _):
    """Checks that NaN and infinities reach exactly the outputs whose windows hold them."""
    space = one_of(rng, [1, 2, 2, 2, 3])
    groups, in_group, out_group = one_of(rng, [
        (1, int(rng.integers(1, 7)), int(rng.integers(1, 9))), (1, one_of(rng, [8, 16, 33]), one_of(rng, [8, 16, 33])),
        (3, 4, 5), (int(rng.integers(2, 18)), 1, one_of(rng, [1, 1, 2]))])
    kernel = [3] * space if chance(rng, 0.5) else [one_of(rng, [1, 3, 5]) for _ in range(space)]
    stride = [one_of(rng, [1, 1, 2, 3]) for _ in range(space)]
    size = [int(rng.integers(5, 17 if space < 3 else 8)) for _ in range(space)]
    # Winograd's method spreads both over a whole tile, and makes an infinity a NaN.
    special = one_of(rng, [(NAN,), (INF,), (INF, NAN)])
    if kernel == [3, 3] and stride == [1, 1]:
        stride = [2, 1]
    x = build.operand(salted(rng, (1, groups * in_group, *size), special, low=0.1, share=300))
    names = [x, build.operand(positive(rng, (groups * out_group, in_group, *kernel)))]
    if chance(rng, 0.5):
        names.append(build.operand(salted(rng, (groups * out_group,), (NAN, INF), share=6)))
    y = build.node("Conv", names, group=groups, strides=stride, pads=[k // 2 for k in kernel] * 2)
    return [activated(build, rng, y) if chance(rng, 0.6) else y]


def transposed(build, rng, _):
    # There is one group (the evaluator is wrong for more) and no stride, with which they reach taps that do not exist.
    channels, out, k = int(rng.integers(1, 9)), int(rng.integers(1, 17)), one_of(rng, [1, 3, 5])
    x = salted(rng, (1, channels, int(rng.integers(5, 12)), int(rng.integers(5, 12))), (NAN,), share=200)
    # (Winograd's method would compute a 3x3 filter.)
    names = [build.operand(x), build.operand(positive(rng, (channels, out, k, 4)))]
    return [build.node("ConvTranspose", names, pads=[int(rng.integers(0, k)), 0] * 2)]


def weights(build, rng, _):
    """Checks that a NaN or an infinity among the weights of one output channel stays there."""
    channels, out, k = one_of(rng, [1, 3, 8, 16]), one_of(rng, [3, 16, 17, 33]), one_of(rng, [1, 3, 5])
    depthwise = chance(rng, 0.3)
    w = salted(rng, (channels if depthwise else out, 1 if depthwise else channels, k, k), one_of(rng, [(NAN,), (INF,)]),
               low=0.1, high=1, share=200)
    names = [build.operand(positive(rng, (1, channels, 9, 12))), build.operand(w)]
    y = build.node("Conv", names, group=channels if depthwise else 1, strides=[2, one_of(rng, [1, 2])])
    return [activated(build, rng, y)]


def product(build, rng, _):
    m, k, n = (one_of(rng, [1, 3, 8, 17, 33]) for _ in range(3))
    special = one_of(rng, [(NAN,), (INF,)])
    a, b = positive(rng, (m, k)), positive(rng, (k, n))
    if chance(rng, 0.5):
        a = salted(rng, (m, k), special, low=0.1, share=60)
    else:
        b = salted(rng, (k, n), special, low=0.1, share=60)
    if chance(rng, 0.3):
        a = np.stack([a, positive(rng, (m, k))])
    if chance(rng, 0.3):
        bias = build.operand(salted(rng, (n,), special, share=20))
        y = build.node("Gemm", [build.operand(a.reshape(-1, k)), build.operand(b.T.copy()), bias], transB=1)
    else:
        y = build.node("MatMul", [build.operand(a), build.operand(b)])
        if chance(rng, 0.4):
            y = build.node("Add", [y, build.operand(salted(rng, (n,), special, share=20))])
    return [activated(build, rng, y) if chance(rng, 0.4) else y]


def einsum(build, rng, _):
    a = salted(rng, (3, 4, 5), one_of(rng, [(NAN,), (INF,)]), low=0.1, share=40)
    names = [build.operand(a), build.operand(positive(rng, (3, 5, 6)))]
    return [build.node("Einsum", names, equation=one_of(rng, ["bij,bjk->bik", "bij,bjk->ik", "bij,bjk->bki"]))]


def pool(build, rng, _):
    space = one_of(rng, [1, 2, 2, 3])
    op = one_of(rng, ["MaxPool", "MaxPool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"])
    dims = (1, one_of(rng, [1, 3, 4, 17]), *(int(rng.integers(4, 9)) for _ in range(space)))
    special = one_of(rng, [(NAN,), (INF,), (-INF,), (NAN, INF, -INF)])
    x = build.operand(salted(rng, dims, special, share=one_of(rng, [3, 40])))
    k = int(rng.integers(1, 4))
    window = {"kernel_shape": [k] * space, "strides": [int(rng.integers(1, 3))] * space, "pads": [k // 2] * 2 * space}
    y = build.node(op, [x], **({} if op.startswith("Global") else window))
    return [activated(build, rng, y) if chance(rng, 0.5) else y]


def scattered(build, rng, dims):
    reduction_ = one_of(rng, ["none", "add", "max", "min", "mul"])
    if chance(rng, 0.5):
        axis = int(rng.integers(len(dims)))
        places = np.argsort(rng.random(dims), axis=axis).astype(np.int64)
        names = [build.operand(salted(rng, dims)), build.operand(places), build.operand(salted(rng, dims))]
        return [build.node("ScatterElements", names, axis=axis, reduction=reduction_)]
    count = int(rng.integers(1, dims[0] + 1))
    places = rng.permutation(dims[0])[:count].reshape(-1, 1).astype(np.int64)
    names = [build.operand(salted(rng, dims)), build.operand(places), build.operand(salted(rng, (count,) + dims[1:]))]
    return [build.node("ScatterND", names, reduction=reduction_)]


def moved(build, rng, dims):
    """Would show multiplying by zero to leave something out."""
    dims = (3,) + dims
    x = build.operand(salted(rng, dims))
    op = one_of(rng, ["Trilu", "Pad", "ReverseSequence", "OneHot", "Expand", "DepthToSpace", "Concat"])
    if op == "Trilu":
        return [build.node(op, [x], upper=int(rng.integers(2)))]
    if op == "Pad":
        return [build.node(op, [x, build.constant(np.array([1] * 2 * len(dims), np.int64)),
                                build.constant(np.array(one_of(rng, ALL), np.float32))])]
    if op == "ReverseSequence":
        lengths = rng.integers(1, dims[0] + 1, size=dims[1]).astype(np.int64)
        return [build.node(op, [x, build.operand(lengths)], batch_axis=1, time_axis=0)]
    if op == "OneHot":
        return [build.node(op, [build.operand(np.array([0, 2, 1])), build.constant(np.array(3)),
                                build.constant(np.array([NAN, INF], np.float32))])]
    if op == "Expand":
        return [build.node(op, [x, build.constant(np.array((2,) + dims, np.int64))])]
    if op == "DepthToSpace":
        return [build.node(op, [build.operand(salted(rng, (1, 12, 5, 7)))], blocksize=2)]
    return [build.node(op, [x, build.operand(salted(rng, dims))], axis=0)]


def attention(build, rng, _):
    build.opset = 23
    build.constants = 0
    dims = (1, 2, int(rng.integers(1, 7)), one_of(rng, [2, 4, 8]))
    operands = [values(rng, dims, np.float32, -1, 1) for _ in range(3)]
    which = int(rng.integers(4))
    if which < 3:
        operands[which] = salted(rng, dims, (NAN,), share=30)
    else:
        operands.append(salted(rng, (dims[2], dims[2]), (-INF,), share=2))
    return [build.node("Attention", [build.operand(x) for x in operands], is_causal=int(which < 3 and rng.integers(2)))]


def recurrent(build, rng, _):
    build.constants = 0
    op, gates = one_of(rng, [("RNN", 1), ("GRU", 3), ("LSTM", 4)])
    steps, batch, size, hidden = (int(rng.integers(1, 6)) for _ in range(4))
    x = build.operand(salted(rng, (steps, batch, size), (NAN, INF), -1, 1, share=20))
    w = build.constant(values(rng, (1, gates * hidden, size), np.float32, -1, 1))
    r = build.constant(values(rng, (1, gates * hidden, hidden), np.float32, -1, 1))
    return build.node(op, [x, w, r], 2, hidden_size=hidden)


KINDS = [unary] * 4 + [zero_of_unary, zero_of_binary, binary, binary, many, prelu, clip, where, pattern, cast, place, top_k,
                       softmax, reduction, running, normalisation, convolution, convolution, transposed, weights, product,
                       einsum, pool, pool, scattered, moved, attention, recurrent]


def draw(rng):
    build = Build(rng)
    dims = shape(rng, int(rng.integers(1, 5)))
    kind = one_of(rng, KINDS)
    return build.case(kind(build, rng, dims), 1e-4, 1e-5)
