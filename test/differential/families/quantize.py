"""Draws QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear, the integer products, the operators between quantised
values, and products with weights of few bits; per tensor, per axis and per block."""
from case import *


def integer_product(rng, build, op, dtype):
    """Zero points are drawn, too; long sums of large numbers do not fit into floats, in which codl adds them."""
    zeros = []
    if op == "MatMulInteger":
        m, n = (int(rng.integers(1, 17)) for _ in range(2))
        k = 1200 if chance(rng, 0.2) else int(rng.integers(1, 17))
        a, b = (m, k), (k, n)
    else:
        groups = one_of(rng, [1, 1, 2, 4])
        a = (1, 4, int(rng.integers(3, 9)), int(rng.integers(3, 9)))
        b = (groups * int(rng.integers(1, 4)), 4 // groups, int(rng.integers(1, 4)), int(rng.integers(1, 4)))
    names = [build.operand(values(rng, a, dtype, -128, 256)),
             (build.constant if chance(rng, 0.7) else build.operand)(values(rng, b, dtype, -128, 256))]
    if chance(rng, 0.6):
        zeros = [build.constant(values(rng, (), dtype, 0, 9)), build.constant(values(rng, (), dtype, 0, 9))]
    attributes = {} if op == "MatMulInteger" else {"group": groups, "pads": [1, 0, 0, 1]}
    return build.case([build.node(op, names + zeros, **attributes)], 0, 0)


def quantized_product(rng, build, op, dtype):
    """All scales are powers of two: what is rounded is exact, and ties must go to even numbers. ONNX's evaluator adds the
    result's zero point before it rounds; with an even one that is the same as adding it afterwards."""
    def grid(steps):
        return [build.constant(np.array(2.0 ** -steps, np.float32)), build.constant(values(rng, (), dtype, 0, 9))]

    if op == "QLinearMatMul":
        m, k, n = (int(rng.integers(1, 17)) for _ in range(3))
        a, b = (m, k), (k, n)
    else:
        a, b = (1, 4, 7, 6), (int(rng.integers(1, 9)), 4, int(rng.integers(1, 4)), int(rng.integers(1, 4)))
    names = [build.operand(values(rng, a, dtype, -128, 256)), *grid(3)]
    names += [(build.constant if chance(rng, 0.7) else build.operand)(values(rng, b, dtype, -128, 256)), *grid(4)]
    names += [grid(0)[0], build.constant((2 * values(rng, (), dtype, 0, 5)).astype(dtype))]
    if op == "QLinearConv" and chance(rng, 0.5):
        names.append(build.constant(values(rng, (b[0],), np.int32, -999, 999)))
    return build.case([build.node(op, names)], 0, 0)


def moved(rng, build, dtype):
    """Values that are quantised, moved and dequantised, maybe twice: codl quantises them once."""
    scale = build.constant(np.array(0.25, np.float32))
    zero = build.constant(values(rng, (), dtype, 0, 9))
    x = build.operand((np.round(values(rng, (1, 2, 4, 6), np.float32, -40, 40) * 8) / 8).astype(np.float32))
    if chance(rng, 0.3):
        x = build.node("Relu", [x])
    for _ in range(int(rng.integers(1, 3))):
        x = build.node("QuantizeLinear", [x, scale, zero])
        move = one_of(rng, ["Transpose", "Concat", "MaxPool", "Pad", "Reshape"])
        if move == "Transpose":
            x = build.node(move, [x], perm=[0, 1, 3, 2])
        elif move == "Concat":
            x = build.node(move, [x, x], axis=1)
        elif move == "MaxPool":
            x = build.node(move, [x], kernel_shape=[2, 2], pads=[0, 1, 0, 1])
        elif move == "Pad":
            x = build.node(move, [x, build.constant(np.array([0, 0, 1, 0, 0, 0, 0, 2], np.int64))])
        else:
            x = build.node(move, [x, build.constant(np.array([0, 0, -1, 1], np.int64))])
        x = build.node("DequantizeLinear", [x, scale, zero])
    return build.case([x], 0, 0)


def blocks(rng, build):
    """A product with weights of few bits, which stay as they are in the plan."""
    bits, block = one_of(rng, [2, 4, 4, 8]), one_of(rng, [16, 32, 64])
    k, n = int(rng.integers(16, 200)), int(rng.integers(1, 70))
    count = -(-k // block)
    dims = (*shape(rng, int(rng.integers(0, 2)), high=3), one_of(rng, [1, 1, 2, 5, 17]), k)
    operands = [build.operand(values(rng, dims, np.float32, -2, 2)),
                build.constant(rng.integers(0, 256, size=(n, count, block * bits // 8)).astype(np.uint8)),
                build.constant(values(rng, (n * count,), np.float32, 0.01, 0.1))]
    if chance(rng, 0.5):
        operands.append(build.constant(rng.integers(0, 256, size=n * -(-count * bits // 8)).astype(np.uint8)))
    if chance(rng, 0.3):
        operands += [""] * (5 - len(operands)) + [build.constant(values(rng, (n,)))]
    y = build.node("MatMulNBits", operands, domain="com.microsoft", K=k, N=n, bits=bits, block_size=block)
    if chance(rng, 0.3):
        y = build.node("Relu", [y])
    return build.case([y], *tolerance_of(np.float32, k, 4 * 2 ** bits * 0.1))


def draw(rng):
    build = Build(rng)
    op = one_of(rng, ["blocks", "blocks", "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "MatMulInteger", "ConvInteger",
                      "QLinearMatMul", "QLinearConv", "moved"])
    dims = shape(rng, int(rng.integers(1, 5)), high=7)
    dtype = one_of(rng, [np.uint8, np.int8])
    if op in ("MatMulInteger", "ConvInteger"):
        return integer_product(rng, build, op, dtype)
    if op in ("QLinearMatMul", "QLinearConv"):
        return quantized_product(rng, build, op, dtype)
    if op == "blocks":
        return blocks(rng, build)
    if op == "moved":
        return moved(rng, build, dtype)
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
