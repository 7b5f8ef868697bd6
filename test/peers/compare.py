#!/usr/bin/env python3
"""Times codl's CPU variant against ONNX Runtime, MNN and ncnn on a folder of ONNX files.

  compare.py [--models DIR] [--fill-weights SCRIPT.py] [--only GLOB,...] [--threads 1,2]
             [--rounds 3] [--min-ms 700] [--what run,load,overhead] [--peers LIST]
             [--xnnpack DIR --xnnpack-python PYTHON] [--markdown FILE] [--bin build/release/bin]

Every run is a process of its own, on the same cores and with the same input, in the order
round > network > threads > peer, the first peer another one each round: only ratios within one such
table count. A cell is the median over the rounds of the process's median, with the least and the
greatest; peer_run.py says how a process measures, codl-bench does the same for codl. Each peer's
network is converted once, into build/speed_work. Outputs are compared with ONNX Runtime's: relative
L2 error at most 1e-4 for codl over the elements that differ by more than its Sigmoid is off by, else
exit code 1.

A network with NAME.npz beside it (arrays "in:INPUT", as in golden.zip of the trained networks) runs on
those inputs and with their dims; with ONNX Runtime and codl alone if there are several.

Before each process its files are read and memory is written and given back: a virtual machine's host
takes back what lies idle, and whoever came first would pay for that.

--what:
  run       latency; fastest peer / codl, and its geometric mean
  load      load time, first run over steady run, greatest resident set, with the fewest threads
  overhead  the time of a network of one Relu of 64 numbers: what a call costs in each binding
--markdown: writes the tables between `<!-- compare.py WHAT -->` and `<!-- end -->` of FILE.

The other runtimes come as wheels (see peer_tools.use_wheels). XNNPACK has none for ONNX. With
--xnnpack it is measured as ExecuTorch's delegate, on networks of the same layers with weights of
their own (executorch_models.py), whose outputs are not compared. For networks without such a file
its column is ONNX Runtime's time here times a ratio published elsewhere (published.json), in
italics.
"""
import argparse
import fnmatch
import importlib.util
import json
import os
import statistics
import sys

from peer_tools import HERE, ROOT, SIGMOID_ERROR, file_name, relative_error, run, use_wheels
sys.path.insert(0, os.path.join(ROOT, "test", "support"))
import markdown

BOUND = 1e-4  # relative L2 error of codl against ONNX Runtime
PEERS = ["onnxruntime", "mnn", "ncnn", "codl"]  # and xnnpack, if asked for
OVERHEAD_NETWORK = "relu_64"


WARM_BYTES = 1 << 30  # more memory than any of the networks needs


def warm_up(path):
    """Brings the file's pages (and those of its parts: PATH.bin, PATH.param) and free memory into reach."""
    for part in [path, path + ".bin", path + ".param"]:
        if os.path.isfile(part):
            with open(part, "rb") as file:
                while file.read(1 << 24):
                    pass
    np.ones(WARM_BYTES, np.uint8)


def is_newer(path, *sources):
    return os.path.exists(path) and all(os.path.getmtime(path) >= os.path.getmtime(source)
                                        for source in sources)


