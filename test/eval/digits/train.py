#!/usr/bin/env python3
"""Trains the network that pruning and low rank are judged by: handwritten digits, a residual network with batch norm, depthwise
blocks and a dense head.

    train.py [--fold N] [--width N] [--inner N] [--epochs N] [-o FOLDER]

The images are turned, scaled, shifted and noisy: an easy task would not miss half of the channels. The blocks are narrow between
and wide inside, so that where channels are removed matters.

Writes digits.onnx, calibration/images.npy, calibration/labels.npy (of the training set) and test_images.npy, test_labels.npy of
one of five folds (stratified, shuffled with seed 0), and prints the accuracy on the test set. Needs numpy, scipy, scikit-learn
(its copy of the UCI digits, 1797 images of 8 x 8) and onnx; the training itself is numpy. Same arguments, same machine: same
file."""
import argparse
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from scipy import ndimage
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold

SIZE = 16  # the images, upscaled
# An image is turned by so many degrees, scaled by a share, shifted by pixels; NOISE is each pixel's deviation.
TURN, SCALE, SHIFT, NOISE = 25, 0.15, 1.5, 0.2


class Conv:
    """A 3x3 or 1x1 convolution is padded and has no bias; it is depthwise if `depthwise`."""

    def __init__(self, rng, inputs, outputs, kernel, stride=1, depthwise=False):
        self.kernel, self.stride, self.depthwise = kernel, stride, depthwise
        fan = (1 if depthwise else inputs) * kernel * kernel
        self.w = rng.normal(0, np.sqrt(2 / fan), (outputs, 1 if depthwise else inputs, kernel, kernel)).astype(np.float32)
        self.params = ['w']

    def columns(self, x):
        pad, k, s = self.kernel // 2, self.kernel, self.stride
        x = np.pad(x.transpose(0, 2, 3, 1), ((0, 0), (pad, pad), (pad, pad), (0, 0))).transpose(0, 3, 1, 2)
        view = np.lib.stride_tricks.sliding_window_view(x, (k, k), (2, 3))[:, :, ::s, ::s]
        return view  # [n, c, h, w, k, k]

    def by_taps(self):
        """Returns the weights as [outputs, taps, taps, inputs]."""
        return np.ascontiguousarray(self.w.transpose(0, 2, 3, 1))

    def forward(self, x, train):
        self.shape = x.shape
        view = self.columns(x)
        if self.depthwise:
            self.saved = view
            taps = np.ndindex(self.kernel, self.kernel)
            return sum(view[..., i, j] * self.w[:, 0, i, j][:, None, None] for i, j in taps)
        n, c, h, w, k, _ = view.shape
        # Rows of taps of all channels: in memory, a map's channels lie side by side.
        self.saved = np.ascontiguousarray(view.transpose(0, 2, 3, 4, 5, 1)).reshape(n * h * w, -1)
        return (self.saved @ self.by_taps().reshape(len(self.w), -1).T).reshape(n, h, w, -1).transpose(0, 3, 1, 2)

    def backward(self, g):
        n, o, h, w = g.shape
        k, s, pad = self.kernel, self.stride, self.kernel // 2
        _, c, height, width = self.shape
        gx = np.zeros((n, height + 2 * pad, width + 2 * pad, c), np.float32)
        g = np.ascontiguousarray(g.transpose(0, 2, 3, 1))
        if self.depthwise:
            taps = list(np.ndindex(k, k))
            self.gw = np.stack([(self.saved[..., i, j].transpose(0, 2, 3, 1) * g).sum((0, 1, 2)) for i, j in taps],
                               1).reshape(self.w.shape)
        else:
            rows = g.reshape(-1, o)
            self.gw = (rows.T @ self.saved).reshape(o, k, k, c).transpose(0, 3, 1, 2)
        for i, j in np.ndindex(k, k):
            of_tap = g * self.w[:, 0, i, j] if self.depthwise else (rows @ self.w[:, :, i, j]).reshape(n, h, w, c)
            gx[:, i:i + h * s:s, j:j + w * s:s] += of_tap
        return gx[:, pad:pad + height, pad:pad + width].transpose(0, 3, 1, 2)


