"""A small decoder with a cache of fixed length, for tests: it says which word comes next."""
import os
import sys

import numpy

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import onnx_bytes  # noqa: E402

WORDS, WIDTH, CACHE, LAYERS = 96, 32, 64, 2


def model():
    """Returns the bytes of the ONNX model.

    Inputs: word int64[1]; count int64[1], the words before it; past_KIND_LAYER float[CACHE, WIDTH]. Outputs: logits
    float[1, WORDS]; next_KIND_LAYER, which are past_KIND_LAYER of the next run. New keys and values come in at the end of
    the cache, and the oldest go.
    """
    rng = numpy.random.default_rng(1)
    nodes, weights = [], []
    inputs = [onnx_bytes.value_info(name, [1], onnx_bytes.INT64) for name in ("word", "count")]
    outputs = [onnx_bytes.value_info("logits", [1, WORDS])]

    def constant(name, array):
        dtype = onnx_bytes.INT64 if array.dtype == numpy.int64 else onnx_bytes.FLOAT
        weights.append(onnx_bytes.tensor(name, array.shape, dtype, array.tobytes()))
        return name

    def matrix(name, rows, columns, scale=1):
        return constant(name, (scale * rng.standard_normal((rows, columns)) / numpy.sqrt(rows)).astype("f4"))

    def apply(op, operands, result, **numbers):
        nodes.append(onnx_bytes.node(op, operands, [result], result, numbers=numbers))
        return result

    integers = {name: constant(name, numpy.array(value, "i8"))
                for name, value in (("begin", [1]), ("end", [CACHE + 1]), ("axis", [0]), ("last", [CACHE - 1]))}
    x = apply("Gather", [matrix("words", WORDS, WIDTH, 8), "word"], "embedded")
    x = apply("Add", [x, apply("Gather", [matrix("places", 512, WIDTH, 8), "count"], "place")], "x")
    # Slot i holds word count - (CACHE - 1 - i), if there was one.
    first = apply("Sub", [integers["last"], "count"], "first")
    is_there = apply("Not", [apply("Less", [constant("slots", numpy.arange(CACHE, dtype="i8")), first], "is_before")], "is_there")
    mask = apply("Where", [is_there, constant("open", numpy.zeros(1, "f4")), constant("shut", numpy.full(1, -1e9, "f4"))], "mask")
    for layer in range(LAYERS):
        kept = {}
        for kind in ("key", "value"):
            past, left = f"past_{kind}_{layer}", f"next_{kind}_{layer}"
            inputs.append(onnx_bytes.value_info(past, [CACHE, WIDTH]))
            outputs.append(onnx_bytes.value_info(left, [CACHE, WIDTH]))
            new = apply("MatMul", [x, matrix(f"{kind}_{layer}", WIDTH, WIDTH)], f"new_{kind}_{layer}")
            both = apply("Concat", [past, new], f"all_{kind}_{layer}", axis=0)
            kept[kind] = apply("Slice", [both, integers["begin"], integers["end"], integers["axis"]], left)
        query = apply("MatMul", [x, matrix(f"query_{layer}", WIDTH, WIDTH)], f"q_{layer}")
        scores = apply("MatMul", [query, apply("Transpose", [kept["key"]], f"turned_{layer}")], f"scores_{layer}")
        shares = apply("Softmax", [apply("Add", [scores, mask], f"masked_{layer}")], f"shares_{layer}")
        x = apply("Add", [x, apply("MatMul", [shares, kept["value"]], f"found_{layer}")], f"attended_{layer}")
        inner = apply("Tanh", [apply("MatMul", [x, matrix(f"up_{layer}", WIDTH, WIDTH)], f"inner_{layer}")], f"bent_{layer}")
        x = apply("Add", [x, apply("MatMul", [inner, matrix(f"down_{layer}", WIDTH, WIDTH)], f"outer_{layer}")], f"x_{layer}")
    apply("MatMul", [x, matrix("head", WIDTH, WORDS)], "logits")
    return onnx_bytes.model(nodes, inputs, outputs, initializers=weights)


def states():
    """Returns pairs of an output and the input that it is in the next run."""
    return [(f"next_{kind}_{layer}", f"past_{kind}_{layer}") for layer in range(LAYERS) for kind in ("key", "value")]


def generate(count, step):
    """Returns `count` words, each the likeliest after those before; step(word, count) gives logits."""
    words = [3]
    while len(words) <= count:
        logits = step(numpy.array(words[-1:], "i8"), numpy.array([len(words) - 1], "i8"))
        words.append(int(logits.argmax()))
    return words[1:]
