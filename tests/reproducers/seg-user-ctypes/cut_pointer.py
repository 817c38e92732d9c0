"""Calls malloc without declaring its result type: ctypes keeps 32 bits of the pointer, and the write goes astray.

    python -X faulthandler cut_pointer.py
"""

import ctypes


def allocate(count: int) -> int:
    libc = ctypes.CDLL(None)
    libc.malloc.argtypes = [ctypes.c_size_t]  # and no restype
    return libc.malloc(count)


def fill(address: int, count: int) -> None:
    ctypes.memset(address, 0, count)


# Large enough for malloc to map it, far above the first 4 GiB of addresses.
fill(allocate(1 << 26), 1 << 26)
