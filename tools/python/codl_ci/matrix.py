"""codl-matrix: compiles models x devices to plans, reports and one manifest. Standard library only;
docs/guide/matrix.md.
"""
import contextlib
import difflib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

from .ai_pack import OTHER, check_groups, cpu_options, outputs_of_pack, write_ai_pack
from .cache import Cache, Hashes, read_record
from .cluster import compile_by_dask
from .edges import FILES, NINJA, Progress, compile_by_ninja, ninja_text, read_inputs, read_said
from .common import (SUMS, InputError, Parser, claim_output, end, fail, is_name, json_text, note_input, printable, program_of, read_json, remove_own, say,
                     version_of, write_sums, write_whole)
from .limits import METRICS, Limit

TOOL = "codl-matrix"
MANIFEST_VERSION = 1
LIMIT = 3  # exit code of codlc and of this tool if a limit is not met
# protobuf's limit of an ONNX file; its weights may lie in other files.
MAX_MODEL_BYTES = (1 << 31) - 1
# Names in --out-dir, which also has a folder for each model.
MANIFEST, DEVICES = "manifest.json", "devices.tsv"
MAX_PAIRS_TOLD = 6  # an error lists the nearest of MODEL:DEVICE
# These flags of codlc write a file beside the plan. One file for all devices would be written by all at once.
WRITING = ("--emit-onnx", "--ep-context", "--search-log")


class Compiler:
    def __init__(self, program):
        self.program = program_of(TOOL, "codlc", program)
        self.version, self.plan_format = version_of(self.program, "codlc")

    def profiles_of(self, names, where):
        """Returns the names of the profiles of devices, which codlc knows by the names that people use, too."""
        run = subprocess.run([self.program, "--list-devices", "--device=" + ",".join(names)], capture_output=True, text=True)
        if run.returncode != 0:
            raise InputError(f"{where}: " + run.stderr.splitlines()[-1].removeprefix("codlc: error: --device: "))
        for note in re.findall(r"(?m)^codlc: note: (.*)$", run.stderr):
            say(TOOL, "note", note)
        return dict(zip(names, (row.split()[0] for row in run.stdout.splitlines()[1:])))


class Job:
    """Compiles one model for one device."""

    def __init__(self, name, path, device, options):
        self.name, self.path, self.device, self.options = name, path, device, options
        self.label = re.sub(r"\.json$", "", os.path.basename(device))
        self.folder = self.work = None  # where results go, and what codlc writes while it compiles

    def for_other_phones(self):
        """Returns the job of a plan for the CPU alone."""
        other = Job(self.name, self.path, "template", ["--strategy=cpu", *cpu_options(self.options)])
        other.label = OTHER
        return other

    def key(self, compiler_sha, hashes, inputs):
        """Returns a key of everything that decides plan and report: contents of files, and the model's name, which
        the report has.
        """
        parts = [compiler_sha, os.path.basename(self.path), json.dumps(self.options), hashes.of(self.path), *(hashes.of(path) for path in inputs)]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def first_key(self, compiler_sha, hashes):
        """Returns a key of everything that is known before a first compilation; the cache lists under it which other
        files count.
        """
        parts = [compiler_sha, self.device, json.dumps(self.options), os.path.abspath(self.path), hashes.of(self.path)]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def one_processor_reason(report):
    """Returns why a plan has nothing to gain over one processor alone; None if it is on both."""
    variant = report["variants"][0]
    if variant["name"] not in ("cpu", "gpu"):
        return None
    return variant.get("one_processor_reason") or f"the options ask for {variant['name'].upper()} alone"


