"""Reads and writes .npy files and compares tensors with the standard library alone."""
import array
import ast
import math
import struct

_TYPES = {"<f4": "f", "<i8": "q", "<f8": "d", "|b1": "B", "|u1": "B", "|i1": "b", "<u2": "H",
          "<i2": "h", "<u4": "I", "<i4": "i", "<u8": "Q", "<f2": "e", "|V2": "H"}


def read(path):
    """Returns (dims, array) of a C-ordered little-endian file; halves as a list of numbers."""
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
    return tuple(header["shape"]), _from_bytes(header["descr"], data[start + size:])


def _from_bytes(descr, data):
    if descr == "<f2":  # array has no halves
        return list(struct.unpack(f"<{len(data) // 2}e", data))
    values = array.array(_TYPES[descr])
    values.frombytes(data)
    return values


def _to_bytes(descr, values):
    if descr == "<f2":
        return struct.pack(f"<{len(values)}e", *values)
    return array.array(_TYPES[descr], values).tobytes()


def descr_of(path):
    with open(path, "rb") as file:
        return ast.literal_eval(file.read(128)[10:].decode("latin-1").rstrip())["descr"]


def write(path, dims, values, descr="<f4"):
    """Writes version 1."""
    text = repr({"descr": descr, "fortran_order": False, "shape": tuple(dims)})
    text += " " * (-(10 + len(text) + 1) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode("latin-1"))
        file.write(_to_bytes(descr, values))


def relative_l2(found, expected):
    """Returns |found - expected| / |expected|, Euclidean norms."""
    if len(found) != len(expected):
        return math.inf
    difference = math.fsum((a - b) ** 2 for a, b in zip(found, expected))
    norm = math.fsum(b * b for b in expected)
    return math.sqrt(difference / norm) if norm else (0.0 if not difference else math.inf)
