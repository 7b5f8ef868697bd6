"""Computes a case's expected outputs: ONNX's reference evaluator, with its known faults put right. ONNX Runtime
computes its own attention.

Each class below replaces one operator of the evaluator and says what is wrong with it there (onnx 1.23.2).
"""
import fractions
import warnings
from importlib.util import find_spec

import numpy as np
import onnx
import onnx.reference.ops.op_loop
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun



class LRN(OpRun):
    """The evaluator's loop over channels runs to the batch's size."""

    def _run(self, x, alpha=None, beta=None, bias=None, size=None):
        below, above = (size - 1) // 2, size - 1 - (size - 1) // 2
        squares = np.pad(x.astype(np.float64) ** 2, [(0, 0), (below, above)] + [(0, 0)] * (x.ndim - 2))
        total = sum(squares[:, i:i + x.shape[1]] for i in range(size))
        return ((x / (bias + alpha / size * total) ** beta).astype(x.dtype),)


class LpNormalization(OpRun):
    """The evaluator takes axis 0 for the default and leaves out the absolute value."""

    def _run(self, x, axis=None, p=None):
        norm = (np.abs(x.astype(np.float64)) ** p).sum(axis=axis, keepdims=True) ** (1 / p)
        return (np.where(norm == 0, 0, x / norm).astype(x.dtype),)


class GlobalMaxPool(OpRun):
    """The evaluator takes the maximum over two dims whatever the rank."""

    def _run(self, x):
        return (x.max(axis=tuple(range(2, x.ndim)), keepdims=True),)


class GlobalLpPool(OpRun):
    """The evaluator lacks it."""

    def _run(self, x, p=None):
        axes = tuple(range(2, x.ndim))
        power = (np.abs(x.astype(np.float64)) ** p).sum(axis=axes, keepdims=True)
        return ((power ** (1 / p)).astype(x.dtype),)


def pooled(x, reduce, auto_pad, ceil_mode, dilations, kernel_shape, pads, strides):
    """Returns reduce(elements [n, c, taps], taps counting padding) for each window of x [n, c, ...]."""
    space = x.ndim - 2
    dilations, strides = dilations or [1] * space, strides or [1] * space
    pads = [0] * (2 * space) if auto_pad == "VALID" or not pads else pads
    dims = []
    for i in range(space):
        extent = (kernel_shape[i] - 1) * dilations[i] + 1
        room = x.shape[2 + i] + pads[i] + pads[space + i] - extent
        count = (room + strides[i] - 1 if ceil_mode else room) // strides[i] + 1
        # A window that begins after the input and its first padding is left out.
        if ceil_mode and (count - 1) * strides[i] >= x.shape[2 + i] + pads[i]:
            count -= 1
        dims.append(count)
    y = np.zeros(x.shape[:2] + tuple(dims))
    for at in np.ndindex(*dims):
        taps = []
        for i in range(space):
            first = at[i] * strides[i] - pads[i]
            inside = [first + k * dilations[i] for k in range(kernel_shape[i])]
            taps.append([t for t in inside if 0 <= t < x.shape[2 + i]])
        window = x[np.ix_(range(x.shape[0]), range(x.shape[1]), *taps)].astype(np.float64)
        window = window.reshape(x.shape[:2] + (int(np.prod([len(t) for t in taps])),))
        y[(slice(None), slice(None)) + at] = reduce(window, np.prod(kernel_shape))
    return y.astype(x.dtype)


class MaxPool(OpRun):
    """The evaluator drops NaN, and runs beyond its output where a stride is larger than the window."""

    op_schema = onnx.defs.get_schema("MaxPool", 22)

    def _run(self, x, auto_pad=None, ceil_mode=None, dilations=None, kernel_shape=None, pads=None,
             storage_order=None, strides=None):
        def largest(window, _):
            return window.max(axis=2)
        return (pooled(x, largest, auto_pad, ceil_mode, dilations, kernel_shape, pads, strides),)


