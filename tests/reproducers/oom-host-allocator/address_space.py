"""Asks for a tensor that an address space limit does not allow.

    bash -c 'ulimit -v 16000000; python address_space.py'
"""

import torch


def build_embedding(rows: int, columns: int) -> torch.Tensor:
    return torch.empty(rows, columns)


print(build_embedding(50_000_000, 1024).shape)
