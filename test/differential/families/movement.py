"""Operators that only move elements: they are exact in every type, so every mode must give the same bits."""
from case import *

OPS = ["Concat", "Split", "Slice", "Pad", "Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Expand", "Tile",
       "DepthToSpace", "SpaceToDepth", "Identity", "Trilu", "ReverseSequence", "CenterCropPad"]
INT64 = np.int64


def ints(build, *elements):
    return build.constant(np.array(elements, INT64))


def draw(rng):
    build = Build(rng)
    op = one_of(rng, OPS)
    dtype = one_of(rng, (np.float32,) * 3 + ALL_TYPES)
    rank = int(rng.integers(1, 6))
    dims = shape(rng, rank, high=7)
    special = (np.nan, np.inf, -0.0) if np.dtype(dtype).kind == "f" else ()
    x = values(rng, dims, dtype, special=special)
    axis = int(rng.integers(-rank, rank))
    tolerance = (2.0 ** -22, 0) if dtype == np.float64 else (0, 0)  # held as float32

    def done(outputs):
        return build.case(outputs if isinstance(outputs, list) else [outputs], *tolerance)
    if op == "Concat":
        parts = []
        for _ in range(int(rng.integers(1, 6))):
            part = list(dims)
            part[axis] = int(rng.integers(1, 7))
            parts.append(build.operand(values(rng, part, dtype)))
        return done(build.node(op, parts, axis=axis))
    if op == "Split":
        total = dims[axis]
        cuts = sorted(rng.integers(0, total + 1, size=int(rng.integers(0, 3))))
        sizes = [int(s) for s in np.diff([0, *cuts, total]) if s > 0]
        if chance(rng, 0.3):
            count = int(rng.integers(1, total + 1))
            chunk = -(-total // count)
            if (count - 1) * chunk < total:  # ONNX wants every chunk but the last of one size, none empty
                return done(build.node(op, [build.operand(x)], count, axis=axis, num_outputs=count)
                            if count > 1 else [build.node(op, [build.operand(x)], 1, axis=axis, num_outputs=1)])
        found = build.node(op, [build.operand(x), ints(build, *sizes)], len(sizes), axis=axis)
        return done(found)
    if op == "Slice":
        axes = [a for a in range(rank) if chance(rng, 0.7)] or [0]
        starts, ends, steps = [], [], []
        for a in axes:
            step = one_of(rng, [1, 1, 2, 3, -1, -2])
            low = int(rng.integers(0, dims[a]))
            high = int(rng.integers(low + 1, dims[a] + 1))
            start, end = (low, high) if step > 0 else (high - 1, low - 1 if low else -dims[a] - 1)
            if chance(rng, 0.3) and start >= 0:
                start -= dims[a]
            if chance(rng, 0.3) and step > 0 and high == dims[a]:
                end = one_of(rng, [2 ** 31 - 1, 2 ** 63 - 1])
            starts.append(start), ends.append(end), steps.append(step)
        names = [build.operand(x), ints(build, *starts), ints(build, *ends),
                 ints(build, *[a - rank if chance(rng, 0.3) else a for a in axes]), ints(build, *steps)]
        return done(build.node(op, names))
    if op == "Pad":
        mode = one_of(rng, ["constant", "constant", "reflect", "edge", "wrap"])
        low = -1 if mode == "constant" else 0
        limit = [d if mode == "constant" else max(d - 1, 0) for d in dims]
        begins = [int(rng.integers(low if dims[a] > 2 else 0, min(limit[a], 4) + 1)) for a in range(rank)]
        finals = [int(rng.integers(low if dims[a] > 2 else 0, min(limit[a], 4) + 1)) for a in range(rank)]
        names = [build.operand(x), ints(build, *begins, *finals)]
        if mode == "constant" and chance(rng, 0.6):
            names.append(build.constant(values(rng, (), dtype)))
        return done(build.node(op, names, mode=mode))
    if op == "Transpose":
        perm = [int(p) for p in rng.permutation(rank)] if chance(rng, 0.8) else None
        return done(build.node(op, [build.operand(x)], perm=perm))
    if op == "Reshape":
        target = [int(d) for d in rng.permutation(dims)]
        if chance(rng, 0.5):
            target[int(rng.integers(rank))] = -1
        return done(build.node(op, [build.operand(x), ints(build, *target)]))
    if op == "Flatten":
        return done(build.node(op, [build.operand(x)], axis=int(rng.integers(-rank, rank + 1))))
    if op == "Squeeze":
        dims = tuple(1 if chance(rng, 0.5) else d for d in dims)
        ones = [a - rank if chance(rng, 0.3) else a for a in range(rank) if dims[a] == 1]
        names = [build.operand(values(rng, dims, dtype))]
        if ones and chance(rng, 0.7):
            names.append(ints(build, *ones[:int(rng.integers(1, len(ones) + 1))]))
        return done(build.node(op, names))
    if op == "Unsqueeze":
        new = int(rng.integers(1, 3))
        axes = [int(a) for a in rng.choice(rank + new, new, replace=False)]
        return done(build.node(op, [build.operand(x), ints(build, *axes)]))
    if op == "Expand":
        target = [int(rng.integers(1, 5)) if d == 1 else one_of(rng, [1, d]) for d in dims]
        target = [2] * int(rng.integers(0, 2)) + target
        return done(build.node(op, [build.operand(x), ints(build, *target)]))
    if op == "Tile":
        return done(build.node(op, [build.operand(x), ints(build, *rng.integers(1, 4, size=rank))]))
    if op in ("DepthToSpace", "SpaceToDepth"):
        block = int(rng.integers(1, 4))
        channels, height, width = (int(rng.integers(1, 5)) for _ in range(3))
        if op == "DepthToSpace":
            x = values(rng, (2, channels * block * block, height, width))
            tolerance = (0, 0)
            return done(build.node(op, [build.operand(x)], blocksize=block, mode=one_of(rng, ["DCR", "CRD"])))
        x = values(rng, (2, channels, height * block, width * block))
        tolerance = (0, 0)
        return done(build.node(op, [build.operand(x)], blocksize=block))
    if op == "Trilu":
        x = values(rng, shape(rng, int(rng.integers(2, 5)), high=7), dtype)
        names = [build.operand(x)]
        if chance(rng, 0.7):
            names.append(build.constant(np.array(int(rng.integers(-8, 9)), INT64)))
        return done(build.node(op, names, upper=int(rng.integers(2))))
    if op == "ReverseSequence":
        batch_axis = int(rng.integers(2))
        x = values(rng, shape(rng, int(rng.integers(2, 5)), high=6), dtype)
        lengths = rng.integers(1, x.shape[1 - batch_axis] + 1, size=x.shape[batch_axis])
        names = [build.operand(x), build.operand(lengths.astype(INT64))]
        return done(build.node(op, names, batch_axis=batch_axis, time_axis=1 - batch_axis))
    if op == "CenterCropPad":
        target = rng.integers(1, 9, size=rank)
        return done(build.node(op, [build.operand(x), ints(build, *target)]))
    return done(build.node("Identity", [build.operand(x)]))
