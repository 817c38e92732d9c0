"""Loses a DataLoader worker in the way that the argument names.

    python -X faulthandler workers.py killed|segfault|abort|fpe|exit|exception|shm

`shm` needs a small /dev/shm, for instance in a mount namespace of its own:

    unshare -m sh -c 'mount -t tmpfs -o size=2M tmpfs /dev/shm && exec python -X faulthandler workers.py shm'
"""

import ctypes
import os
import signal
import sys

import torch
from torch.utils.data import DataLoader, Dataset

BAD_INDEX = 6


def decode(kind: str) -> None:
    """What the data set's native decoder does with the bad sample."""
    if kind == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif kind == "segfault":
        ctypes.string_at(0)
    elif kind == "abort":
        libc = ctypes.CDLL(None)
        libc.malloc.restype = ctypes.c_void_p
        libc.free.argtypes = [ctypes.c_void_p]
        block = libc.malloc(64)
        libc.free(block)
        libc.free(block)
    elif kind == "fpe":
        libc = ctypes.CDLL(None)
        libc.div.argtypes = [ctypes.c_int, ctypes.c_int]
        libc.div(1, 0)
    elif kind == "exit":
        os._exit(7)
    elif kind == "exception":
        raise ValueError(f"sample {BAD_INDEX} has no label")


class Samples(Dataset):
    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __len__(self) -> int:
        return 16

    def __getitem__(self, index: int) -> torch.Tensor:
        if index == BAD_INDEX:
            decode(self.kind)
        return torch.zeros(1 << 20 if self.kind == "shm" else 8)


def main() -> None:
    loader = DataLoader(Samples(sys.argv[1]), batch_size=2, num_workers=1)
    for step, batch in enumerate(loader):
        print("step", step, tuple(batch.shape), flush=True)


if __name__ == "__main__":
    main()