def facts_of(report, job, compiler):
    """Returns an entry of the manifest. Names are those of Qualcomm AI Hub's performance files where they fit. Of a plan of
    several input shapes it tells of those that take most time, and has the times of all.
    """
    if "entries" in report:
        slowest = max(report["entries"], key=lambda entry: entry["variants"][0]["predicted_us"])
        return {**facts_of(slowest, job, compiler), "entry": slowest["entry"], "entries": [
            {"entry": entry["entry"], "variant": entry["variants"][0]["name"], "inference_time": entry["variants"][0]["predicted_us"]}
            for entry in report["entries"]]}
    variant = report["variants"][0]
    on = {"cpu": 0, "gpu": 0}
    levels = {}
    for operator in report["operators"]:
        for part in operator["parts"]:
            on[part["processor"]] += 1
    for stands in variant["stands_on"]:
        levels[stands["level"]] = levels.get(stands["level"], 0) + stands["us"]
    memory = {key: variant[key] for key in ("arena_bytes", "weight_bytes")}
    memory["total_bytes"] = sum(memory.values())
    return {
        "model": job.name, "device": job.label, "job_status": "Passed", "options": job.options,
        "codlc_version": compiler.version, "plan_format": compiler.plan_format,
        "precision": report["options"]["precision"], "variant": variant["name"],
        "inference_time": variant["predicted_us"], "inference_time_interval": [variant["low_us"], variant["high_us"]],
        "speedup_over_cpu": variant.get("speedup_over_cpu"), "speedup_over_gpu": variant.get("speedup_over_gpu"),
        "one_processor_reason": one_processor_reason(report),
        "throughput": round(1e6 / variant["predicted_us"], 3) if variant["predicted_us"] else 0,
        "estimated_peak_memory_range": {"min": memory["total_bytes"], "max": memory["total_bytes"]},
        "primary_compute_unit": "GPU" if variant["gpu_mac_share"] > 0.5 else "CPU",
        "layer_info": {"layers_on_cpu": on["cpu"], "layers_on_gpu": on["gpu"], "total_layers": len(report["operators"])},
        "calibration_level": max(sorted(levels), key=levels.get) if levels else "facts",
        "assumed_share": variant["assumed_share"], "gpu_mac_share": variant["gpu_mac_share"],
        "memory": memory, "plan_bytes": report["plan"]["bytes"], "weight_bytes": report["plan"]["weight_bytes"],
        "model_sha256": None, "profile_sha256": None,
    }


def gain_text(entry):
    """Returns ", 1.00 times as fast as the CPU alone, 3.80 as the GPU alone"; "" without a GPU to compare with."""
    gains = [(entry[f"speedup_over_{name}"], name.upper()) for name in ("cpu", "gpu") if entry[f"speedup_over_{name}"]]
    return "".join(f", {gain:.2f}{' as' if i else ' times as fast as'} the {name} alone" for i, (gain, name) in enumerate(gains))


def find_result(job, compiler_sha, hashes, cache):
    """Returns the job's result from the cache, or None."""
    if (size := note_input(job.path).st_size) > MAX_MODEL_BYTES:  # checked before all of it is read
        fail(job.path, f"at most {MAX_MODEL_BYTES} bytes", f"{size} bytes")
    inputs = cache.get("inputs", job.first_key(compiler_sha, hashes))
    if not inputs or not all(map(os.path.exists, inputs)):
        return None
    result = cache.get("results", job.key(compiler_sha, hashes, inputs))
    return result if result and all(cache.has(name, sha) for name, sha in result["files"].items()) else None


def take_result(job, compiler, compiler_sha, hashes, cache):
    """Moves what codlc wrote to the cache, and returns the job's result."""
    compiled = read_said(job.work)
    if compiled.exit_code != 0:
        return {"error": compiled.error, "exit_code": compiled.exit_code}
    inputs = read_inputs(job.work)
    made = {name: os.path.join(job.work, name) for name in FILES}
    entry = facts_of(read_json(made["report.json"]), job, compiler)
    for kind in ("note", "warning"):
        entry[kind + "s"] = [text for own, text in compiled.messages if own == kind]
    profiles = [hashes.of(path) for path in inputs if path.endswith(".json")]
    entry["model_sha256"] = hashes.of(job.path)
    entry["profile_sha256"] = hashlib.sha256("".join(profiles).encode()).hexdigest() if len(profiles) > 1 else profiles[0]
    files = {name: cache.add(name, path) for name, path in made.items()}
    entry["plan_sha256"] = files["plan.codl"]
    result = {"entry": entry, "files": files, "inputs": inputs}
    cache.put("inputs", job.first_key(compiler_sha, hashes), inputs)
    cache.put("results", job.key(compiler_sha, hashes, inputs), result)
    shutil.rmtree(job.work)
    return result


def result_of(call):
    """Returns what `call` returns: a job's result, with the names of its device, or None. A job fails alone."""
    try:
        result = call()
        if result and "error" not in result:
            for path in result["inputs"]:
                note_input(path)
            result["names"] = names_of(result["inputs"])
        return result
    except OSError as error:
        return {"error": f"{error.filename}: expected a file that can be read, found {error.strerror}", "exit_code": 1}
    except InputError as error:
        return {"error": str(error), "exit_code": 1}


