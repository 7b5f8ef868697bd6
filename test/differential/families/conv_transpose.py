"""Transposed convolution in one to three dims: groups, strides, dilations, output_padding and output_shape, pads of
every kind, also those that cut off more than the filter, a filter smaller than its stride, fused activations.

Left out: output_shape of more than the taps reach, where ONNX's text, its evaluator and runtimes share out the rest
differently; auto_pad with strides that leave such a rest, for the same reason.
"""
from case import *


def draw(rng):
    build = Build(rng)
    space = one_of(rng, [1, 2, 2, 2, 2, 3])
    groups = one_of(rng, [1, 1, 1, 2, 3])
    in_group, out_group = int(rng.integers(1, 7)), int(rng.integers(1, 9))
    if chance(rng, 0.2):
        groups, in_group, out_group = int(rng.integers(2, 18)), 1, one_of(rng, [1, 1, 2])
    kernel = [int(rng.integers(1, 6 if space < 3 else 4)) for _ in range(space)]
    dilation = [one_of(rng, [1, 1, 1, 2, 3]) for _ in range(space)]
    stride = [one_of(rng, [1, 2, 2, 3, 4]) for _ in range(space)]
    size = [int(rng.integers(1, 10 if space < 3 else 5)) for _ in range(space)]
    extent = [(k - 1) * d + 1 for k, d in zip(kernel, dilation)]
    full = [(n - 1) * s + e for n, s, e in zip(size, stride, extent)]
    attributes = {"kernel_shape": kernel if chance(rng, 0.7) else None, "strides": stride,
                  "dilations": dilation, "group": groups}
    added = [int(rng.integers(0, s)) if chance(rng, 0.6) else 0 for s in stride]
    if any(added):
        attributes["output_padding"] = added
    whole = [f + a for f, a in zip(full, added)]
    how = one_of(rng, ["pads", "pads", "pads", "shape", "same", "VALID", None])
    if how == "same" and any(w < n * s for w, n, s in zip(whole, size, stride)):
        how = "pads"
    if how == "pads":
        begin = [int(rng.integers(0, min(e, w))) for e, w in zip(extent, whole)]
        end = [int(rng.integers(0, min(e, w - b))) for e, w, b in zip(extent, whole, begin)]
        attributes["pads"] = begin + end
    elif how == "shape":
        attributes["output_shape"] = [int(rng.integers(max(1, w - 2 * e), w + 1)) for w, e in zip(whole, extent)]
        attributes["auto_pad"] = one_of(rng, [None, "SAME_UPPER", "SAME_LOWER"])
    elif how == "same":
        attributes["auto_pad"] = one_of(rng, ["SAME_UPPER", "SAME_LOWER"])
    elif how == "VALID":
        attributes["auto_pad"] = "VALID"
    x = values(rng, (int(rng.integers(1, 3)), groups * in_group, *size), np.float32, -2, 2)
    w = values(rng, (groups * in_group, out_group, *kernel), np.float32, -1, 1)
    # Weights are usually constants, as exporters write them: these become plain convolutions.
    weights = build.constant if chance(rng, 0.6) else build.operand
    names = [build.operand(x), weights(w)]
    if chance(rng, 0.6):
        names.append(weights(values(rng, (groups * out_group,), np.float32, -2, 2)))
    y = build.node("ConvTranspose", names, **attributes)
    op = one_of(rng, [None, None, "Relu", "Sigmoid", "HardSwish", "LeakyRelu", "Tanh"])
    if op:
        y = build.node(op, [y])
    return build.case([y], *tolerance_of(np.float32, in_group * int(np.prod(kernel)), 4))
