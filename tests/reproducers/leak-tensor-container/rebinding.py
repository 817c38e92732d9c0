"""Watches the memory of a loop that rebinds its names, of one that deletes them, and of one that keeps a list.

    python rebinding.py
"""

import torch

MEBIBYTE = 1 << 20


def resident() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096 // MEBIBYTE


def watch(name: str, delete: bool, keep: bool) -> None:
    kept = []
    start, peak = resident(), 0
    for _ in range(50):
        x = torch.randn(1024, 1024)
        y = torch.matmul(x, x)
        z = torch.relu(y)
        if delete:
            del y
        if keep:
            kept.append(z)
        peak = max(peak, resident())
    print(f"{name}: {peak - start} MiB above the start, {resident() - start} at the end")


torch.set_num_threads(1)
watch("warm-up", delete=False, keep=False)
watch("names rebound", delete=False, keep=False)
watch("names deleted", delete=True, keep=False)
watch("kept in a list", delete=False, keep=True)
