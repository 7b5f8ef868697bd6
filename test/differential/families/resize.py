"""Resize of all versions and Upsample: all modes, coordinates and roundings, scales and sizes, any axes and types.

The oracle is the rule of kernels/resize/resize.h in NumPy (oracle.py says what is wrong with the evaluator's), held
against ONNX Runtime by hand: see there. Left out: scales that only the run knows, which need declared dims (ONNX's
node tests have them); linear without antialias on integers by factors whose weights are not exact, where the last bit
of a float decides what is cut; scales of less than 1 of Upsample, which ONNX does not allow.
"""
from case import *

COORDINATES = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric",
               "tf_crop_and_resize"]
# Scales that exporters write, odd quotients, and numbers that no one writes.
SCALES = [0.5, 2, 3, 4, 1.5, 0.25, 0.6, 0.8, 1.1, 1.2, 2.2, 0.3, 0.7, 0.9, 1.3, 1.7, 2.4, 4.8, 1 / 3, 1 / 7, 7 / 5]
EXACT_SCALES = [0.5, 2, 4, 0.25]


def scale_of(rng, extent, choices):
    scale = one_of(rng, choices) if choices is EXACT_SCALES or chance(rng, 0.8) else float(rng.uniform(0.2, 3))
    while int(np.float32(extent) * np.float32(scale)) < 1:
        scale *= 2
    return float(scale)


def old(rng):
    """Draws Upsample, and Resize of version 10."""
    opset = one_of(rng, [7, 9, 10, 10, 10])
    build = Build(rng, opset=opset)
    mode = one_of(rng, ["nearest", "nearest", "linear"])
    extents = shape(rng, one_of(rng, [1, 2, 3, 4, 4, 4, 4, 5]), high=7)
    resized = [i >= len(extents) - 2 for i in range(len(extents))]
    choices = SCALES if opset == 10 else [s for s in SCALES if s >= 1]
    scales = [scale_of(rng, e, choices) if r else 1.0 for e, r in zip(extents, resized)]
    if opset < 10:
        scales = [max(s, 1.0) for s in scales]
    x = build.operand(values(rng, extents))
    if opset == 7:
        y = build.node("Upsample", [x], mode=mode, scales=scales)
    else:
        names = [x, build.constant(np.array(scales, np.float32))]
        y = build.node("Resize" if opset == 10 else "Upsample", names, mode=mode)
    return build.case([y], 1e-5, ATOL_OF_POSITIONS)


# Positions below 128 differ by half a unit of 2^-17, because codl's are fractions and the oracle's are rounded.
# Elements differ by at most 8, cubic weights change by at most 1.5 an element, and there are up to 3 axes.
ATOL_OF_POSITIONS = 8 * 1.5 * 3 * 2.0 ** -18


