"""Accumulates the loss with and without its history, and shows what stays alive.

    python accumulate.py
"""

import gc

import torch


def nodes_alive(total: torch.Tensor) -> int:
    """Nodes of the graph that `total` keeps alive."""
    seen, todo = set(), [total.grad_fn]
    while todo:
        node = todo.pop()
        if node is not None and node not in seen:
            seen.add(node)
            todo.extend(parent for parent, _ in node.next_functions)
    return len(seen)


def train(keep_history: bool) -> None:
    model = torch.nn.Linear(64, 1)
    total = torch.zeros(())
    for step in range(1, 1001):
        loss = model(torch.randn(32, 64)).square().mean()
        loss.backward()
        total = total + (loss if keep_history else loss.detach())
        if step % 500 == 0:
            gc.collect()
            print("history" if keep_history else "detached", "step", step, "nodes alive:", nodes_alive(total))


train(keep_history=True)
train(keep_history=False)
