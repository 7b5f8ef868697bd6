#!/usr/bin/env python3
"""The phones' profiles: made from facts of their chips, fits to published latencies, and the shares of measured machines.

    phone_profiles.py [--write]    says whether the profiles are what follows from the data, or writes them

  data/phone_chips.json    facts, each with its source; a new chip is one entry, and its key is the profile's name
  data/phone_anchors.json  what published latencies make of the families' shares (phone_networks.py)
  compiler/cost/family_shares.inc   what kernels of a family reach on machines that codl-profile ran on

Run it again when any of these has changed. What phones have in common (transfers, the CPU's families) is in
profiles/template.json, over which they stand; of it only `families` is made here.
"""
import argparse
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
MOST_WORKERS = 4  # published latencies use four threads
CPU_MEMORY_TERMS = {"l2", "last_level", "memory", "read", "written", "weights", "cold"}
FIXED_TERMS = {"start", "step"}
ARITHMETIC_TERMS = {"compute", "operations", "special"}
GPU_WINOGRAD_KERNELS = ("conv2d_winograd4_f32_cl_buffer", "conv2d_winograd2_f32_cl_tiled")
WINOGRAD_KERNELS = ("conv2d_winograd2_f32_cpu", "conv2d_winograd4_f32_cpu")
STEP_US = 30  # for a GPU's step: assumed, as in mace_model.STEP_MS
# Facts of all GPUs of a kind. Plain numbers are assumed, because newer units' makers publish few: waves and KiB of
# registers that a unit holds, KiB of its first level. Pairs are as in phone_chips.json.
GPU_KINDS = {
    "adreno": {"half_rate": [2, "known"], "max_waves": 16, "thread_registers": [192, "ir3"], "l1_kb": 1, "l2_kb": 256, "layout": "image",
               "image_row_texels": [64, "pitch"]},
    "mali": {"half_rate": [2, "known"], "max_waves": 64, "registers_kb": 128, "thread_registers": [64, "arm101574"], "l1_kb": 16, "l2_kb": 1024,
             "layout": "buffer", "image_row_texels": [16, "mali_pitch"]},
    "xclipse": {"half_rate": [2, "known"], "max_waves": 32, "registers_kb": 256, "thread_registers": [256, "rdna_isa"], "l1_kb": 16, "l2_kb": 1024,
                "layout": "buffer", "image_row_texels": [256, "rdna_pitch"]},
}
# Percent of the issue slots that are multiply-adds, in the loop with most of them (docs/results/mobile_kernels.md). "mace" is
# MACE's 3x3 convolution, of images or buffers, whose latencies were published. Kernels that multiply little are not listed:
# Mesa's integer instructions, most of theirs, are upper bounds. Neither are an Adreno's kernels on buffers that
# BUFFER_SLOWDOWN is for: they wait for memory.
GPU_SLOTS = {
    "adreno": {"mace": 54, "conv2d_f32_cl_image": 74, "depthwise_conv2d_f32_cl_image": 41, "matmul_f32_cl_buffer": 57,
               "matmul_f32_cl_gemv": 34, "batch_matmul_f32_cl_buffer": 46},
    "mali": {"mace": 44, "conv2d_f32_cl_quad": 63, "conv2d_f32_cl_buffer": 18, "depthwise_conv2d_f32_cl_buffer": 40,
             "matmul_f32_cl_buffer": 56, "matmul_f32_cl_gemv": 42, "batch_matmul_f32_cl_buffer": 43},
}
# Tiles of gemm_tile.cl, by kernel of TILED_KERNELS: the same percentage, and registers of a work-item; None: it spills.
TILED_KERNELS = ("conv2d_f32_cl_tiled", "matmul_f32_cl_tiled", "batch_matmul_f32_cl_tiled")
GPU_TILES = {
    "adreno": {
        (128, 64, 8, 8, 8, 1): ((54, 192), (65, 192), (42, 192)),
        (64, 64, 16, 8, 4, 1): ((53, 192), (63, 192), (39, 192)),
        (32, 64, 16, 4, 4, 1): ((43, 96), (49, 96), (26, 192)),
        (32, 32, 16, 4, 4, 1): ((36, 128), (48, 128), (25, 128)),
        (32, 32, 8, 4, 4, 1): ((29, 96), (32, 64), (20, 96)),
        (16, 32, 16, 4, 4, 2): ((28, 96), (34, 96), (15, 128)),
        (16, 16, 16, 4, 4, 4): ((17, 96), (21, 64), (11, 96)),
    },
    "mali": {
        (64, 64, 16, 4, 4, 1): ((49, 64), (50, 64), None),
        (32, 64, 16, 4, 4, 1): (None, (47, 64), None),
        (32, 32, 16, 4, 4, 2): ((38, 64), (40, 64), None),
        (32, 32, 8, 4, 4, 1): ((38, 64), (38, 64), None),
        (16, 32, 16, 4, 4, 2): (None, (36, 64), None),
        (16, 16, 16, 4, 4, 4): ((27, 64), (27, 64), None),
    },
}
TILES = "share of the issue slots, registers and spills as compiled by Mesa 25.0.7 for Adreno 640 and Mali-G610"
SLOTS = ("the family's shares, which are MACE's kernels', but arithmetic takes as much longer or shorter as a multiply-add takes more or "
         "fewer issue slots than in MACE's convolution, both compiled by Mesa 25.0.7 for Adreno 640 or Mali-G610 "
         "(docs/results/mobile_kernels.md)")
