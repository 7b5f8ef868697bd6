"""Draws attention in its forms and rotary embedding."""
from case import *


def draw(rng):
    build = Build(rng, opset=23, constants=0)
    heads, length, size = int(rng.integers(1, 4)), int(rng.integers(1, 9)), one_of(rng, [2, 4, 8, 10])
    batch = int(rng.integers(1, 3))
    if chance(rng, 0.3):
        x = build.operand(values(rng, (batch, heads, length, size)))
        half = size // 2
        cos = build.operand(values(rng, (batch, length, half), np.float32, -1, 1))
        sin = build.operand(values(rng, (batch, length, half), np.float32, -1, 1))
        return build.case([build.node("RotaryEmbedding", [x, cos, sin], interleaved=int(rng.integers(2)))], 1e-5, 1e-5)
    kv_heads = one_of(rng, [h for h in range(1, heads + 1) if heads % h == 0])
    kv_length = int(rng.integers(1, 9))
    q = build.operand(values(rng, (batch, heads, length, size), np.float32, -1, 1))
    k = build.operand(values(rng, (batch, kv_heads, kv_length, size), np.float32, -1, 1))
    v = build.operand(values(rng, (batch, kv_heads, kv_length, size), np.float32, -1, 1))
    names = [q, k, v]
    if chance(rng, 0.4):
        names.append(build.operand(values(rng, (length, kv_length), np.float32, -2, 2)))
    attributes = {"is_causal": int(rng.integers(2)) if len(names) == 3 and kv_length >= length else 0}
    if chance(rng, 0.3):
        attributes["softcap"] = float(rng.uniform(1, 5))
    if chance(rng, 0.3):
        attributes["scale"] = float(rng.uniform(0.1, 1))
    return build.case([build.node("Attention", names, **attributes)], 1e-4, 1e-5)