class ScatterElements(OpRun):
    """Replaces the evaluator's, whose max and min lose a NaN."""

    op_schema = onnx.defs.get_schema("ScatterElements", 18)

    def _run(self, data, indices, updates, axis=None, reduction=None):
        where = list(np.indices(indices.shape))
        where[axis] = indices % data.shape[axis]
        y = data.copy()
        join = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}.get(reduction)
        if join:
            join.at(y, tuple(where), updates)
        else:
            y[tuple(where)] = updates
        return (y,)


class Softsign(OpRun):
    """The evaluator takes no scalar."""

    def _run(self, x):
        return ((x / (1 + np.abs(x))).astype(x.dtype),)


class AveragePool(OpRun):
    """The evaluator leaves dilations out of the output's dims and of ceil_mode's windows."""

    op_schema = onnx.defs.get_schema("AveragePool", 22)

    def _run(self, x, auto_pad=None, ceil_mode=None, count_include_pad=None, dilations=None,
             kernel_shape=None, pads=None, strides=None):
        def mean(window, all_taps):
            return window.sum(axis=2) / (all_taps if count_include_pad else window.shape[2])
        return (pooled(x, mean, auto_pad, ceil_mode, dilations, kernel_shape, pads, strides),)


class LpPool(OpRun):
    """The evaluator runs beyond its output where a stride is larger than the window."""

    op_schema = onnx.defs.get_schema("LpPool", 22)

    def _run(self, x, auto_pad=None, ceil_mode=None, dilations=None, kernel_shape=None, p=None, pads=None,
             strides=None):
        def norm(window, _):
            return (np.abs(window) ** p).sum(axis=2) ** (1 / p)
        return (pooled(x, norm, auto_pad, ceil_mode, dilations, kernel_shape, pads, strides),)


class Flatten(OpRun):
    """The evaluator leaves a dim to NumPy, which cannot tell it where there are no elements."""

    def _run(self, x, axis=None):
        return (x.reshape(int(np.prod(x.shape[:axis])), int(np.prod(x.shape[axis:]))),)


class GatherElements(OpRun):
    """The evaluator takes no indices that are smaller than the data along other axes."""

    def _run(self, data, indices, axis=None):
        where = list(np.indices(indices.shape))
        where[axis] = indices % data.shape[axis]
        return (data[tuple(where)],)


class OneHot(OpRun):
    """The evaluator computes off + hit * (on - off), which rounds, and which bool does not have."""

    def _run(self, indices, depth, off_on, axis=None):
        depth = int(np.asarray(depth).reshape(-1)[0])
        rank = np.ndim(indices) + 1
        axis = axis % rank
        hits = np.expand_dims(np.asarray(indices).astype(np.int64) % depth, axis)
        line = np.arange(depth).reshape([depth if i == axis else 1 for i in range(rank)])
        return (np.where(hits == line, off_on[1], off_on[0]).astype(off_on.dtype),)


class Pad(OpRun):
    """The evaluator does not cut where pads are negative."""

    def _run(self, data, pads, constant_value=None, axes=None, mode=None):
        axes = list(range(data.ndim)) if axes is None else [int(a) % data.ndim for a in axes]
        widths, cut = [(0, 0)] * data.ndim, [slice(None)] * data.ndim
        for i, a in enumerate(axes):
            begin, end = int(pads[i]), int(pads[len(axes) + i])
            widths[a] = (max(begin, 0), max(end, 0))
            cut[a] = slice(max(-begin, 0), data.shape[a] - max(-end, 0))
        if mode == "constant":
            value = 0 if constant_value is None else np.asarray(constant_value).reshape(-1)[0]
            return (np.pad(data[tuple(cut)], widths, mode="constant", constant_values=value).astype(data.dtype),)
        return (np.pad(data[tuple(cut)], widths, mode=mode),)


class Sum(OpRun):
    """The evaluator adds into the first operand, which does not broadcast."""

    def _run(self, *operands):
        total = operands[0]
        for operand in operands[1:]:
            total = total + operand
        return (np.asarray(total),)


