#!/usr/bin/env python3
"""Writes networks of attention with random weights: an encoder like that of a small Whisper, and a decoder's step.

    attention_networks.py FOLDER

encoder.onnx: x[1, 1500, 384], 4 layers of 6 heads of 64, scores of 1500 x 1500.
decoder.onnx: one token x[1, 1, 384] with caches k, v[1, 6, 448, 64] of each of 4 layers, which are states
(--state=k0.out:k0 ...), and the keys and values of 1500 frames; row `place` is written, rows behind it are hidden.
Both are written as PyTorch exports them: q and k are scaled, k is turned.
"""
import os
import sys

import numpy
import onnx
from onnx import TensorProto, helper

WIDTH, HEADS, LAYERS, FRAMES, CACHE = 384, 6, 4, 1500, 448
SIZE = WIDTH // HEADS


class Network:
    def __init__(self, seed):
        self.nodes, self.constants, self.inputs, self.outputs = [], [], [], []
        self.random = numpy.random.default_rng(seed)

    def name(self, kind):
        return f"{kind}_{len(self.nodes) + len(self.constants)}"

    def constant(self, array):
        name = self.name("c")
        self.constants.append(onnx.numpy_helper.from_array(numpy.asarray(array), name))
        return name

    def weights(self, *dims):
        scale = dims[0] ** -0.5 if len(dims) > 1 else 0.02
        return self.constant((self.random.standard_normal(dims) * scale).astype(numpy.float32))

    def node(self, kind, *inputs, output=None, **attributes):
        output = output or self.name(kind.lower())
        self.nodes.append(helper.make_node(kind, list(inputs), [output], **attributes))
        return output

    def linear(self, x, columns, rows=WIDTH):
        return self.node("Add", self.node("MatMul", x, self.weights(rows, columns)), self.weights(columns))

    def norm(self, x):
        return self.node("LayerNormalization", x, self.constant(numpy.ones(WIDTH, numpy.float32)),
                         self.weights(WIDTH), axis=-1)

    def heads(self, x, length):
        shaped = self.node("Reshape", x, self.constant(numpy.array([1, length, HEADS, SIZE])))
        return self.node("Transpose", shaped, perm=[0, 2, 1, 3])

    def attend(self, q, k, v, bias=None):
        scale = self.constant(numpy.float32(SIZE ** -0.25))
        turned = self.node("Transpose", k, perm=[0, 1, 3, 2])
        scores = self.node("MatMul", self.node("Mul", q, scale), self.node("Mul", turned, scale))
        if bias:
            scores = self.node("Add", scores, bias)
        return self.node("MatMul", self.node("Softmax", scores, axis=-1), v)

    def joined(self, y, length):
        turned = self.node("Transpose", y, perm=[0, 2, 1, 3])
        return self.linear(self.node("Reshape", turned, self.constant(numpy.array([1, length, WIDTH]))), WIDTH)

    def feed_forward(self, x):
        return self.linear(self.node("Gelu", self.linear(self.norm(x), 4 * WIDTH)), WIDTH, 4 * WIDTH)

    def input(self, name, dims, kind=TensorProto.FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, kind, dims))
        return name

    def output(self, name, dims):
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, dims))

    def save(self, path):
        graph = helper.make_graph(self.nodes, "attention", self.inputs, self.outputs, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=10)
        onnx.checker.check_model(model)
        onnx.save(model, path)


def encoder(path):
    net = Network(1)
    x = net.input("x", [1, FRAMES, WIDTH])
    for _ in range(LAYERS):
        n = net.norm(x)
        q, k, v = (net.heads(net.linear(n, WIDTH), FRAMES) for _ in range(3))
        x = net.node("Add", x, net.joined(net.attend(q, k, v), FRAMES))
        x = net.node("Add", x, net.feed_forward(x))
    net.node("Identity", x, output="y")
    net.output("y", [1, FRAMES, WIDTH])
    net.save(path)


def decoder(path):
    net = Network(2)
    x = net.input("x", [1, 1, WIDTH])
    place = net.input("place", [1], TensorProto.INT64)
    later = net.node("Greater", net.constant(numpy.arange(CACHE).reshape(1, 1, 1, CACHE)), place)
    bias = net.node("Where", later, net.constant(numpy.float32(-numpy.inf)), net.constant(numpy.float32(0)))
    for layer in range(LAYERS):
        n = net.norm(x)
        q = net.heads(net.linear(n, WIDTH), 1)
        caches = []
        for kind in "kv":
            cache = net.input(f"{kind}{layer}", [1, HEADS, CACHE, SIZE])
            row = net.heads(net.linear(n, WIDTH), 1)
            caches.append(net.node("TensorScatter", cache, row, place, output=f"{kind}{layer}.out", axis=2))
            net.output(f"{kind}{layer}.out", [1, HEADS, CACHE, SIZE])
        x = net.node("Add", x, net.joined(net.attend(q, *caches, bias=bias), 1))
        q = net.heads(net.linear(net.norm(x), WIDTH), 1)
        k, v = (net.input(f"{kind}{layer}.frames", [1, HEADS, FRAMES, SIZE]) for kind in "kv")
        x = net.node("Add", x, net.joined(net.attend(q, k, v), 1))
        x = net.node("Add", x, net.feed_forward(x))
    net.node("Identity", x, output="y")
    net.output("y", [1, 1, WIDTH])
    net.save(path)


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    os.makedirs(sys.argv[1], exist_ok=True)
    encoder(os.path.join(sys.argv[1], "encoder.onnx"))
    decoder(os.path.join(sys.argv[1], "decoder.onnx"))


if __name__ == "__main__":
    main()
