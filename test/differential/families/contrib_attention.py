"""Draws operators of com.microsoft that only ONNX Runtime computes: attention, its caches and embeddings.

Left out: what ONNX Runtime's CPU kernels refuse (packed Q, K and V, a mask of rank 4, attention_bias after a past,
q_norm_weight, causal 0), and what it leaves open: rows and cache entries behind a sequence's end, unidirectional
attention to more or fewer keys than queries, and queries whose keys are all hidden, because -10000 takes the digits of
the scores.
"""
from case import *

DOMAIN = "com.microsoft"


def floats(rng, build, dims):
    return build.operand(values(rng, dims, np.float32, -1, 1))


def lengths(rng, batch, most, least=1):
    return rng.integers(least, most + 1, size=batch).astype(np.int32)


def padding_mask(rng, batch, keys):
    """Returns ones, then perhaps zeros."""
    return (np.arange(keys)[None] < lengths(rng, batch, keys)[:, None]).astype(np.int32)


def scores_mask(rng, batch, length, keys):
    mask = rng.integers(0, 2, size=(batch, length, keys)).astype(np.int32)
    mask[:, :, 0] = 1
    return mask


def packed(rng, build):
    heads, size, batch, length = (int(rng.integers(1, 4)) for _ in range(4))
    size *= 2
    past = int(rng.integers(1, 5)) if chance(rng, 0.4) else 0
    value_size = size if past or chance(rng, 0.6) else size + 2
    width, value_width, inner = heads * size, heads * value_size, int(rng.integers(2, 9))
    keys = past + length
    operands = [floats(rng, build, (batch, length, inner)), floats(rng, build, (inner, 2 * width + value_width)),
                floats(rng, build, (2 * width + value_width,))]
    causal = int(chance(rng, 0.4))
    kind = one_of(rng, ["none", "none", "ends", "limits", "keys", "scores"])
    mask = ""
    if kind == "ends":
        mask = build.operand(lengths(rng, batch, keys))
    elif kind == "limits":
        ends = lengths(rng, batch, keys)
        mask = build.operand(np.concatenate([ends, rng.integers(0, 1 if causal else ends, size=batch).astype(np.int32)]))
    elif kind == "keys":
        mask = build.operand(padding_mask(rng, batch, keys))
    elif kind == "scores":
        mask = build.operand(scores_mask(rng, batch, length, keys))
    operands.append(mask)
    operands.append(floats(rng, build, (2, batch, heads, past, size)) if past else "")
    operands.append(floats(rng, build, (one_of(rng, [1, batch]), one_of(rng, [1, heads]), length, keys))
                    if not past and chance(rng, 0.3) else "")
    while operands[-1] == "":
        operands.pop()
    names = build.node("Attention", operands, outputs=2 if past else 1, domain=DOMAIN, num_heads=heads,
                       unidirectional=causal, scale=one_of(rng, [None, None, 0.3]),
                       mask_filter_value=one_of(rng, [None, None, -50.0]),
                       qkv_hidden_sizes=None if value_width == width else [width, width, value_width])
    return names if past else [names]


def multi(rng, build):
    heads, size, batch, length = (int(rng.integers(1, 4)) for _ in range(4))
    size *= 2
    width = heads * size
    form = one_of(rng, ["parts", "parts", "heads"])
    past = int(rng.integers(1, 5)) if form == "parts" and chance(rng, 0.4) else 0
    kv_length = length if past else int(rng.integers(1, 6))
    value_size = size + 2 if form == "parts" and not past and chance(rng, 0.3) else size
    keys = past + kv_length
    if form == "heads":
        operands = [floats(rng, build, (batch, length, width))]
        operands += [floats(rng, build, (batch, heads, kv_length, size)) for _ in range(2)]
    else:
        operands = [floats(rng, build, (batch, length, width)), floats(rng, build, (batch, kv_length, width)),
                    floats(rng, build, (batch, kv_length, heads * value_size))]
    has_bias = form == "parts" and chance(rng, 0.5)
    operands.append(floats(rng, build, (2 * width + heads * value_size,)) if has_bias else "")
    kind = one_of(rng, ["none", "none", "ends", "keys", "scores"])
    mask = {"none": lambda: "", "ends": lambda: build.operand(lengths(rng, batch, keys)),
            "keys": lambda: build.operand(padding_mask(rng, batch, keys)),
            "scores": lambda: build.operand(scores_mask(rng, batch, length, keys))}[kind]()
    operands.append(mask)
    operands.append(floats(rng, build, (one_of(rng, [1, batch]), one_of(rng, [1, heads]), length, keys))
                    if chance(rng, 0.3) else "")
    if past:
        operands += [floats(rng, build, (batch, heads, past, size)) for _ in range(2)]
    outputs = 3 if past or (form == "parts" and chance(rng, 0.3)) else 1
    while operands[-1] == "":
        operands.pop()
    names = build.node("MultiHeadAttention", operands, outputs=outputs, domain=DOMAIN, num_heads=heads,
                       unidirectional=one_of(rng, [None, 1]) if kv_length == length else None,
                       scale=one_of(rng, [None, None, 0.3]))
    return names if outputs > 1 else [names]


