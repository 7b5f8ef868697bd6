"""codl-matrix --ai-pack writes plans in the form of Google Play's on-device delivery. Standard library only."""
import glob
import os
import re
import xml.etree.ElementTree as xml

from .common import SUMS, copy_whole, fail, remove_own, say, sha256_of, write_sums, write_whole

ASSETS = "src/main/assets"
CONFIGURATION = "device_targeting_configuration.xml"
OTHER = "other"  # group, and select_plan's device, for phones without a profile


def group_name(label):
    """Google Play's names of device groups are letters, digits and underlines."""
    return re.sub(r"\W", "_", label, flags=re.ASCII)


def check_groups(jobs):
    """Checks that two devices have two groups, neither of which is that of the other phones."""
    labels = {OTHER: "the group of all other phones"}
    for job in jobs:
        label = labels.setdefault(group_name(job.label), job.label)
        if label != job.label:
            fail("--ai-pack", "devices whose groups have different names", f"'{job.label}' and '{label}'")


def asset(group, job):
    """Returns the path of a plan in the pack."""
    return f"{ASSETS}/model#group_{group}/{job.name}.codl"


def outputs_of_pack(folder, jobs):
    names = {asset(group, job) for job in jobs for group in (OTHER, group_name(job.label))}
    return [os.path.join(folder, name) for name in (CONFIGURATION, SUMS, *sorted(names))]


# These flags of codlc, which have a value, decide between CPU and GPU. A plan of the CPU alone leaves them out.
DECIDING = {"--" + name for name in ("strategy", "variants", "objective", "gpu-limit", "max-gpu-slice", "max-syncs", "max-fallback", "place")}


def cpu_options(options):
    """Returns `options` without those of DECIDING and their values, which follow a '=' or are the next word."""
    kept, words = [], iter(options)
    for word in words:
        if word in DECIDING:
            next(words, None)
        elif word.split("=")[0] not in DECIDING:
            kept.append(word)
    return kept


def write_ai_pack(tool, folder, jobs, results, profiles, cache, hashes):
    """Writes the assets of an AI pack: a folder per device group, and one for all other phones with a plan for the
    CPU alone. Removes what an earlier run made for other groups and models. Returns the exit codes of failed
    compilations.
    """
    remove_own(folder, re.escape(CONFIGURATION) + "|" + ASSETS + r"/model#group_\w+/[\w.+-]+\.codl")
    failed = []
    sums = {}  # checksum of each file of the pack, keyed by path

    def made(name):
        sums[name] = sha256_of(os.path.join(folder, name))
    root = xml.Element("config:device-targeting-config", {"xmlns:config": "http://schemas.android.com/apk/config"})
    labels = []
    for job in jobs:
        result = results[job.name, job.label]
        soc = profiles.get(job.label)
        if "error" in result or soc is None:
            if soc is None:
                say(tool, "warning", f"{job.label}: the profile has no soc names; its phones get model#group_other")
            continue
        if job.label not in labels:
            labels.append(job.label)
            group = xml.SubElement(root, "config:device-group", {"config:name": group_name(job.label)})
            selector = xml.SubElement(group, "config:device-selector")
            for manufacturer in soc["manufacturer"]:
                for model in soc["model"]:
                    xml.SubElement(selector, "config:system-on-chip",
                                   {"config:manufacturer": manufacturer, "config:model": model})
        name = asset(group_name(job.label), job)
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
        copy_whole(os.path.join(job.folder, "plan.codl"), os.path.join(folder, name))
        made(name)
    for job in {job.name: job for job in jobs}.values():
        name = asset(OTHER, job)
        out = os.path.join(folder, name)
        os.makedirs(os.path.dirname(out), exist_ok=True)
        result = results[job.name, OTHER]
        if "error" in result:
            failed.append(result["exit_code"])
            continue
        cache.place("plan.codl", result["files"]["plan.codl"], out, hashes)
        made(name)
    xml.indent(root)
    write_whole(os.path.join(folder, CONFIGURATION),
                '<?xml version="1.0" encoding="utf-8"?>\n' + xml.tostring(root, encoding="unicode") + "\n")
    made(CONFIGURATION)
    write_sums(folder, sums)
    groups = {os.path.dirname(name) for name in sums}
    for path in sorted(glob.glob(os.path.join(glob.escape(folder), ASSETS, "model#group_*"))):
        if os.path.relpath(path, folder) not in groups:
            say(tool, "warning", f"{path}: the pack has no such group; remove the folder, which codl-matrix did not make")
    return failed