class Mean(OpRun):
    """The evaluator does the same."""

    def _run(self, *operands):
        total = operands[0]
        for operand in operands[1:]:
            total = total + operand
        return (np.asarray(total / len(operands)).astype(operands[0].dtype),)


class ConvTranspose(OpRun):
    """The evaluator takes the wrong weights and bias of groups, and no padding where output_shape is given."""

    def _run(self, x, w, b=None, auto_pad=None, dilations=None, group=None, kernel_shape=None,
             output_padding=None, output_shape=None, pads=None, strides=None):
        space = x.ndim - 2
        dilations, strides = dilations or [1] * space, strides or [1] * space
        added, pads = output_padding or [0] * space, pads or [0] * (2 * space)
        full = [(x.shape[2 + i] - 1) * strides[i] + (w.shape[2 + i] - 1) * dilations[i] + 1 for i in range(space)]
        if output_shape is None and auto_pad in ("SAME_UPPER", "SAME_LOWER"):
            output_shape = [x.shape[2 + i] * strides[i] for i in range(space)]
        if output_shape is None:
            begins = pads[:space]
            output_shape = [full[i] + added[i] - pads[i] - pads[space + i] for i in range(space)]
        else:
            totals = [full[i] + added[i] - output_shape[i] for i in range(space)]
            begins = [t // 2 if auto_pad == "SAME_UPPER" else t - t // 2 for t in totals]
        each = w.shape[1]
        # Leaves room for elements outside the output on either side.
        canvas = np.zeros((x.shape[0], group * each, *(f + o + abs(b) for f, o, b in zip(full, output_shape, begins))))
        for at in np.ndindex(*w.shape[2:]):
            where = tuple(slice(t * d, t * d + (n - 1) * s + 1, s)
                          for t, d, n, s in zip(at, dilations, x.shape[2:], strides))
            for g in range(group):
                rows = slice(g * (x.shape[1] // group), (g + 1) * (x.shape[1] // group))
                taps = w[(rows, slice(None)) + at].astype(np.float64)
                canvas[(slice(None), slice(g * each, (g + 1) * each)) + where] += np.einsum(
                    "nc...,cm->nm...", x[:, rows].astype(np.float64), taps)
        for axis, (begin, size) in enumerate(zip(begins, output_shape)):
            canvas = np.take(canvas, range(begin, begin + size), axis=2 + axis)
        if b is not None:
            canvas = canvas + b.reshape(-1, *[1] * space)
        return (canvas.astype(x.dtype),)


# ---- Resize: the rule of kernels/resize/resize.h, which names its source. The evaluator divides by the scale in
# float64, stretches align_corners over a fraction of an element, rounds integers differently (below), takes -0.5 for 0
# in pytorch_half_pixel, and knows neither tf_half_pixel_for_nn nor versions below 11. ----

def near_half(points):
    half = np.floor(points) + np.float32(0.5)
    return np.where(np.abs(points - half) <= 1e-6, half, points)


def resize_points(coordinates, scale, size, length, roi):
    """Returns the positions of all of `length` outputs in `size` elements. scale: an np.float32; None: the quotient
    of the two.
    """
    f32 = np.float32
    o = np.arange(length)
    last, span = f32(size - 1), f32(length - 1)
    if coordinates == "align_corners":
        return o * (size - 1) / (length - 1) if length > 1 else np.zeros(1)
    if coordinates == "tf_crop_and_resize":
        begin, end = roi
        if length == 1:
            return np.array([f32(0.5 * (np.float64(begin) + np.float64(end)) * last)])
        return near_half(begin * last + o.astype(f32) * (end - begin) * last / span)
    if coordinates == "pytorch_half_pixel" and length == 1:
        return np.zeros(1)
    if scale is None:
        if coordinates == "asymmetric":
            return o * size / length
        return (2 * o + 1) * size / (2 * length) - (0 if coordinates == "tf_half_pixel_for_nn" else 0.5)
    if coordinates == "asymmetric":
        return near_half(o.astype(f32) / scale)
    if coordinates == "half_pixel_symmetric":
        offset = f32(size) / f32(2) * (f32(1) - f32(length) / (scale * f32(size)))
        return near_half((np.float64(offset) + (o + 0.5) / np.float64(scale) - 0.5).astype(f32))
    center = (o.astype(f32) + f32(0.5)) / scale
    return near_half(center if coordinates == "tf_half_pixel_for_nn" else center - f32(0.5))


def nearest_of(points, rounding):
    floor = np.floor(points)
    rest = points - floor
    return (floor + {"round_prefer_floor": rest > 0.5, "round_prefer_ceil": rest >= 0.5, "floor": False,
                     "ceil": rest > 0}[rounding]).astype(np.int64)


def keys_cubic(x, a):
    x = np.abs(x)
    inner = ((a + 2) * x - (a + 3)) * x * x + 1
    return np.where(x <= 1, inner, np.where(x < 2, ((a * x - 5 * a) * x + 8 * a) * x - 4 * a, 0))


def resize_weights(points, size, kernel, stretch, exclude_outside):
    """Returns a row of weights of the `size` elements for each point; stretch: of the kernel, at most 1."""
    reach = int(np.ceil(2 / stretch)) + 2
    weights = np.zeros((len(points), size))
    for row, point in zip(weights, np.asarray(points, np.float64)):
        elements = np.arange(int(np.floor(point)) - reach, int(np.floor(point)) + reach + 1)
        parts = kernel((elements - point) * stretch)
        if exclude_outside:
            parts = np.where((elements >= 0) & (elements < size), parts, 0)
        total = parts.sum()
        np.add.at(row, np.clip(elements, 0, size - 1), parts / (total if total else 1))
    return weights


def whole_numbers(y, dtype, is_rounded):
    """Returns float64 as the integers that codl stores: through float32, as in ONNX Runtime."""
    y = y.astype(np.float32)
    y = np.trunc(y + np.float32(0.5) * np.sign(y) if is_rounded else y).astype(np.float64)
    bounds = np.iinfo(dtype)
    return np.clip(y, bounds.min, bounds.max).astype(dtype)


def resized(x, scales, sizes, mode, coordinates, rounding, roi=None, a=-0.75, antialias=False, exclude_outside=False,
            extrapolation=0.0):
    """`scales` and `sizes` have all axes; a scale is None for a quotient. `rounding` is that of an axis's scale."""
    is_integer = x.dtype.kind in "iub"
    if list(sizes) == list(x.shape) and coordinates != "tf_crop_and_resize":
        return x
    y = x if mode == "nearest" else x.astype(np.float64)
    outside = np.zeros(sizes, bool)
    for axis in range(x.ndim - 1, -1, -1):
        size, length, scale = x.shape[axis], sizes[axis], scales[axis]
        bounds = (roi[axis], roi[x.ndim + axis]) if roi is not None else (np.float32(0), np.float32(1))
        is_kept = size == length and (scale in (None, 1) or antialias)
        if is_kept and (coordinates != "tf_crop_and_resize" or bounds == (0, 1)):
            continue
        points = resize_points(coordinates, scale, size, length, bounds)
        if coordinates == "tf_crop_and_resize":
            line = (points < 0) | (points > size - 1)
            outside |= line.reshape([length if i == axis else 1 for i in range(x.ndim)])
        if mode == "nearest":
            y = np.take(y, np.clip(nearest_of(points, rounding(scale)), 0, size - 1), axis=axis)
            continue
        ratio = length / size if scale is None else np.float64(scale)
        weights = resize_weights(points, size,
                                 (lambda d: keys_cubic(d, a)) if mode == "cubic" else
                                 (lambda d: np.maximum(1 - np.abs(d), 0)),
                                 min(ratio, 1) if antialias else 1, exclude_outside)
        y = np.moveaxis(np.tensordot(weights, y, (1, axis)), 0, axis)
        if antialias and is_integer:  # image libraries and ONNX Runtime have integers between the axes
            y = whole_numbers(y, x.dtype, True).astype(np.float64)
    value = np.float64(np.float32(extrapolation))
    if is_integer:
        value = whole_numbers(np.array(value), x.dtype, antialias or mode == "cubic") if x.dtype != bool else value != 0
        if mode != "nearest":
            y = whole_numbers(y, x.dtype, mode == "cubic")  # ONNX Runtime cuts linear and has no cubic
    return np.where(outside, value, y).astype(x.dtype)


class Resize(OpRun):
    def _run(self, x, *operands, **_):
        def attribute(name, default):
            value = getattr(self, name, None)
            return default if value is None else value

        mode = attribute("mode", "nearest")
        if len(operands) == 1:  # version 10
            scales = [np.float32(s) for s in operands[0]]
            sizes = [int(np.float32(d) * s) for d, s in zip(x.shape, scales)]
            return (resized(x, scales, sizes, mode, "asymmetric", lambda s: "ceil" if s < 1 else "floor"),)
        roi, scales, sizes = (tuple(operands) + (None, None))[:3]
        axes = [a % x.ndim for a in attribute("axes", range(x.ndim))]
        factors, lengths = [np.float32(1)] * x.ndim, list(x.shape)
        policy = attribute("keep_aspect_ratio_policy", "stretch")
        if sizes is None or len(sizes) == 0:
            for axis, scale in zip(axes, scales):
                factors[axis] = np.float32(scale)
                lengths[axis] = int(np.float32(x.shape[axis]) * factors[axis])
        elif policy == "stretch":
            for axis, size in zip(axes, sizes):
                factors[axis], lengths[axis] = None, int(size)
        else:
            pick = min if policy == "not_larger" else max
            common = pick(fractions.Fraction(int(size), x.shape[axis]) for axis, size in zip(axes, sizes))
            for axis in axes:
                exact = common * x.shape[axis]
                lengths[axis] = int(exact + fractions.Fraction(1, 2))
                factors[axis] = None if exact == lengths[axis] else np.float32(float(common))
        bounds = None
        if attribute("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize":
            bounds = [np.float32(0)] * x.ndim + [np.float32(1)] * x.ndim
            for i, axis in enumerate(axes):
                bounds[axis], bounds[x.ndim + axis] = np.float32(roi[i]), np.float32(roi[len(axes) + i])
        return (resized(x, factors, lengths, mode, attribute("coordinate_transformation_mode", "half_pixel"),
                        lambda _: attribute("nearest_mode", "round_prefer_floor"), bounds,
                        np.float64(np.float32(attribute("cubic_coeff_a", -0.75))), bool(attribute("antialias", 0)),
                        bool(attribute("exclude_outside", 0)), attribute("extrapolation_value", 0.0)),)


class Upsample(OpRun):
    """The evaluator takes only whole scales."""

    def _run(self, x, scales=None, **_):
        scales = [np.float32(s) for s in (self.scales if scales is None else scales)]
        sizes = [int(np.float32(d) * s) for d, s in zip(x.shape, scales)]
        return (resized(x, scales, sizes, getattr(self, "mode", "nearest"), "asymmetric", lambda _: "floor"),)


class SequenceInsert(OpRun):
    """The evaluator takes the position modulo the length: the end becomes the front."""

    def _run(self, sequence, tensor, position=None):
        result = list(sequence)
        result.insert(len(result) if position is None else int(np.asarray(position).reshape(-1)[0]), tensor)
        return (result,)


ABSENT = {}  # an optional without an element, because the evaluator's results cannot be None


class Optional(OpRun):
    """The evaluator gives a list of the element, so that an absent one has an element, None."""

    def _run(self, x=None, type=None):
        return (ABSENT if x is None else x,)


class OptionalHasElement(OpRun):
    """It fits Optional above."""

    def _run(self, x=None):
        return (np.array(x is not None and x is not ABSENT),)


class Loop(onnx.reference.ops.op_loop.Loop):
    """The evaluator joins scan outputs along their first dim, not along a new one; without a trip it fails."""

    def _run(self, trips, go, *carried, context=None, body=None, attributes=None):
        names = self.body.input_names
        carried, scans = list(carried), [[] for _ in range(len(self.body.output_names) - 1 - len(carried))]

        def run(trip):
            feeds = dict(context or {})
            feeds.update(zip(names, [np.array(trip, np.int64), np.array(True)] + carried))
            return self.body.run(None, feeds, attributes=attributes)

        trip = 0
        go = go is None or bool(np.asarray(go).reshape(-1)[0])
        while go and (trips is None or trip < int(np.asarray(trips).reshape(-1)[0])):
            results = run(trip)
            go = bool(np.asarray(results[0]).reshape(-1)[0])
            for scan, row in zip(scans, results[1 + len(carried):]):
                scan.append(np.asarray(row))
            carried = results[1:1 + len(carried)]
            trip += 1
        if trip == 0 and scans:  # one trip that nothing reads gives the dims
            rows = run(0)[1 + len(carried):]
            return tuple(carried + [np.asarray(row)[None][:0] for row in rows])
        return tuple(list(carried) + [np.stack(scan) for scan in scans])


class Scan(OpRun):
    """The evaluator knows only axis 0 and direction 0."""

    def _run(self, *operands, **_):
        count = self.num_scan_inputs
        carried, rows = list(operands[:-count]), operands[-count:]
        results = len(self.body.output_names) - len(carried)

        def of(name, number):
            return list(getattr(self, name, None) or [0] * number)

        axes, backwards = of("scan_input_axes", count), of("scan_input_directions", count)
        length = rows[0].shape[axes[0]]
        scans = [[] for _ in range(results)]
        for trip in range(length):
            slices = [np.take(x, length - 1 - trip if back else trip, axis=axis)
                      for x, axis, back in zip(rows, axes, backwards)]
            found = self.body.run(None, dict(zip(self.body.input_names, carried + slices)))
            carried = list(found[:len(carried)])
            for scan, back, row in zip(scans, of("scan_output_directions", results), found[len(carried):]):
                scan.insert(0 if back else len(scan), row)
        return tuple(carried + [np.stack(scan, axis=axis)
                                for scan, axis in zip(scans, of("scan_output_axes", results))])


# ---- com.microsoft: the evaluator lacks it; these are formulas of ONNX Runtime's ContribOperators.md ----

def computed(op, operands, **attributes):
    """Returns the first output of an ONNX operator, by the evaluator."""
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(operands)]
    infos = [onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
             for name, x in zip(names, operands) if name]
    graph = onnx.helper.make_graph([onnx.helper.make_node(op, names, ["y"], **attributes)], op, infos,
                                   [onnx.helper.make_empty_tensor_value_info("y")])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 22)], ir_version=10)
    return ReferenceEvaluator(model).run(None, {n: x for n, x in zip(names, operands) if n})[0]


