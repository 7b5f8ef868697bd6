"""Draws functions of two and more operands with NumPy's broadcasting: arithmetic, comparisons, logic, bits, Where."""
from case import *

ARITHMETIC = ["Add", "Sub", "Mul", "Div", "Min", "Max", "Pow", "Mod", "PRelu"]
COMPARE = ["Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"]
LOGIC = ["And", "Or", "Xor"]
BITS = ["BitwiseAnd", "BitwiseOr", "BitwiseXor"]
MANY = ["Sum", "Mean", "Min", "Max"]


def broadcast_from(rng, dims):
    """Returns dims that broadcast to `dims`."""
    dims = tuple(1 if chance(rng, 0.3) else d for d in dims)
    return dims[int(rng.integers(len(dims) + 1)):] if chance(rng, 0.5) else dims


def pair(rng, dims):
    """Returns two shapes that broadcast to something not larger than `dims`; at times each has ones of its own."""
    first, second = dims, broadcast_from(rng, dims)
    if chance(rng, 0.3):
        first = tuple(1 if chance(rng, 0.3) else d for d in dims)
    return (second, first) if chance(rng, 0.4) else (first, second)


def draw(rng):
    build = Build(rng)
    dims = shape(rng, int(rng.integers(0, 6)), high=7)
    a_dims, b_dims = pair(rng, dims)
    kind = int(rng.integers(10))
    if kind == 0:
        op = one_of(rng, LOGIC)
        names = [build.operand(values(rng, d, np.bool_)) for d in (a_dims, b_dims)]
        return build.case([build.node(op, names)], 0, 0)
    if kind == 1:
        op, dtype = one_of(rng, BITS), one_of(rng, INTEGERS)
        names = [build.operand(values(rng, d, dtype, -100, 100)) for d in (a_dims, b_dims)]
        return build.case([build.node(op, names)], 0, 0)
    if kind == 2:
        op, dtype = one_of(rng, COMPARE), one_of(rng, ALL_TYPES[:-1])
        special = (0.0, -0.0, np.inf, np.nan) if np.dtype(dtype).kind == "f" else ()
        names = [build.operand(values(rng, d, dtype, -3, 3, special)) for d in (a_dims, b_dims)]
        return build.case([build.node(op, names)], 0, 0)
    if kind == 3:
        dtype = one_of(rng, UNSIGNED)
        x = values(rng, a_dims, dtype, 0, 100)
        bits = np.iinfo(dtype).bits
        names = [build.operand(x), build.operand(values(rng, b_dims, dtype, 0, bits - 1))]
        return build.case([build.node("BitShift", names, direction=one_of(rng, ["LEFT", "RIGHT"]))], 0, 0)
    if kind == 4:
        dtype = one_of(rng, ALL_TYPES)
        names = [build.operand(values(rng, broadcast_from(rng, dims), np.bool_)),
                 build.operand(values(rng, a_dims, dtype)), build.operand(values(rng, b_dims, dtype))]
        rtol, atol = tolerance_of(dtype, scale=4) if np.dtype(dtype).kind == "f" else (0, 0)
        return build.case([build.node("Where", names)], rtol, atol)
    if kind == 5:
        op, dtype = one_of(rng, MANY), one_of(rng, (np.float32, np.float32, np.float64))
        count = int(rng.integers(1, 5))
        special = (0.0, np.inf, np.nan) if op in ("Min", "Max") else ()
        names = [build.operand(values(rng, broadcast_from(rng, dims), dtype, special=special))
                 for _ in range(count)]
        return build.case([build.node(op, names)], *tolerance_of(dtype, scale=16))
    op = one_of(rng, ARITHMETIC)
    if op == "PRelu":
        dtype = one_of(rng, FLOATS)
        x = build.operand(values(rng, dims, dtype, special=(0.0, -0.0)))
        slope = build.operand(values(rng, broadcast_from(rng, dims), dtype, 0, 1))
        return build.case([build.node(op, [x, slope])], *tolerance_of(dtype, scale=4))
    dtype = one_of(rng, (np.float32,) * 6 + FLOATS + INTEGERS)
    is_float = np.dtype(dtype).kind == "f"
    attributes = {}
    low, high, special = -9, 9, ()
    if is_float and op in ("Add", "Sub", "Mul", "Min", "Max"):
        special = (0.0, -0.0, np.inf, -np.inf, np.nan)
    a = values(rng, a_dims, dtype, low, high, special)
    b = values(rng, b_dims, dtype, low, high, special)
    if op in ("Div", "Mod"):
        b = np.where(np.abs(b.astype(np.float64)) < 0.5, 1, b).astype(dtype).reshape(b_dims)
    if op == "Mod":
        if is_float:
            attributes = {"fmod": 1}
            # A remainder jumps where the quotient is whole: exact numbers avoid that.
            a, b = np.round(a * 4) / 4, np.maximum(np.round(np.abs(b)), 1)
            a, b = a.astype(dtype), b.astype(dtype)
        else:
            attributes = {"fmod": int(rng.integers(2))}
    if op == "Pow":
        a = values(rng, a_dims, dtype, 0.2 if is_float else 0, 4)
        b = values(rng, b_dims, dtype, -2 if is_float else 0, 3)
    rtol, atol = tolerance_of(dtype, scale=16) if is_float else (0, 0)
    return build.case([build.node(op, [build.operand(a), build.operand(b)], **attributes)], rtol, atol)
