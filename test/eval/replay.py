"""CoDL's co-execution in virtual time: operators cut at a ratio, chains, transfers.

What a step costs is mace_model.py's. Latency is counted as the released code of CoDL counts
it: the time of kernels, maps and waits; what the host does between them is left out.
"""
import dataclasses

import mace_model


@dataclasses.dataclass(frozen=True)
class Device:
    """A phone: shares by name, transfer costs in milliseconds."""
    name: str
    costs: mace_model.Costs
    cpu: dict
    gpu: dict
    has_images: bool
    transform_ms_per_melems: float
    map_ms_per_melems: float
    map_ms: float
    sync_ms: float

    def cpu_ms(self, op):
        return self.costs.ms(self.name, "cpu", op, self.cpu)

    def gpu_ms(self, op):
        return self.costs.ms(self.name, "gpu", op, self.gpu)

    def transfer_ms(self, elems):
        """Returns the time into and out of the CPU, for an operator or a chain that shares `elems` elements."""
        per_melems = self.map_ms_per_melems
        if self.has_images:
            per_melems += self.transform_ms_per_melems
        return per_melems * elems * 1e-6 + 2 * self.map_ms + self.sync_ms


@dataclasses.dataclass(frozen=True)
class Segment:
    """Holds a chain, or a single operator, with times without and with the transfer."""
    cpu_ms: float
    gpu_ms: float
    transfer_ms: float

    @property
    def ms(self):
        return max(self.cpu_ms, self.gpu_ms) + self.transfer_ms


def gpu_rows(op, tenths):
    return -(-tenths * op.out_rows // 10)


def split(op, dim, tenths):
    """Returns the CPU's and the GPU's part of a cut operator, None for a side without work. The GPU has the first
    rows ("H"), or the first channels in multiples of 4 ("C").
    """
    if dim == "H" and op.kind != "fc":
        rows = gpu_rows(op, tenths)
        return (op.of_rows(op.out_rows - rows) if rows < op.out_rows else None,
                op.of_rows(rows) if rows else None)
    channels = min(mace_model.rounded(op.out_channels * tenths // 10, 4), op.out_channels)
    return (op.of_channels(op.out_channels - channels) if channels < op.out_channels else None,
            op.of_channels(channels) if channels else None)


def simulate_single(device, op, dim, tenths):
    cpu, gpu = split(op, dim, tenths)
    if cpu is None:
        return Segment(0, device.gpu_ms(gpu), 0)
    transfer_ms = device.transfer_ms(cpu.in_elems + cpu.out_elems)
    if gpu is None:
        return Segment(device.cpu_ms(cpu), 0, transfer_ms)
    return Segment(device.cpu_ms(cpu), device.gpu_ms(gpu), transfer_ms)


def rows_needed(op, following, following_rows):
    """Returns the rows of op's output that its follower reads for `following_rows` of its own (Eq. 1). The padding
    at the map's border is not op's output.
    """
    padding = (following.in_rows - op.out_rows) // 2
    return min(op.out_rows, (following_rows - 1) * following.stride + following.kernel - padding)


def chain_parts(ops, tenths):
    """Returns for each operator the CPU's and the GPU's part, with the rows that both compute."""
    parts = []
    cpu_rows = gpu = 0
    for index in range(len(ops) - 1, -1, -1):
        op = ops[index]
        own_gpu = gpu_rows(op, tenths)
        own_cpu = op.out_rows - own_gpu
        if index + 1 < len(ops):
            own_gpu = max(own_gpu, rows_needed(op, ops[index + 1], gpu))
            own_cpu = max(own_cpu, rows_needed(op, ops[index + 1], cpu_rows))
        cpu_rows, gpu = own_cpu, own_gpu
        parts.append((op.of_rows(cpu_rows), op.of_rows(gpu)))
    return parts[::-1]


def simulate_chain(device, ops, dims, tenths):
    """Simulates the operators of one chain; chains of more than one are cut along rows, all at one ratio."""
    if len(ops) == 1:
        return simulate_single(device, ops[0], dims[0], tenths)
    if tenths == 10:
        return Segment(0, sum(device.gpu_ms(op) for op in ops), 0)
    assert set(dims) == {"H"}, "a chain is cut along rows"
    parts = chain_parts(ops, tenths)
    last = ops[-1]
    out_elems = last.of_rows(last.out_rows - gpu_rows(last, tenths)).out_elems
    return Segment(sum(device.cpu_ms(cpu) for cpu, _ in parts),
                   sum(device.gpu_ms(gpu) for _, gpu in parts),
                   device.transfer_ms(parts[0][0].in_elems + out_elems))


def simulate_plan(device, ops, lengths, dims, tenths):
    """Returns the segments of a network; `tenths` by operator, the same inside a chain."""
    segments = []
    begin = 0
    for length in lengths:
        end = begin + length
        assert len(set(tenths[begin:end])) == 1, "a chain has one ratio"
        segments.append(simulate_chain(device, ops[begin:end], dims[begin:end], tenths[begin]))
        begin = end
    assert begin == len(ops), "every operator is in a chain"
    return segments


def total_ms(segments):
    return sum(segment.ms for segment in segments)


def best_tenths(device, op, dim, with_transfer):
    """Returns the GPU's share, in tenths, with the least latency; at the ends there is nothing to transfer."""

    def latency_ms(tenths):
        segment = simulate_single(device, op, dim, tenths)
        if tenths in (0, 10) or not with_transfer:
            return max(segment.cpu_ms, segment.gpu_ms)
        return segment.ms

    return min(range(11), key=latency_ms)