class Contrib(OpRun):
    op_domain = "com.microsoft"

    def attribute(self, name, default):
        value = getattr(self, name, None)
        return default if value is None else value

    def all_of(self, *names):
        found = {name: getattr(self, name, None) for name in names}
        return {name: value for name, value in found.items() if value is not None}


def activated(y, name, parameters):
    """parameters: keyed by the attribute's name; Clip's bounds are operands."""
    if name == "Clip":
        return np.clip(y, parameters[0], parameters[1]).astype(y.dtype)
    return computed(name, [y], **parameters)


class FusedConv(Contrib):
    def _run(self, x, w, b=None, z=None, **_):
        y = computed("Conv", [x, w, b], **self.all_of("auto_pad", "dilations", "group", "kernel_shape", "pads",
                                                      "strides"))
        y = y if z is None else y + z
        given = list(self.attribute("activation_params", []))
        names = {"LeakyRelu": ["alpha"], "HardSigmoid": ["alpha", "beta"]}.get(self.activation)
        return (activated(y, self.activation, dict(zip(names, given)) if names else given or {}),)


class FusedGemm(Contrib):
    def _run(self, a, b, c=None, **_):
        y = computed("Gemm", [a, b, c], **self.all_of("alpha", "beta", "transA", "transB"))
        given = {name: getattr(self, "activation_" + name, None) for name in ("alpha", "beta", "gamma")}
        return (activated(y, self.activation, {name: v for name, v in given.items() if v is not None}),)