class Network:
    """Holds one ONNX file: its input, and each peer's form of it, in a folder of its own."""

    def __init__(self, path, options):
        self.name = os.path.splitext(os.path.basename(path))[0]
        self.options = options
        self.work = os.path.join(options.work, self.name)
        os.makedirs(self.work, exist_ok=True)
        self.model = os.path.join(self.work, "model.onnx")
        if options.fill_weights:
            if not is_newer(self.model, path):
                run(sys.executable, options.fill_weights, path, self.model)
        else:
            # This is a link, because pnnx writes files beside the model.
            if os.path.lexists(self.model):
                os.remove(self.model)
            os.symlink(os.path.abspath(path), self.model)
        graph = onnx.load(self.model, load_external_data=False).graph
        self.output_names = [value.name for value in graph.output]
        self.input = os.path.join(self.work, "input.npz")
        golden = os.path.splitext(path)[0] + ".npz"
        if os.path.exists(golden):
            with np.load(golden) as arrays:
                values = {key[len("in:"):]: arrays[key] for key in arrays.files if key.startswith("in:")}
        else:
            constants = {tensor.name for tensor in graph.initializer}
            inputs = [value for value in graph.input if value.name not in constants]
            if len(inputs) != 1:
                raise RuntimeError(f"expected one input, found {len(inputs)}")
            dims = [dim.dim_value for dim in inputs[0].type.tensor_type.shape.dim]
            values = {inputs[0].name: np.random.RandomState(1).standard_normal(dims).astype(np.float32)}
        np.savez(self.input, **values)
        self.dims = next(iter(values.values())).shape
        self.codl_inputs, self.codl_shapes = [], []
        for name, value in values.items():
            file = self.path("in_" + file_name(name))
            np.save(file, value)
            self.codl_inputs.append(f"--input={name}={file}")
            self.codl_shapes.append(f"--input-shape={name}:{'x'.join(map(str, value.shape))}")
        self.error = {}

    def path(self, name):
        return os.path.join(self.work, name)

    def convert(self, peer):
        """Returns the file that the peer loads, which is made once."""
        if peer == "onnxruntime":
            return self.model
        if peer == "xnnpack":
            return os.path.join(self.options.xnnpack, self.name + ".pte")
        if peer == "mnn":
            if not is_newer(self.path("model.mnn"), self.model):
                # Does not use the wheel's script, which reports to a server with a package that it installs.
                run(sys.executable, "-c", "import sys, _tools; _tools.mnnconvert(sys.argv)",
                    "-f", "ONNX", "--modelFile", self.model, "--MNNModel", self.path("model.mnn"),
                    "--bizCode", "codl")
            return self.path("model.mnn")
        if peer == "ncnn":
            if not is_newer(self.path("model.ncnn.bin"), self.model):
                folder = importlib.util.find_spec("pnnx").submodule_search_locations[0]
                run(os.path.join(folder, "pnnx"), self.model, "fp16=0",
                    f"inputshape=[{','.join(map(str, self.dims))}]f32")
            return self.path("model.ncnn")
        codlc = os.path.join(self.options.bin, "codlc")
        if not is_newer(self.path("model.codl"), self.model, codlc):
            run(codlc, "-q", self.model, "--device=host", "--strategy=cpu", "--max-weights=none", *self.codl_shapes,
                "-o", self.path("model.codl"))
        return self.path("model.codl")

    def measure(self, peer, threads):
        """Runs one process: {"load_ms", "first_ms", "median_ms", "peak_mb", "version"}."""
        model = self.convert(peer)
        cores = self.options.cores[-threads:]
        pinned = ["taskset", "-c", ",".join(map(str, cores))]
        warm_up(model)
        if peer != "codl":
            output = self.path(f"{peer}.npz")
            python = self.options.xnnpack_python if peer == "xnnpack" else sys.executable
            text = run(*pinned, python, os.path.join(HERE, "peer_run.py"), peer, model,
                       self.input, str(threads), str(self.options.min_ms), output)
            if peer not in self.error and peer != "xnnpack":
                with np.load(output) as results:
                    self.check(peer, [results[key] for key in results.files])
            return json.loads(text.strip().splitlines()[-1])
        bench = [os.path.join(self.options.bin, "codl-bench"), model, "--variant=cpu", "--json",
                 f"--num-threads={threads}", f"--cpu-cores={','.join(map(str, cores))}",
                 *self.codl_inputs]
        facts = json.loads(run(*pinned, *bench, "--num-runs=10", "--warmup-runs=4",
                               f"--min-ms={self.options.min_ms}"))
        if peer not in self.error:
            run(os.path.join(self.options.bin, "codl-run"), model, "--variant=cpu",
                f"--num-threads={threads}", *self.codl_inputs, f"--output-dir={self.path('codl')}")
            self.check(peer, [np.load(os.path.join(self.path("codl"), file_name(name)))
                              for name in self.output_names])
        return {"version": "", "load_ms": facts["load_us"] / 1000,
                "first_ms": facts["first_run_us"] / 1000, "median_ms": facts["median_us"] / 1000,
                "peak_mb": facts["peak_memory_bytes"] / 1e6}

    def check(self, peer, outputs):
        if peer == "onnxruntime":
            self.expected = outputs
            self.error[peer] = 0.0
        elif hasattr(self, "expected"):
            # A peer may have dropped dims of size 1, and order its outputs by name.
            self.error[peer] = max(
                min((relative_error(found.reshape(one.shape), one, SIGMOID_ERROR)
                     for found in outputs if found.size == one.size), default=float("inf"))
                for one in self.expected)


