"""A case: a model, its inputs and how close its outputs must be; and what draws them.

A family is a module of families/ with a function draw(rng) -> Case. It draws small models of one kind of
operator from a numpy Generator: all its attributes, forms and types, odd shapes, special values. What it does
not draw although ONNX has it stands in the module with its reason.
"""
import dataclasses

import numpy as np
from onnx import TensorProto, helper, numpy_helper

OPSET = 22  # the newest that the pinned evaluator and codl know alike

FLOATS = (np.float32, np.float16, np.float64)
SIGNED = (np.int8, np.int16, np.int32, np.int64)
UNSIGNED = (np.uint8, np.uint16, np.uint32, np.uint64)
INTEGERS = SIGNED + UNSIGNED
ALL_TYPES = FLOATS + INTEGERS + (np.bool_,)

# Allows float32 arithmetic in another order: a few units in the last place of the largest term.
RTOL, ATOL = 1e-5, 1e-6


@dataclasses.dataclass
class Case:
    model: object  # onnx.ModelProto
    inputs: dict  # name -> array, of the graph's inputs in their order
    rtol: float = RTOL
    atol: float = ATOL


def tolerance_of(dtype, terms=1, scale=1.0):
    """(rtol, atol) of results in `dtype` that are sums of `terms` products of numbers up to `scale`.

    codl computes every float type in float32 and rounds once, ONNX's evaluator rounds each step: in halves that is
    2^-11 a step. A sum of n terms is off by at most n units of its largest partial sum; drawn values are random,
    so that the square root of n with room for eight times as much holds.
    """
    unit = 2.0 ** -10 if dtype == np.float16 else 2.0 ** -22
    room = 8 * np.sqrt(terms)
    return max(RTOL, 4 * unit), room * unit * scale


def one_of(rng, choices):
    return choices[int(rng.integers(len(choices)))]


def chance(rng, probability):
    return bool(rng.random() < probability)


def shape(rng, rank, low=1, high=9):
    """Returns odd and even extents around the sizes of vectors and panels; now and then a large one."""
    dims = [int(rng.integers(low, high + 1)) for _ in range(rank)]
    if rank and chance(rng, 0.15):
        dims[int(rng.integers(rank))] = one_of(rng, [16, 17, 31, 33, 65])
    return tuple(dims)


def values(rng, dims, dtype=np.float32, low=-4, high=4, special=()):
    """Returns an array of `dtype`: uniform in [low, high), or integers there, with each of `special` at a few
    places.
    """
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        return rng.random(dims) < 0.5
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        low, high = max(int(np.floor(low)), bounds.min), min(int(high), bounds.max)
        array = rng.integers(low, max(high, low + 1), size=dims).astype(dtype)
    else:
        array = rng.uniform(low, high, size=dims).astype(dtype)
    array = np.asarray(array)
    flat = array.reshape(-1)
    for value in special:
        if flat.size:
            flat[rng.integers(flat.size, size=max(1, flat.size // 16))] = value
    return flat.reshape(dims)


def onnx_type(dtype):
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


class Build:
    """Puts a model together: values that are inputs or constants, nodes, outputs.

    constants: the share of operands that become initializers, drawn once a model. 1 makes a graph that folds away.
    """

    def __init__(self, rng, opset=OPSET, constants=None):
        self.rng = rng
        self.opset = opset
        self.constants = one_of(rng, [0, 0, 0.3, 1]) if constants is None else constants
        self.nodes, self.infos, self.initializers = [], [], []
        self.inputs = {}
        self.domains = set()
        self.count = 0

    def name(self, stem="v"):
        self.count += 1
        return f"{stem}{self.count}"

    def operand(self, array):
        """Returns the name of an input or constant that holds the array."""
        if chance(self.rng, self.constants):
            return self.constant(array)
        name = self.name("x")
        self.infos.append(helper.make_tensor_value_info(name, onnx_type(array.dtype), array.shape))
        self.inputs[name] = np.ascontiguousarray(array).reshape(array.shape)
        return name

    def constant(self, array):
        name = self.name("c")
        self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, op, operands, outputs=1, domain="", **attributes):
        """Returns the names of the outputs, or the single name."""
        names = [self.name("y") for _ in range(outputs)]
        attributes = {key: value for key, value in attributes.items() if value is not None}
        self.nodes.append(helper.make_node(op, list(operands), names, domain=domain, **attributes))
        if domain:
            self.domains.add(domain)
        return names[0] if outputs == 1 else names

    def case(self, outputs, rtol=RTOL, atol=ATOL):
        """outputs: names. The importer finds their types, because exporters sometimes omit them."""
        infos = [helper.make_empty_tensor_value_info(name) for name in outputs]
        graph = helper.make_graph(self.nodes, "case", self.infos, infos, self.initializers)
        imports = [helper.make_opsetid("", self.opset)]
        imports += [helper.make_opsetid(domain, 1) for domain in sorted(self.domains)]
        model = helper.make_model(graph, opset_imports=imports, ir_version=10)
        return Case(model, self.inputs, rtol, atol)


__all__ = [name for name in dir() if not name.startswith("_") and name not in ("dataclasses",)]
