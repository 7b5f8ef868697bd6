"""Draws MatMul with broadcast batches, Gemm in all forms, Einsum."""
from case import *

EINSUMS = {"ij,jk->ik": 3, "bij,bjk->bik": 4, "bij,bkj->bik": 4, "ij->ji": 2, "bhid,bhjd->bhij": 5, "ii->i": 1,
           "bi,bi->b": 2, "i,j->ij": 2, "bij->bj": 3, "...ij,...jk->...ik": 3}


def draw(rng):
    build = Build(rng)
    op = one_of(rng, ["MatMul", "MatMul", "Gemm", "Gemm", "Einsum"])
    m, k, n = (one_of(rng, [1, 2, 3, 5, 8, 13, 17, 33, 64]) for _ in range(3))
    tolerance = tolerance_of(np.float32, k, 4)
    if op == "Gemm":
        trans_a, trans_b = int(rng.integers(2)), int(rng.integers(2))
        a = values(rng, (k, m) if trans_a else (m, k), np.float32, -2, 2)
        b = values(rng, (n, k) if trans_b else (k, n), np.float32, -2, 2)
        names = [build.operand(a), build.operand(b)]
        if chance(rng, 0.6):
            names.append(build.operand(values(rng, one_of(rng, [(n,), (1, n), (m, n), (m, 1), (1,), ()]))))
        y = build.node(op, names, transA=trans_a, transB=trans_b, alpha=float(rng.uniform(0.5, 2)),
                       beta=float(rng.uniform(0.5, 2)))
        if chance(rng, 0.3):
            y = build.node("Relu", [y])
        return build.case([y], tolerance[0], tolerance[1] * 2)
    if op == "Einsum":
        equation = one_of(rng, sorted(EINSUMS))
        size = {letter: int(rng.integers(1, 8)) for letter in "bhijkd"}
        batch = shape(rng, int(rng.integers(0, 3)), high=3)
        names = []
        for term in equation.split("->")[0].split(","):
            lead = batch if "..." in term else ()
            names.append(build.operand(values(rng, lead + tuple(size[c] for c in term.replace("...", "")),
                                              np.float32, -2, 2)))
        return build.case([build.node(op, names, equation=equation)], *tolerance_of(np.float32, 64, 4))
    batch = shape(rng, int(rng.integers(0, 3)), high=4)
    lead_a = tuple(1 if chance(rng, 0.3) else d for d in batch)
    lead_b = batch[int(rng.integers(len(batch) + 1)):]
    a_dims = lead_a + ((k,) if not lead_a and chance(rng, 0.2) else (m, k))
    b_dims = lead_b + ((k,) if not lead_b and chance(rng, 0.2) else (k, n))
    dtype = one_of(rng, (np.float32,) * 5 + (np.float64, np.int32, np.int64))
    names = [build.operand(values(rng, d, dtype, -2, 2)) for d in (a_dims, b_dims)]
    if np.dtype(dtype).kind != "f":
        tolerance = (0, 0)
    return build.case([build.node(op, names)], *tolerance)
