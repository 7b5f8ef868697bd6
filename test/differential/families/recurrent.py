"""Draws RNN, GRU and LSTM: both directions, initial states, all outputs.

Left out: sequence lengths and layout 1, which the evaluator does not have, and clip.
"""
from case import *


def draw(rng):
    build = Build(rng, constants=one_of(rng, [0, 0.5]))
    op, gates = one_of(rng, [("RNN", 1), ("GRU", 3), ("LSTM", 4)])
    steps, batch, size, hidden = (int(rng.integers(1, 6)) for _ in range(4))
    x = values(rng, (steps, batch, size), np.float32, -1, 1)
    w = values(rng, (1, gates * hidden, size), np.float32, -1, 1)
    r = values(rng, (1, gates * hidden, hidden), np.float32, -1, 1)
    names = [build.operand(x), build.constant(w), build.constant(r)]
    if chance(rng, 0.6):
        names.append(build.constant(values(rng, (1, 2 * gates * hidden), np.float32, -1, 1)))
        if chance(rng, 0.5):
            names += ["", build.operand(values(rng, (1, batch, hidden), np.float32, -1, 1))]
            if op == "LSTM":
                names.append(build.operand(values(rng, (1, batch, hidden), np.float32, -1, 1)))
    attributes = {"hidden_size": hidden}
    if op == "GRU":
        attributes["linear_before_reset"] = int(rng.integers(2))
    found = build.node(op, names, 2, **attributes)
    return build.case(found, 1e-4, 1e-5)
