#!/usr/bin/env python3
"""Whether `codlc --emit-onnx` writes the network that it read: both in float64, and what ONNX Runtime's float32 is off by.

  emitted_onnx.py [--bin build/release/bin] [--input-shape NAME:DIMS] NETWORK.onnx...

Both networks run in onnx's reference evaluator with all constants and inputs in float64, on seeded normal inputs: outputs may
differ by 1e-5 (relative L2), what folding constants in float32 leaves. Beside that stands, for each output, how far ONNX Runtime
is from float64 on the untouched and on the written network: where both are as far off, ONNX Runtime is why. Exits 1 if a
network that is written differs. Needs numpy, onnx and onnxruntime, in build/peers if they are not here. The evaluator is slow.
"""
import argparse
import os
import sys
import tempfile

from peer_tools import ROOT, relative_error, run, use_wheels

BOUND = 1e-5


def in_float64(model):
    from onnx import ModelProto, TensorProto, numpy_helper
    double = ModelProto()
    double.CopyFrom(model)

    def widen(tensor):
        if tensor.data_type == TensorProto.FLOAT:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name))

    for tensor in double.graph.initializer:
        widen(tensor)
    for node in double.graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                widen(attribute.t)
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.DOUBLE
    for value in [*double.graph.input, *double.graph.output, *double.graph.value_info]:
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE
    return double


def exact(model, inputs):
    from onnx.reference import ReferenceEvaluator
    wide = {name: value.astype(np.float64) for name, value in inputs.items()}
    return ReferenceEvaluator(in_float64(model)).run(None, wide)


def check(path, options):
    """Returns whether the written network is the same."""
    import onnx
    import onnxruntime
    untouched = onnx.load(path)
    with tempfile.TemporaryDirectory() as folder:
        written = os.path.join(folder, "written.onnx")
        run(os.path.join(options.bin, "codlc"), path, "--strategy=cpu", "-q", *options.shapes, f"--emit-onnx={written}",
            "-o", os.path.join(folder, "plan.codl"))
        emitted = onnx.load(written)
    rng = np.random.RandomState(1)
    inputs = {value.name: rng.standard_normal([dim.dim_value for dim in value.type.tensor_type.shape.dim]).astype(np.float32)
              for value in emitted.graph.input}
    names = [value.name for value in untouched.graph.output]
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 3
    outputs = {}
    for kind, model in (("untouched", untouched), ("written", emitted)):
        session = onnxruntime.InferenceSession(model.SerializeToString(), settings, ["CPUExecutionProvider"])
        outputs[kind] = exact(model, inputs), session.run(names, inputs)
    is_same = True
    for i, name in enumerate(names):
        reference = outputs["untouched"][0][i]
        off = relative_error(outputs["written"][0][i], reference) if reference.any() else 0.0
        is_same &= off <= BOUND
        runtime = [relative_error(outputs[kind][1][i], reference) for kind in ("untouched", "written")]
        print(f"{os.path.basename(path):40} {name:16} {'ok' if off <= BOUND else 'FAIL':4} in float64 {off:.1e}; ONNX Runtime "
              f"of the untouched {runtime[0]:.1e}, of the written {runtime[1]:.1e}; least output {np.abs(reference).min():.1e}",
              flush=True)
    return is_same


def main():
    global np
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("networks", nargs="+", metavar="NETWORK.onnx")
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "release", "bin"), metavar="DIR")
    parser.add_argument("--input-shape", dest="shapes", action="append", default=[], metavar="NAME:DIMS")
    options = parser.parse_args()
    options.shapes = [f"--input-shape={shape}" for shape in options.shapes]
    use_wheels(["numpy", "onnx", "onnxruntime"], [["-r", "requirements.txt"]])
    import numpy as np
    sys.exit(not all([check(path, options) for path in options.networks]))


if __name__ == "__main__":
    main()
