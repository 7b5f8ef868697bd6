"""Reads and writes .npy files and compares tensors with the standard library alone."""
import array
import ast
import math
import struct

_TYPES = {"<f4": "f", "<i8": "q"}


def read(path):
    """(dims, array) of a C-ordered little-endian float32 or int64 file."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:6] != b"\x93NUMPY":
        raise ValueError(f"{path}: expected a .npy file")
    # Version 1 has a 2-byte header length, 2 and 3 a 4-byte one.
    size, start = (struct.unpack_from("<H", data, 8)[0], 10) if data[6] == 1 else (
        struct.unpack_from("<I", data, 8)[0], 12)
    header = ast.literal_eval(data[start:start + size].decode("latin-1"))
    if header["fortran_order"]:
        raise ValueError(f"{path}: expected C order")
    values = array.array(_TYPES[header["descr"]])
    values.frombytes(data[start + size:])
    return tuple(header["shape"]), values


def write(path, dims, values):
    """float32, version 1."""
    text = repr({"descr": "<f4", "fortran_order": False, "shape": tuple(dims)})
    text += " " * (-(10 + len(text) + 1) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode("latin-1"))
        file.write(array.array("f", values).tobytes())


def relative_l2(found, expected):
    """|found - expected| / |expected|, Euclidean norms."""
    if len(found) != len(expected):
        return math.inf
    difference = math.fsum((a - b) ** 2 for a, b in zip(found, expected))
    norm = math.fsum(b * b for b in expected)
    return math.sqrt(difference / norm) if norm else (0.0 if not difference else math.inf)
