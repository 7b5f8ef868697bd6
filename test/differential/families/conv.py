"""Draws convolutions in one to three dims: groups, strides, dilations, pads of every kind, fused activations."""
from case import *


def draw(rng):
    build = Build(rng)
    space = one_of(rng, [1, 2, 2, 2, 2, 3])
    groups = one_of(rng, [1, 1, 1, 2, 3])
    in_group, out_group = int(rng.integers(1, 7)), int(rng.integers(1, 9))
    if chance(rng, 0.25):  # depthwise
        groups, in_group, out_group = int(rng.integers(2, 18)), 1, one_of(rng, [1, 1, 2])
    kernel = [int(rng.integers(1, 6 if space < 3 else 4)) for _ in range(space)]
    dilation = [one_of(rng, [1, 1, 1, 2, 3]) for _ in range(space)]
    stride = [one_of(rng, [1, 1, 2, 3]) for _ in range(space)]
    extent = [(k - 1) * d + 1 for k, d in zip(kernel, dilation)]
    size = [e + int(rng.integers(0, 12 if space < 3 else 5)) for e in extent]
    attributes = {"kernel_shape": kernel if chance(rng, 0.7) else None, "strides": stride,
                  "dilations": dilation, "group": groups}
    how = one_of(rng, ["pads", "pads", "VALID", "SAME_UPPER", "SAME_LOWER", None])
    if how == "pads":
        attributes["pads"] = [int(rng.integers(0, e)) for e in extent] + [int(rng.integers(0, e)) for e in extent]
    elif how is not None:
        attributes["auto_pad"] = how
        if how.startswith("SAME"):
            # ONNX's evaluator pads wrongly if neither is 1 (it ignores dilations).
            attributes["dilations"] = [1] * space
    x = values(rng, (int(rng.integers(1, 3)), groups * in_group, *size), np.float32, -2, 2)
    w = values(rng, (groups * out_group, in_group, *kernel), np.float32, -1, 1)
    names = [build.operand(x), build.operand(w)]
    if chance(rng, 0.6):
        names.append(build.operand(values(rng, (groups * out_group,), np.float32, -2, 2)))
    y = build.node("Conv", names, **attributes)
    op = one_of(rng, [None, None, "Relu", "Sigmoid", "HardSwish", "LeakyRelu", "Tanh"])
    if op:
        y = build.node(op, [y])
    return build.case([y], *tolerance_of(np.float32, in_group * int(np.prod(kernel)), 4))