class Samples:
    """Holds the measurements, keyed by (network, threads, peer)."""

    def __init__(self):
        self.of = {}

    def add(self, key, facts):
        self.of.setdefault(key, []).append(facts)

    def median(self, key, field):
        return statistics.median(facts[field] for facts in self.of[key])

    def cell(self, key, field):
        if key not in self.of:
            return "-"
        values = [facts[field] for facts in self.of[key]]
        return f"{statistics.median(values):.2f} ({min(values):.2f}-{max(values):.2f})"


    def versions(self):
        found = sorted({(key[2], facts["version"]) for key, all_facts in self.of.items()
                        for facts in all_facts if facts["version"]})
        return ", ".join(f"{peer} {version}" for peer, version in found)


def geometric_mean(values):
    return statistics.geometric_mean(values) if values else float("nan")


def run_table(samples, networks, threads, peers, published):
    """Returns latencies with one number of threads, marked where they are published, not measured."""
    others = [peer for peer in peers if peer not in ("codl", "xnnpack")]
    ratio_of = published["xnnpack_over_onnxruntime"].get(str(threads), {})
    rows, ratios, ratios_with = [], [], []
    for network in networks:
        times = {peer: samples.median((network.name, threads, peer), "median_ms")
                 for peer in peers if (network.name, threads, peer) in samples.of}
        if "codl" not in times or len(times) < 2:
            continue
        fastest = min((peer for peer in times if peer != "codl"), key=times.get)
        ratio = times[fastest] / times["codl"]
        ratios.append(ratio)
        xnnpack_cell = samples.cell((network.name, threads, "xnnpack"), "median_ms")
        xnnpack = float("inf")
        if "xnnpack" not in times and "onnxruntime" in times and network.name in ratio_of:
            xnnpack = times["onnxruntime"] * ratio_of[network.name]
            xnnpack_cell = f"*{xnnpack:.2f}*"
        ratios_with.append(min(times[fastest], xnnpack) / times["codl"])
        rows.append([network.name] +
                    [samples.cell((network.name, threads, peer), "median_ms") for peer in others] +
                    [xnnpack_cell,
                     samples.cell((network.name, threads, "codl"), "median_ms"), fastest,
                     f"{ratio:.2f}", f"{ratios_with[-1]:.2f}",
                     f"{network.error.get('codl', float('nan')):.0e}"])
    head = ["network"] + others + ["xnnpack", "codl", "fastest measured", "fastest / codl",
                                   "with published", "codl's error"]
    summary = (f"Geometric mean of fastest / codl: **{geometric_mean(ratios):.3f}** over "
               f"{len(ratios)} networks, least {min(ratios, default=float('nan')):.2f}; with "
               f"published ratios too {geometric_mean(ratios_with):.3f}, least "
               f"{min(ratios_with, default=float('nan')):.2f}.")
    return [f"{threads} thread{'s' if threads > 1 else ''}, ms, median (min-max) over rounds:", "",
            *markdown.table(head, rows), "", summary]


def scaling_line(samples, networks, threads, peers):
    """Returns how much faster the most threads are than the fewest."""
    few, many = min(threads), max(threads)
    parts = []
    for peer in peers:
        gains = [samples.median((network.name, few, peer), "median_ms") /
                 samples.median((network.name, many, peer), "median_ms") for network in networks
                 if {(network.name, few, peer), (network.name, many, peer)} <= set(samples.of)]
        parts.append(f"{peer} {geometric_mean(gains):.2f}")
    return f"From {few} to {many} threads, geometric mean: {', '.join(parts)}."


