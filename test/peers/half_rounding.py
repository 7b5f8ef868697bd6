#!/usr/bin/env python3
"""How far rounding to halves alone moves a network's outputs: a yardstick for `codlc --precision=fp16`.

  half_rounding.py MODEL.onnx...

Runs each network in ONNX Runtime on a seeded random input, in fp32, and again with what its nodes
compute rounded to float16 and back (Cast nodes): all of it, then six times a random 70 %, as a plan
does whose CPU queue rounds nothing. Prints the relative L2 errors. A network whose errors scatter by
factors amplifies rounding itself, whoever runs it.
"""
import sys

from peer_tools import relative_error, use_wheels

# Nodes that compute maps; the others copy, or work on shapes.
ROUNDED = {"Conv", "ConvTranspose", "Add", "Mul", "Relu", "LeakyRelu", "PRelu", "Clip", "Sigmoid",
           "HardSigmoid", "HardSwish", "GlobalAveragePool", "MaxPool", "AveragePool",
           "BatchNormalization", "InstanceNormalization"}
SHARE = 0.7


def import_wheels():
    global np, onnx, onnxruntime
    use_wheels(["numpy", "onnx", "onnxruntime"], [["-r", "requirements.txt"]])
    import numpy as np
    import onnx
    import onnxruntime


def outputs_of(model, feeds):
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 3
    # Optimisations would remove the two casts.
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), settings,
                                           ["CPUExecutionProvider"])
    return session.run(None, feeds)


def rounded(model, share, rng):
    """Returns the model with `share` of its nodes' results rounded."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    outputs = {output.name for output in model.graph.output}
    del result.graph.node[:]
    for node in model.graph.node:
        added = result.graph.node.add()
        added.CopyFrom(node)
        name = node.output[0]
        if node.op_type not in ROUNDED or name in outputs or rng.rand() >= share:
            continue
        added.output[0] = name + ".exact"
        for source, to, dtype in ((name + ".exact", name + ".half", onnx.TensorProto.FLOAT16),
                                  (name + ".half", name, onnx.TensorProto.FLOAT)):
            result.graph.node.append(onnx.helper.make_node("Cast", [source], [to], to=dtype))
    return result


def main():
    import_wheels()
    for path in sys.argv[1:]:
        model = onnx.load(path)
        constants = {constant.name for constant in model.graph.initializer}
        rng = np.random.RandomState(1)
        feeds = {value.name: rng.standard_normal(
            [dim.dim_value for dim in value.type.tensor_type.shape.dim]).astype(np.float32)
            for value in model.graph.input if value.name not in constants}
        exact = outputs_of(model, feeds)

        def error(share, seed):
            found = outputs_of(rounded(model, share, np.random.RandomState(seed)), feeds)
            return max(relative_error(a, b) for a, b in zip(found, exact))

        some = " ".join(f"{error(SHARE, seed):.1e}" for seed in range(6))
        print(f"{path}: all {error(1, 0):.1e}, some {some}", flush=True)


if __name__ == "__main__":
    main()