class BatchNorm:
    def __init__(self, channels):
        self.scale, self.bias = np.ones(channels, np.float32), np.zeros(channels, np.float32)
        self.mean, self.var = np.zeros(channels, np.float32), np.ones(channels, np.float32)
        self.params = ['scale', 'bias']

    def forward(self, x, train):
        if train:
            mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3))
            self.mean += 0.1 * (mean - self.mean)
            self.var += 0.1 * (var - self.var)
        else:
            mean, var = self.mean, self.var
        self.inverse = 1 / np.sqrt(var + 1e-5)
        self.normal = (x - mean[:, None, None]) * self.inverse[:, None, None]
        return self.normal * self.scale[:, None, None] + self.bias[:, None, None]

    def backward(self, g):
        self.gscale, self.gbias = (g * self.normal).sum((0, 2, 3)), g.sum((0, 2, 3))
        count = g.size // g.shape[1]
        inner = g - (self.gbias[:, None, None] + self.normal * self.gscale[:, None, None]) / count
        return inner * (self.scale * self.inverse)[:, None, None]


class Relu:
    params = []

    def forward(self, x, train):
        self.is_positive = x > 0
        return x * self.is_positive

    def backward(self, g):
        return g * self.is_positive


class Residual:
    """Adds x to the layers' result, then applies Relu."""
    params = []

    def __init__(self, layers):
        self.layers, self.relu = layers, Relu()

    def forward(self, x, train):
        y = x
        for layer in self.layers:
            y = layer.forward(y, train)
        return self.relu.forward(x + y, train)

    def backward(self, g):
        g = self.relu.backward(g)
        inner = g
        for layer in reversed(self.layers):
            inner = layer.backward(inner)
        return g + inner


class Head:
    """Applies Flatten, a dense layer, Relu, a dense layer."""

    def __init__(self, rng, inputs, hidden):
        self.w1 = rng.normal(0, np.sqrt(2 / inputs), (inputs, hidden)).astype(np.float32)
        self.b1 = np.zeros(hidden, np.float32)
        self.w2 = rng.normal(0, np.sqrt(2 / hidden), (hidden, 10)).astype(np.float32)
        self.b2 = np.zeros(10, np.float32)
        self.params = ['w1', 'b1', 'w2', 'b2']

    def forward(self, x, train):
        self.shape = x.shape
        self.x = x.reshape(len(x), -1)
        self.h = np.maximum(self.x @ self.w1 + self.b1, 0)
        return self.h @ self.w2 + self.b2

    def backward(self, g):
        self.gw2, self.gb2 = self.h.T @ g, g.sum(0)
        inner = (g @ self.w2.T) * (self.h > 0)
        self.gw1, self.gb1 = self.x.T @ inner, inner.sum(0)
        return (inner @ self.w1.T).reshape(self.shape)


