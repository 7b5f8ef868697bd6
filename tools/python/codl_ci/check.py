"""codl-check compares a model's plans with ONNX Runtime: docs/guide/matrix.md."""
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile

from .common import InputError, Parser, end, fail, json_text, note_input, printable, program_of, say

TOOL = "codl-check"
WRONG = 70  # exit code, as that of codl-run where a check finds a wrong step
# Plans that differ in what runs where, by the flags of codlc that make them.
WAYS = {"optimal": [], "cpu": ["--strategy=cpu"], "gpu": ["--strategy=gpu"],
        "rows": ["--place=*=split:h:0.5"], "channels": ["--place=*=split:oc:0.5"]}
# The greatest relative L2 error of an output; docs/guide/precision.md says what halves may lose.
BOUNDS = {"fp32": 1e-4, "fp16": 1e-2}


def import_peer():
    global np, onnxruntime
    try:
        import numpy as np
        import onnxruntime
    except ImportError as error:
        fail("onnxruntime", "it as a Python package (pip install onnxruntime)", error)


class Tools:
    """Runs codlc, codl-run and codl-dump, which lie beside each other."""

    def __init__(self, flags):
        self.codlc = program_of(TOOL, "codlc", flags.codlc)
        beside = os.path.dirname(os.path.abspath(self.codlc))
        self.run, self.dump = (program_of(TOOL, name, os.path.join(beside, name)) for name in ("codl-run", "codl-dump"))

    @staticmethod
    def call(*command):
        """Returns (exit code, stdout, the first line of the error)."""
        result = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        errors = re.findall(r"(?m)^\S+: error: (.*)$", result.stderr) or [result.stderr.strip()]
        return result.returncode, result.stdout, errors[0]

    def compile(self, model, plan, *options):
        """Raises Refusal if codlc makes no plan."""
        code, _, error = self.call(self.codlc, "--quiet", *options, "-o", plan, "--", model)
        if code:
            raise Refusal(code, error)

    def read(self, plan):
        code, text, error = self.call(self.dump, plan, "--json")
        if code:
            raise InputError(error)
        return json.loads(text)


class Refusal(Exception):
    """codlc's exit code and text."""


# ---- inputs ----

def numpy_type(io):
    name = {"f32": "f4", "f64": "f8", "f16": "f2", "bool": "?"}.get(io["dtype"], io["dtype"])
    if re.fullmatch(r"[iu]\d+", name):
        name = f"{name[0]}{int(name[1:]) // 8}"
    if io["dtype"] == "bf16":
        fail(io["name"], "an input of a type that numpy has", "bfloat16")
    return np.dtype(name)


def drawn(io, rng):
    """Returns what an input without --input gets: normal floats, and integers that any index may be."""
    dtype = numpy_type(io)
    if dtype.kind == "f":
        return rng.standard_normal(io["dims"]).astype(dtype)
    return np.zeros(io["dims"], dtype)


def given_inputs(texts, known):
    arrays = {}
    for text in texts:
        name, _, path = text.rpartition("=")
        if not name or not path:
            fail("--input", "NAME=FILE.npy", text)
        if name not in known:
            fail(f"--input={text}", f"an input of the model ({', '.join(known)})", name)
        note_input(path)
        try:
            arrays[name] = np.load(path, allow_pickle=False)
        except (OSError, ValueError) as error:  # numpy takes bytes that are no array for objects
            fail(path, "a .npy file", "another" if "pickle" in str(error) else error)
    return arrays


def settings_of(texts, session):
    """Returns the inputs of the model that --input-value makes constants, for ONNX Runtime."""
    types = {given.name: given for given in session.get_inputs()}
    kinds = {"tensor(int64)": "i8", "tensor(int32)": "i4", "tensor(float)": "f4", "tensor(double)": "f8", "tensor(bool)": "?"}
    values = {}
    for text in texts:
        name, _, words = text.rpartition(":")
        if name not in types or types[name].type not in kinds:
            fail(f"--input-value={text}", f"an input of the model ({', '.join(types)}) with numbers", name)
        numbers = [word == "true" if word in ("true", "false") else float(word) for word in words.split(",") if word]
        array = np.array(numbers).astype(kinds[types[name].type])
        values[name] = array.reshape(()) if not types[name].shape else array
    return values


# ---- comparing ----

