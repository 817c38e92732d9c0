"""Makes a tensor over a memory map and unmaps it behind the tensor's back.

    python -X faulthandler munmap.py
"""

import ctypes

import numpy
import torch

SIZE = 16 << 20
PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS = 3, 0x22


def open_buffer(libc: ctypes.CDLL) -> int:
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
    return libc.mmap(None, SIZE, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS, -1, 0)


def main() -> None:
    torch.set_num_threads(1)
    libc = ctypes.CDLL(None)
    address = open_buffer(libc)
    array = numpy.frombuffer((ctypes.c_char * SIZE).from_address(address), dtype=numpy.float32)
    tensor = torch.from_numpy(array)
    print("before", tensor.sum().item(), flush=True)
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    libc.munmap(address, SIZE)  # the reader closes its file
    print("after", (tensor * 2).sum().item())


main()
