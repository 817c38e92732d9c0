"""A layer that holds a large tensor as a plain attribute, and one that registers it as a buffer.

    python plain_attribute.py
"""

import torch


class Plain(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = torch.zeros(64, 1024, 1024)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


class Registered(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.zeros(64, 1024, 1024), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


def resident() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096 >> 20


for layer in (Plain(), Registered()):
    layer.table.fill_(1)
    sizes = []
    for _ in range(200):
        layer(torch.ones(1))
        sizes.append(resident())
    layer.half()
    print(type(layer).__name__, "grew by", sizes[-1] - sizes[0], "MiB in 200 calls; after half():", layer.table.dtype)
