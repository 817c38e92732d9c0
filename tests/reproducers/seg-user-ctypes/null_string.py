"""Asks ctypes for the string at address 0, below a few Python frames.

    python -X faulthandler null_string.py
"""

import ctypes


def decode_label(address: int) -> bytes:
    return ctypes.string_at(address)


def load_sample(index: int) -> bytes:
    return decode_label(0 if index == 3 else ctypes.addressof(ctypes.c_int(65)))


for step in range(5):
    load_sample(step)
