"""Calls libcodl through ctypes: as much of codl/codl.h as a session needs. A test compares the structs with the
header.
"""
import ctypes
import glob
import os
import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy

from ._tools import HERE

Array: TypeAlias = numpy.ndarray[Any, numpy.dtype[Any]]
INVALID_ARGUMENT = 1  # a codl_status_t
MAX_RANK = 8
# CODL_FLOAT32 ...; bfloat16 has no numpy type and is shown as its 16 bits.
ALL_VARIANTS = ctypes.c_size_t(-1).value
DTYPES = {1: "f4", 2: "i8", 3: "?", 4: "i1", 5: "u1", 6: "i2", 7: "u2", 8: "i4", 9: "u4", 10: "u8", 11: "f8", 12: "f2", 13: "u2"}


class CodlError(RuntimeError):
    """The text of the tool or library that failed; exit_code is a tool's, or a codl_status_t."""

    exit_code: int

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class Diag(ctypes.Structure):
    _fields_ = [("message", ctypes.c_char * 256)]


class TensorInfo(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_int), ("rank", ctypes.c_int32),
                ("dims", ctypes.c_int64 * MAX_RANK), ("bytes", ctypes.c_size_t)]


class VariantInfo(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("needs_gpu", ctypes.c_int32), ("step_count", ctypes.c_size_t), ("predicted_us", ctypes.c_float)]


class Buffer(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]


class Shape(ctypes.Structure):
    _fields_ = [("rank", ctypes.c_int32), ("dims", ctypes.c_int64 * MAX_RANK)]


class SessionOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("variant", ctypes.c_char_p), ("thread_count", ctypes.c_int32),
                ("cpu_cores", ctypes.c_void_p), ("cpu_core_count", ctypes.c_size_t), ("gpu_cores", ctypes.c_void_p),
                ("gpu_core_count", ctypes.c_size_t), ("opencl_platform", ctypes.c_char_p), ("opencl_device", ctypes.c_char_p),
                ("require_variant", ctypes.c_int32), ("record_timeline", ctypes.c_int32), ("allocator", ctypes.c_void_p),
                ("program_cache", ctypes.c_void_p), ("log", ctypes.c_void_p), ("fallback", ctypes.c_int32),
                ("check_every", ctypes.c_int32), ("variants", ctypes.c_void_p), ("variant_count", ctypes.c_size_t),
                ("deadline_ms", ctypes.c_int32), ("seed", ctypes.c_uint64)]


class SessionInfo(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("variant", ctypes.c_char_p), ("fallback_reason", ctypes.c_char_p),
                ("opencl_platform", ctypes.c_char_p), ("opencl_device", ctypes.c_char_p), ("thread_count", ctypes.c_int32)]


def load_library(name: str) -> ctypes.CDLL:
    pattern = os.path.join(HERE, "install", "lib*", "**", name)
    found = glob.glob(pattern, recursive=True)
    if not found:
        raise ImportError(f"expected {pattern}, as a wheel has it (python/make_wheel.py makes one), found no such file")
    return ctypes.CDLL(found[0])


