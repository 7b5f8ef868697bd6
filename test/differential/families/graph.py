"""Draws random graphs of 3 to 10 nodes on maps: branches, shared values, inner values as outputs, passes' fodder.

What single operators do is the other families' matter; here it is what stands between them: fusions, chains, layouts,
synchronisation, memory.
"""
from case import *

UNARY = ["Relu", "Sigmoid", "Tanh", "HardSwish", "LeakyRelu", "Abs", "Neg", "Identity", "Softplus"]


def draw(rng):
    build = Build(rng, constants=0)
    batch, channels = one_of(rng, [1, 1, 1, 2]), one_of(rng, [1, 3, 4, 8, 16, 17, 35])
    height, width = int(rng.integers(4, 20)), int(rng.integers(3, 14))
    dims = {}

    def add(name, dims_):
        dims[name] = tuple(dims_)
        return name
    maps = [add(build.operand(values(rng, (batch, channels, height, width), np.float32, -1, 1)),
                (batch, channels, height, width))]
    if chance(rng, 0.3):
        maps.append(add(build.operand(values(rng, (batch, channels, height, width), np.float32, -1, 1)),
                        (batch, channels, height, width)))

    def conv(x):
        n, c, h, w = dims[x]
        depthwise = chance(rng, 0.3)
        out = c if depthwise else one_of(rng, [1, 4, 8, 16, 24])
        k, stride = one_of(rng, [1, 3, 3, 5]), one_of(rng, [1, 1, 1, 2])
        pad = k // 2 if chance(rng, 0.8) or min(h, w) < k else 0
        weight = build.constant(values(rng, (out, 1 if depthwise else c, k, k), np.float32, -0.5, 0.5))
        names = [x, weight]
        if chance(rng, 0.7):
            names.append(build.constant(values(rng, (out,), np.float32, -0.5, 0.5)))
        y = build.node("Conv", names, pads=[pad] * 4, strides=[stride] * 2, group=c if depthwise else 1)
        return add(y, (n, out, (h + 2 * pad - k) // stride + 1, (w + 2 * pad - k) // stride + 1))

    def norm(x):
        c = dims[x][1]
        names = [x] + [build.constant(values(rng, (c,), np.float32, 0.5, 1.5)) for _ in range(4)]
        return add(build.node("BatchNormalization", names), dims[x])

    def pool(x):
        n, c, h, w = dims[x]
        if min(h, w) < 3:
            return unary(x)
        y = build.node(one_of(rng, ["MaxPool", "AveragePool"]), [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
        return add(y, (n, c, (h - 1) // 2 + 1, (w - 1) // 2 + 1))

    def unary(x):
        return add(build.node(one_of(rng, UNARY), [x]), dims[x])

    def binary(x):
        same = [m for m in maps if dims[m] == dims[x]]
        other = one_of(rng, same)
        if chance(rng, 0.3):
            other = build.constant(values(rng, (dims[x][1], 1, 1), np.float32, -1, 1))
        return add(build.node(one_of(rng, ["Add", "Mul", "Sub", "Max"]), [x, other]), dims[x])

    def concat(x):
        same = [m for m in maps if dims[m][0] == dims[x][0] and dims[m][2:] == dims[x][2:]]
        parts = [x] + [one_of(rng, same) for _ in range(int(rng.integers(1, 3)))]
        n, _, h, w = dims[x]
        return add(build.node("Concat", parts, axis=1), (n, sum(dims[p][1] for p in parts), h, w))

    def gate(x):
        """Adds a squeeze-and-excite gate."""
        y = build.node("GlobalAveragePool", [x])
        return add(build.node("Mul", [x, build.node("Sigmoid", [y])]), dims[x])

    def upsample(x):
        n, c, h, w = dims[x]
        if h * w > 300:
            return unary(x)
        scales = build.constant(np.array([1, 1, 2, 2], np.float32))
        y = build.node("Resize", [x, "", scales], mode="nearest", nearest_mode="floor",
                       coordinate_transformation_mode="asymmetric")
        return add(y, (n, c, 2 * h, 2 * w))

    def rows(x):
        n, c, h, w = dims[x]
        begin = int(rng.integers(0, h))
        end = int(rng.integers(begin + 1, h + 1))
        names = [x] + [build.constant(np.array([v], np.int64)) for v in (begin, end, 2)]
        return add(build.node("Slice", names), (n, c, end - begin, w))

    def border(x):
        n, c, h, w = dims[x]
        mode = one_of(rng, ["constant", "reflect", "edge", "wrap"])
        # The evaluator takes less of the other modes.
        most = 3 if mode in ("constant", "edge") else min(3, h - 1, w - 1)
        top, left, bottom, right = (int(rng.integers(0, most + 1)) for _ in range(4))
        y = build.node("Pad", [x, build.constant(np.array([0, 0, top, left, 0, 0, bottom, right], np.int64))], mode=mode)
        return add(y, (n, c, top + h + bottom, left + w + right))

    def instance(x):
        c = dims[x][1]
        names = [x] + [build.constant(values(rng, (c,), np.float32, 0.5, 1.5)) for _ in range(2)]
        return add(build.node("InstanceNormalization", names, epsilon=1e-2), dims[x])
    steps = [conv, conv, conv, norm, instance, pool, unary, unary, binary, binary, concat, gate, upsample, rows, border]
    for _ in range(int(rng.integers(3, 11))):
        x = maps[-1] if chance(rng, 0.6) else one_of(rng, maps)
        maps.append(one_of(rng, steps)(x))
    outputs = [maps[-1]]
    made = [m for m in maps[:-1] if m not in build.inputs]
    if made and chance(rng, 0.3):
        outputs.append(one_of(rng, made))
    if chance(rng, 0.2):  # a head
        flat = build.node("Flatten", [build.node("GlobalAveragePool", [maps[-1]])])
        weight = build.constant(values(rng, (dims[maps[-1]][1], 10), np.float32, -1, 1))
        outputs[0] = build.node("Softmax", [build.node("MatMul", [flat, weight])], axis=-1)
    # Errors grow from node to node; they are relative to the values, which reach tens.
    return build.case(list(dict.fromkeys(outputs)), 1e-4, 2e-4)
