"""Calls the Python C API through ctypes.CDLL, which gives up the GIL during the call.

    python -X faulthandler no_gil.py
"""

import ctypes


def count_items(items: list) -> int:
    python = ctypes.CDLL(None)  # ctypes.pythonapi would keep the GIL
    python.PyList_Append.argtypes = [ctypes.py_object, ctypes.py_object]
    python.PyErr_Occurred.restype = ctypes.c_void_p
    python.PyErr_Occurred()  # asks for the current thread's state, and there is none
    return len(items)


print(count_items([1, 2, 3]))