class FusedMatMul(Contrib):
    def _run(self, a, b, **_):
        for side in "AB":
            x = a if side == "A" else b
            perm = list(range(x.ndim))
            if x.ndim > 1 and self.attribute("transBatch" + side, 0):
                perm = perm[1:-1] + [0, x.ndim - 1]
            if x.ndim > 1 and self.attribute("trans" + side, 0):
                perm[-2:] = perm[:-3:-1]
            a, b = (x.transpose(perm), b) if side == "A" else (a, x.transpose(perm))
        return ((a @ b * np.float32(self.attribute("alpha", 1.0))).astype(a.dtype),)


class TransposeMatMul(FusedMatMul):
    pass


class MatMulNBits(Contrib):
    def _run(self, a, b, scales, zeros=None, g_idx=None, bias=None, **_):
        n, blocks = b.shape[:2]

        def integers(rows, count):
            """Takes each row's first `count` integers; the lowest bits of a byte come first."""
            parts = [rows >> shift & (1 << self.bits) - 1 for shift in range(0, 8, self.bits)]
            return np.stack(parts, axis=-1).reshape(n, -1)[:, :count].astype(np.float32)

        zeros = 1 << self.bits - 1 if zeros is None else integers(zeros.reshape(n, -1), blocks)[..., None]
        w = integers(b.reshape(n, -1), blocks * self.block_size).reshape(n, blocks, -1) - np.float32(zeros)
        w = (w * scales.reshape(n, blocks, 1)).reshape(n, -1)[:, :self.K]
        y = a @ w.T
        return (y if bias is None else y + bias,)


