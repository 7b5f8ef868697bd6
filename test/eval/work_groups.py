"""Work-groups as CoDL's predictor takes them to be, for four_models.py; mace_cost.cc has them for the kernels."""
import dataclasses

import mace_model


@dataclasses.dataclass(frozen=True)
class Phone:
    """What the released code of CoDL knows of a phone."""
    gpu_cache_bytes: int
    compute_units: int
    max_group: int
    wave: int
    has_images: bool  # False: buffers, nothing is transformed


def work_group(global_size, block, kernel, phone):
    """The heuristics of CoDL's kernels, one for 1x1, one for 3x3, one for the rest. Sizes are in
    the order channels, columns, rows."""
    base = max(phone.gpu_cache_bytes // 16384, 1)
    item_bytes = (2 * block + 4) * 16
    channels, cols, rows = global_size
    group_cols = min(cols, phone.max_group)
    most_channels = phone.max_group // group_cols
    in_cache = phone.gpu_cache_bytes // item_bytes
    half_units = max(phone.compute_units // 2, 1)
    if kernel == 1:
        if group_cols >= base or (group_cols > 1 and channels >= 128):
            wanted = min(channels, base)
        else:
            wanted = channels // 8 if channels // 8 >= base else max(channels // 4, base)
        group_channels = min(wanted, most_channels)
        group_rows = in_cache // (group_channels * group_cols) // half_units * 8
        fallback = min(rows, base)
    elif kernel == 3:
        base = min(base, 4)
        group_channels = min(channels, base, most_channels)
        group_rows = mace_model.rounded(in_cache // (group_channels * group_cols) // half_units, base)
        fallback = min(rows, base)
    else:
        group_channels = min(channels // 4 or channels, most_channels)
        group_rows = (in_cache // kernel // (group_channels * group_cols) // phone.compute_units *
                      8)
        fallback = rows if rows < 20 else base
    group_rows = min(group_rows, rows) or fallback
    group_items = group_channels * group_cols
    return group_channels, group_cols, max(min(group_rows, phone.max_group // group_items), 1)
