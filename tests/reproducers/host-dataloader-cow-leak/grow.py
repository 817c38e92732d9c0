"""Shows workers' private memory growing to a full copy of a list of Python objects, and not with an array.

    python grow.py
"""

import os

import numpy
import torch
from torch.utils.data import DataLoader, Dataset

COUNT = 2_000_000


def private_mebibytes() -> int:
    with open("/proc/self/smaps_rollup") as rollup:
        return sum(int(line.split()[1]) for line in rollup if line.startswith("Private_")) // 1024


class Samples(Dataset):
    def __init__(self, samples) -> None:
        self.samples = samples

    def __len__(self) -> int:
        return 8

    def __getitem__(self, part: int) -> torch.Tensor:
        for index in range(part, COUNT, 8):
            self.samples[index]
        return torch.tensor([os.getpid(), private_mebibytes()])


def watch(name: str, samples) -> None:
    for batch in DataLoader(Samples(samples), batch_size=None, num_workers=1):
        print(name, "private MiB of the worker:", batch[1].item(), flush=True)


if __name__ == "__main__":
    watch("list", [str(n) for n in range(COUNT)])
    watch("array", numpy.arange(COUNT))