def network(rng, width, inner):
    def convolved(a, b, kernel=3, stride=1, depthwise=False):
        return [Conv(rng, a, b, kernel, stride, depthwise), BatchNorm(b)]

    def block(outside, inside):
        return Residual([*convolved(outside, inside), Relu(), *convolved(inside, outside)])

    def smaller(a, b):
        return [*convolved(a, a, 3, 2, True), Relu(), *convolved(a, b, 1), Relu()]

    return [*convolved(1, width), Relu(), block(width, inner), *smaller(width, 2 * width), block(2 * width, 2 * inner),
            *smaller(2 * width, 2 * width), Head(rng, 2 * width * (SIZE // 4) ** 2, 8 * width)]


def flat(layers):
    for layer in layers:
        if isinstance(layer, Residual):
            yield from flat(layer.layers)
        else:
            yield layer


def forward(layers, x, train=False):
    for layer in layers:
        x = layer.forward(x, train)
    return x


def predictions(layers, images):
    return np.concatenate([forward(layers, images[i:i + 128]).argmax(1) for i in range(0, len(images), 128)])


def train(layers, images, labels, epochs, rng):
    """Uses stochastic gradients with momentum; each image is distorted anew, and the rate falls as a cosine."""
    momentum = {}
    steps = epochs * (len(images) // 64)
    step = 0
    for _ in range(epochs):
        order = rng.permutation(len(images))
        for begin in range(0, len(images) - 63, 64):
            batch = order[begin:begin + 64]
            x = distorted(images[batch], rng)
            logits = forward(layers, x, True)
            p = np.exp(logits - logits.max(1, keepdims=True))
            p /= p.sum(1, keepdims=True)
            p[np.arange(64), labels[batch]] -= 1
            g = (p / 64).astype(np.float32)
            for layer in reversed(layers):
                g = layer.backward(g)
            rate = 0.05 * (1 + np.cos(np.pi * step / steps)) / 2
            step += 1
            for layer in flat(layers):
                for name in layer.params:
                    value, gradient = getattr(layer, name), getattr(layer, 'g' + name)
                    if value.ndim > 1:
                        gradient = gradient + 1e-4 * value
                    key = (id(layer), name)
                    momentum[key] = 0.9 * momentum.get(key, 0) + gradient
                    setattr(layer, name, (value - rate * momentum[key]).astype(np.float32))


def export(layers, path):
    nodes, constants = [], []

    def constant(value):
        name = f'c{len(constants)}'
        constants.append(numpy_helper.from_array(value, name))
        return name

    def node(op, inputs, **attributes):
        name = f'v{len(nodes)}'
        nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def write(layer, x):
        if isinstance(layer, Conv):
            pad = layer.kernel // 2
            return node('Conv', [x, constant(layer.w)], kernel_shape=[layer.kernel] * 2, strides=[layer.stride] * 2, pads=[pad] * 4,
                        group=len(layer.w) if layer.depthwise else 1)
        if isinstance(layer, BatchNorm):
            return node('BatchNormalization', [x] + [constant(v) for v in (layer.scale, layer.bias, layer.mean, layer.var)], epsilon=1e-5)
        if isinstance(layer, Relu):
            return node('Relu', [x])
        if isinstance(layer, Residual):
            y = x
            for inner in layer.layers:
                y = write(inner, y)
            return node('Relu', [node('Add', [x, y])])
        h = node('Relu', [node('Gemm', [node('Flatten', [x]), constant(layer.w1), constant(layer.b1)])])
        return node('Gemm', [h, constant(layer.w2), constant(layer.b2)])

    x = 'image'
    for layer in layers:
        x = write(layer, x)
    nodes[-1].output[0] = 'logits'
    graph = helper.make_graph(nodes, 'digits', [helper.make_tensor_value_info('image', TensorProto.FLOAT, [1, 1, SIZE, SIZE])],
                              [helper.make_tensor_value_info('logits', TensorProto.FLOAT, [1, 10])], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8)
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())


def distorted(images, rng):
    """Returns images [n, 8, 8] as [n, 1, 16, 16], each upscaled, turned, scaled and shifted in its own way, and
    noisy.
    """
    result = np.empty((len(images), 1, SIZE, SIZE), np.float32)
    for image, to in zip(images, result):
        angle, scale = np.radians(rng.uniform(-TURN, TURN)), 8 / SIZE * rng.uniform(1 - SCALE, 1 + SCALE)
        matrix = scale * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        offset = 3.5 - matrix @ (SIZE / 2 - 0.5 + rng.uniform(-SHIFT, SHIFT, 2))
        ndimage.affine_transform(image, matrix, offset, (SIZE, SIZE), to[0], order=1)
    return result + rng.normal(0, NOISE, result.shape).astype(np.float32)


def digits():
    """Returns all images as [1797, 8, 8] in [0, 1], and labels."""
    data = load_digits()
    return (data.images / 16).astype(np.float32), data.target


def fold(number):
    """Returns the indices of the images to train with and to test with."""
    images, labels = digits()
    return list(StratifiedKFold(5, shuffle=True, random_state=0).split(images, labels))[number]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--fold', type=int, default=0, choices=range(5))
    parser.add_argument('--width', type=int, default=8, help='channels between blocks')
    parser.add_argument('--inner', type=int, default=96, help='channels inside the first block; twice as many inside the second')
    parser.add_argument('--epochs', type=int, default=20)
    parser.add_argument('-o', '--output', type=pathlib.Path, default=pathlib.Path(__file__).parent)
    arguments = parser.parse_args()
    images, labels = digits()
    fitted, tested = fold(arguments.fold)
    rng = np.random.default_rng(arguments.fold)
    layers = network(rng, arguments.width, arguments.inner)
    train(layers, images[fitted], labels[fitted], arguments.epochs, rng)
    seen = distorted(images, np.random.default_rng(5))  # the same in all folds
    folder = arguments.output
    (folder / 'calibration').mkdir(parents=True, exist_ok=True)
    export(layers, folder / 'digits.onnx')
    np.save(folder / 'calibration' / 'images.npy', seen[fitted])
    np.save(folder / 'calibration' / 'labels.npy', labels[fitted].astype(np.int64))
    np.save(folder / 'test_images.npy', seen[tested])
    np.save(folder / 'test_labels.npy', labels[tested].astype(np.int64))
    right = (predictions(layers, seen[tested]) == labels[tested]).mean()
    print(f'fold {arguments.fold}: {100 * right:.2f} % of {len(tested)} right')


if __name__ == '__main__':
    main()