def load_table(samples, networks, threads, peers):
    rows, gains = [], []
    for network in networks:
        keys = {peer: (network.name, threads, peer) for peer in peers
                if (network.name, threads, peer) in samples.of}
        if "codl" not in keys or len(keys) < 2:
            continue
        row = [network.name]
        for field in ("load_ms", "peak_mb"):
            row += [f"{samples.median(keys[peer], field):.1f}" if peer in keys else "-"
                    for peer in peers]
            least = min(samples.median(key, field) for peer, key in keys.items() if peer != "codl")
            ratio = least / samples.median(keys["codl"], field)
            row.append(f"{ratio:.1f}")
            if field == "load_ms":
                gains.append(ratio)
        row += [f"{samples.median(keys[peer], 'first_ms') / samples.median(keys[peer], 'median_ms'):.2f}"
                if peer in keys else "-" for peer in peers]
        rows.append(row)
    head = (["network"] + [f"load ms {peer}" for peer in peers] + ["least / codl"] +
            [f"peak MB {peer}" for peer in peers] + ["least / codl"] +
            [f"first / steady {peer}" for peer in peers])
    return [f"{threads} thread, median over rounds. Peak of codl: the whole process; of the others: "
            "the growth of a Python process from before the runtime was imported.", "",
            *markdown.table(head, rows), "",
            f"Load, geometric mean of least / codl: {geometric_mean(gains):.1f}, least "
            f"{min(gains, default=float('nan')):.1f}."]


