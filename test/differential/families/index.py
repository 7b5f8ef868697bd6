"""Draws operators that read or write where indices say: Gather, Scatter and their kin, OneHot, TopK, NonZero, Compress.

Left out: duplicate indices of a Scatter that has no reduction (ONNX leaves open which one stays).
"""
from case import *

OPS = ["Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND", "OneHot", "TopK", "NonZero", "Compress",
       "EyeLike", "Range", "ConstantOfShape", "Shape", "Size", "Unique"]


def draw(rng):
    build = Build(rng)
    op = one_of(rng, OPS[:-1])  # without Unique: its output's extent decides everything else; codl refuses it
    dtype = one_of(rng, (np.float32,) * 3 + (np.int64, np.int32, np.uint8, np.bool_, np.float64))
    rank = int(rng.integers(1, 5))
    dims = shape(rng, rank, low=2, high=7)
    axis = int(rng.integers(-rank, rank))
    x = values(rng, dims, dtype)
    index_type = one_of(rng, [np.int64, np.int64, np.int32])
    tolerance = (2.0 ** -22, 0) if dtype == np.float64 else (0, 0)

    def indices(shape_, limit):
        return rng.integers(-limit, limit, size=shape_).astype(index_type)

    def done(name, rtol=None, atol=0):
        return build.case([name], tolerance[0] if rtol is None else rtol, atol)
    if op == "Gather":
        where = indices(shape(rng, int(rng.integers(0, 3)), high=5), dims[axis])
        return done(build.node(op, [build.operand(x), build.operand(where)], axis=axis))
    if op == "GatherElements":
        where_dims = [int(rng.integers(1, d + 1)) for d in dims]
        where_dims[axis] = int(rng.integers(1, 6))
        return done(build.node(op, [build.operand(x), build.operand(indices(where_dims, dims[axis]))], axis=axis))
    if op == "GatherND":
        batch = int(rng.integers(0, rank))
        depth = int(rng.integers(1, rank - batch + 1))
        lead = dims[:batch] + shape(rng, int(rng.integers(0, 2)), high=4)
        where = np.stack([rng.integers(-dims[batch + i], dims[batch + i], size=lead) for i in range(depth)], -1)
        return done(build.node(op, [build.operand(x), build.operand(where.astype(np.int64))], batch_dims=batch))
    if op == "ScatterElements":
        where_dims = list(dims)  # the evaluator takes no smaller ones along other axes
        axis = axis % rank
        where_dims[axis] = int(rng.integers(1, dims[axis] + 1))
        reduction = one_of(rng, ["none", "add", "max", "min"]) if dtype == np.float32 else "none"
        order = np.argsort(rng.random(where_dims[:axis] + [dims[axis]] + where_dims[axis + 1:]), axis=axis)
        where = np.take(order, range(where_dims[axis]), axis=axis)
        names = [build.operand(x), build.operand(where.astype(np.int64)),
                 build.operand(values(rng, where_dims, dtype))]
        return done(build.node(op, names, axis=axis, reduction=reduction), 1e-6, 1e-6)
    if op == "ScatterND":
        depth = int(rng.integers(1, rank + 1))
        places = int(np.prod(dims[:depth]))
        count = int(rng.integers(1, min(places, 6) + 1))
        chosen = rng.choice(places, count, replace=False)
        where = np.stack(np.unravel_index(chosen, dims[:depth]), -1).astype(np.int64)
        reduction = one_of(rng, ["none", "add", "mul", "max", "min"]) if dtype == np.float32 else "none"
        names = [build.operand(x), build.operand(where), build.operand(values(rng, (count,) + dims[depth:], dtype))]
        return done(build.node(op, names, reduction=reduction), 1e-6, 1e-6)
    if op == "OneHot":
        depth = int(rng.integers(1, 7))
        where = rng.integers(-depth, depth, size=shape(rng, int(rng.integers(1, 4)), high=5)).astype(np.int64)
        names = [build.operand(where), build.constant(np.array(depth, np.int64)),
                 build.constant(values(rng, (2,), dtype))]
        return done(build.node(op, names, axis=int(rng.integers(-where.ndim - 1, where.ndim + 1))))
    if op == "TopK":
        # Values are distinct, because ONNX leaves the order of equal ones open.
        kind = one_of(rng, [np.float32, np.int64])
        x = rng.permutation(int(np.prod(dims))).reshape(dims).astype(kind)
        k = int(rng.integers(1, dims[axis] + 1))
        found = build.node(op, [build.operand(x), build.constant(np.array([k], np.int64))], 2, axis=axis,
                           largest=int(rng.integers(2)), sorted=1)
        return build.case(found, 0, 0)
    if op == "NonZero":
        build.constants = 0
        return done(build.node(op, [build.operand(values(rng, dims, one_of(rng, [np.bool_, np.int64]), -1, 2))]))
    if op == "Compress":
        build.constants = 0
        keep = rng.random(dims[axis]) < 0.6
        keep[int(rng.integers(dims[axis]))] = True
        return done(build.node(op, [build.operand(x), build.operand(keep)], axis=axis))
    if op == "EyeLike":
        x = values(rng, shape(rng, 2, high=7), np.float32)
        return done(build.node(op, [build.operand(x)], k=int(rng.integers(-3, 4)), dtype=onnx_type(dtype)))
    if op == "Range":
        kind = one_of(rng, [np.int64, np.int32, np.float32])
        start, step = int(rng.integers(-9, 9)), one_of(rng, [1, 2, 3, -1, -2])
        limit = start + step * int(rng.integers(1, 12))
        names = [build.constant(np.array(v, kind)) for v in (start, limit, step)]
        return done(build.node(op, names))
    if op == "ConstantOfShape":
        from onnx import numpy_helper
        value = numpy_helper.from_array(values(rng, (1,), dtype))
        filled = build.node(op, [build.constant(np.array(dims, np.int64))], value=value)
        return done(build.node("Where", [build.operand(values(rng, dims, np.bool_)), filled, build.operand(x)]))
    if op == "Shape":
        return done(build.node(op, [build.operand(x)], start=int(rng.integers(0, rank))))
    return done(build.node(op, [build.operand(x)]))