def draw(rng):
    if chance(rng, 0.15):
        return old(rng)
    opset = one_of(rng, [11, 13, 18, 18, 19, 19, 22])
    build = Build(rng, opset=opset)
    rank = one_of(rng, [1, 2, 3, 4, 4, 4, 4, 5])
    mode = one_of(rng, ["nearest", "nearest", "linear", "linear", "cubic"])
    extents = shape(rng, rank, high=9 if rank < 5 else 4)
    attributes = {"mode": mode, "coordinate_transformation_mode": one_of(rng, COORDINATES)}
    if opset < 13 and chance(rng, 0.3):
        attributes["coordinate_transformation_mode"] = "tf_half_pixel_for_nn"
    if chance(rng, 0.15):
        del attributes["coordinate_transformation_mode"]
    coordinates = attributes.get("coordinate_transformation_mode", "half_pixel")
    # It usually resizes rows and columns of maps.
    axes = list(range(max(rank - 2, 0), rank)) if chance(rng, 0.7) else \
        sorted(int(a) for a in rng.permutation(rank)[:int(rng.integers(1, rank + 1))])
    if mode == "cubic" and len(axes) > 3:
        axes = axes[-3:]
    dtype = np.float32
    if mode == "nearest":
        attributes["nearest_mode"] = one_of(rng, [None, "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
        if chance(rng, 0.3):
            dtype = one_of(rng, ALL_TYPES)
    else:
        if opset >= 18:
            attributes["antialias"] = one_of(rng, [None, 0, 1])
        attributes["exclude_outside"] = one_of(rng, [None, None, 1])
        if mode == "cubic":
            attributes["cubic_coeff_a"] = one_of(rng, [None, -0.5, -0.6])
        if chance(rng, 0.3):
            dtype = one_of(rng, [np.float16, np.float64, np.uint8, np.uint8, np.int8, np.int16, np.int32])
    is_integer = np.dtype(dtype).kind in "iu"
    choices = SCALES
    if is_integer and mode != "nearest" and not attributes.get("antialias"):
        choices = EXACT_SCALES
        coordinates = attributes["coordinate_transformation_mode"] = one_of(
            rng, ["half_pixel", "asymmetric", "pytorch_half_pixel"])
        attributes.pop("exclude_outside")
        attributes.pop("cubic_coeff_a", None)
    if coordinates == "tf_crop_and_resize" and chance(rng, 0.7):
        attributes["extrapolation_value"] = float(rng.integers(-9, 10))
    # Since version 18, operands may cover only some axes.
    given = list(range(rank))
    if opset >= 18 and chance(rng, 0.5):
        given = [int(a) for a in rng.permutation(axes)] if opset >= 19 or chance(rng, 0.5) else axes
        attributes["axes"] = [a - rank if chance(rng, 0.3) else a for a in given]
    by_scales = choices is EXACT_SCALES or chance(rng, 0.6)
    operands = ["", ""] if opset >= 13 else [build.constant(np.zeros(0, np.float32))] * 2
    if coordinates == "tf_crop_and_resize":
        begin = [float(rng.uniform(-0.3, 0.6)) if a in axes else 0 for a in given]
        length = [one_of(rng, [0.3, 0.5, 0.9, float(rng.uniform(0, 1))]) if a in axes else 1 for a in given]
        roi = np.array(begin + [b + e for b, e in zip(begin, length)], np.float32)
        operands[0] = build.operand(roi) if build.constants != 0 else build.constant(roi)
    if by_scales:
        scales = [scale_of(rng, extents[a], choices) if a in axes else 1.0 for a in given]
        operands[1] = build.constant(np.array(scales, np.float32))
    else:
        if opset >= 18:
            attributes["keep_aspect_ratio_policy"] = one_of(rng, [None, None, "stretch", "not_larger", "not_smaller"])
        is_kept = attributes.get("keep_aspect_ratio_policy") in ("not_larger", "not_smaller") and "axes" not in attributes
        sizes = [max(1, int(extents[a] * rng.uniform(0.2, 3))) if a in axes else extents[a] for a in given]
        if is_kept:  # all axes get one scale
            factor = rng.uniform(0.5, 1.6)
            sizes = [max(1, round(e * factor)) for e in extents]
        if chance(rng, 0.3):
            factor = int(rng.integers(2, 8))
            sizes = [extents[a] * factor if a in axes else extents[a] for a in given]
        operands.append(build.constant(np.array(sizes, np.int64)))
    x = values(rng, extents, dtype, *((-100, 100) if is_integer else (-4, 4)))
    if dtype == np.float64:
        x = x.astype(np.float32).astype(np.float64)  # codl's floats are float32
    y = build.node("Resize", [build.operand(x)] + operands, **attributes)
    if mode == "nearest" or is_integer:
        return build.case([y], 0, 0)
    rtol, atol = tolerance_of(dtype, 64, 4)
    return build.case([y], rtol, max(atol if dtype == np.float16 else 0, ATOL_OF_POSITIONS))
