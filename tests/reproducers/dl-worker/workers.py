"""Loses a DataLoader worker in the way that the argument names.

    python -X faulthandler workers.py killed|segfault|abort|fpe|exit|exception|memory|shm-batch|shm-decoder [at-once]

The worker dies while the main process waits for it; with `at-once`, while it still hands over an earlier batch, whose
loss (EOFError, ConnectionResetError) is then all that the main process reports.
`memory` takes host memory without end: run it inside a memory limit only. The two `shm` kinds need a small /dev/shm,
for instance in a mount namespace of its own:

    unshare -m sh -c 'mount -t tmpfs -o size=2M tmpfs /dev/shm && exec python -X faulthandler workers.py shm-batch'
"""

import ctypes
import os
import signal
import sys
import time
from multiprocessing import shared_memory

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
    elif kind == "memory":
        hoard = []
        while True:
            hoard.append(bytearray(b"\1") * (1 << 20))
    elif kind == "shm-decoder":
        # A decoder that uses shared memory of its own: the length is granted, the pages are not.
        frames = shared_memory.SharedMemory(create=True, size=16 << 20)
        frames.buf[:] = bytes(16 << 20)
    elif kind == "exception":
        raise ValueError(f"sample {BAD_INDEX} has no label")


class Samples(Dataset):
    def __init__(self, kind: str, at_once: bool) -> None:
        self.kind = kind
        self.at_once = at_once

    def __len__(self) -> int:
        return 16

    def __getitem__(self, index: int) -> torch.Tensor:
        if index == BAD_INDEX:
            time.sleep(0 if self.at_once else 1)
            decode(self.kind)
        return torch.zeros(1 << 20 if self.kind == "shm-batch" else 8)


def main() -> None:
    loader = DataLoader(Samples(sys.argv[1], "at-once" in sys.argv), batch_size=2, num_workers=1)
    for step, batch in enumerate(loader):
        print("step", step, tuple(batch.shape), flush=True)


if __name__ == "__main__":
    main()
