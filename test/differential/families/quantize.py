"""Draws QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear, the integer products; per tensor and per axis."""
from case import *


def draw(rng):
    build = Build(rng)
    op = one_of(rng, ["QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "MatMulInteger"])
    dims = shape(rng, int(rng.integers(1, 5)), high=7)
    dtype = one_of(rng, [np.uint8, np.int8])
    if op == "MatMulInteger":
        m, k, n = (int(rng.integers(1, 17)) for _ in range(3))
        names = [build.operand(values(rng, (m, k), dtype, -100, 100)), build.operand(values(rng, (k, n), dtype, -100, 100))]
        if chance(rng, 0.6):
            names.append(build.constant(values(rng, (), dtype, 0, 5)))
            names.append(build.constant(values(rng, (), dtype, 0, 5)))
        return build.case([build.node(op, names)], 0, 0)
    if op == "DynamicQuantizeLinear":
        x = build.operand(values(rng, dims, np.float32, -3, 5) * (0 if chance(rng, 0.2) else 1))
        # A quotient near a half may round either way, so the scale and the restored values are compared.
        y, scale, zero = build.node(op, [x], 3)
        back = build.node("DequantizeLinear", [y, scale, zero])
        # The tolerance is that of the values: for the scale of zeros, 1 / 255, a 0 would pass.
        large = build.node("Mul", [scale, build.constant(np.array(1000, np.float32))])
        return build.case([back, large, zero], 1e-6, 8 / 255 * 1.01)
    axis = int(rng.integers(len(dims)))
    per_axis = chance(rng, 0.5)
    scale = values(rng, (dims[axis],) if per_axis else (), np.float32, 0.05, 0.5)
    zero = values(rng, scale.shape, dtype, 0, 9)
    attributes = {"axis": axis} if per_axis else {}
    if op == "DequantizeLinear":
        names = [build.operand(values(rng, dims, dtype, -100, 100)), build.constant(scale), build.constant(zero)]
        return build.case([build.node(op, names, **attributes)], 1e-6, 1e-6)
    # Uses exact multiples of a power of two, including ties, which round to even.
    scale = np.full(scale.shape, 0.25, np.float32)
    x = np.round(values(rng, dims, np.float32, -40, 40) * 8) / 8
    names = [build.operand(x.astype(np.float32)), build.constant(scale), build.constant(zero)]
    return build.case([build.node(op, names, **attributes)], 0, 0)
