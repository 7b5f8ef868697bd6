"""Draws operators of com.microsoft in float: what ONNX Runtime's optimiser writes, and its tool for diffusion models.
oracle.py has their formulas.

Left out: BiasSoftmax over several axes, which is refused; means that SkipSimplifiedLayerNormalization does not have.
"""
from case import *

DOMAIN = "com.microsoft"
ACTIVATIONS = {"Relu": 0, "Tanh": 0, "Sigmoid": 0, "LeakyRelu": 1, "Clip": 2, "HardSigmoid": 2}
NAMES = {"LeakyRelu": ["alpha"], "HardSigmoid": ["alpha", "beta"], "Elu": ["alpha"], "Selu": ["alpha", "gamma"],
         "ThresholdedRelu": ["alpha"]}


def conv(rng, build):
    space = one_of(rng, [1, 2, 2])
    groups = one_of(rng, [1, 1, 2, 3])
    depthwise = chance(rng, 0.3)
    channels = groups * int(rng.integers(1, 5))
    groups = channels if depthwise else groups
    out = channels if depthwise else groups * int(rng.integers(1, 6))
    kernel = [int(rng.integers(1, 4)) for _ in range(space)]
    strides = [int(rng.integers(1, 3)) for _ in range(space)]
    dims = (int(rng.integers(1, 3)), channels) + tuple(int(rng.integers(6, 12)) for _ in range(space))
    pads = [int(rng.integers(0, k)) for k in kernel] * 2
    result = tuple((extent + 2 * pad - k) // s + 1
                   for extent, pad, k, s in zip(dims[2:], pads, kernel, strides))
    name = one_of(rng, list(ACTIVATIONS))
    count = ACTIVATIONS[name]
    params = sorted(float(p) for p in rng.uniform(-0.5, 1.5, size=count))
    operands = [build.operand(values(rng, dims)), build.operand(values(rng, (out, channels // groups, *kernel)))]
    has_bias, has_sum = chance(rng, 0.7), chance(rng, 0.4)
    if has_bias or has_sum:
        operands.append(build.operand(values(rng, (out,))) if has_bias else "")
    if has_sum:
        operands.append(build.operand(values(rng, (dims[0], out) + result)))
    y = build.node("FusedConv", operands, domain=DOMAIN, activation=name, activation_params=params or None,
                   group=groups, pads=pads, strides=strides, kernel_shape=one_of(rng, [None, kernel]))
    return [y], tolerance_of(np.float32, channels // groups * int(np.prod(kernel)), 16)


def gemm(rng, build):
    m, k, n = (int(rng.integers(1, 9)) for _ in range(3))
    a, b = one_of(rng, [0, 1]), one_of(rng, [0, 1])
    name = one_of(rng, ["Relu", "Tanh", "Sigmoid", "Softplus", "Softsign"] + list(NAMES))
    given = {"activation_" + p: float(rng.uniform(0.1, 1.5)) for p in NAMES.get(name, [])}
    operands = [build.operand(values(rng, (k, m) if a else (m, k))), build.operand(values(rng, (n, k) if b else (k, n)))]
    if chance(rng, 0.7):
        operands.append(build.operand(values(rng, one_of(rng, [(n,), (m, n), (1, n), ()]))))
    y = build.node("FusedGemm", operands, domain=DOMAIN, activation=name, transA=a, transB=b,
                   alpha=one_of(rng, [None, 0.5]), beta=one_of(rng, [None, 2.0]), **given)
    return [y], tolerance_of(np.float32, k, 16)


def matmul(rng, build):
    batch = shape(rng, int(rng.integers(0, 3)), high=3)
    m, k, n = (int(rng.integers(1, 7)) for _ in range(3))

    def side(rows, columns):
        transposed, batched = one_of(rng, [0, 1]), one_of(rng, [0, 0, 1])
        dims = batch + ((columns, rows) if transposed else (rows, columns))
        if batched:
            dims = dims[-2:-1] + dims[:-2] + dims[-1:]
            if transposed:  # the dim in front is the one that goes last
                dims = (columns,) + batch + (rows,)
        return build.operand(values(rng, dims)), transposed, batched

    a, trans_a, batch_a = side(m, k)
    b, trans_b, batch_b = side(k, n)
    y = build.node(one_of(rng, ["FusedMatMul", "FusedMatMul", "TransposeMatMul"]), [a, b], domain=DOMAIN,
                   transA=trans_a, transB=trans_b, transBatchA=batch_a, transBatchB=batch_b,
                   alpha=one_of(rng, [None, 0.125]))
    return [y], tolerance_of(np.float32, k, 16)


def gelu(rng, build):
    op = one_of(rng, ["Gelu", "BiasGelu", "FastGelu", "FastGelu", "QuickGelu"])
    dims = shape(rng, int(rng.integers(1, 5)), high=6)
    operands = [build.operand(values(rng, dims))]
    if op == "BiasGelu" or (op == "FastGelu" and chance(rng, 0.5)):
        operands.append(build.operand(values(rng, dims[-1:])))
    alpha = one_of(rng, [None, 1.0, 0.7]) if op == "QuickGelu" else None
    return [build.node(op, operands, domain=DOMAIN, alpha=alpha)], tolerance_of(np.float32)


def skip(rng, build):
    is_simplified = chance(rng, 0.4)
    dims = (int(rng.integers(1, 3)), int(rng.integers(1, 6)), int(rng.integers(2, 20)))
    skip_dims = one_of(rng, [dims, (1,) + dims[1:], dims[1:]])
    vector = dims[-1:]
    operands = [build.operand(values(rng, dims)), build.operand(values(rng, skip_dims)),
                build.operand(values(rng, vector))]
    if not is_simplified:
        operands.append(build.operand(values(rng, vector)) if chance(rng, 0.7) else "")
    if chance(rng, 0.5):
        operands.append(build.operand(values(rng, vector)))
    op = "SkipSimplifiedLayerNormalization" if is_simplified else "SkipLayerNormalization"
    names = build.node(op, operands, outputs=4, domain=DOMAIN, epsilon=one_of(rng, [1e-5, 1e-3]))
    return [names[0], names[3]] if chance(rng, 0.6) else [names[0]], tolerance_of(np.float32, dims[-1], 16)


def softmax(rng, build):
    dims = shape(rng, int(rng.integers(2, 5)), high=6)
    bias = tuple(one_of(rng, [1, extent]) for extent in dims[:-1]) + dims[-1:]
    y = build.node("BiasSoftmax", [build.operand(values(rng, dims)), build.operand(values(rng, bias))],
                   domain=DOMAIN, axis=one_of(rng, [-1, len(dims) - 1]), is_inner_broadcast=one_of(rng, [0, 1]))
    return [y], tolerance_of(np.float32, dims[-1])


def bias(rng, build):
    dims = shape(rng, 3, high=8)
    op = one_of(rng, ["BiasAdd", "BiasSplitGelu"])
    if op == "BiasSplitGelu":
        dims = dims[:-1] + (2 * dims[-1],)
    operands = [build.operand(values(rng, dims)), build.operand(values(rng, dims[-1:]))]
    if op == "BiasAdd":
        operands.append(build.operand(values(rng, dims)))
    return [build.node(op, operands, domain=DOMAIN)], tolerance_of(np.float32, scale=16)


def group_norm(rng, build):
    groups = int(rng.integers(1, 4))
    channels = groups * int(rng.integers(1, 4))
    batch, height, width = shape(rng, 3, high=6)
    is_last = one_of(rng, [None, 0, 1])
    dims = (batch, channels, height, width) if is_last == 0 else (batch, height, width, channels)
    operands = [build.operand(values(rng, dims))] + [build.operand(values(rng, (channels,))) for _ in range(2)]
    with_skip = chance(rng, 0.5)
    if with_skip:
        operands.append(build.operand(values(rng, one_of(rng, [dims, (batch, channels)]))))
        if chance(rng, 0.5):
            operands.append(build.operand(values(rng, (channels,))))
    names = build.node("SkipGroupNorm" if with_skip else "GroupNorm", operands, outputs=2 if with_skip else 1,
                       domain=DOMAIN, groups=groups, activation=one_of(rng, [0, 1]), channels_last=is_last,
                       epsilon=one_of(rng, [1e-5, 1e-2]))
    return names if with_skip else [names], (1e-4, 1e-4)


def nhwc_conv(rng, build):
    groups = one_of(rng, [1, 1, 2])
    channels, out = groups * int(rng.integers(1, 5)), groups * int(rng.integers(1, 5))
    kernel = [int(rng.integers(1, 4)) for _ in range(2)]
    strides = [int(rng.integers(1, 3)) for _ in range(2)]
    pads = [int(rng.integers(0, k)) for k in kernel] * 2
    extents = [int(rng.integers(6, 10)) for _ in range(2)]
    batch = int(rng.integers(1, 3))
    op = one_of(rng, ["NhwcConv", "NhwcFusedConv", "NhwcFusedConv"])
    w = (out, *kernel, channels // groups) if op == "NhwcConv" else (out, channels // groups, *kernel)
    operands = [build.operand(values(rng, (batch, *extents, channels))), build.operand(values(rng, w))]
    has_sum = op == "NhwcFusedConv" and chance(rng, 0.5)
    if has_sum or chance(rng, 0.7):
        operands.append(build.operand(values(rng, (out,))))
    if has_sum:
        result = [(e + 2 * p - k) // s + 1 for e, p, k, s in zip(extents, pads, kernel, strides)]
        operands.append(build.operand(values(rng, (batch, *result, out))))
    y = build.node(op, operands, domain=DOMAIN, group=groups, pads=pads, strides=strides,
                   activation=one_of(rng, [None, "Relu", "Tanh"]) if op == "NhwcFusedConv" else None)
    return [y], tolerance_of(np.float32, channels // groups * int(np.prod(kernel)), 16)


def draw(rng):
    build = Build(rng)
    draws = [conv, conv, gemm, matmul, gelu, skip, softmax, bias, group_norm, nhwc_conv]
    outputs, tolerance = one_of(rng, draws)(rng, build)
    return build.case(outputs, *tolerance)
