"""Writes an array after a tensor was made from it, by sharing, by copying and by moving to another device.

    python shared.py
"""

import numpy
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def after_zeroing(make) -> float:
    array = numpy.ones((1000, 1000), dtype=numpy.float32)
    tensor = make(array)
    array[:] = 0.0
    return tensor.sum().item()


print("torch", torch.__version__, "device", device)
print("from_numpy:           ", after_zeroing(torch.from_numpy))
print("as_tensor:            ", after_zeroing(torch.as_tensor))
print("tensor:               ", after_zeroing(torch.tensor))
print("from_numpy + clone:   ", after_zeroing(lambda a: torch.from_numpy(a).clone()))
print(f"from_numpy + to({device}):", after_zeroing(lambda a: torch.from_numpy(a).to(device)))
