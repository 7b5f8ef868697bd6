"""Reads the data that CoDL's authors published, and the profiles of the phones they used.

data/codl_paper.json, made from the paper's figures (MobiSys'22) and the released code:

  networks.NAME.ops         operators in order: "conv|pool KERNEL STRIDE IN_ROWS IN_COLS IN_CHANNELS
                            OUT_CHANNELS", the input with its padding, or "fc INPUTS OUTPUTS"
  plans.PHONE.NAME          the released partition plans: "single" without chains, "chained" with
                            their lengths; by operator the cut, H(eight) or C(hannels), and the GPU's
                            share in tenths as a hexadecimal digit; "half_dims": the cuts that belong
                            to shares of one half (Figs. 17 to 20)
  latency_ms.PHONE.NAME     bars of Figs. 15 and 16: MACE on one processor, CoDL, and others
  figures.NUMBER            what the other figures show
  tables.NUMBER             Table 3: percent of predictions within 10 %, by phone and predictor
"""
import dataclasses
import json
import os

import mace_model

HERE = os.path.dirname(os.path.abspath(__file__))
FITS = os.path.join(HERE, "data", "phone_fits.json")  # written by phone_fit.py
PROFILES = os.path.join(HERE, "..", "..", "profiles")


@dataclasses.dataclass(frozen=True)
class Paper:
    networks: dict  # lists of mace_model.Op by name
    plans: dict
    latency_ms: dict
    figures: dict
    tables: dict


def read_data():
    with open(os.path.join(HERE, "data", "codl_paper.json")) as file:
        data = json.load(file)
    networks = {name: [mace_model.parse_op(op) for op in network["ops"]]
                for name, network in data["networks"].items()}
    return Paper(networks, data["plans"], data["latency_ms"], data["figures"], data["tables"])


def read_fits():
    with open(FITS) as file:
        return json.load(file)


def tenths_of(plan):
    return [int(digit, 16) for digit in plan["gpu_tenths"]]


def read_profile(path):
    """Returns a device profile with its inherited members (docs/reference/profile_format.md)."""
    with open(path) as file:
        profile = json.load(file)
    if "base" not in profile:
        return profile
    base = read_profile(os.path.join(os.path.dirname(path), profile["base"] + ".json"))
    merged = {key: value for key, value in {**base, **profile}.items() if value is not None}
    for key in ("cpu", "gpu", "transfer", "power", "families", "kernels", "sources"):
        if key in base and profile.get(key) is not None:
            merged[key] = {**base[key], **profile[key]}
    return merged