class Gelu(Contrib):
    kind = "none"

    def _run(self, x, bias=None, **_):
        return (computed("Gelu", [x if bias is None else x + bias], approximate=self.kind),)


class BiasGelu(Gelu):
    pass


class FastGelu(Gelu):
    kind = "tanh"


class QuickGelu(Contrib):
    def _run(self, x, **_):
        return ((x / (1 + np.exp(-self.attribute("alpha", 1.702) * x.astype(np.float64)))).astype(x.dtype),)


class SkipLayerNormalization(Contrib):
    def _run(self, x, skip, gamma, beta=None, bias=None, **_):
        total = x + skip + (0 if bias is None else bias)
        wide = total.astype(np.float64)
        mean = wide.mean(axis=-1, keepdims=True)
        inverse = 1 / np.sqrt(wide.var(axis=-1, keepdims=True) + self.attribute("epsilon", 1e-12))
        y = (wide - mean) * inverse * gamma + (0 if beta is None else beta)
        return tuple(part.astype(x.dtype) for part in (y, mean, inverse, total))


class SkipSimplifiedLayerNormalization(Contrib):
    def _run(self, x, skip, gamma, bias=None, **_):
        total = x + skip + (0 if bias is None else bias)
        wide = total.astype(np.float64)
        inverse = 1 / np.sqrt((wide * wide).mean(axis=-1, keepdims=True) + self.attribute("epsilon", 1e-12))
        return tuple(part.astype(x.dtype) for part in (wide * inverse * gamma, inverse, inverse, total))


