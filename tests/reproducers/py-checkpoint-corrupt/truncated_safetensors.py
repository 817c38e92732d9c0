"""Loads a safetensors checkpoint whose copy was cut off: the index at its start names more bytes than there are.

    python truncated_safetensors.py
"""

import pathlib
import tempfile

import numpy
from safetensors.numpy import load_file, save_file


def load_weights(path: pathlib.Path) -> dict:
    return load_file(path)


with tempfile.TemporaryDirectory() as folder:
    checkpoint = pathlib.Path(folder) / "model-00001.safetensors"
    save_file({"weight": numpy.ones((64, 64), numpy.float32)}, checkpoint)
    whole = checkpoint.read_bytes()
    checkpoint.write_bytes(whole[: len(whole) // 2])
    load_weights(checkpoint)
