#!/usr/bin/env python3
"""Writes super_resolution.onnx: ESPCN, three times the rows and columns of a grey picture; random weights.

Usage: make_super_resolution.py [OUT.onnx]        needs python3-numpy and python3-onnx

Layers, channels and the 224 x 224 input are those of PyTorch's tutorial "Exporting a model from PyTorch to ONNX", after Shi
et al., "Real-Time Single Image and Video Super-Resolution Using an Efficient Sub-Pixel Convolutional Neural Network" (2016).
The weights are seeded and have learnt nothing: times do not depend on them. The same bytes on every machine, as of
make_tiny_resnet.py.
"""
import os
import sys

import numpy as np
from onnx import ModelProto, TensorProto, checker, helper

SEED = 21
SIDE = 224
FACTOR = 3
# Output channels and filter size of each layer.
LAYERS = [(64, 5), (64, 3), (32, 3), (FACTOR * FACTOR, 3)]


def make_model():
    rng = np.random.RandomState(SEED)
    nodes, weights = [], []

    def constant(name, array):
        array = np.ascontiguousarray(array, dtype="<f4")
        weights.append(helper.make_tensor(name, TensorProto.FLOAT, array.shape, array.tobytes(), raw=True))
        return name

    x, in_channels = "input", 1
    for number, (out_channels, size) in enumerate(LAYERS, start=1):
        name = f"conv{number}"
        filters = rng.standard_normal((out_channels, in_channels, size, size))
        inputs = [x, constant(name + "_w", filters * np.sqrt(2.0 / (in_channels * size * size))),
                  constant(name + "_b", rng.standard_normal(out_channels) * 0.1)]
        nodes.append(helper.make_node("Conv", inputs, [name], name=name, kernel_shape=[size, size],
                                      pads=[size // 2] * 4))
        x, in_channels = name, out_channels
        if number < len(LAYERS):
            x = name + "_relu"
            nodes.append(helper.make_node("Relu", [name], [x], name=x))
    nodes.append(helper.make_node("DepthToSpace", [x], ["output"], name="pixel_shuffle", blocksize=FACTOR, mode="CRD"))

    def picture(name, side):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 1, side, side])

    graph = helper.make_graph(nodes, "super_resolution", [picture("input", SIDE)], [picture("output", SIDE * FACTOR)],
                              weights)
    model = ModelProto(ir_version=7, producer_name="make_super_resolution", graph=graph)
    model.opset_import.add(domain="", version=13)
    checker.check_model(model)
    return model


def main():
    default = os.path.join(os.path.dirname(os.path.abspath(__file__)), "super_resolution.onnx")
    path = sys.argv[1] if len(sys.argv) > 1 else default
    with open(path, "wb") as file:
        file.write(make_model().SerializeToString(deterministic=True))


if __name__ == "__main__":
    main()