def results_of(jobs, flags, compiler, hashes, cache):
    """Returns each job's result, from the cache or by running codlc, keyed by model and label."""
    compiler_sha = hashes.of(compiler.program)
    results = {job: result_of(lambda job=job: find_result(job, compiler_sha, hashes, cache)) for job in jobs}
    new = [job for job in jobs if results[job] is None]
    if new:
        with tempfile.TemporaryDirectory(dir=cache.folder) as work:
            for i, job in enumerate(new):
                job.work = os.path.join(work, str(i))
                os.mkdir(job.work)
            progress = Progress(len(new))
            with contextlib.closing(compile_by_dask(new, TOOL, flags.dask, compiler.program, hashes) if flags.dask else
                                    compile_by_ninja(new, compiler.program, flags.jobs, work)) as ended:
                for job, fault in ended:
                    results[job] = {"error": str(fault), "exit_code": 1} if fault else result_of(
                        lambda: take_result(job, compiler, compiler_sha, hashes, cache))
                    progress.step(job)
    for job, result in results.items():
        tell(job, result)
    return {(job.name, job.label): result for job, result in results.items()}


def tell(job, result):
    phones = "for other phones" if job.label == OTHER else f"on {job.label}"
    if "error" in result:
        say(TOOL, "error", f"{job.name} {phones}: {result['error']}")
        return
    for kind in ("note", "warning"):
        for text in result["entry"][kind + "s"]:
            say(TOOL, kind, f"{job.name} {phones}: {text}")


# ---- written files ----

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


def build_file(jobs, compiler):
    """Returns a build file for the same plans, for a build system that distributes and repeats work."""
    def edge(job):
        out = os.path.join(job.folder, "plan.codl")
        return out, [os.path.abspath(job.path)], [os.path.abspath(job.path), "--device=" + job.device, *job.options]
    # Ninja prints notes, warnings and errors, which are on stderr.
    return ninja_text(compiler.program, ("-o $out -MF $out.d >/dev/null", "depfile = $out.d", "deps = gcc", "restat = 1",
                                         "description = codlc $out"), map(edge, jobs))


def github_text(jobs):
    return json.dumps({"include": [{"model": job.name, "device": job.label} for job in jobs]}) + "\n"


# ---- the command ----

def read_models(path):
    root = read_json(path, "JSON with models and devices")
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
        if not is_name(model["name"]) or model["name"] in names or model["name"] in (MANIFEST, DEVICES, NINJA):
            fail(f"{where}/name", "a file name that no other model has", json.dumps(model["name"])[:60])
        names.add(model["name"])
        model["path"] = os.path.join(folder, model["model"])
    for lists in [root, *models]:
        for key in ("options", "devices"):
            if not isinstance(lists.get(key, []), list) or not all(isinstance(word, str) for word in lists.get(key, [])):
                fail(f"{path}: {key}", "an array of strings", json.dumps(lists[key])[:60])
        for word in lists.get("options", []):
            if word.split("=")[0] in WRITING:
                fail(f"{path}: options", "none that write files beside the plan", f"'{word}'")
    return root


def read_baseline(path, limits):
    """Returns the entries of a manifest, keyed by model and device."""
    note_input(path)
    try:
        entries = [entry for entry in read_json(path)["entries"] if entry["job_status"] == "Passed"]
        for entry in entries:
            for limit in limits:
                float(limit.number(entry, limit.metric))
        return {(entry["model"], entry["device"]): entry for entry in entries}
    except (KeyError, TypeError, ValueError):
        fail(path, "a manifest.json of codl-matrix", "another file")


def device_names(root, path, compiler):
    """Returns --device for each device of the lists: its profile's name, or path."""
    given = [device for lists in (root, *root["models"]) for device in lists.get("devices", [])]
    for device in given:
        if not device or "," in device:
            fail(f"{path}: devices", "a name of a device, or the path of a profile NAME.json", json.dumps(device)[:60])
    files = {device: os.path.abspath(os.path.join(os.path.dirname(path), device)) for device in given if device.endswith(".json")}
    names = sorted(set(given) - set(files))
    return files | (compiler.profiles_of(names, f"{path}: devices") if names else {})


