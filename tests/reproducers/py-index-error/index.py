"""Indexes a tensor out of bounds in the ways that are said to crash.

    python -X faulthandler index.py
"""

import torch

x = torch.randn(10, 10)
attempts = {
    "x[10, 10]": lambda: x[10, 10],
    "x[-11, 0]": lambda: x[-11, 0],
    "x[torch.tensor([3, 10])]": lambda: x[torch.tensor([3, 10])],
    "index_select": lambda: x.index_select(0, torch.tensor([10])),
    "gather": lambda: x.gather(0, torch.full((1, 10), 10)),
    "embedding": lambda: torch.nn.functional.embedding(torch.tensor([10]), x),
    "cross_entropy": lambda: torch.nn.functional.cross_entropy(x, torch.full((10,), 10)),
}
for name, attempt in attempts.items():
    try:
        attempt()
    except (IndexError, RuntimeError) as error:
        print(f"{name}: {type(error).__name__}: {str(error).splitlines()[0]}")
x[10, 10]
