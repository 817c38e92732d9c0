"""Frees an autograd graph of a million nodes at once, which crashed old releases by recursion.

    python -X faulthandler deep_graph.py
"""

import torch

DEPTH = 1_000_000


def main() -> None:
    x = torch.ones(1, requires_grad=True)
    y = x
    for _ in range(DEPTH):
        y = y + 1
    print("built", DEPTH, "nodes with torch", torch.__version__, flush=True)
    y.backward()
    print("gradient", x.grad.item(), flush=True)
    del y
    print("freed without a crash", flush=True)


main()