def open_library() -> ctypes.CDLL:
    library = load_library("libcodl.so.0")
    library.codl_version.restype = library.codl_status_text.restype = ctypes.c_char_p
    for name in ("codl_plan_input_count", "codl_plan_output_count", "codl_plan_state_count", "codl_plan_entry_count"):
        getattr(library, name).restype = ctypes.c_size_t
        getattr(library, name).argtypes = [ctypes.c_void_p]
    library.codl_plan_entry_variant_count.restype = ctypes.c_size_t
    library.codl_plan_entry_variant_count.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    for name in ("codl_plan_close", "codl_session_destroy"):
        getattr(library, name).restype = None
        getattr(library, name).argtypes = [ctypes.c_void_p]
    for name in ("codl_plan_entry_input", "codl_plan_entry_output"):
        getattr(library, name).argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.POINTER(TensorInfo)]
    library.codl_plan_state.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(TensorInfo)]
    library.codl_plan_entry_variant.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.POINTER(VariantInfo)]
    library.codl_session_set_shapes.argtypes = [ctypes.c_void_p, ctypes.POINTER(Shape), ctypes.c_size_t, ctypes.POINTER(Diag)]
    library.codl_plan_open_file.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p),
                                            ctypes.POINTER(Diag)]
    library.codl_session_create.argtypes = [ctypes.c_void_p, ctypes.POINTER(SessionOptions), ctypes.POINTER(ctypes.c_void_p),
                                            ctypes.POINTER(Diag)]
    library.codl_session_run.argtypes = [ctypes.c_void_p, ctypes.POINTER(Buffer), ctypes.c_size_t, ctypes.POINTER(Buffer),
                                         ctypes.c_size_t, ctypes.POINTER(Diag)]
    library.codl_session_get_info.argtypes = [ctypes.c_void_p, ctypes.POINTER(SessionInfo)]
    for name in ("codl_session_read_state", "codl_session_write_state"):
        getattr(library, name).argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(Diag)]
    library.codl_session_reset_states.argtypes = [ctypes.c_void_p, ctypes.POINTER(Diag)]
    library.codl_session_get_output_dims.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(ctypes.c_int64),
                                                     ctypes.c_size_t, ctypes.POINTER(ctypes.c_int32)]
    return library


def open_policy_library() -> ctypes.CDLL:
    library = load_library("libcodl_policy.so.0")
    library.codl_policy_create.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(Diag)]
    library.codl_policy_run.argtypes = LIBRARY.codl_session_run.argtypes
    library.codl_policy_destroy.restype = None
    library.codl_policy_destroy.argtypes = [ctypes.c_void_p]
    return library


LIBRARY = open_library()
POLICY_LIBRARY = open_policy_library()


def version() -> str:
    """Returns libcodl's version, "0.1.0"."""
    return str(LIBRARY.codl_version().decode())


def check(status: int, diag: Diag | None = None, where: str = "") -> None:
    if status != 0:
        text = diag.message.decode(errors="replace") if diag is not None else ""
        text = text or LIBRARY.codl_status_text(status).decode()
        raise CodlError(text if text.startswith(where) else where + text, status)


class Tensor:
    """Describes an input or output: name, shape (an output's largest) and numpy dtype."""

    def __init__(self, info: TensorInfo) -> None:
        self.name: str = info.name.decode(errors="surrogateescape")
        self.shape: tuple[int, ...] = tuple(info.dims[:info.rank])
        self.dtype: numpy.dtype[Any] = numpy.dtype(DTYPES[info.dtype])

    def __repr__(self) -> str:
        return f"{self.name}: {self.dtype}{list(self.shape)}"