def groups(rng, build):
    kv_heads = int(rng.integers(1, 3))
    heads, size = kv_heads * int(rng.integers(1, 4)), one_of(rng, [16, 32])
    kind = one_of(rng, ["first", "step", "step", "chunk"])
    batch = 1 if kind == "chunk" else int(rng.integers(1, 3))
    length = 1 if kind == "step" else int(rng.integers(2, 6))
    past = 0 if kind == "first" else int(rng.integers(1, 6))  # the longest sequence has so many
    total = past + length
    # The cache is as long as what is past, or has room. What it has behind is zeros.
    cache = past if chance(rng, 0.4) or kind == "first" else total + int(rng.integers(0, 4))
    ends = np.full(batch, total, np.int32)
    if kind == "step":
        ends[1:] = lengths(rng, batch - 1, total, 2)
    width, kv_width = heads * size, kv_heads * size
    if chance(rng, 0.4):
        operands = [floats(rng, build, (batch, length, width + 2 * kv_width)), "", ""]
    else:
        operands = [floats(rng, build, (batch, length, w)) for w in (width, kv_width, kv_width)]
    if cache:
        for _ in range(2):
            kept = np.arange(cache)[None, None, :, None] < (ends - length)[:, None, None, None]
            operands.append(build.operand(np.where(kept, values(rng, (batch, kv_heads, cache, size), np.float32, -1, 1),
                                                   np.float32(0))))
    else:
        operands += ["", ""]
    operands.append(build.operand(ends - 1))
    operands.append(build.constant(np.array(total, np.int32).reshape(one_of(rng, [(), (1,)]))))
    rotary = chance(rng, 0.5)
    turned = one_of(rng, [16, size])
    angles = rng.uniform(-3, 3, size=(total + 3, turned // 2))
    operands += [build.operand(f(angles).astype(np.float32)) for f in (np.cos, np.sin)] if rotary else ["", ""]
    operands.append("")
    operands.append(floats(rng, build, (one_of(rng, [1, batch]), one_of(rng, [1, heads]), length, total))
                    if chance(rng, 0.2) else "")
    operands.append(floats(rng, build, (heads,)) if chance(rng, 0.2) else "")
    while operands[-1] == "":
        operands.pop()
    return build.node("GroupQueryAttention", operands, outputs=3, domain=DOMAIN, num_heads=heads, kv_num_heads=kv_heads,
                      do_rotary=int(rotary), rotary_interleaved=one_of(rng, [0, 1]),
                      scale=one_of(rng, [None, None, 0.3]), softcap=one_of(rng, [None, None, 2.0]),
                      local_window_size=one_of(rng, [None, None, 1, 2, 3]),
                      smooth_softmax=one_of(rng, [None, None, 1]))


def rotary(rng, build):
    heads, length, batch = (int(rng.integers(1, 4)) for _ in range(3))
    size = one_of(rng, [4, 8, 10])
    turned = one_of(rng, [0, 0, 2, 4])
    half = (turned or size) // 2
    x = floats(rng, build, one_of(rng, [(batch, length, heads * size), (batch, heads, length, size)]))
    rows = length + 5
    positions = one_of(rng, [np.array([int(rng.integers(0, 5))], np.int64), rng.integers(0, rows, size=(batch, length))])
    return [build.node("RotaryEmbedding", [x, build.operand(positions), floats(rng, build, (rows, half)),
                                           floats(rng, build, (rows, half))], domain=DOMAIN,
                       interleaved=one_of(rng, [0, 1]), num_heads=heads if turned else one_of(rng, [None, heads]),
                       rotary_embedding_dim=turned or None)]


def embed(rng, build):
    batch, length, width = (int(rng.integers(1, 6)) for _ in range(3))
    width += 2

    def indices(count, dims):
        return build.operand(rng.integers(0, count, size=dims).astype(np.int32))

    has_segments = chance(rng, 0.6)
    operands = [indices(9, (batch, length)), indices(2, (batch, length)) if has_segments else "",
                floats(rng, build, (9, width)), floats(rng, build, (7, width)),
                floats(rng, build, (2, width)) if has_segments else "", floats(rng, build, (width,)),
                floats(rng, build, (width,)), build.operand(padding_mask(rng, batch, length)) if chance(rng, 0.6) else ""]
    if chance(rng, 0.4):
        operands.append(indices(7, (one_of(rng, [1, batch]), length)))
    while operands[-1] == "":
        operands.pop()
    return build.node("EmbedLayerNormalization", operands, outputs=3, domain=DOMAIN, epsilon=one_of(rng, [1e-5, 1e-3]))


def blocks(rng, build):
    rows, block, count = int(rng.integers(1, 6)), one_of(rng, [16, 32]), int(rng.integers(1, 4))
    bits = one_of(rng, [4, 8])
    width = block * count
    data = rng.integers(0, 256, size=(rows, width * bits // 8)).astype(np.uint8)
    operands = [build.constant(data),
                build.operand(rng.integers(0, rows, size=shape(rng, int(rng.integers(1, 3)), high=4)).astype(np.int64)),
                build.constant(values(rng, (rows, count), np.float32, 0.01, 1))]
    if chance(rng, 0.5):
        operands.append(build.constant(rng.integers(0, 256, size=(rows, (count * bits + 7) // 8)).astype(np.uint8)))
    return [build.node("GatherBlockQuantized", operands, domain=DOMAIN, bits=bits, block_size=block, gather_axis=0,
                       quantize_axis=1)]


def draw(rng):
    build = Build(rng, constants=one_of(rng, [0, 0, 0.3]))
    outputs = one_of(rng, [packed, packed, multi, multi, groups, groups, groups, rotary, embed, blocks])(rng, build)
    return build.case(outputs, 1e-4, 1e-5)
