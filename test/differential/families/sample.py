"""Draws GridSample, RoiAlign, NonMaxSuppression, DeformConv.

It leaves out cubic GridSample with reflection and RoiAlign in max mode, where the evaluator and runtimes disagree.
"""
from case import *


def deform_conv(rng):
    build = Build(rng)
    # At least the widest window, 2 * (3 - 1) + 1; besides, the evaluator divides by an extent less 1.
    n, h, w = int(rng.integers(1, 3)), int(rng.integers(5, 10)), int(rng.integers(5, 10))
    group, offset_group = int(rng.integers(1, 3)), int(rng.integers(1, 3))
    c, oc = group * offset_group * int(rng.integers(1, 3)), group * int(rng.integers(1, 4))
    kernel, stride, dilation = (rng.integers(1, high, size=2).tolist() for high in (4, 3, 3))
    pads = rng.integers(0, 3, size=4).tolist()
    out = [(size + pads[i] + pads[i + 2] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1
           for i, size in enumerate((h, w))]
    taps = offset_group * kernel[0] * kernel[1]
    names = [build.operand(values(rng, (n, c, h, w))), build.operand(values(rng, (oc, c // group, *kernel))),
             build.operand(values(rng, (n, taps * 2, *out), np.float32, -3, 3)),
             build.operand(values(rng, (oc,))) if chance(rng, 0.5) else "",
             build.operand(values(rng, (n, taps, *out))) if chance(rng, 0.5) else ""]
    node = build.node("DeformConv", names, group=group, offset_group=offset_group, strides=stride, pads=pads,
                      dilations=dilation, kernel_shape=kernel if chance(rng, 0.5) else None)
    return build.case([node], 1e-4, 1e-3)


def draw(rng):
    build = Build(rng, constants=0)
    op = one_of(rng, ["GridSample", "RoiAlign", "NonMaxSuppression", "DeformConv"])
    if op == "DeformConv":
        return deform_conv(rng)
    n, c, h, w = int(rng.integers(1, 3)), int(rng.integers(1, 6)), int(rng.integers(2, 9)), int(rng.integers(2, 9))
    if op == "GridSample":
        x = build.operand(values(rng, (n, c, h, w)))
        grid = build.operand(values(rng, (n, int(rng.integers(1, 7)), int(rng.integers(1, 7)), 2), np.float32, -1.3, 1.3))
        node = build.node(op, [x, grid], mode="linear", padding_mode=one_of(rng, ["zeros", "border", "reflection"]),
                          align_corners=int(rng.integers(2)))
        return build.case([node], 1e-4, 1e-4)
    if op == "RoiAlign":
        x = build.operand(values(rng, (n, c, h + 2, w + 2)))
        count = int(rng.integers(1, 5))
        corner = rng.uniform(0, 3, size=(count, 2))
        rois = np.concatenate([corner, corner + rng.uniform(1, 5, size=(count, 2))], 1).astype(np.float32)
        batch = rng.integers(0, n, size=count).astype(np.int64)
        node = build.node(op, [x, build.operand(rois), build.operand(batch)], mode="avg",
                          output_height=int(rng.integers(1, 4)), output_width=int(rng.integers(1, 4)),
                          sampling_ratio=int(rng.integers(1, 4)), spatial_scale=float(rng.uniform(0.5, 1)),
                          coordinate_transformation_mode=one_of(rng, ["half_pixel", "output_half_pixel"]))
        return build.case([node], 1e-4, 1e-4)
    boxes = int(rng.integers(1, 9))
    corner = rng.uniform(0, 5, size=(n, boxes, 2))
    box = np.concatenate([corner, corner + rng.uniform(1, 4, size=(n, boxes, 2))], 2).astype(np.float32)
    scores = rng.permutation(n * c * boxes).reshape(n, c, boxes).astype(np.float32) / (n * c * boxes)
    names = [build.operand(box), build.operand(scores)] + [
        build.constant(np.array([v], t)) for v, t in
        ((int(rng.integers(1, 5)), np.int64), (float(rng.uniform(0.2, 0.8)), np.float32),
         (float(rng.uniform(0, 0.4)), np.float32))]
    return build.case([build.node(op, names)], 0, 0)