def jobs_of(root, path, out_dir, only, compiler):
    jobs = {}  # keyed by MODEL:DEVICE
    devices = {}  # keyed by the label
    names = device_names(root, path, compiler)
    left = set(only)
    for model in root["models"]:
        for given in model.get("devices", root["devices"]):
            device = names[given]
            job = Job(model["name"], model["path"], device, root.get("options", []) + model.get("options", []))
            if not is_name(job.label) or job.label == OTHER:
                fail(f"{path}: devices", f"a profile NAME.json whose name is none of '{OTHER}' and can be a folder's", json.dumps(given)[:60])
            if devices.setdefault(job.label, device) != device:
                fail(f"{path}: devices", "devices whose names differ", f"'{devices[job.label]}' and '{device}'")
            job.folder = os.path.join(out_dir, job.name, job.label)
            pair = f"{job.name}:{job.label}"
            if pair in jobs:
                fail(path, "each device once for a model", f"{job.label} twice for {job.name}")
            jobs[pair] = job if not only or only & {pair, f"{job.name}:{given}"} else None
            left -= {pair, f"{job.name}:{given}"}
    for wanted in sorted(left):
        near = difflib.get_close_matches(wanted, jobs, MAX_PAIRS_TOLD, 0)
        more = f" or {len(jobs) - len(near)} more" if len(near) < len(jobs) else ""
        fail("--only", f"a MODEL:DEVICE of {path}, like {', '.join(near)}{more}", f"'{wanted}'")
    return [job for job in jobs.values() if job]


def names_of(inputs):
    """Returns the SoC's and the GPU's names from the device's profile, or from the first of its bases that has them:
    cells of DEVICES.
    """
    soc, gpu = None, ""
    for path in inputs:
        if path.endswith(".json"):
            profile = read_json(path)
            soc = soc or profile.get("soc")
            gpu = gpu or profile.get("gpu", {}).get("name", "")
            for name in [gpu, *(soc or {}).get("manufacturer", []), *(soc or {}).get("model", [])]:
                if not name.isprintable() or "|" in name:
                    fail(path, "names of the GPU and the SoC without control characters and '|'", json.dumps(name)[:60])
    return soc, gpu


def finish(job, result, cache, hashes):
    """Writes the job's folder, and its entry of the manifest."""
    if "error" in result:
        remove_own(job.folder, "|".join(map(re.escape, FILES)))
        return {"model": job.name, "device": job.label, "options": job.options, "job_status": "Failed", **result}
    os.makedirs(job.folder, exist_ok=True)
    for name, sha in result["files"].items():
        cache.place(name, sha, os.path.join(job.folder, name), hashes)
    write_sums(job.folder, result["files"])
    return {**result["entry"], "model": job.name, "device": job.label}


def outputs_of(flags, out_dir, jobs):
    """Returns the paths of all files that a run writes, without the cache's."""
    if flags.emit == "github":
        return []
    if flags.emit == "ninja":
        return [os.path.join(out_dir, NINJA)]
    paths = [os.path.join(out_dir, name) for name in (MANIFEST, DEVICES)] + ([flags.junit] if flags.junit else [])
    paths += [os.path.join(job.folder, name) for job in jobs for name in (*FILES, SUMS)]
    return paths + (outputs_of_pack(flags.ai_pack, jobs) if flags.ai_pack else [])


