"""Does an in-place operation race with a later one, and does a copy with non_blocking=True?

    python same_stream.py

Compares with the values that the order of the statements promises. Needs a GPU to say anything about one.
"""

import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print("torch", torch.__version__, "device", device)


def clone_then_add() -> bool:
    a = torch.randn(1000, 1000, device=device)
    expected = a.clone() @ a.clone()
    b = a.clone()
    a += 10
    return torch.equal(b @ b, expected)


def copy_back(synchronize: bool) -> bool:
    source = torch.zeros(1 << 24, device=device)
    target = torch.full((1 << 24,), -1.0, pin_memory=device.type == "cuda")
    for _ in range(50):
        source += 1
    target.copy_(source, non_blocking=True)
    if synchronize and device.type == "cuda":
        torch.cuda.current_stream().synchronize()
    return bool((target == 50).all())


print("in-place add after clone, right in", sum(clone_then_add() for _ in range(200)), "of 200")
print("copy to the host, synchronised, right in", sum(copy_back(True) for _ in range(20)), "of 20")
print("copy to the host, not synchronised, right in", sum(copy_back(False) for _ in range(20)), "of 20")
