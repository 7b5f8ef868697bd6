"""Writes small ONNX files with just enough protobuf, for tests of codlc's messages about bad models."""


def _varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _field(number, value):
    """Returns a field of a message: int -> varint, str and bytes -> length-delimited."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


# TensorProto.DataType
FLOAT, UINT8, INT8, INT32, INT64, BOOL, FLOAT16, DOUBLE, BFLOAT16 = 1, 2, 3, 6, 7, 9, 10, 11, 16


def value_info(name, dims, elem_type=FLOAT):
    """Returns a value's declaration; a dim that is a string is symbolic."""
    shape = b"".join(
        _field(1, _field(2, dim) if isinstance(dim, str) else _field(1, dim)) for dim in dims)
    return _field(1, name) + _field(2, _field(1, _field(1, elem_type) + _field(2, shape)))


def node(op, inputs, outputs, name, bodies=None, numbers=None):
    """`bodies` holds graph(), `numbers` integers, keyed by attribute."""
    attributes = b"".join(_field(5, _field(1, key) + _field(6, body) + _field(20, 5))
                          for key, body in (bodies or {}).items())
    attributes += b"".join(_field(5, _field(1, key) + _field(3, number) + _field(20, 2))
                           for key, number in (numbers or {}).items())
    return (b"".join(_field(1, i) for i in inputs) + b"".join(_field(2, o) for o in outputs) +
            _field(3, name) + _field(4, op) + attributes)


def external_tensor(name, dims, location, elem_type=FLOAT):
    """Returns an initializer whose elements are the file `location` of the model's folder."""
    return (b"".join(_field(1, dim) for dim in dims) + _field(2, elem_type) + _field(8, name) +
            _field(13, _field(1, "location") + _field(2, location)) + _field(14, 1))


def tensor(name, dims, elem_type, data):
    """Returns an initializer with the bytes of its elements, little endian."""
    return (b"".join(_field(1, dim) for dim in dims) + _field(2, elem_type) + _field(8, name) + _field(9, data))


def uint8_tensor(name, dims, elements):
    """Returns an initializer whose elements, all below 128, take a byte each in the file."""
    return (b"".join(_field(1, dim) for dim in dims) + _field(2, UINT8) + _field(5, elements) + _field(8, name))


def graph(nodes, inputs, outputs, initializers=()):
    return (b"".join(_field(1, n) for n in nodes) + _field(2, "graph") +
            b"".join(_field(5, i) for i in initializers) +
            b"".join(_field(11, i) for i in inputs) + b"".join(_field(12, o) for o in outputs))


def model(nodes, inputs, outputs, opset=13, initializers=()):
    return (_field(1, 7) + _field(7, graph(nodes, inputs, outputs, initializers)) +
            _field(8, _field(1, "") + _field(2, opset)))
