"""codl-matrix: models x devices to plans, reports and one manifest. Standard library only; docs/guide/matrix.md."""
import concurrent.futures
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

from .ai_pack import write_ai_pack
from .common import InputError, Parser, copy_whole, end, fail, json_text, printable, read_json, say, stat_regular, write_bytes, write_whole
from .limits import METRICS, Limit

TOOL = "codl-matrix"
MANIFEST_VERSION = 1
LIMIT = 3  # exit code of codlc and of this tool where a limit is not met
# Of an ONNX file, whose weights may lie in others: protobuf's.
MAX_MODEL_BYTES = (1 << 31) - 1


class Hashes:
    """SHA-256 of files. A file whose device, inode, size and time of change are as recorded is not read again."""

    def __init__(self, records, rehash):
        self.known = {} if rehash else records
        self.used = {}

    def of(self, path):
        path = os.path.abspath(path)
        if path not in self.used:
            entry = stat_regular(path)
            stamp = [entry.st_dev, entry.st_ino, entry.st_size, entry.st_mtime_ns]
            known = self.known.get(path)
            if known and known["stamp"] == stamp:
                self.used[path] = known
            else:
                with open(path, "rb") as file:
                    self.used[path] = {"stamp": stamp, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
        return self.used[path]["sha256"]

    def forget(self, path):
        """The file was written anew."""
        self.used.pop(os.path.abspath(path), None)
        self.known.pop(os.path.abspath(path), None)


class Compiler:
    def __init__(self, program):
        found = shutil.which(program)
        if not found:
            fail("codlc", "a program beside codl-matrix, in PATH or --codlc", "none")
        self.program = found
        result = subprocess.run([found, "--version"], capture_output=True, text=True)
        match = re.match(r"codlc (\S+) \(plan format (\d+)\)", result.stdout)
        if not match:
            fail(found, "codlc", result.stdout or result.stderr)
        self.version, self.plan_format = match.group(1), int(match.group(2))


class Job:
    """One model on one device."""

    def __init__(self, model, device, options, folder):
        self.name, self.path, self.device, self.options, self.folder = model["name"], model["path"], device, options, folder
        self.label = re.sub(r"\.json$", "", os.path.basename(device))

    def key(self, compiler_sha, hashes, inputs):
        """Of all that plan and report follow from: contents of files, and the model's name, which the report has."""
        parts = [compiler_sha, os.path.basename(self.path), json.dumps(self.options), hashes.of(self.path), *(hashes.of(path) for path in inputs)]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def first_key(self, compiler_sha, hashes):
        """What is known before a first compilation: the cache lists under it which other files count."""
        parts = [compiler_sha, self.device, json.dumps(self.options), os.path.abspath(self.path), hashes.of(self.path)]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()


RULE_TARGET = "plan"  # a name without a colon, which a path may have


def split_rule(text):
    """The prerequisites of a depfile's rule for RULE_TARGET, as codlc escapes them."""
    words = re.findall(r"(?:[^\s\\]|\\.)+", text.replace("\\\n", " ").removeprefix(RULE_TARGET + ":"))
    return [re.sub(r"\\([ #\\])", r"\1", word).replace("$$", "$") for word in words]


PAGE_BYTES = 4096  # weights begin at multiples of it: docs/reference/plan_format.md
PAGES_IN_PART = 32  # in the mean


def parts_of(data):
    """Stretches of pages, cut where a page's own bytes say so: what two plans have in common, wherever it lies, is the
    same stretches but for the first and the last."""
    begin = 0
    for end in range(PAGE_BYTES, len(data) + PAGE_BYTES, PAGE_BYTES):
        if end >= len(data) or hashlib.sha256(data[end - PAGE_BYTES:end]).digest()[0] % PAGES_IN_PART == 0:
            yield data[begin:end]
            begin = end


class Cache:
    """Objects by the SHA-256 of their bytes, results by the key of what they follow from. A plan is a list of parts, as the
    plans of a model's devices have most of their weights in common."""

    def __init__(self, folder):
        self.folder = folder
        for name in ("objects", "plans", "parts", "results", "inputs"):
            os.makedirs(os.path.join(folder, name), exist_ok=True)

    def path(self, kind, key):
        return os.path.join(self.folder, kind, key)

    def get(self, kind, key):
        try:
            with open(self.path(kind, key), encoding="utf-8") as file:
                return json.load(file)
        except (OSError, ValueError):
            return None

    def put(self, kind, key, value):
        write_whole(self.path(kind, key), json_text(value))

    def has(self, name, sha):
        if name != "plan.codl":
            return os.path.exists(self.path("objects", sha))
        parts = self.get("plans", sha)
        return parts is not None and all(os.path.exists(self.path("parts", part)) for part in parts)

    def add(self, name, path):
        """Takes the file, and returns its SHA-256."""
        if name == "plan.codl":
            return self.add_plan(path)
        with open(path, "rb") as file:
            sha = hashlib.file_digest(file, "sha256").hexdigest()
        target = self.path("objects", sha)
        if not os.path.exists(target):
            os.chmod(path, 0o444)  # linked from many places: nobody is to change it in one
            os.replace(path, target)
        return sha

    def add_plan(self, path):
        with open(path, "rb") as file:
            data = memoryview(file.read())
        sha = hashlib.sha256(data).hexdigest()
        parts = []
        for part in parts_of(data):
            parts.append(hashlib.sha256(part).hexdigest())
            if not os.path.exists(self.path("parts", parts[-1])):
                write_bytes(self.path("parts", parts[-1]), part)
        self.put("plans", sha, parts)
        return sha

    def place(self, name, sha, path, hashes):
        """The file under a name of the user's: a plan from its parts, another as a hard link where the file system can."""
        if name == "plan.codl":
            if not os.path.exists(path) or hashes.of(path) != sha:
                data = bytearray()
                for part in self.get("plans", sha):
                    with open(self.path("parts", part), "rb") as file:
                        data += file.read()
                if hashlib.sha256(data).hexdigest() != sha:
                    fail(self.path("plans", sha), "parts of the plan (empty the cache)", "others")
                write_bytes(path, data)
                hashes.forget(path)
                hashes.of(path)
            return
        source = self.path("objects", sha)
        if os.path.exists(path):
            if os.path.samefile(source, path):
                return
            os.unlink(path)
        try:
            os.link(source, path)
        except OSError:
            copy_whole(source, path)


def facts_of(report, job, compiler):
    """An entry of the manifest; names as Qualcomm AI Hub's performance files have them where they fit."""
    variant = report["variants"][0]
    on = {"cpu": 0, "gpu": 0}
    levels = {}
    for operator in report["operators"]:
        for part in operator["parts"]:
            on[part["processor"]] += 1
    for stands in variant["stands_on"]:
        levels[stands["level"]] = levels.get(stands["level"], 0) + stands["us"]
    memory = variant["memory"]
    return {
        "model": job.name, "device": job.label, "job_status": "Passed", "options": job.options,
        "codlc_version": compiler.version, "plan_format": compiler.plan_format,
        "precision": report["options"]["precision"],
        "inference_time": variant["predicted_us"], "inference_time_interval": [variant["low_us"], variant["high_us"]],
        "throughput": round(1e6 / variant["predicted_us"], 3) if variant["predicted_us"] else 0,
        "estimated_peak_memory_range": {"min": memory["total_bytes"], "max": memory["total_bytes"]},
        "primary_compute_unit": "GPU" if variant["gpu_mac_share"] > 0.5 else "CPU",
        "layer_info": {"layers_on_cpu": on["cpu"], "layers_on_gpu": on["gpu"], "total_layers": len(report["operators"])},
        "calibration_level": max(sorted(levels), key=levels.get) if levels else "facts",
        "assumed_share": variant["assumed_share"], "gpu_mac_share": variant["gpu_mac_share"],
        "memory": memory, "plan_bytes": report["plan"]["bytes"], "weight_bytes": report["plan"]["weight_bytes"],
        "model_sha256": None, "profile_sha256": None,
    }


def compile_job(job, compiler, compiler_sha, hashes, cache):
    """The entry of the manifest, from the cache or by codlc."""
    if (size := stat_regular(job.path).st_size) > MAX_MODEL_BYTES:  # before all of it is read
        fail(job.path, f"at most {MAX_MODEL_BYTES} bytes", f"{size} bytes")
    first = job.first_key(compiler_sha, hashes)
    inputs = cache.get("inputs", first)
    if inputs and all(map(os.path.exists, inputs)):
        result = cache.get("results", job.key(compiler_sha, hashes, inputs))
        if result and all(cache.has(name, sha) for name, sha in result["files"].items()):
            return result
    with tempfile.TemporaryDirectory(dir=cache.folder) as work:
        made = {name: os.path.join(work, name) for name in ("plan.codl", "report.html", "report.json")}
        rule = os.path.join(work, "rule")
        run = subprocess.run([compiler.program, job.path, f"--device={job.device}", "--quiet", "-o", made["plan.codl"],
                              f"--report={made['report.html']}", f"--report-json={made['report.json']}", "-MF", rule,
                              "-MT", RULE_TARGET, *job.options], capture_output=True, text=True)
        if run.returncode != 0:
            return {"error": run.stderr.strip(), "exit_code": run.returncode}
        with open(rule, encoding="utf-8", errors="surrogateescape") as file:
            inputs = [os.path.abspath(path) for path in split_rule(file.read())]
        entry = facts_of(read_json(made["report.json"]), job, compiler)
        profiles = [hashes.of(path) for path in inputs if path.endswith(".json")]
        entry["model_sha256"] = hashes.of(job.path)
        entry["profile_sha256"] = hashlib.sha256("".join(profiles).encode()).hexdigest() if len(profiles) > 1 else profiles[0]
        files = {name: cache.add(name, path) for name, path in made.items()}
    entry["plan_sha256"] = files["plan.codl"]
    result = {"entry": entry, "files": files, "inputs": inputs}
    cache.put("inputs", first, inputs)
    cache.put("results", job.key(compiler_sha, hashes, inputs), result)
    return result


# ---- what is written ----

def write_junit(path, entries, faults):
    suites = xml.Element("testsuites")
    for model in sorted({entry["model"] for entry in entries}):
        own = [entry for entry in entries if entry["model"] == model]
        suite = xml.SubElement(suites, "testsuite", name=model, tests=str(len(own)),
                               errors=str(sum(entry["job_status"] == "Failed" for entry in own)),
                               failures=str(sum((model, entry["device"]) in faults for entry in own)))
        for entry in own:
            case = xml.SubElement(suite, "testcase", classname=model, name=entry["device"])
            if entry["job_status"] == "Failed":
                xml.SubElement(case, "error", message=printable(entry["error"].split("\n")[0])).text = printable(entry["error"])
            for fault in faults.get((model, entry["device"]), []):
                xml.SubElement(case, "failure", message=fault)
    xml.indent(suites)
    write_whole(path, xml.tostring(suites, encoding="unicode") + "\n")


def ninja_text(jobs, compiler):
    """A build file: the same plans, by a system that spreads and repeats work."""
    def name(path):
        return re.sub(r"([$ :])", r"$\1", path)

    def word(text):
        return "'" + text.replace("'", "'\\''").replace("$", "$$") + "'"
    lines = ["rule codlc", f"  command = {word(compiler.program)} $arguments --quiet -o $out -MF $out.d",
             "  depfile = $out.d", "  deps = gcc", "  restat = 1", "  description = codlc $out", ""]
    for job in jobs:
        out = os.path.join(job.folder, "plan.codl")
        lines += [f"build {name(out)}: codlc {name(os.path.abspath(job.path))}",
                  f"  arguments = {' '.join(map(word, [os.path.abspath(job.path), '--device=' + job.device, *job.options]))}"]
    return "\n".join(lines) + "\n"


def github_text(jobs):
    return json.dumps({"include": [{"model": job.name, "device": job.label} for job in jobs]}) + "\n"


# ---- the command ----

def read_models(path):
    root = read_json(path)
    if not isinstance(root, dict) or set(root) - {"models", "devices", "options"}:
        fail(path, "an object of models, devices and options", json.dumps(root)[:60])
    folder = os.path.dirname(path)
    models = root.get("models")
    for key in ("models", "devices"):
        if not isinstance(root.get(key), list) or not root[key]:
            fail(f"{path}: /{key}", "an array with something in it", json.dumps(root.get(key)))
    names = set()
    for i, model in enumerate(models):
        where = f"{path}: /models/{i}"
        if not isinstance(model, dict) or not isinstance(model.get("model"), str) or set(model) - {"model", "name", "options", "devices"}:
            fail(where, "an object of model (a path), name, options and devices", json.dumps(model)[:60])
        model.setdefault("name", re.sub(r"\.onnx$", "", os.path.basename(model["model"])))
        if not isinstance(model["name"], str) or not re.fullmatch(r"[\w.+-]+", model["name"]) or model["name"] in names or model["name"].startswith("."):
            fail(f"{where}/name", "a file name that no other model has", json.dumps(model["name"])[:60])
        names.add(model["name"])
        model["path"] = os.path.join(folder, model["model"])
    for lists in [root, *models]:
        for key in ("options", "devices"):
            if not isinstance(lists.get(key, []), list) or not all(isinstance(word, str) for word in lists.get(key, [])):
                fail(f"{path}: {key}", "an array of strings", json.dumps(lists[key])[:60])
    return root


def read_baseline(path, limits):
    """Entries of a manifest by model and device."""
    try:
        entries = [entry for entry in read_json(path)["entries"] if entry["job_status"] == "Passed"]
        for entry in entries:
            for limit in limits:
                float(limit.number(entry, limit.metric))
        return {(entry["model"], entry["device"]): entry for entry in entries}
    except (KeyError, TypeError, ValueError):
        fail(path, "a manifest.json of codl-matrix", "another file")


def read_record(path):
    """What Hashes knew; nothing if the file is none of its."""
    try:
        record = read_json(path)
        return record if all(isinstance(known["stamp"], list) and isinstance(known["sha256"], str) for known in record.values()) else {}
    except (InputError, KeyError, TypeError, AttributeError):
        return {}


def jobs_of(root, path, out_dir, only):
    folder = os.path.dirname(path)
    jobs = []
    for model in root["models"]:
        for device in model.get("devices", root["devices"]):
            if device.endswith(".json"):
                device = os.path.abspath(os.path.join(folder, device))
            job = Job(model, device, root.get("options", []) + model.get("options", []), "")
            job.folder = os.path.join(out_dir, job.name, job.label)
            if not only or f"{job.name}:{job.label}" in only:
                jobs.append(job)
    known = {f"{job.name}:{job.label}" for job in jobs}
    if len(known) < len(jobs):
        fail(path, "each device once for a model", "one twice")
    for wanted in only:
        if wanted not in known:
            fail("--only", "MODEL:DEVICE of " + path, f"'{wanted}'")
    return jobs


def names_of(inputs):
    """What the device's profile, or the first that it stands on, says of the SoC's names and of the GPU's."""
    soc, gpu = None, ""
    for path in inputs:
        if path.endswith(".json"):
            profile = read_json(path)
            soc = soc or profile.get("soc")
            gpu = gpu or profile.get("gpu", {}).get("name", "")
    return soc, gpu


def finish(job, result, cache, hashes):
    """The job's folder, and its entry of the manifest."""
    if "error" in result:
        shutil.rmtree(job.folder, ignore_errors=True)
        return {"model": job.name, "device": job.label, "options": job.options, "job_status": "Failed", **result}
    os.makedirs(job.folder, exist_ok=True)
    for name, sha in result["files"].items():
        cache.place(name, sha, os.path.join(job.folder, name), hashes)
    write_whole(os.path.join(job.folder, "SHA256SUMS"), "".join(f"{sha}  {name}\n" for name, sha in sorted(result["files"].items())))
    return {**result["entry"], "model": job.name, "device": job.label}


def run(flags):
    root = read_models(flags.models)
    limits = [Limit(text) for text in flags.fail_if]
    baseline = read_baseline(flags.baseline, limits) if flags.baseline else {}
    if flags.jobs < 1:
        fail("--jobs", "a number from 1 on", flags.jobs)
    if any(limit.is_change for limit in limits) and not flags.baseline:
        fail("--fail-if", "--baseline beside a change in percent", "none")
    compiler = Compiler(flags.codlc)
    out_dir = os.path.abspath(flags.out_dir)
    jobs = jobs_of(root, flags.models, out_dir, set(flags.only))
    if flags.emit == "github":
        sys.stdout.write(github_text(jobs))
        return 0
    os.makedirs(out_dir, exist_ok=True)
    if flags.emit == "ninja":
        write_whole(os.path.join(out_dir, "build.ninja"), ninja_text(jobs, compiler))
        return 0
    cache = Cache(flags.cache_dir or os.path.join(out_dir, ".cache"))
    record = os.path.join(cache.folder, "files.json")
    hashes = Hashes(read_record(record), flags.rehash)
    compiler_sha = hashes.of(compiler.program)
    results = {}

    def work(job):
        try:
            return compile_job(job, compiler, compiler_sha, hashes, cache)
        except OSError as error:
            return {"error": f"{error.filename}: expected a file that can be read, found {error.strerror}", "exit_code": 1}
        except InputError as error:
            return {"error": str(error), "exit_code": 1}

    with concurrent.futures.ThreadPoolExecutor(flags.jobs) as pool:
        for job, result in zip(jobs, pool.map(work, jobs)):
            results[job.name, job.label] = result
            if "error" in result:
                say(TOOL, "error", f"{job.name} on {job.label}: {result['error']}")
    entries = [finish(job, results[job.name, job.label], cache, hashes) for job in jobs]
    write_whole(record, json_text(hashes.used))
    write_whole(os.path.join(out_dir, "manifest.json"),
                json_text({"format": "codl-manifest", "format_version": MANIFEST_VERSION, "entries": entries}))
    faults = {}
    for entry in entries:
        if entry["job_status"] != "Passed":
            continue
        pair = entry["model"], entry["device"]
        found = [fault for limit in limits if (fault := limit.fault(entry, baseline.get(pair)))]
        if found:
            faults[pair] = found
            for fault in found:
                say(TOOL, "error", f"{pair[0]} on {pair[1]}: {fault}")
    if flags.junit:
        write_junit(flags.junit, entries, faults)
    profiles = {job.label: names_of(results[job.name, job.label]["inputs"])
                for job in jobs if "error" not in results[job.name, job.label]}
    write_whole(os.path.join(out_dir, "devices.tsv"), "".join(
        "\t".join([label, *("|".join((soc or {}).get(key, [])) for key in ("manufacturer", "model")), gpu]) + "\n"
        for label, (soc, gpu) in profiles.items()))
    failed = [entry["exit_code"] for entry in entries if entry["job_status"] == "Failed"]
    if flags.ai_pack:
        failed += write_ai_pack(TOOL, flags.ai_pack, jobs, results, compiler, {label: soc for label, (soc, _) in profiles.items()})
    for entry in entries:
        if entry["job_status"] == "Passed":
            print(f"{entry['model']:<24} {entry['device']:<16} predicted {entry['inference_time'] / 1e3:9.2f} ms  memory "
                  f"{entry['memory']['total_bytes'] / 1e6:8.1f} MB  GPU {100 * entry['gpu_mac_share']:3.0f} % of MACs  "
                  f"{entry['calibration_level']}")
    return failed[0] if failed else LIMIT if faults else 0


def command_line():
    parser = Parser(
        TOOL,
        description="Compiles models for devices: a folder each with plan, report and sums, and one manifest.json.",
        epilog="Exit codes: 0 ok, 1 the input is wrong, 2 a model is not supported, 3 a limit is not met, as codlc's.")
    beside = os.path.join(os.path.dirname(os.path.realpath(sys.argv[0])), "codlc")
    parser.add_argument("models", metavar="MODELS.json", help="{models: [{model, name, options, devices}], devices, options}")
    parser.add_argument("--out-dir", metavar="DIR", default="plans", help="where MODEL/DEVICE/ and manifest.json go")
    parser.add_argument("--cache-dir", metavar="DIR", help="what was compiled before, by contents (none: .cache in --out-dir)")
    parser.add_argument("--rehash", action="store_true", help="read all inputs, whatever their sizes and times")
    parser.add_argument("--jobs", "-j", metavar="N", type=int, default=os.cpu_count(), help="compilations at the same time")
    parser.add_argument("--only", metavar="MODEL:DEVICE", action="append", default=[], help="this one alone; repeatable")
    parser.add_argument("--baseline", metavar="MANIFEST.json", help="an earlier manifest, for changes in --fail-if")
    parser.add_argument("--fail-if", metavar="LIMIT", action="append", default=[],
                        help=f"like latency>20ms or latency>+3%%, of {', '.join(METRICS)}; repeatable")
    parser.add_argument("--junit", metavar="FILE.xml", help="results as tests")
    parser.add_argument("--emit", choices=("ninja", "github"), help="a build.ninja in --out-dir, or a workflow's matrix on stdout")
    parser.add_argument("--ai-pack", metavar="DIR", help="also the folders that Google Play's on-device delivery expects")
    parser.add_argument("--codlc", metavar="FILE", default=beside if os.path.exists(beside) else "codlc", help="the compiler")
    return parser


def main():
    return end(TOOL, lambda: run(command_line().parse_args()))
