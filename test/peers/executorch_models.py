#!/usr/bin/env python3
"""Makes the networks that compare.py --xnnpack runs: XNNPACK has no reader for ONNX.

  executorch_models.py DIR [NETWORK=SIDE ...]

Needs a Python with the wheels executorch, torch and torchvision (6 GB; a virtual environment of its
own). Writes DIR/NETWORK.pte: torchvision's network with random weights, input 1 x 3 x SIDE x SIDE,
lowered to ExecuTorch's XNNPACK delegate. Without NETWORK: those of NETWORKS.
"""
import os
import sys

NETWORKS = {"resnet18": 224, "resnet50": 224, "mobilenet_v2": 224, "mobilenet_v3_large": 224,
            "vgg16": 224, "squeezenet1_1": 224, "efficientnet_b0": 224, "densenet121": 224,
            "inception_v3": 299, "deeplabv3_mobilenet": 256}


def make(name):
    import torchvision
    if name == "deeplabv3_mobilenet":
        return torchvision.models.segmentation.deeplabv3_mobilenet_v3_large(weights=None,
                                                                            weights_backbone=None)
    # Leaves out the second head, which is for training.
    more = {"aux_logits": False, "init_weights": False} if name == "inception_v3" else {}
    return getattr(torchvision.models, name)(weights=None, **more)


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    import torch
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower
    wanted = dict(word.split("=") for word in sys.argv[2:]) or NETWORKS
    os.makedirs(sys.argv[1], exist_ok=True)
    torch.manual_seed(0)
    for name, side in wanted.items():
        value = (torch.randn(1, 3, int(side), int(side)),)
        exported = torch.export.export(make(name).eval(), value)
        program = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
        with open(os.path.join(sys.argv[1], name + ".pte"), "wb") as file:
            file.write(program.to_executorch().buffer)
        print(name, flush=True)


if __name__ == "__main__":
    main()