def run(flags):
    note_input(flags.models)
    root = read_models(flags.models)
    limits = [Limit(text) for text in flags.fail_if]
    baseline = read_baseline(flags.baseline, limits) if flags.baseline else {}
    if flags.jobs < 1:
        fail("--jobs", "a number from 1 on", flags.jobs)
    if any(limit.is_change for limit in limits) and not flags.baseline:
        fail("--fail-if", "--baseline beside a change in percent", "none")
    compiler = Compiler(flags.codlc)
    out_dir = os.path.abspath(flags.out_dir)
    jobs = jobs_of(root, flags.models, out_dir, set(flags.only), compiler)
    if flags.ai_pack:
        check_groups(jobs)
    # Profiles that have names, and the files that models and profiles depend on, are known after codlc has read them.
    for path in {compiler.program, *(job.path for job in jobs), *(job.device for job in jobs if job.device.endswith(".json"))}:
        if os.path.isfile(path):  # a name that is no file fails by itself
            note_input(path)
    for path in outputs_of(flags, out_dir, jobs):
        claim_output(path)
    if flags.emit == "github":
        sys.stdout.write(github_text(jobs))
        return 0
    os.makedirs(out_dir, exist_ok=True)
    if flags.emit == "ninja":
        write_whole(os.path.join(out_dir, NINJA), build_file(jobs, compiler))
        return 0
    cache = Cache(flags.cache_dir or os.path.join(out_dir, ".cache"))
    record = os.path.join(cache.folder, "files.json")
    hashes = Hashes(read_record(record), flags.rehash)
    others = [job.for_other_phones() for job in {job.name: job for job in jobs}.values()] if flags.ai_pack else []
    results = results_of(jobs + others, flags, compiler, hashes, cache)
    entries = [finish(job, results[job.name, job.label], cache, hashes) for job in jobs]
    write_whole(record, json_text(hashes.used))
    write_whole(os.path.join(out_dir, MANIFEST),
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
    profiles = {job.label: result["names"] for job in jobs if "error" not in (result := results[job.name, job.label])}
    write_whole(os.path.join(out_dir, DEVICES), "".join(
        "\t".join([label, *("|".join((soc or {}).get(key, [])) for key in ("manufacturer", "model")), gpu]) + "\n"
        for label, (soc, gpu) in profiles.items()))
    failed = [entry["exit_code"] for entry in entries if entry["job_status"] == "Failed"]
    if flags.ai_pack:
        failed += write_ai_pack(TOOL, flags.ai_pack, jobs, results, {label: soc for label, (soc, _) in profiles.items()}, cache, hashes)
    for entry in entries:
        if entry["job_status"] == "Passed":
            reason = f" (not both processors: {entry['one_processor_reason']})" if entry["one_processor_reason"] else ""
            print(f"{entry['model']:<24} {entry['device']:<16} predicted {entry['inference_time'] / 1e3:9.2f} ms{gain_text(entry)}{reason}  memory "
                  f"{entry['memory']['total_bytes'] / 1e6:8.1f} MB  GPU {100 * entry['gpu_mac_share']:3.0f} % of MACs  "
                  f"{entry['calibration_level']}")
    return failed[0] if failed else LIMIT if faults else 0


OTHER_FLAGS = {"device devices target soc": "devices in MODELS.json", "model onnx": "models in MODELS.json",
               "o output output-dir outdir": "--out-dir=DIR", "threads num-threads parallel workers": "--jobs=N"}


def codlc_hint(flags, flag):
    """codlc's flags, and those that it has hints for, are written elsewhere."""
    if not (codlc := shutil.which(flags.codlc)):
        return None
    error = subprocess.run([codlc, flag], capture_output=True, text=True).stderr
    if "expected a flag that" not in error:
        return "codlc's flags are options in MODELS.json"
    here = re.search(r"\(here: (.*)\)$", error.strip())
    return here and f"codlc's flags are options in MODELS.json: {here.group(1)}"


def command_line():
    parser = Parser(
        TOOL, "codlc", "the compiler", OTHER_FLAGS, codlc_hint,
        description="Compiles models for devices: a folder each with plan, report and sums, and one manifest.json.",
        epilog="Exit codes: 0 ok, 1 the input is wrong, 2 a model is not supported, 3 a limit is not met, as codlc's.")
    parser.add_argument("models", metavar="MODELS.json", help="{models: [{model, name, options, devices}], devices, options}")
    parser.add_argument("--out-dir", metavar="DIR", default="plans", help="where MODEL/DEVICE/ and manifest.json go")
    parser.add_argument("--cache-dir", metavar="DIR", help="what was compiled before, by contents (none: .cache in --out-dir)")
    parser.add_argument("--rehash", action="store_true", help="read all inputs, whatever their sizes and times")
    parser.add_argument("--jobs", "-j", metavar="N", type=int, default=os.cpu_count(), help="compilations at the same time")
    parser.add_argument("--dask", metavar="tcp://HOST:PORT", help="compile on the workers of this Dask scheduler instead, which have this codlc in their PATH")
    parser.add_argument("--only", metavar="MODEL:DEVICE", action="append", default=[], help="this one alone; repeatable")
    parser.add_argument("--baseline", metavar="MANIFEST.json", help="an earlier manifest, for changes in --fail-if")
    parser.add_argument("--fail-if", metavar="LIMIT", action="append", default=[],
                        help=f"like latency>20ms or latency>+3%%, of {', '.join(METRICS)}; repeatable")
    parser.add_argument("--junit", metavar="FILE.xml", help="results as tests")
    parser.add_argument("--emit", choices=("ninja", "github"), help="a build.ninja in --out-dir, or a workflow's matrix on stdout")
    parser.add_argument("--ai-pack", metavar="DIR", help="also the folders that Google Play's on-device delivery expects")
    return parser


def main():
    return end(TOOL, lambda: run(command_line().parse_args()))