class BiasSoftmax(Contrib):
    def _run(self, x, bias, **_):
        return (computed("Softmax", [x + bias], axis=-1),)


class BiasAdd(Contrib):
    def _run(self, x, bias, skip, **_):
        return (x + bias + skip,)


class BiasSplitGelu(Contrib):
    def _run(self, x, bias, **_):
        left, right = np.split(x + bias, 2, axis=-1)
        return (left * computed("Gelu", [right]),)


class GroupNorm(Contrib):
    def normalized(self, x, gamma, beta):
        is_last = self.attribute("channels_last", 1)
        first = np.moveaxis(x, -1, 1) if is_last else x
        y = computed("GroupNormalization", [np.ascontiguousarray(first), gamma, beta], num_groups=self.groups,
                     epsilon=self.attribute("epsilon", 1e-5))
        y = y / (1 + np.exp(-y)) if self.activation else y
        return (np.moveaxis(y, 1, -1) if is_last else y).astype(x.dtype)

    def _run(self, x, gamma, beta, **_):
        return (self.normalized(x, gamma, beta),)


class SkipGroupNorm(GroupNorm):
    def _run(self, x, gamma, beta, skip, bias=None, **_):
        place = (slice(None), None, None) if self.attribute("channels_last", 1) else (slice(None), slice(None), None, None)
        total = x + (skip[place] if skip.ndim == 2 else skip)
        if bias is not None:
            total = total + bias[None][place]
        return self.normalized(total, gamma, beta), total


