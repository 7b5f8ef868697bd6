"""Draws functions of one operand, in all types, with special values.

Left out: float16 of functions whose float32 result rounds differently by more than the tolerance allows near
their poles (Tan, Acosh ... are drawn on safe ranges); Gelu's and Softplus's tails are exact to 1e-6 absolute.
"""
from case import *

# Each op has (low, high, attributes, special values)
INF = np.inf
ANY = (0.0, -0.0, INF, -INF)
FLOAT_OPS = {
    "Abs": (-9, 9, ANY), "Neg": (-9, 9, ANY), "Ceil": (-9, 9, ANY), "Floor": (-9, 9, ANY),
    "Round": (-9, 9, ANY + (0.5, 1.5, 2.5, -0.5)), "Sign": (-9, 9, ANY), "Sqrt": (0, 9, ANY),
    "Reciprocal": (0.1, 9, (INF, -INF, np.nan)), "Exp": (-9, 9, ANY), "Log": (0.01, 9, ANY),
    "Sin": (-9, 9, (0.0,)), "Cos": (-9, 9, (0.0,)), "Tan": (-1.3, 1.3, (0.0,)), "Asin": (-1, 1, (2.0,)),
    "Acos": (-1, 1, (2.0,)), "Atan": (-9, 9, (INF, -INF)), "Sinh": (-5, 5, (0.0,)), "Cosh": (-5, 5, (0.0,)),
    "Asinh": (-9, 9, (0.0,)), "Acosh": (1.1, 9, (1.0,)), "Atanh": (-0.9, 0.9, (0.0,)),
    "Tanh": (-9, 9, ANY), "Sigmoid": (-20, 20, ANY), "Erf": (-4, 4, (0.0, INF, -INF)),
    "Relu": (-9, 9, ANY), "Softplus": (-20, 20, (0.0, INF)), "Softsign": (-9, 9, (0.0,)),
    "HardSwish": (-9, 9, (0.0, np.nan)), "Mish": (-9, 9, (0.0,)), "Identity": (-9, 9, ANY),
    "IsNaN": (-9, 9, ANY), "IsInf": (-9, 9, ANY),
}
WITH_ALPHA = {"LeakyRelu": "alpha", "Elu": "alpha", "Celu": "alpha", "ThresholdedRelu": "alpha"}
INTEGER_OPS = {"Abs": ALL_TYPES[:-1], "Neg": FLOATS + SIGNED, "Sign": ALL_TYPES[:-1], "BitwiseNot": INTEGERS,
               "Identity": ALL_TYPES, "Relu": SIGNED}


def draw(rng):
    kind = rng.random()
    dims = shape(rng, int(rng.integers(0, 6)), high=7)
    if kind < 0.2:
        op = one_of(rng, sorted(INTEGER_OPS))
        dtype = one_of(rng, INTEGER_OPS[op])
        bounds = np.iinfo(dtype) if np.dtype(dtype).kind in "iu" else None
        special = (bounds.min, bounds.max) if bounds and op not in ("Abs", "Neg") else ()
        build = Build(rng)
        return build.case([build.node(op, [build.operand(values(rng, dims, dtype, special=special))])],
                          *(tolerance_of(dtype, scale=4) if np.dtype(dtype).kind == "f" else (0, 0)))
    dtype = one_of(rng, (np.float32,) * 4 + FLOATS)
    build = Build(rng)
    rtol, atol = tolerance_of(dtype)
    if kind < 0.35:
        op = one_of(rng, sorted(WITH_ALPHA) + ["Selu", "HardSigmoid", "Shrink", "Gelu", "Swish"])
        attributes = {}
        if op in WITH_ALPHA:
            attributes = {"alpha": float(rng.uniform(0.1, 2))}
        elif op == "Selu":
            attributes = {"alpha": float(rng.uniform(1, 2)), "gamma": float(rng.uniform(0.5, 2))}
        elif op == "HardSigmoid":
            attributes = {"alpha": float(rng.uniform(0.1, 0.5)), "beta": float(rng.uniform(0, 1))}
        elif op == "Shrink":
            attributes = {"lambd": float(rng.uniform(0, 2)), "bias": float(rng.uniform(-1, 1))}
        elif op == "Gelu":
            attributes = {"approximate": one_of(rng, ["none", "tanh"])}
        elif op == "Swish":
            build.opset = 24
            attributes = {"alpha": float(rng.uniform(0.5, 2))}
        if op == "Celu":
            dtype = np.float32  # ONNX's Celu has no other
        x = build.operand(values(rng, dims, dtype, -6, 6, (0.0, -0.0)))
        return build.case([build.node(op, [x], **attributes)], max(rtol, 1e-5), max(atol, 1e-5))
    op = one_of(rng, sorted(FLOAT_OPS))
    low, high, special = FLOAT_OPS[op]
    if op == "IsInf":
        dtype = np.float32
    x = build.operand(values(rng, dims, dtype, low, high, special))
    attributes = {}
    if op == "IsInf":
        attributes = {"detect_negative": int(rng.integers(2)), "detect_positive": int(rng.integers(2))}
    return build.case([build.node(op, [x], **attributes)], max(rtol, 1e-5), max(atol, 1e-5))
