#!/usr/bin/env python3
"""Joins sample files of codl-profile whose processes ran beside each other on one machine.

    join_samples.py GPU.csv CPU.csv [GPU.csv or CPU.csv ...] > SAMPLES.csv

A machine with cores to spare is sampled by several processes at once (docs/guide/testing.md): some on the
GPU, some on CPU queues of cores of their own. Facts, transfer costs, tiles and the GPU's clock are
the first file's, the CPU's clock is the second's: other files of a processor must have gone on
(--resume) from a copy of what its first began with. Batches that files share count once. What samples
are needed is every file's.
"""
import sys

FACTS = ("#fact", "#transfer", "#tile")


def read(path):
    """Lines of facts; of needed samples; of "#probe" the CPU's and the GPU's number; and batches, lists of
    lines."""
    facts, needed, probe, batches = [], [], None, []
    with open(path) as file:
        for line in file:
            if line.startswith(FACTS):
                facts.append(line)
            elif line.startswith("#needed,"):
                needed.append(line)
            elif line.startswith("#probe,"):
                probe = probe or line.rstrip("\n").split(",")[1:]
            elif line.startswith("#batch") or not batches:
                batches.append([line])
            else:
                batches[-1].append(line)
    if probe is None:
        sys.exit(f"{path}: expected samples of codl-profile, found no #probe")
    return facts, needed, probe, batches


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    try:
        first, *rest = [read(path) for path in sys.argv[1:]]
    except (OSError, UnicodeDecodeError) as error:
        sys.exit(f"join_samples.py: {error}")
    facts, needed, (_, gpu_probe), batches = first
    cpu_probe = rest[0][2][0]
    for path, (_, _, probe, own) in zip(sys.argv[2:], rest):
        is_cpu = [line.split(",")[0].endswith("_cpu") for batch in own for line in batch
                  if not line.startswith("#")]
        for is_own, clock, found in ((any(is_cpu), cpu_probe, probe[0]),
                                     (not all(is_cpu), gpu_probe, probe[1])):
            if is_own and found != clock:
                sys.exit(f"{path}: expected the clock of the first file, {clock} us, found {found} us")
    sys.stdout.writelines(facts + needed + [line for _, own, _, _ in rest for line in own])
    print(f"#probe,{cpu_probe},{gpu_probe}")
    seen = set()
    for batch in batches + [batch for _, _, _, own in rest for batch in own]:
        samples = batch[1:] if batch[0].startswith("#batch") else batch
        if not all(line in seen for line in samples):
            sys.stdout.writelines(batch)
        seen.update(samples)


main()