class NhwcFusedConv(FusedConv):
    weights_are_last = False

    def _run(self, x, w, b=None, z=None, **_):
        first = np.ascontiguousarray(np.moveaxis(x, -1, 1))
        w = np.ascontiguousarray(np.moveaxis(w, -1, 1)) if self.weights_are_last else w
        y = computed("Conv", [first, w, b], **self.all_of("auto_pad", "dilations", "group", "kernel_shape", "pads",
                                                          "strides"))
        y = np.moveaxis(y, 1, -1)
        y = y if z is None else y + z
        name = self.attribute("activation", None)
        return (activated(y, name, {}) if name else y,)


class NhwcConv(NhwcFusedConv):
    weights_are_last = True


# These functions replace the evaluator's operators.
REPLACED = [kind for kind in list(globals().values())
            if isinstance(kind, type) and issubclass(kind, OpRun) and kind not in (OpRun, Contrib)]


class Missing(Exception):
    """Says that a case needs ONNX Runtime, which is not here."""


# ONNX Runtime computes cases that have one of these of com.microsoft.
ONNX_RUNTIME = {"Attention", "EmbedLayerNormalization", "GatherBlockQuantized", "GroupQueryAttention",
                "MultiHeadAttention", "RotaryEmbedding"}


def by_onnx_runtime(model, inputs):
    if find_spec("onnxruntime") is None:
        raise Missing
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


def evaluated(model, inputs):
    if any(node.domain == "com.microsoft" and node.op_type in ONNX_RUNTIME for node in model.graph.node):
        return by_onnx_runtime(model, inputs)
    return ReferenceEvaluator(model, new_ops=REPLACED).run(None, inputs)


def output_types(model):
    """Returns the element types that ONNX's type inference finds for the outputs; 0 if it finds none."""
    inferred = onnx.shape_inference.infer_shapes(model)
    return [output.type.tensor_type.elem_type for output in inferred.graph.output]


def wanted(model, inputs):
    """Returns arrays of the graph's outputs, in order. Declares the outputs' types in the model if it does not."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = evaluated(model, inputs)
        arrays = []
        for array, elem_type, output in zip(found, output_types(model), model.graph.output):
            array = np.asarray(array)
            # The evaluator leaves results in the type that NumPy promotes to (int64 for an int32 CumSum).
            if elem_type:
                array = array.astype(onnx.helper.tensor_dtype_to_np_dtype(elem_type), copy=False)
            arrays.append(array)
            if not output.type.tensor_type.elem_type:
                output.type.tensor_type.elem_type = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
    return arrays
