"""Draws optionals, with an element and without, and what asks for it.

Left out: optionals as inputs and outputs of the network, and conditions of the run that decide whether there is an
element: both are refused. The evaluator has no Identity of an absent one.
"""
from onnx import TypeProto, helper

from case import *


def draw(rng):
    build = Build(rng)
    dtype = one_of(rng, [np.float32, np.float16, np.int32])
    dims = shape(rng, int(rng.integers(1, 4)), high=6)
    x = build.operand(values(rng, dims, dtype))
    tensor = helper.make_tensor_type_proto(onnx_type(dtype), None)
    is_list = chance(rng, 0.4)
    content = build.node("SequenceConstruct", [x, build.node("Neg", [x])]) if is_list else x
    kind = helper.make_sequence_type_proto(tensor) if is_list else tensor
    is_there = chance(rng, 0.6)
    optional = build.node("Optional", [content]) if is_there else build.node("Optional", [], type=kind)
    has = build.node("OptionalHasElement", [optional])

    def branch(name, nodes, output):
        return helper.make_graph(nodes, name, [], [helper.make_empty_tensor_value_info(output)])

    element, out, other = build.name("e"), build.name("o"), build.name("o")
    zero = build.constant(np.array(0, np.int64))
    taken = [helper.make_node("OptionalGetElement", [optional], [element])]
    if is_list:
        taken.append(helper.make_node("SequenceAt", [element, zero], [out]))
    else:
        taken.append(helper.make_node("Abs", [element], [out]))
    y = build.node("If", [has], then_branch=branch("then", taken, out),
                   else_branch=branch("else", [helper.make_node("Neg", [x], [other])], other))
    outputs = [build.node("Add", [y, x])]
    if chance(rng, 0.5):
        outputs.append(build.node("Not", [has]))
    if is_there and not is_list and chance(rng, 0.5):
        outputs.append(build.node("Neg", [build.node("OptionalGetElement", [x])]))
    return build.case(outputs, *tolerance_of(dtype))