def difference(found, expected):
    """Returns (relative L2 error, largest difference, where it is); a NaN that both have is no difference."""
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return float("inf"), float("inf"), f"{found.dtype}{list(found.shape)} in place of {expected.dtype}{list(expected.shape)}"
    a, b = found.astype("f8"), expected.astype("f8")
    both = (a == b) | (np.isnan(a) & np.isnan(b))  # infinities, too
    off = np.where(both, 0, a - b)
    if not off.any():
        return 0.0, 0.0, ""
    off = np.where(np.isfinite(off), off, np.inf)
    norm = np.linalg.norm(np.where(np.isfinite(b), b, 0))
    error = np.linalg.norm(off) / norm if norm else np.linalg.norm(off)
    at = np.unravel_index(np.argmax(np.abs(off)), off.shape)
    return float(error), float(np.abs(off).max()), str([int(i) for i in at])


class Check:
    """Has one model with its inputs and ONNX Runtime's outputs."""

    def __init__(self, flags, folder):
        self.flags, self.folder, self.tools = flags, folder, Tools(flags)
        self.options = [f"--device={flags.device}", *(f"--input-shape={text}" for text in flags.input_shape),
                        *(f"--input-value={text}" for text in flags.input_value)]
        self.seen = set()  # variants that were run
        # All plans of the model have these inputs.
        ios = self.tools.read(self.plan("fp32", "cpu"))["inputs"]
        rng, given = np.random.default_rng(flags.seed), given_inputs(flags.input, [io["name"] for io in ios])
        self.feeds = {io["name"]: given.get(io["name"], drawn(io, rng)) for io in ios}
        self.inputs = []
        for number, (name, array) in enumerate(self.feeds.items()):
            np.save(self.path(f"input_{number}.npy"), array)
            self.inputs.append(f"--input={name}={self.path(f'input_{number}.npy')}")
        self.expected = self.run_peer(flags.model)

    def path(self, name):
        return os.path.join(self.folder, name)

    def plan(self, precision, way):
        """Returns the path of the model's plan, which is made once."""
        path = self.path(f"{precision}_{way}.codl")
        if not os.path.exists(path):
            self.tools.compile(self.flags.model, path, *self.options, *WAYS[way], f"--precision={precision}")
        return path

    def run_peer(self, model):
        settings = onnxruntime.SessionOptions()
        settings.log_severity_level = 3
        try:
            session = onnxruntime.InferenceSession(model, settings, ["CPUExecutionProvider"])
            feeds = {**self.feeds, **settings_of(self.flags.input_value, session)}
            names = [output.name for output in session.get_outputs()]
            return dict(zip(names, session.run(names, feeds)))
        except InputError:
            raise
        except Exception as error:  # its types are its own
            fail(model, "a model that ONNX Runtime runs on these inputs", str(error).split("\n")[0])

    def run_plan(self, plan, variant, number_of_outputs):
        """Returns ({output: array}, why there are none)."""
        folder = self.path("out")
        os.makedirs(folder, exist_ok=True)
        code, text, error = self.tools.call(
            self.tools.run, plan, *self.inputs, f"--variant={variant}", "--require-variant", "--json",
            f"--program-cache={self.path('programs')}", f"--output-dir={folder}")
        if code:
            return None, error
        reports = json.loads(text)["outputs"][:number_of_outputs]
        return {report["name"]: np.load(report["file"], allow_pickle=False) for report in reports}, None

    def rows(self, precision, way):
        """Yields one result per variant and output."""
        try:
            plan = self.plan(precision, way)
        except Refusal as error:
            yield {"precision": precision, "way": way, "variant": "", "not_run": error.args[1]}
            return
        with open(plan, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        for variant in (one["name"] for one in self.tools.read(plan)["variants"]):
            # The CPU's variant computes the same in every plan of a precision.
            key = (precision if variant == "cpu" else digest, variant)
            if key in self.seen:
                continue
            self.seen.add(key)
            found, reason = self.run_plan(plan, variant, len(self.expected))
            if found is None:
                yield {"precision": precision, "way": way, "variant": variant, "not_run": reason}
                continue
            for name, expected in self.expected.items():
                error, largest, where = difference(found[name], expected)
                yield {"precision": precision, "way": way, "variant": variant, "output": name, "relative_error": error,
                       "largest_difference": largest, "at": where, "is_wrong": not error <= BOUNDS[precision]}

    def first_wrong_node(self, row):
        """Returns the first node, in the model's order, whose result is off though what it reads is not; or why it is not known.

        Each value is an output then, so nodes are not fused: a fault of a fused kernel may not be seen.
        """
        try:
            import onnx
        except ImportError:
            return "not looked for: it needs the Python package onnx"
        model = onnx.load(self.flags.model)
        known = {output.name for output in model.graph.output}
        nodes = [node for node in model.graph.node if not any(a.type in (a.GRAPH, a.GRAPHS) for a in node.attribute)]
        types = {value.name: value for value in onnx.shape_inference.infer_shapes(model).graph.value_info}
        for node in nodes:
            for name in node.output:
                if name and name not in known and name in types:
                    model.graph.output.append(types[name])
                    known.add(name)
        opened = self.path("opened.onnx")
        onnx.save(model, opened, save_as_external_data=model.ByteSize() > 1 << 30)
        expected = self.run_peer(opened)
        plan = self.path("opened.codl")
        try:
            self.tools.compile(opened, plan, *self.options, *WAYS[row["way"]], f"--precision={row['precision']}")
        except Refusal as error:
            return f"not found: with all values as outputs there is no plan: {error.args[1]}"
        variants = [one["name"] for one in self.tools.read(plan)["variants"]]
        found, reason = self.run_plan(plan, row["variant"] if row["variant"] in variants else variants[0], len(expected))
        if found is None:
            return f"not found: {reason}"
        off = {name for name in expected if not difference(found[name], expected[name])[0] <= BOUNDS[row["precision"]]}
        for node in nodes:
            if off.intersection(node.output) and not off.intersection(node.input):
                return f"{node.name or node.output[0]} ({node.op_type})"
        return "none: with all values as outputs, so that nothing is fused, all are right"


def text_of(row):
    label = f"{row['precision']} {row['way']:8} {row['variant']:8}"
    if "not_run" in row:
        return f"{label} not run: {printable(row['not_run'])}"
    where = f" at {row['at']}" if row["at"] else ""
    return (f"{label} {printable(row['output'])}: {'WRONG' if row['is_wrong'] else 'right'}, relative error {row['relative_error']:.1e}, "
            f"largest difference {row['largest_difference']:.3g}{where}")


def run(flags):
    import_peer()
    note_input(flags.model)
    with tempfile.TemporaryDirectory(prefix="codl-check-") as folder:
        rows = []
        try:
            check = Check(flags, folder)
        except Refusal as error:
            say(TOOL, "error", error.args[1])
            return error.args[0]
        for precision in flags.precision:
            for way in WAYS:
                for row in check.rows(precision, way):
                    rows.append(row)
                    if not flags.json:
                        print(text_of(row), flush=True)
        wrong = [row for row in rows if row.get("is_wrong")]
        first = check.first_wrong_node(wrong[0]) if wrong else None
    if flags.json:
        sys.stdout.write(json_text({"format": "codl-check", "format_version": 1, "results": rows, "first_wrong_node": first}))
    elif wrong:
        print(f"first wrong node: {printable(first)}")
    return WRONG if wrong else 0


def precisions(text):
    words = text.split(",")
    for word in words:
        if word not in BOUNDS:
            fail("--precision", f"some of {','.join(BOUNDS)}", word)
    return words


def command_line():
    parser = Parser(TOOL, "codlc", "the program that makes plans; codl-run and codl-dump lie beside it",
                    {"bin": "--codlc=FILE", "tolerance atol rtol": "nothing: --help has the bounds"},
                    description="Does this model compute the same in every kind of plan? Compares plans for a device, as the search places "
                    "them, on one processor and with every node split by rows and by channels, in floats and in halves, with ONNX Runtime, "
                    "on random inputs or given ones, on this machine.",
                    epilog="An output is wrong if its relative L2 error is above 1e-4, in halves 1e-2. Exit codes: 0 all that could be run is "
                    "right, 1 the input is wrong, 2 codlc does not import the model, 70 an output is wrong.")
    parser.add_argument("model", metavar="MODEL.onnx")
    parser.add_argument("--device", default="host", help="as that of codlc")
    parser.add_argument("--input", metavar="NAME=FILE.npy", action="append", default=[],
                        help="an input; without it, floats are drawn and integers are 0; repeatable")
    parser.add_argument("--input-shape", metavar="NAME:DIMS", action="append", default=[], help="as that of codlc; repeatable")
    parser.add_argument("--input-value", metavar="NAME:VALUES", action="append", default=[], help="as that of codlc; repeatable")
    parser.add_argument("--precision", default="fp32,fp16", type=precisions, help="of plans")
    parser.add_argument("--seed", type=int, default=0, help="of drawn inputs")
    parser.add_argument("--json", action="store_true", help="JSON in place of text")
    return parser


def main():
    return end(TOOL, lambda: run(command_line().parse_args()))
