"""Computes the costs of MACE's kernels, as CoDL ran them on phones; mace_cost.cc gives their work and time.

How a step is cut into blocks, threads, work-groups and waves follows from the shapes and from the constants that CoDL's
released code holds for a phone; its time is codl's own cost model's, of the machine in the phone's profile. Only shares
of terms are fitted, by class of kernels:

  CPU step   gemm (1x1, and the products of Winograd's method), d3 (direct 3x3), dbig (direct, larger filters)
  GPU step   k1, k3, k3s2, kbig
  of either  bytes (activations, read and written), weights (of fully connected layers), and STEP_US each
"""
import dataclasses
import os
import subprocess

CPU_SHARES = ("gemm", "d3", "dbig", "bytes", "weights")
GPU_SHARES = ("k1", "k3", "k3s2", "kbig", "bytes", "weights")
SHARES = {"cpu": CPU_SHARES, "gpu": GPU_SHARES}
BIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "build", "release", "bin")
STEP_US = 30  # assumed: dispatching an operator, on either processor
# True if the GPU uses images; with buffers nothing is transformed.
PHONES = {"sd855": True, "sd865": True, "sd888": True, "kirin990": False}


@dataclasses.dataclass(frozen=True)
class Op:
    """Describes an operator, or a processor's part of one. Rows and columns of the input include the padding."""
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
    def line(self):
        return (f"{self.kind} {self.kernel} {self.stride} {self.in_rows} {self.in_cols} {self.in_channels} "
                f"{self.out_channels}")

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
    """Parses "conv|pool KERNEL STRIDE IN_ROWS IN_COLS IN_CHANNELS OUT_CHANNELS" or "fc INPUTS OUTPUTS"."""
    kind, *numbers = text.split()
    numbers = [int(n) for n in numbers]
    if kind == "fc":
        return Op("fc", 1, 1, 1, 1, *numbers)
    return Op(kind, *numbers)


def blocks(count, size):
    return -(-count // size)


def rounded(count, size):
    return blocks(count, size) * size


class Costs:
    """Asks mace_cost line by line."""

    def __init__(self, folder):
        self.tool = subprocess.Popen([os.path.join(folder, "mace_cost")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     text=True, bufsize=1)
        self.known = {}  # answers
        self.shares = {}  # shares that the tool has, keyed by phone and processor

    def close(self):
        self.tool.stdin.close()
        self.tool.wait()
        self.tool.stdout.close()

    def ask(self, line):
        self.tool.stdin.write(line + "\n")
        self.tool.stdin.flush()
        answer = self.tool.stdout.readline().strip()
        if not answer or answer.startswith("error"):
            raise RuntimeError(f"mace_cost: {line}: {answer or 'no answer'}")
        return answer

    def terms(self, phone, processor, op):
        """Returns microseconds by share: of the class of its kernel, of bytes, of weights."""
        key = ("terms", phone, processor, op)
        if key not in self.known:
            name, *numbers = self.ask(f"terms {phone} {processor} {op.line}").split(" ")
            compute, read, written, weights, _ = (float(number) for number in numbers)
            self.known[key] = {name: compute, "bytes": read + written, "weights": weights}
        return self.known[key]

    def ms(self, phone, processor, op, shares):
        key = (phone, processor, op, tuple(shares.values()))
        if key not in self.known:
            if self.shares.get((phone, processor)) != shares:
                for name in SHARES[processor][:-2] + ("pool", "fc"):
                    compute, moved, weights = shares.get(name, 0), shares["bytes"], shares["weights"]
                    self.ask(f"shares {phone} {processor} {name} {compute!r} {moved!r} {moved!r} {weights!r} {STEP_US}")
                self.shares[phone, processor] = dict(shares)
            self.known[key] = 1e-3 * float(self.ask(f"time {phone} {processor} {op.line}"))
        return self.known[key]