LATENCY_NS = 400
RULE = ("Rules where nothing is published: two loads a cycle (three of cores with four pipes or more), 32 bytes a cycle from L2 "
        "and 10 from the last level, "
        "15 us to wake four workers; of the GPU 64 bytes a cycle from the first level of a unit, three times the "
        "memory's rate from L2, 400 ns to memory; waves and registers as usual of its kind.")
# Kernels that read a map's neighbours again and again from buffers: on Adreno the texture cache serves only images.
GPU_BUFFER_KERNELS = ("conv2d_f32_cl_buffer", "conv2d_f32_cl_tiled", "conv2d_f32_cl_quad", "depthwise_conv2d_f32_cl_buffer",
                      *GPU_WINOGRAD_KERNELS)
# Fig. 2's phone; for its siblings and other Adrenos it is assumed.
BUFFERS_MEASURED = {"sd865": ("conv2d_f32_cl_buffer",)}
BUFFER_SLOWDOWN = 3.4
BUFFERS = ("CoDL paper (MobiSys'22), Fig. 2, a 3x3 convolution of 64 to 64 channels on Adreno 650: on buffers 85.68, 21.53 and "
           "4.60 ms at 256, 128 and 64 squared, on images 21.36, 5.64 and 1.74; the geometric mean of 4.0, 3.8 and 2.6, times "
           "the arithmetic of the kernel on images. Of other kernels and other Adreno GPUs it is assumed.")
WINOGRAD = ("No published latency has Winograd's method on a GPU: it is taken to be as much slower than direct convolution, "
            "for each multiply-add, as on CPUs.")
ORIGINS = ("published", "assumed")  # the most certain first
SVM = {True: "coarse and fine-grained buffers", False: "coarse buffers"}


