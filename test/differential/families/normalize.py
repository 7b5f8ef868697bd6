"""Draws Softmax and its kin, batch, layer, instance, group, RMS and Lp normalisation, LRN.

It leaves out Softmax and its kin before opset 13, which the evaluator reads as of 13.
"""
from case import *


def draw(rng):
    build = Build(rng)
    rank = int(rng.integers(2, 5))
    dims = shape(rng, rank, low=2, high=8)
    axis = int(rng.integers(-rank, rank))
    op = one_of(rng, ["Softmax", "LogSoftmax", "Hardmax", "BatchNormalization", "LayerNormalization",
                      "InstanceNormalization", "GroupNormalization", "RMSNormalization", "LpNormalization", "LRN",
                      "MeanVarianceNormalization"])
    rtol, atol = 1e-4, 2e-5
    if op in ("Softmax", "LogSoftmax", "Hardmax"):
        build.opset = one_of(rng, [13, OPSET])
        x = build.operand(values(rng, dims, np.float32, -20, 20))
        return build.case([build.node(op, [x], axis=axis)], rtol, atol)
    x = build.operand(values(rng, dims))
    channels = dims[1]

    def per_channel(low=-2, high=2, count=channels):
        return build.operand(values(rng, (count,), np.float32, low, high))
    epsilon = one_of(rng, [1e-5, 1e-3])
    if op == "BatchNormalization":
        names = [x, per_channel(), per_channel(), per_channel(), per_channel(0.5, 2)]
        return build.case([build.node(op, names, epsilon=epsilon)], rtol, atol)
    if op == "InstanceNormalization":
        if rank < 3:
            x = build.operand(values(rng, dims + (5,)))
        return build.case([build.node(op, [x, per_channel(), per_channel()], epsilon=epsilon)], rtol, atol * 4)
    if op == "GroupNormalization":
        build.opset = 21
        groups = one_of(rng, [g for g in range(1, channels + 1) if channels % g == 0])
        x = build.operand(values(rng, dims + (6,)))
        node = build.node(op, [x, per_channel(), per_channel()], num_groups=groups, epsilon=epsilon)
        return build.case([node], rtol, atol * 4)
    if op in ("LayerNormalization", "RMSNormalization"):
        if op == "RMSNormalization":
            build.opset = 23
        tail = dims[axis:] if axis < 0 else dims[axis:]
        names = [x, build.operand(values(rng, tail, np.float32, -2, 2))]
        if op == "LayerNormalization" and chance(rng, 0.7):
            names.append(build.operand(values(rng, tail, np.float32, -2, 2)))
        return build.case([build.node(op, names, axis=axis, epsilon=epsilon)], rtol, atol * 4)
    if op == "LpNormalization":
        return build.case([build.node(op, [x], axis=axis, p=int(rng.integers(1, 3)))], rtol, atol)
    if op == "MeanVarianceNormalization":
        dims = shape(rng, 4, low=2, high=7)
        x = build.operand(values(rng, dims))
        return build.case([build.node(op, [x])], rtol, atol * 4)
    x = build.operand(values(rng, shape(rng, 4, low=1, high=9)))
    return build.case([build.node("LRN", [x], size=one_of(rng, [1, 3, 5]), alpha=float(rng.uniform(0, 0.1)),
                                  beta=float(rng.uniform(0.5, 1)), bias=float(rng.uniform(0.5, 2)))], rtol, atol)
