"""codl-matrix --ai-pack: plans as Google Play's on-device delivery takes them. Standard library only."""
import glob
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as xml

from .common import copy_whole, say, write_whole


def group_name(label):
    """Google Play's names of device groups are letters, digits and underlines."""
    return re.sub(r"\W", "_", label)


# Of codlc, each with a value: what it decides between CPU and GPU. A plan of the CPU alone has nothing of it.
DECIDING = {"--" + name for name in ("strategy", "variants", "split-dim", "ratio", "max-chain", "objective", "gpu-limit", "max-gpu-slice",
                                     "max-syncs", "max-fallback", "place")}


def cpu_options(options):
    """`options` without those of DECIDING and their values, which stand behind a '=' or in the next word."""
    kept, words = [], iter(options)
    for word in words:
        if word in DECIDING:
            next(words, None)
        elif word.split("=")[0] not in DECIDING and word != "--robust":
            kept.append(word)
    return kept


def write_ai_pack(tool, folder, jobs, results, compiler, profiles):
    """Assets of an AI pack: a folder per device group, the rest of the phones with a plan of the CPU alone. What it had of other
    groups and plans goes. Exit codes of what failed."""
    assets = os.path.join(folder, "src", "main", "assets")
    for old in glob.glob(os.path.join(glob.escape(assets), "model#group_*")):
        shutil.rmtree(old)
    failed = []
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
        place = os.path.join(assets, f"model#group_{group_name(job.label)}")
        os.makedirs(place, exist_ok=True)
        copy_whole(os.path.join(job.folder, "plan.codl"), os.path.join(place, job.name + ".codl"))
    other = os.path.join(assets, "model#group_other")
    os.makedirs(other, exist_ok=True)
    for job in {job.name: job for job in jobs}.values():
        out = os.path.join(other, job.name + ".codl")
        run = subprocess.run([compiler.program, job.path, "--device=template", "--strategy=cpu", "--quiet", "-o", out, *cpu_options(job.options)],
                             capture_output=True, text=True)
        if run.returncode != 0:
            failed.append(run.returncode)
            say(tool, "error", f"{job.name}: no plan for other phones: {run.stderr.strip()}")
    xml.indent(root)
    write_whole(os.path.join(folder, "device_targeting_configuration.xml"),
                '<?xml version="1.0" encoding="utf-8"?>\n' + xml.tostring(root, encoding="unicode") + "\n")
    return failed
