"""Cast between all pairs of types, on values that both hold: C and NumPy leave the result of others open."""
from case import *


def draw(rng):
    build = Build(rng)
    source, target = one_of(rng, ALL_TYPES), one_of(rng, ALL_TYPES)
    dims = shape(rng, int(rng.integers(0, 5)), high=7)
    low = 0 if np.dtype(target).kind == "u" else -100
    x = values(rng, dims, source, low, 100)
    if np.dtype(source).kind == "f" and np.dtype(target).kind == "f":
        x = values(rng, dims, source, -100, 100, (0.0, -0.0, np.inf, -np.inf, np.nan))
    rtol, atol = tolerance_of(np.float16, scale=100) if np.float16 in (source, target) else (1e-6, 1e-6)
    if chance(rng, 0.2):
        like = build.operand(values(rng, (1,), target))
        return build.case([build.node("CastLike", [build.operand(x), like])], rtol, atol)
    return build.case([build.node("Cast", [build.operand(x)], to=onnx_type(target))], rtol, atol)
