"""Calls the Python C API through ctypes.CDLL, which gives up the GIL during the call.

    python -X faulthandler no_gil.py [checked]

With `checked`, the function called is one that verifies the thread state and stops with a fatal error; without, it is
one that follows the null pointer.
"""

import ctypes
import sys


def error_pending(checked: bool) -> bool:
    python = ctypes.CDLL(None)  # ctypes.pythonapi would keep the GIL
    ask = python.PyThreadState_Get if checked else python.PyErr_Occurred
    ask.restype = ctypes.c_void_p
    return ask() is not None


print(error_pending(checked="checked" in sys.argv))