def load(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return json.load(file)


def three_digits(value):
    return float(f"{value:.3g}")


# ---- families ----------------------------------------------------------------------------------------------------------


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def kind_of(term, kernel=""):
    """Returns which factor of phone_anchors.json multiplies a share of a CPU's kernel."""
    return ("fixed" if term in FIXED_TERMS else "winograd" if "winograd" in kernel else
            "memory" if term in CPU_MEMORY_TERMS else "arithmetic")


def cpu_shares(factors):
    """Returns shares by family, and by kernel where they differ from the family's: the built-in ones times
    `factors`.
    """
    names = re.search(r"kTermNames\[[^{]*\{([^}]*)\}", read("compiler", "cost", "step_cost.h")).group(1)
    terms = re.findall(r'"(\w+)"', names)
    rows = re.findall(r"SHARES\(Cpu, (\w+), [^,]*, [^,]*, ([^)]*)\)", read("compiler", "cost", "family_shares.inc"))
    built_in = {name.lower(): {term: float(share) for term, share in zip(terms, numbers.split(","))
                               if float(share) > 0} for name, numbers in rows}
    del built_in["loops"]  # as far as is known, plain loops are as slow everywhere

    def scaled(shares, kernel=""):
        return {term: three_digits(share * {**factors, "fixed": 1}[kind_of(term, kernel)]) for term, share in shares.items()}

    return ({family: scaled(shares) for family, shares in built_in.items()},
            {kernel: scaled(built_in["convolution"], kernel) for kernel in WINOGRAD_KERNELS})


def gpu_families(factors):
    """Returns shares by family: those of arithmetic and weights from `factors`; bytes of activations at the memory's
    rate.
    """
    compute, weights = three_digits(factors["compute"]), three_digits(factors["weights"])
    byte = 1
    moved = {"operations": compute, "special": compute, "read": byte, "written": byte, "step": STEP_US}
    product = {"compute": compute, "operations": compute, "weights": weights, "step": STEP_US}
    return {
        "convolution": {"compute": compute, "operations": compute, "special": compute, "weights": weights, "step": STEP_US},
        "product": product,
        "depthwise": {"compute": compute, "read": byte, "written": byte, "step": STEP_US},
        **{family: moved for family in ("window", "reduction", "elementwise", "move")},
    }


def family_of(kernel):
    """Returns the family of a GPU's kernel that multiplies."""
    return "depthwise" if kernel.startswith("depthwise") else "convolution" if kernel.startswith("conv2d") else "product"


def slots_over_mace(kind):
    """Returns, by kernel, how many issue slots a multiply-add takes, over MACE's. A tiled kernel has those of the tile
    that takes the fewest, which most steps have.
    """
    slots = dict(GPU_SLOTS.get(kind, {"mace": None}))
    mace = slots.pop("mace")
    for i, kernel in enumerate(TILED_KERNELS):
        found = [tile[i][0] for tile in GPU_TILES.get(kind, {}).values() if tile[i]]
        if found and not (kind == "adreno" and kernel in GPU_BUFFER_KERNELS):
            slots[kernel] = max(found)
    return {kernel: mace / percent for kernel, percent in slots.items()}


def gpu_compiled(over_mace, families):
    """Returns shares of the kernels of slots_over_mace()."""
    made = {}
    for kernel, ratio in over_mace.items():
        family = families[family_of(kernel)]
        shares = {term: three_digits(share * ratio) if term == "compute" else share for term, share in family["shares"].items()}
        made[kernel] = family | {"source": "slots", "shares": shares}
    return made


def gpu_winograd(factors, cpu_factors, interval):
    """Returns shares of Winograd's kernels on a GPU: per multiply-add, they are as much slower than direct ones as
    on CPUs.
    """
    slower = cpu_factors["winograd"] / cpu_factors["arithmetic"]
    shares = {term: three_digits(share * slower) if term in ARITHMETIC_TERMS else share
              for term, share in gpu_families(factors)["convolution"].items()}
    return calibrated({kernel: shares for kernel in GPU_WINOGRAD_KERNELS}, interval, lambda _: ("facts", "assumed", "winograd"))


def gpu_buffers(name, kind, families, winograd, interval, extrapolated_interval):
    """Returns shares of an Adreno's kernels on buffers: their arithmetic takes BUFFER_SLOWDOWN times as long as on
    images. If that was measured, the product is as certain as the fitted shares of images.
    """
    if kind != "adreno":
        return {}

    def slowed(kernel):
        source = winograd.get(kernel, families[family_of(kernel)])
        shares = {term: three_digits(share * BUFFER_SLOWDOWN) if term in ARITHMETIC_TERMS else share
                  for term, share in source["shares"].items()}
        is_measured = kernel in BUFFERS_MEASURED.get(name, ())
        level = ("anchors", "fitted", "buffers") if is_measured else ("facts", "assumed", "buffers")
        return calibrated({kernel: shares}, interval if is_measured else extrapolated_interval, lambda _: level)[kernel]

    return {kernel: slowed(kernel) for kernel in GPU_BUFFER_KERNELS}


def calibrated(families, interval, level_of):
    """Adds origins: `level_of(family)` is (level, origin, source)."""
    return {family: {**dict(zip(("level", "origin", "source"), level_of(family))), "shares": shares, "interval": interval}
            for family, shares in families.items()}


# ---- machines ----------------------------------------------------------------------------------------------------------


class Profile:
    """Makes the profile of one chip. Numbers of the table become {value, origin, source}, and their sources come with
    them.
    """

    def __init__(self, table, name):
        self.table = table
        self.name = name
        self.chip = table["chips"][name]
        self.sources = {"rule": RULE}

    def fact(self, pair, value=None):
        """Returns a number of the table, or one that follows from it by arithmetic alone."""
        source = self.table["sources"][pair[1]]
        self.sources[pair[1]] = source["text"]
        return {"value": pair[0] if value is None else value, "origin": source["origin"], "source": pair[1]}

    def weakest(self, *pairs):
        """Returns origin and source of a number that follows from several."""
        facts = [self.fact(pair) for pair in pairs]
        worst = max(facts, key=lambda fact: ORIGINS.index(fact["origin"]))
        return {key: worst[key] for key in ("origin", "source")}

    def of_memory(self, part):
        value, source = self.chip["memory_gb_per_s"]
        self.sources["memory"] = (f"two fifths of {value} GB/s for a core, three fifths for all or for the GPU, "
                                  "four fifths for both; the rate: "
                                  + self.table["sources"][source]["text"])
        return {"value": three_digits(part * value), "origin": "assumed", "source": "memory"}

    def workers(self):
        """Returns (cluster, peak in 10^9 vectors a second) for each worker: the fastest cores, without little ones."""
        cores = [(cluster, cluster["ghz"][0] * self.table["cores"][cluster["core"]]["fma_per_cycle"][0])
                 for cluster in self.chip["clusters"]
                 if not self.table["cores"][cluster["core"]].get("is_little") for _ in range(cluster["cores"])]
        return sorted(cores, key=lambda core: -core[1])[:MOST_WORKERS]

    def cpu(self):
        workers = self.workers()
        first, fastest = workers[0]
        core = self.table["cores"][first["core"]]
        ghz = first["ghz"][0]
        last_level = self.chip["l3_kb"] if self.chip["l3_kb"][0] else self.chip["system_cache_kb"]
        used = []  # clusters, once per worker core
        for cluster, _ in workers:
            if used and used[-1][0] is cluster:
                used[-1][1] += 1
            else:
                used.append([cluster, 1])
        clusters = {}
        for cluster in self.chip["clusters"]:
            key = cluster["core"] if cluster["core"] not in clusters else f"{cluster['core']} at {cluster['ghz'][0]} GHz"
            clusters[key] = {"cores": cluster["cores"], "mhz": round(1000 * cluster["ghz"][0])}
        self.sources["speeds"] = "clock x pipes for multiply-adds of 128 bits, over the fastest core's"
        return {
            "name": ", ".join(f"{count} x {cluster['core']} at {cluster['ghz'][0]} GHz" for cluster, count in used),
            "threads": len(workers),
            "worker_speeds": {"values": [round(peak / fastest, 4) for _, peak in workers],
                              "origin": self.weakest(*(pair for cluster, _ in workers for pair in (
                                  cluster["ghz"], self.table["cores"][cluster["core"]]["fma_per_cycle"])))["origin"],
                              "source": "speeds"},
            "facts": self.weakest(*(cluster["ghz"] for cluster in self.chip["clusters"])) | {"clusters": clusters},
            "machine": {
                "origin": "assumed", "source": "rule",
                "ghz": self.fact(first["ghz"]),
                "vector_lanes": 4,
                "fma_per_cycle": self.fact(core["fma_per_cycle"]),
                "half_rate": self.fact(core["half_rate"]),
                "byte_rate": self.fact(core["byte_rate"]),
                "loads_per_cycle": 3 if core["fma_per_cycle"][0] > 2 else 2,
                "l1_kb": self.fact(core["l1_kb"]),
                "l2_kb": self.fact(first["l2_kb"]),
                "last_level_kb": self.fact(last_level),
                "l2_gb_per_s": three_digits(32 * ghz),
                "last_level_gb_per_s": three_digits(10 * ghz),
                "memory_gb_per_s": self.of_memory(0.4),
                "memory_all_gb_per_s": self.of_memory(0.6),
                "fork_join_us": 15,
            },
        }

    def gpu(self):
        gpu, kind = self.chip["gpu"], GPU_KINDS[self.chip["gpu"]["kind"]]
        ghz, memory = gpu["mhz"][0] / 1000, self.chip["memory_gb_per_s"][0]
        known = [key for key in ("alus", "max_work_group", "opencl_name", "opencl_version") if key in gpu]
        facts = self.weakest(*(gpu[key] for key in known)) | {key: gpu[key][0] for key in known}
        if "fine_svm" in gpu:
            facts["svm"] = SVM[gpu["fine_svm"][0]]
        made = {
            "name": gpu["name"],
            "device_type": "gpu",
            "machine": {
                "origin": "assumed", "source": "rule",
                "units": self.fact(gpu["units"]),
                "wave_width": self.fact(gpu["wave"]),
                "ghz": self.fact(gpu["mhz"], ghz),
                "fma_per_cycle": self.fact(gpu["alus"], round(gpu["alus"][0] / gpu["units"][0], 1)),
                "half_rate": self.fact(gpu.get("half_rate", kind["half_rate"])),
                **{key: self.fact(gpu[key]) if key in gpu else kind[key] for key in ("max_waves", "registers_kb")},
                "thread_registers": self.fact(gpu.get("thread_registers", kind["thread_registers"])),
                "local_kb": self.fact(gpu["local_kb"]),
                "l1_kb": kind["l1_kb"],
                "texture_kb": 0,
                "l2_kb": self.fact(gpu["l2_kb"]) if "l2_kb" in gpu else kind["l2_kb"],
                "last_level_kb": 0,
                "l1_gb_per_s": three_digits(64 * ghz),
                "l2_gb_per_s": three_digits(3 * memory),
                "last_level_gb_per_s": three_digits(memory),
                "memory_gb_per_s": self.of_memory(0.6),
                "latency_ns": LATENCY_NS,
                "launch_us": 0,
            },
            "layout": kind["layout"],
            "image_max_width": self.fact(gpu["image_max"]),
            "image_max_height": self.fact(gpu["image_max"]),
            "image_row_texels": self.fact(kind["image_row_texels"]),
            "facts": facts,
        }
        if gpu["kind"] in GPU_TILES:
            self.sources["tiles"] = TILES
            made["tiles"] = gpu_tiles(gpu["kind"], made["machine"])
        if gpu["kind"] == "adreno":
            made["quirks"] = {"max_clock_query": "CL_DEVICE_MAX_CLOCK_FREQUENCY of Adreno says 1 MHz: the clock is the one here"}
        return made


def gemm_local_bytes(m, n, k, slices):
    """Returns the local memory of a tile, as gemm_local_bytes() in kernels/common/gemm/gemm_tile.h."""
    return 4 * max(2 * (k * (m + 4) + n // 16 * (k * 16 + 16)), slices // 2 * m * n)


def gpu_tiles(kind, machine):
    """Returns the tiles that tiled kernels choose among on a GPU with facts `machine`: their share of a unit's rate,
    and the groups that its registers and local memory have room for.
    """
    fact = {key: value["value"] if isinstance(value, dict) else value for key, value in machine.items()}

    def timed(tile, percent, registers):
        m, n, k, item_m, item_n, slices = tile
        items = m // item_m * (n // item_n) * slices
        residents = min(fact["registers_kb"] * 1024 / (4 * registers * items),
                        fact["max_waves"] * fact["wave_width"] / items,
                        fact["local_kb"] * 1024 / gemm_local_bytes(m, n, k, slices))
        return {"tile": list(tile), "macs_per_ns": three_digits(percent / 100 * fact["ghz"] * fact["fma_per_cycle"]),
                "step_ns": LATENCY_NS, "residents": max(1, int(residents))}

    tables = {kernel: [timed(tile, *found[i]) for tile, found in GPU_TILES[kind].items() if found[i]]
              for i, kernel in enumerate(TILED_KERNELS)}
    return {kernel: {"gemm": table, "origin": "assumed", "source": "tiles"} for kernel, table in tables.items() if table}


def cpu_part(factors, interval, level):
    """Returns ("families", "kernels") of a CPU."""
    families, kernels = cpu_shares(factors)
    return calibrated(families, interval, lambda _: level), calibrated(kernels, interval, lambda _: level)


def profile_of(table, anchors, name):
    profile = Profile(table, name)
    chip, own, common = profile.chip, anchors.get(name, {}), anchors["extrapolated"]
    made = {"format_version": 3, "base": "template", "name": name, "description": "", "kind": "phone",
            "chip_year": chip["year"], "kernel_library": "codl"}
    fact = profile.fact(chip["also"])
    made["names"] = {"values": [chip["name"], *fact.pop("value")], **fact}
    if "soc" in chip:
        source = table["sources"][chip["soc"]["source"]]
        profile.sources[chip["soc"]["source"]] = source["text"]
        made["soc"] = {"manufacturer": chip["soc"]["manufacturer"], "model": chip["soc"]["model"],
                       "origin": source["origin"], "source": chip["soc"]["source"]}
    made["cpu"], made["gpu"] = profile.cpu(), profile.gpu()
    made["transfer"] = own.get("transfer", {}) | {"memory_gb_per_s": profile.of_memory(0.8)}
    if "power" in own:
        made["power"] = own["power"]
    made["families"], made["kernels"] = {}, {}
    if "cpu" in own:
        profile.sources["latencies"] = own["cpu"]["source"]
        made["families"]["cpu"], made["kernels"] = cpu_part(own["cpu"]["factors"], common["cpu"]["interval"],
                                                            ("anchors", "fitted", "latencies"))
    if "gpu" in own:
        factors, interval = own["gpu"]["factors"], common["gpu"]["interval"]
        profile.sources["mace"] = own["gpu"]["source"]
        profile.sources["bytes"] = "bytes at the memory's rate, operations at the rate of convolutions, and 30 us"
        level_of = lambda family: (("anchors", "fitted", "mace") if family in ("convolution", "product") else
                                   ("facts", "assumed", "bytes"))
    else:
        kind = chip["gpu"]["kind"]
        factors, interval = common["gpu"]["factors"][kind], common["gpu"]["extrapolated_interval"]
        profile.sources["kin"] = common["gpu"]["source"][kind]
        level_of = lambda family: ("facts", "assumed", "kin")
    made["families"]["gpu"] = calibrated(gpu_families(factors), interval, level_of)
    winograd = gpu_winograd(factors, common["cpu"]["factors"], common["gpu"]["extrapolated_interval"])
    buffers = gpu_buffers(name, chip["gpu"]["kind"], made["families"]["gpu"], winograd, interval, common["gpu"]["extrapolated_interval"])
    compiled = gpu_compiled(slots_over_mace(chip["gpu"]["kind"]), made["families"]["gpu"])
    made["kernels"] |= compiled | winograd | buffers
    profile.sources["winograd"] = WINOGRAD
    if compiled:
        profile.sources["slots"] = SLOTS
    if buffers:
        profile.sources["buffers"] = BUFFERS
    profile.sources |= own.get("sources", {})
    device = f" ({own['device']})" if "device" in own else ""
    made["description"] = f"{chip['name']}{device}: {made['cpu']['name']}; nothing measured on it"
    made["sources"] = {key: profile.sources[key] for key in sorted(profile.sources)}
    return made


# ---- files -------------------------------------------------------------------------------------------------------------


def text_of(value, depth=0):
    """Returns JSON with one line per member of an object of objects; deeper values take one line."""
    if isinstance(value, dict) and "shares" not in value and (depth < 2 or depth == 2 and any(isinstance(item, dict) for item in value.values())):
        indent = "  " * (depth + 1)
        return "{\n" + ",\n".join(f"{indent}{json.dumps(key)}: {text_of(item, depth + 1)}"
                                  for key, item in value.items()) + "\n" + "  " * depth + "}"
    return json.dumps(value, ensure_ascii=False)


def all_profiles():
    """Returns the profiles by name."""
    table, anchors = load(HERE, "data", "phone_chips.json"), load(HERE, "data", "phone_anchors.json")
    made = {name: profile_of(table, anchors, name) for name in table["chips"]}
    for name, profile in made.items():  # two may have a name: some phones are sold with several chips
        names = [re.sub(r"[ ._()-]", "", known).lower() for known in profile["names"]["values"]]
        if twice := {known for known in names if names.count(known) > 1}:
            sys.exit(f"phone_chips.json: expected each name of {name} once, found {', '.join(sorted(twice))} again")
    template = load(ROOT, "profiles", "template.json")
    cpu, gpu = anchors["extrapolated"]["cpu"], anchors["extrapolated"]["gpu"]
    families, template["kernels"] = cpu_part(cpu["factors"], cpu["extrapolated_interval"], ("facts", "assumed", "kernels"))
    template["families"] = {"cpu": families,
                            "gpu": calibrated(gpu_families(gpu["factors"]["any"]), gpu["extrapolated_interval"],
                                              lambda family: ("facts", "assumed", "guess"))}
    template["kernels"] |= gpu_winograd(gpu["factors"]["any"], cpu["factors"], gpu["extrapolated_interval"])
    sources = template.pop("sources")
    template["sources"] = {**sources, "kernels": cpu["source"], "winograd": WINOGRAD}
    return {**made, "template": template}


def write_all(is_writing=True):
    """Returns whether all files are as made."""
    is_same = True
    for name, profile in all_profiles().items():
        path = os.path.join(ROOT, "profiles", name + ".json")
        text = text_of(profile) + "\n"
        old = ""
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                old = file.read()
        if old == text:
            continue
        is_same = False
        print(name, "written" if is_writing else "differs")
        if is_writing:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
    return is_same


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    is_writing = parser.parse_args().write
    is_same = write_all(is_writing)
    if is_same:
        print("all profiles are as made")
    return 0 if is_same or is_writing else 1


if __name__ == "__main__":
    sys.exit(main())
