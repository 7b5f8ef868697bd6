"""Draws max, average, Lp and global pooling in one to three dims, with ceil_mode and counted padding.

Left out: pads that are not smaller than the window's extent (ONNX gives them no meaning); average pooling with
ceil_mode and counted padding at once, and Lp pooling with ceil_mode, where the evaluator's windows run beyond the
padded input and runtimes disagree.
"""
from case import *


def draw(rng):
    build = Build(rng)
    space = one_of(rng, [1, 2, 2, 2, 3])
    op = one_of(rng, ["MaxPool", "MaxPool", "AveragePool", "AveragePool", "LpPool", "GlobalAveragePool",
                      "GlobalMaxPool", "GlobalLpPool"])
    channels = one_of(rng, [1, 2, 3, 4, 5, 8, 17])
    if op.startswith("Global"):
        x = build.operand(values(rng, (int(rng.integers(1, 3)), channels, *shape(rng, space))))
        attributes = {"p": int(rng.integers(1, 3))} if op == "GlobalLpPool" else {}
        return build.case([build.node(op, [x], **attributes)], *tolerance_of(np.float32, 512, 4))
    kernel = [int(rng.integers(1, 5)) for _ in range(space)]
    dilation = [one_of(rng, [1, 1, 2]) if op != "LpPool" else 1 for _ in range(space)]
    extent = [(k - 1) * d + 1 for k, d in zip(kernel, dilation)]
    size = [e + int(rng.integers(0, 9)) for e in extent]
    attributes = {"kernel_shape": kernel, "strides": [int(rng.integers(1, 4)) for _ in range(space)]}
    if op != "LpPool":
        attributes["dilations"] = dilation
    how = one_of(rng, ["pads", "pads", None, "VALID"])
    if how == "pads":
        attributes["pads"] = [int(rng.integers(0, (k + 1) // 2)) for k in kernel] * 2
    elif how:
        attributes["auto_pad"] = how
    if how != "VALID" and op != "LpPool" and chance(rng, 0.4):
        attributes["ceil_mode"] = 1
    if op == "AveragePool" and "ceil_mode" not in attributes:
        attributes["count_include_pad"] = int(rng.integers(2))
    if op == "LpPool":
        attributes["p"] = int(rng.integers(1, 4))
    x = build.operand(values(rng, (int(rng.integers(1, 3)), channels, *size)))
    return build.case([build.node(op, [x], **attributes)], *tolerance_of(np.float32, 64, 4))