def overhead_network(folder):
    """Returns an ONNX file that computes for less time than a call takes."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, OVERHEAD_NETWORK + ".onnx")
    dims = [1, 4, 4, 4]
    value = lambda name: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, dims)
    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["input"], ["output"])],
                                   OVERHEAD_NETWORK, [value("input")], [value("output")])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.save(model, path)
    return path


def measure_all(networks, threads, options):
    samples = Samples()
    for round_index in range(options.rounds):
        for network in networks:
            for count in threads:
                shift = round_index % len(options.peers)
                # The first round has the given order, because the others are compared with the first peer.
                for peer in options.peers[shift:] + options.peers[:shift]:
                    if peer == "xnnpack" and not os.path.exists(network.convert(peer)):
                        continue
                    try:
                        facts = network.measure(peer, count)
                    except (RuntimeError, KeyError, ValueError, OSError) as error:
                        print(f"{network.name} {peer}: {error}", file=sys.stderr, flush=True)
                        continue
                    samples.add((network.name, count, peer), facts)
                    print(f"round {round_index + 1} {network.name:22} {count} {peer:12} "
                          f"{facts['median_ms']:8.2f} ms  load {facts['load_ms']:8.2f}  first "
                          f"{facts['first_ms']:8.2f}  peak {facts['peak_mb']:7.1f} MB",
                          file=sys.stderr, flush=True)
    return samples


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    names = lambda text: text.split(",")
    parser.add_argument("--models", default=os.path.join(ROOT, "examples", "models"), metavar="DIR")
    parser.add_argument("--fill-weights", metavar="SCRIPT", type=os.path.abspath)
    parser.add_argument("--only", default=["*"], type=names, metavar="GLOB,...",
                        help="networks, by name without .onnx")
    parser.add_argument("--threads", default=[1, 2], metavar="N,...",
                        type=lambda text: [int(count) for count in text.split(",")])
    parser.add_argument("--rounds", default=3, type=int)
    parser.add_argument("--min-ms", default=700, type=int, help="of timed runs in a process")
    parser.add_argument("--what", default=["run", "load"], type=names)
    parser.add_argument("--peers", default=PEERS, type=names)
    parser.add_argument("--cores", default=sorted(os.sched_getaffinity(0)), metavar="N,...",
                        type=lambda text: [int(core) for core in text.split(",")],
                        help="run on the last of these; default: all that are allowed")
    parser.add_argument("--xnnpack", metavar="DIR", type=os.path.abspath,
                        help="what executorch_models.py wrote")
    parser.add_argument("--xnnpack-python", default=sys.executable, metavar="PYTHON",
                        help="a Python that has executorch")
    parser.add_argument("--markdown", metavar="FILE")
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "release", "bin"),
                        metavar="DIR", type=os.path.abspath)
    parser.add_argument("--work", default=os.path.join(ROOT, "build", "speed_work"), metavar="DIR",
                        type=os.path.abspath)
    options = parser.parse_args()
    for value, known in [(one, ["run", "load", "overhead"]) for one in options.what] + \
                        [(one, PEERS) for one in options.peers]:
        if value not in known:
            parser.error(f"expected some of {','.join(known)}, found '{value}'")
    if options.xnnpack:
        options.peers = options.peers + ["xnnpack"]
    return options


def networks_of(options):
    paths = [os.path.join(options.models, name) for name in sorted(os.listdir(options.models))
             if name.endswith(".onnx") and
             any(fnmatch.fnmatch(name[:-len(".onnx")], glob) for glob in options.only)]
    networks = []
    for path in paths:
        try:
            networks.append(Network(path, options))
        except RuntimeError as error:
            print(f"{path}: {error}", file=sys.stderr)
    return networks


def main():
    options = parse_options()
    global np, onnx
    modules = {"onnxruntime": ["onnxruntime"], "mnn": ["MNN"], "ncnn": ["ncnn", "pnnx"]}
    use_wheels(["numpy", "onnx"] + [module for peer in options.peers for module in modules.get(peer, [])],
               [["-r", "requirements.txt", "-r", "requirements_speed.txt"],
                # Installs only its converter, which is a program; the Python part needs large packages.
                ["--no-deps", "pnnx"]])
    import numpy as np
    import onnx
    with open(os.path.join(HERE, "published.json")) as file:
        published = json.load(file)

    sections = {}
    failed = []
    if set(options.what) & {"run", "load"}:
        networks = networks_of(options)
        threads = sorted(set(options.threads))
        samples = measure_all(networks, threads if "run" in options.what else threads[:1], options)
        with open(os.path.join(options.work, "samples.json"), "w") as file:
            json.dump([[*key, facts] for key, facts in samples.of.items()], file)
        if "run" in options.what:
            lines = []
            for count in threads:
                lines += run_table(samples, networks, count, options.peers, published) + [""]
            if len(threads) > 1:
                lines += [scaling_line(samples, networks, threads, options.peers), ""]
            lines += [f"Measured: {samples.versions()}. XNNPACK in italics: "
                      f"{published['source']}."]
            sections["run"] = lines
        if "load" in options.what:
            # ExecuTorch's library for Python contains PyTorch, so its memory use says nothing.
            sections["load"] = load_table(samples, networks, threads[0],
                                          [peer for peer in options.peers if peer != "xnnpack"])
        failed = [network.name for network in networks if network.error.get("codl", 0) > BOUND]
        for network in networks:
            for peer, error in network.error.items():
                if error > BOUND:
                    print(f"{network.name}: {peer}: expected a relative L2 error of at most "
                          f"{BOUND:g}, found {error:.1e}")
    if "overhead" in options.what:
        network = Network(overhead_network(options.work), options)
        samples = measure_all([network], options.threads[:1], options)
        cells = [f"{1000 * samples.median(key, 'median_ms'):.1f}" for key in samples.of]
        sections["overhead"] = ["One call for a Relu of 64 numbers, us:", "",
                                *markdown.table([key[2] for key in samples.of], [cells])]
    for what, lines in sections.items():
        print("\n".join(lines) + "\n")
        if options.markdown:
            markdown.write_section(options.markdown, f"compare.py {what}", lines)
    sys.exit(len(failed) > 0)


if __name__ == "__main__":
    main()
