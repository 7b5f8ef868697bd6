"""Runs one network with one other runtime in this process and prints a line of JSON (compare.py).

  peer_run.py PEER MODEL INPUTS.npz THREADS MIN_MS OUTPUT.npz

PEER is a key of PEERS below. MODEL is an ONNX file (onnxruntime), a file of mnnconvert (mnn), NAME
of NAME.param and NAME.bin (ncnn), or a file of executorch_models.py (xnnpack). Loads the model, runs it once, WARMUP_RUNS times to warm up,
then at least MIN_RUNS times and for MIN_MS milliseconds. The clock is read around the one call of
the binding that computes; what the call costs besides (a few microseconds; `--what=overhead` of
compare.py measures it) counts for the peer. Outputs go to OUTPUT.npz, in the model's order.

Memory is the growth of the process: the greatest resident set since the input was read and before
the runtime was imported, less what was resident then. The interpreter and numpy do not count.
"""
import gc
import json
import sys
import time

import numpy as np

WARMUP_RUNS = 4
MIN_RUNS = 10


class OnnxRuntime:
    """Uses all of its optimisations; waiting workers spin, as is its default."""

    def __init__(self, model, threads):
        import onnxruntime
        self.version = onnxruntime.__version__
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.add_session_config_entry("session.intra_op.allow_spinning", "1")
        self.create = lambda: onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])

    def load(self, value):
        self.session = self.create()
        self.feeds = value

    def run(self):
        self.results = self.session.run(None, self.feeds)

    def outputs(self):
        return self.results


class Mnn:
    """Uses the CPU, fp32 (precision normal), power high. Copying the input is outside the timed call."""

    def __init__(self, model, threads):
        import MNN
        self.mnn = MNN
        self.version = MNN.version() if hasattr(MNN, "version") else ""
        self.model = model
        self.config = {"backend": "CPU", "numThread": threads, "precision": "normal",
                       "power": "high", "memory": "normal"}

    def load(self, value):
        self.interpreter = self.mnn.Interpreter(self.model)
        self.session = self.interpreter.createSession(self.config)
        self.input = value
        self.put()

    def put(self):
        tensor = self.interpreter.getSessionInput(self.session)
        tensor.copyFrom(self.mnn.Tensor(self.input.shape, self.mnn.Halide_Type_Float, self.input,
                                        self.mnn.Tensor_DimensionType_Caffe))

    def run(self):
        self.interpreter.runSession(self.session)

    def outputs(self):
        # MNN may reuse the input's memory during the run.
        self.put()
        self.run()
        results = []
        for tensor in self.interpreter.getSessionOutputAll(self.session).values():
            shape = tuple(tensor.getShape())
            host = self.mnn.Tensor(shape, self.mnn.Halide_Type_Float, np.zeros(shape, np.float32),
                                   self.mnn.Tensor_DimensionType_Caffe)
            tensor.copyToHostTensor(host)
            results.append(np.array(host.getNumpyData()).reshape(shape))
        return results


class Ncnn:
    """Uses fp32, with packed layouts, Winograd and GEMM convolutions."""

    def __init__(self, model, threads):
        import ncnn
        self.ncnn = ncnn
        self.version = ncnn.__version__
        self.model = model
        self.net = ncnn.Net()
        options = self.net.opt
        options.num_threads = threads
        options.lightmode = True
        options.use_vulkan_compute = False
        for name in ("use_packing_layout", "use_winograd_convolution", "use_sgemm_convolution"):
            setattr(options, name, True)
        for name in ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic",
                     "use_bf16_packed", "use_bf16_storage"):
            if hasattr(options, name):
                setattr(options, name, False)

    def load(self, value):
        if self.net.load_param(self.model + ".param") or self.net.load_model(self.model + ".bin"):
            raise RuntimeError(f"ncnn: {self.model}: expected a network")
        self.input = self.ncnn.Mat(value[0])
        self.names = self.net.output_names()

    def run(self):
        extractor = self.net.create_extractor()
        extractor.input(self.net.input_names()[0], self.input)
        self.results = [extractor.extract(name)[1] for name in self.names]

    def outputs(self):
        return [np.array(result)[np.newaxis] for result in self.results]


class Xnnpack:
    """Uses XNNPACK as ExecuTorch's delegate, fp32; it converts the input from NCHW and the output to it."""

    def __init__(self, model, threads):
        from importlib.metadata import version

        import executorch.extension.pybindings.portable_lib  # registers the delegate
        import torch
        from executorch.extension.pybindings import _C
        self.bindings, self.torch, self.model = _C, torch, model
        self.version = "in executorch " + version("executorch")
        _C._unsafe_reset_threadpool(threads)

    def load(self, value):
        self.program = self.bindings._load_for_executorch(self.model)
        self.feeds = (self.torch.from_numpy(value),)

    def run(self):
        self.results = self.program.forward(self.feeds)

    def outputs(self):
        return [result.numpy() for result in self.results]


PEERS = {"onnxruntime": OnnxRuntime, "mnn": Mnn, "ncnn": Ncnn, "xnnpack": Xnnpack}


def memory_mb(field):
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024 / 1e6
    raise RuntimeError(f"expected {field} in /proc/self/status")


def milliseconds(work):
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def main():
    name, model, input_path, threads, min_ms, output_path = sys.argv[1:]
    with np.load(input_path) as arrays:
        value = {key: arrays[key] for key in arrays.files}
    if name != "onnxruntime":
        [value] = value.values()
    gc.collect()
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # resets the maximum of the resident set
    before_mb = memory_mb("VmRSS")

    peer = PEERS[name](model, int(threads))
    load_ms = milliseconds(lambda: peer.load(value))
    first_ms = milliseconds(peer.run)
    for _ in range(WARMUP_RUNS):
        peer.run()
    gc.disable()
    runs = []
    start = time.perf_counter()
    while len(runs) < MIN_RUNS or (time.perf_counter() - start) * 1000 < float(min_ms):
        runs.append(milliseconds(peer.run))
    peak_mb = memory_mb("VmHWM") - before_mb
    np.savez(output_path, *peer.outputs())
    print(json.dumps({"version": peer.version, "load_ms": load_ms, "first_ms": first_ms,
                      "median_ms": float(np.median(runs)), "peak_mb": peak_mb,
                      "runs": len(runs)}), flush=True)


if __name__ == "__main__":
    main()