class Session:
    """Keeps a plan ready to run, one run at a time. load() makes it.

    shapes: for each set of input shapes that the plan was made for, its inputs and outputs. inputs, outputs: those of the
    last run; before the first, those of the plan's first shapes.
    """

    _plan = _session = _policy = None  # for __del__, where __init__ did not begin

    def __init__(self, path: str, variant: str | None, threads: int, requires_variant: bool, adapts: bool, seed: int) -> None:
        self._plan, self._session, self._policy, diag = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p(), Diag()
        check(LIBRARY.codl_plan_open_file(os.fsencode(path), None, ctypes.byref(self._plan), ctypes.byref(diag)), diag, f"{path}: ")
        self.shapes = [(self._tensors(LIBRARY.codl_plan_input_count, LIBRARY.codl_plan_entry_input, entry),
                        self._tensors(LIBRARY.codl_plan_output_count, LIBRARY.codl_plan_entry_output, entry))
                       for entry in range(LIBRARY.codl_plan_entry_count(self._plan))]
        self.inputs, self.outputs = self.shapes[0]
        self.states = self._tensors(LIBRARY.codl_plan_state_count, LIBRARY.codl_plan_state)
        self._check_variant(path, variant, requires_variant)
        options = SessionOptions(struct_size=ctypes.sizeof(SessionOptions), variant=variant.encode() if variant is not None else None,
                                 thread_count=threads, require_variant=int(requires_variant), variant_count=ALL_VARIANTS if adapts else 0,
                                 seed=seed)
        check(LIBRARY.codl_session_create(self._plan, ctypes.byref(options), ctypes.byref(self._session), ctypes.byref(diag)),
              diag, f"{path}: ")
        info = self._info()
        if requires_variant and variant in (None, "coexec") and not info.opencl_device:
            raise CodlError(f"{path}: requires_variant: expected a variant with GPU steps, found {self.variant}, which has none",
                            INVALID_ARGUMENT)
        self._run, self._runner = LIBRARY.codl_session_run, self._session
        if adapts:
            check(POLICY_LIBRARY.codl_policy_create(self._session, ctypes.byref(self._policy), ctypes.byref(diag)), diag, f"{path}: ")
            self._run, self._runner = POLICY_LIBRARY.codl_policy_run, self._policy
        self.fallback_reason, self.device = (
            text.decode(errors="replace") for text in (info.fallback_reason, info.opencl_device))
        if variant is not None and self.fallback_reason:
            warnings.warn(f"{path}: variant {self.variant} runs, not {variant}: {self.fallback_reason}", stacklevel=3)

    def __del__(self) -> None:
        POLICY_LIBRARY.codl_policy_destroy(self._policy)
        LIBRARY.codl_session_destroy(self._session)
        LIBRARY.codl_plan_close(self._plan)

    def _check_variant(self, path: str, variant: str | None, requires_variant: bool) -> None:
        """Answers a variant that the plan lacks as the tools do."""
        names = self._variants()
        if variant is None or variant in names:
            return
        if variant != "coexec":
            raise CodlError(f"{path}: variant: expected {' or '.join(names)}, found {variant!r}", INVALID_ARGUMENT)
        if not requires_variant:  # its refusal says more
            warnings.warn(f"{path}: the plan has no variant coexec: its first, {names[0]}, runs", stacklevel=4)

    def _variants(self) -> list[str]:
        names = []
        for entry in range(len(self.shapes)):
            for index in range(LIBRARY.codl_plan_entry_variant_count(self._plan, entry)):
                info = VariantInfo()
                check(LIBRARY.codl_plan_entry_variant(self._plan, entry, index, ctypes.byref(info)))
                names.append(info.name.decode(errors="replace"))
        return list(dict.fromkeys(names))

    def _info(self) -> SessionInfo:
        info = SessionInfo(struct_size=ctypes.sizeof(SessionInfo))
        check(LIBRARY.codl_session_get_info(self._session, ctypes.byref(info)))
        return info

    @property
    def variant(self) -> str:
        """Names the variant that the last run used; before the first, the one to begin with."""
        return str(self._info().variant.decode(errors="replace"))

    def _tensors(self, count: Callable[..., int], get: Callable[..., int], *entry: int) -> list[Tensor]:
        tensors = []
        for index in range(count(self._plan)):
            info = TensorInfo()
            check(get(self._plan, *entry, index, ctypes.byref(info)))
            tensors.append(Tensor(info))
        return tensors

    def _take_shapes(self, arrays: Mapping[str, Array]) -> None:
        """Changes to the shapes of the arrays, if the plan has these."""
        shapes = [getattr(arrays.get(tensor.name), "shape", tensor.shape) for tensor in self.inputs]
        for inputs, outputs in self.shapes:
            if [tensor.shape for tensor in inputs] != shapes:
                continue
            dims, diag = (Shape * len(shapes))(*(Shape(len(shape), shape) for shape in shapes)), Diag()
            check(LIBRARY.codl_session_set_shapes(self._session, dims, len(shapes), ctypes.byref(diag)), diag)
            self.inputs, self.outputs = inputs, outputs
            return
        there_are = " or ".join(str(inputs) for inputs, _ in self.shapes)
        raise ValueError(f"expected inputs {there_are}, found {[list(shape) for shape in shapes]}")

    def run(self, inputs: Mapping[str, Array], outputs: Mapping[str, Array] | None = None) -> dict[str, Array]:
        """Runs the plan on inputs by name, and returns the outputs by name.

        A plan of several shapes runs at the shapes of the inputs; a ValueError says which there are.
        Contiguous arrays of the right type are read in place; others are copied, never converted to another type.
        outputs: arrays to write to, by name, for all or some; others are made. Raises TypeError, ValueError, CodlError.
        """
        given = {} if outputs is None else outputs
        for passed, what in ((inputs, "input"), (given, "output")):
            if not isinstance(passed, Mapping):
                name = getattr(self, what + "s")[0].name
                raise TypeError(f"expected a dict of arrays by the names of {what}s, like {{{name!r}: array}}, found {type(passed).__name__}")
            tensors = getattr(self, what + "s")
            unknown = set(passed) - {tensor.name for tensor in tensors}
            if unknown:
                raise ValueError(f"expected {what}s {tensors}, found {sorted(unknown)}")
        if len(self.shapes) > 1:
            self._take_shapes(inputs)
        arrays = [self._array(tensor, inputs.get(tensor.name)) for tensor in self.inputs]
        made = []
        for tensor in self.outputs:
            array = given.get(tensor.name)
            if array is None:
                array = numpy.empty(tensor.shape, tensor.dtype)
            elif self._array(tensor, array) is not array or not array.flags.writeable:
                raise ValueError(f"expected a contiguous array to write to as output {tensor.name}, found another")
            made.append(array)
        diag = Diag()
        check(self._run(self._runner, buffers(arrays), len(arrays), buffers(made), len(made), ctypes.byref(diag)), diag)
        return {tensor.name: self._found(index, array) for index, (tensor, array) in enumerate(zip(self.outputs, made))}

    def read_state(self, name: str) -> Array:
        """Returns an array of the state of this name, one of `states`: zeros at first, then as the last run left it."""
        index, tensor = self._state(name)
        array, diag = numpy.empty(tensor.shape, tensor.dtype), Diag()
        check(LIBRARY.codl_session_read_state(self._session, index, array.ctypes.data, array.nbytes, ctypes.byref(diag)), diag)
        return array

    def write_state(self, name: str, array: Array) -> None:
        """Makes the array the state that the next run begins with. Raises TypeError, ValueError, CodlError."""
        index, tensor = self._state(name)
        array, diag = self._array(tensor, array), Diag()
        check(LIBRARY.codl_session_write_state(self._session, index, array.ctypes.data, array.nbytes, ctypes.byref(diag)), diag)

    def reset_states(self) -> None:
        """Sets all states to zero."""
        diag = Diag()
        check(LIBRARY.codl_session_reset_states(self._session, ctypes.byref(diag)), diag)

    def _state(self, name: str) -> tuple[int, Tensor]:
        for index, tensor in enumerate(self.states):
            if tensor.name == name:
                return index, tensor
        raise ValueError(f"expected one of the states {self.states}, found {name!r}")

    @staticmethod
    def _array(tensor: Tensor, array: Array | None) -> Array:
        if array is None:
            raise ValueError(f"expected an array for {tensor}, found none")
        if not isinstance(array, numpy.ndarray) or array.dtype != tensor.dtype:
            raise TypeError(f"expected {tensor}, found {getattr(array, 'dtype', type(array).__name__)}")
        if array.shape != tensor.shape:
            raise ValueError(f"expected {tensor}, found {list(array.shape)}")
        return array if array.flags.c_contiguous and array.flags.aligned else numpy.require(array, requirements=["C", "A"])

    def _found(self, index: int, array: Array) -> Array:
        """Returns the part of an output that the last run made."""
        dims, rank = (ctypes.c_int64 * MAX_RANK)(), ctypes.c_int32()
        check(LIBRARY.codl_session_get_output_dims(self._session, index, dims, MAX_RANK, ctypes.byref(rank)))
        return array[tuple(slice(0, extent) for extent in dims[:rank.value])] if rank.value else array


def buffers(arrays: list[Array]) -> ctypes.Array[Buffer]:
    return (Buffer * len(arrays))(*(Buffer(array.ctypes.data, array.nbytes) for array in arrays))
