#!/usr/bin/env python3
"""Writes tiny_resnet.onnx: a small classifier with seeded random weights (it has learnt nothing).

Usage: make_tiny_resnet.py [OUT.onnx]        needs python3-numpy and python3-onnx

It holds, in under 400 KB, what the quickstart and the end-to-end tests want to see compiled: a
strided stem, BatchNorm nodes to fold, a plain residual block, one with a strided shortcut, a
depthwise and a pointwise convolution, a concat, pooling and a fully connected layer. Channel counts
are multiples of 16 (the granule of a cut along output channels); 48 makes an odd number of them.

The same bytes on every machine: numpy's RandomState is frozen by numpy's own promise (NEP 19), and
the file has no field that depends on the versions installed.
"""
import os
import sys

import numpy as np
from onnx import ModelProto, TensorProto, checker, helper

SEED = 20
OPSET = 13
IR_VERSION = 7  # the version of ONNX 1.8, which brought opset 13

rng = np.random.RandomState(SEED)
nodes = []
weights = []


def constant(name, array):
    array = np.ascontiguousarray(array, dtype="<f4")
    weights.append(
        helper.make_tensor(name, TensorProto.FLOAT, array.shape, array.tobytes(), raw=True))
    return name


def node(op, inputs, output, **attributes):
    nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
    return output


def conv(x, name, in_channels, out_channels, kernel, stride=1, groups=1, batch_norm=True):
    """Adds a convolution with 'same' padding, whose variance stays 1 (He), and a BatchNorm after it."""
    fan_in = in_channels // groups * kernel * kernel
    weight = rng.standard_normal((out_channels, in_channels // groups, kernel, kernel))
    inputs = [x, constant(name + "_w", weight * np.sqrt(2.0 / fan_in))]
    if not batch_norm:
        inputs.append(constant(name + "_b", rng.standard_normal(out_channels) * 0.1))
    y = node("Conv", inputs, name, kernel_shape=[kernel, kernel], strides=[stride, stride],
             pads=[kernel // 2] * 4, group=groups)
    if not batch_norm:
        return y
    statistics = [
        constant(name + "_scale", rng.uniform(0.7, 1.3, out_channels)),
        constant(name + "_shift", rng.standard_normal(out_channels) * 0.1),
        constant(name + "_mean", rng.standard_normal(out_channels) * 0.1),
        constant(name + "_var", rng.uniform(0.7, 1.3, out_channels)),
    ]
    return node("BatchNormalization", [y] + statistics, name + "_bn", epsilon=1e-5)


def relu(x):
    return node("Relu", [x], x + "_relu")


def residual_block(x, name, in_channels, out_channels, stride):
    y = relu(conv(x, name + "_conv1", in_channels, out_channels, 3, stride))
    y = conv(y, name + "_conv2", out_channels, out_channels, 3)
    if stride != 1 or in_channels != out_channels:
        x = conv(x, name + "_shortcut", in_channels, out_channels, 1, stride)
    return relu(node("Add", [y, x], name + "_add"))


def make_model():
    x = relu(conv("input", "stem", 3, 32, 3, stride=2))                     # 32 x 32 x 32
    x = residual_block(x, "block1", 32, 32, stride=1)
    x = residual_block(x, "block2", 32, 48, stride=2)                       # 48 x 16 x 16
    zero = constant("clip_min", np.float32(0))
    six = constant("clip_max", np.float32(6))
    left = conv(x, "depthwise", 48, 48, 3, groups=48)
    left = node("Clip", [left, zero, six], "depthwise_clip")
    left = relu(conv(left, "pointwise", 48, 64, 1))
    right = relu(conv(x, "side", 48, 32, 1, batch_norm=False))
    x = node("Concat", [left, right], "concat", axis=1)                     # 96 x 16 x 16
    x = node("MaxPool", [x], "pool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    x = node("GlobalAveragePool", [x], "global_pool")
    x = node("Flatten", [x], "flatten", axis=1)
    fc_weight = constant("fc_w", rng.standard_normal((10, 96)) * np.sqrt(1.0 / 96))
    node("Gemm", [x, fc_weight, constant("fc_b", rng.standard_normal(10) * 0.1)], "output", transB=1)

    graph = helper.make_graph(
        nodes, "tiny_resnet",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, 3, 64, 64])],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, [1, 10])], weights)
    model = ModelProto(ir_version=IR_VERSION, producer_name="make_tiny_resnet", graph=graph)
    model.opset_import.add(domain="", version=OPSET)
    checker.check_model(model)
    return model


def main():
    default = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tiny_resnet.onnx")
    path = sys.argv[1] if len(sys.argv) > 1 else default
    with open(path, "wb") as file:
        file.write(make_model().SerializeToString(deterministic=True))


if __name__ == "__main__":
    main()
