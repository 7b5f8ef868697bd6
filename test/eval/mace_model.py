"""What MACE's kernels, as CoDL ran them on phones, cost: work from shapes, time from twelve rates.

How a step is cut into blocks, threads, work-groups and waves follows from the shapes and from the
constants that CoDL's released code holds for a phone; only the time of a unit of work is fitted.

  CPU step   work / rate of its class + bytes / bandwidth + 0.03 ms. Classes: gemm (1x1, and the
             products of Winograd's method), d3 (direct 3x3), dbig (direct, larger filters)
  GPU step   max(work / rate of its class, bytes / bandwidth) + 0.03 ms. Classes: k1, k3, k3s2, kbig

Rates are in GFLOP/s (two operations per multiply-add) and GB/s, times in milliseconds.
"""
import dataclasses
import math

CPU_RATES = ("gemm", "d3", "dbig", "bw", "wbw")
GPU_RATES = ("k1", "k3", "k3s2", "kbig", "bw", "wbw")
STEP_MS = 0.03  # assumed: dispatch of an operator, of either processor
CPU_THREADS = 4
TILES_PER_THREAD = 2  # of MACE's static schedule


@dataclasses.dataclass(frozen=True)
class Phone:
    """Constants of the released code for one phone."""
    gpu_cache_bytes: int
    compute_units: int
    max_group: int
    wave: int
    has_images: bool  # False: buffers, nothing is transformed


PHONES = {
    "sd855": Phone(128 << 10, 2, 1024, 64, True),
    "sd865": Phone(128 << 10, 2, 1024, 64, True),
    "sd888": Phone(256 << 10, 3, 1024, 64, True),
    "kirin990": Phone(512 << 10, 16, 384, 8, False),
}


@dataclasses.dataclass(frozen=True)
class Op:
    """An operator, or the part of one that a processor computes. Rows and columns of the input
    include the padding."""
    kind: str  # conv, pool, fc
    kernel: int
    stride: int
    in_rows: int
    in_cols: int
    in_channels: int
    out_channels: int

    @property
    def out_rows(self):
        return (self.in_rows - self.kernel) // self.stride + 1

    @property
    def out_cols(self):
        return (self.in_cols - self.kernel) // self.stride + 1

    @property
    def flops(self):
        if self.kind == "pool":
            return 0
        return (2 * self.out_rows * self.out_cols * self.out_channels * self.in_channels *
                self.kernel**2)

    @property
    def activation_bytes(self):
        return 4 * (self.in_elems + self.out_elems)

    @property
    def in_elems(self):
        return self.in_rows * self.in_cols * self.in_channels

    @property
    def out_elems(self):
        return self.out_rows * self.out_cols * self.out_channels

    def of_rows(self, out_rows):
        return dataclasses.replace(self, in_rows=(out_rows - 1) * self.stride + self.kernel)

    def of_channels(self, channels):
        if self.kind == "pool":  # a channel of the output needs one of the input
            return dataclasses.replace(self, in_channels=channels, out_channels=channels)
        return dataclasses.replace(self, out_channels=channels)


def parse_op(text):
    """"conv|pool KERNEL STRIDE IN_ROWS IN_COLS IN_CHANNELS OUT_CHANNELS" or "fc INPUTS OUTPUTS"."""
    kind, *numbers = text.split()
    numbers = [int(n) for n in numbers]
    if kind == "fc":
        return Op("fc", 1, 1, 1, 1, *numbers)
    return Op(kind, *numbers)


def blocks(count, size):
    return -(-count // size)


def rounded(count, size):
    return blocks(count, size) * size


def slowest_thread(items):
    """Items that all threads together would do in the time of the slowest one."""
    tile = max(1, items // (CPU_THREADS * TILES_PER_THREAD))
    return CPU_THREADS * tile * blocks(blocks(items, tile), CPU_THREADS)


def gemm_flops(rows, cols, depth):
    """Blocks of 8 x 8 x 4; threads share the blocks of rows."""
    return 2 * slowest_thread(blocks(rows, 8)) * 8 * rounded(cols, 8) * rounded(depth, 4)


def cpu_work(op):
    """GFLOP or GB by rate."""
    if op.kind == "fc":
        return {"wbw": 4e-9 * op.in_channels * op.out_channels, "bw": 1e-9 * op.activation_bytes}
    work = {"bw": 1e-9 * op.activation_bytes}
    if op.kind == "pool":
        return work
    if op.kernel == 1 and op.stride == 1:
        work["gemm"] = 1e-9 * gemm_flops(op.out_channels, op.out_rows * op.out_cols, op.in_channels)
    elif (op.kernel == 3 and op.stride == 1 and op.in_channels >= 8 and op.out_channels >= 8):
        tile = 6 if op.in_rows > 16 and op.in_cols > 16 else 2
        tiles = blocks(op.out_rows, tile) * blocks(op.out_cols, tile)
        area = (tile + 2)**2
        work["gemm"] = 1e-9 * area * gemm_flops(op.out_channels, tiles, op.in_channels)
        # Transformed inputs and products, written and read.
        work["bw"] += 8e-9 * area * tiles * (op.in_channels + op.out_channels)
    else:
        channels = {3: 2 if op.stride == 1 else 1}.get(op.kernel, 4)
        work["d3" if op.kernel <= 3 else "dbig"] = (
            2e-9 * slowest_thread(blocks(op.out_channels, channels)) * channels * op.out_rows *
            rounded(op.out_cols, 4) * op.in_channels * op.kernel**2)
    return work


def cpu_ms(op, rates):
    return STEP_MS + 1e3 * sum(work / rates[name] for name, work in cpu_work(op).items())


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
        group_rows = rounded(in_cache // (group_channels * group_cols) // half_units, base)
        fallback = min(rows, base)
    else:
        group_channels = min(channels // 4 or channels, most_channels)
        group_rows = (in_cache // kernel // (group_channels * group_cols) // phone.compute_units *
                      8)
        fallback = rows if rows < 20 else base
    group_rows = min(group_rows, rows) or fallback
    group_items = group_channels * group_cols
    return group_channels, group_cols, max(min(group_rows, phone.max_group // group_items), 1)


def gpu_class(op):
    if op.kernel == 3:
        return "k3" if op.stride == 1 else "k3s2"
    return "k1" if op.kernel == 1 else "kbig"


def gpu_flops(op, phone):
    """Items make 4 channels of a block of columns; groups are whole waves, in whole rounds."""
    block = 5 if op.kernel == 3 else 4
    global_size = (blocks(op.out_channels, 4), blocks(op.out_cols, block), op.out_rows)
    group = work_group(global_size, block, op.kernel, phone)
    groups = math.prod(blocks(g, l) for g, l in zip(global_size, group))
    group_items = math.prod(group)
    items = (math.prod(global_size) * (rounded(group_items, phone.wave) / group_items) *
             (rounded(groups, phone.compute_units) / groups))
    return 2 * items * 4 * block * rounded(op.in_channels, 4) * op.kernel**2


def gpu_ms(op, rates, phone):
    if op.kind == "fc":
        return STEP_MS + 4e-6 * op.in_channels * op.out_channels / rates["wbw"]
    bytes_ms = 1e-6 * op.activation_bytes / rates["bw"]
    if op.kind == "pool":
        return STEP_MS + bytes_ms
    return STEP_MS + max(1e-6 * gpu_flops(op, phone) / rates[gpu_class(op)], bytes_ms)
