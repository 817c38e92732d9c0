"""Raises the everyday exceptions of training code, one by one, and prints what each says.

    python exceptions.py
"""

import io

import torch

linear = torch.nn.Linear(4, 2)


def inplace() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x.sigmoid()
    y += 1
    y.sum().backward()


def double_backward() -> None:
    loss = linear(torch.ones(1, 4)).square().sum()
    loss.backward()
    loss.backward()


def no_grad_fn() -> None:
    with torch.no_grad():
        loss = linear(torch.ones(1, 4)).sum()
    loss.backward()


def shape_mismatch() -> None:
    linear(torch.ones(2, 5))


def dtype_mismatch() -> None:
    linear(torch.ones(2, 4, dtype=torch.float64))


def state_dict_mismatch() -> None:
    linear.load_state_dict(torch.nn.Linear(4, 3).state_dict())


def checkpoint_corrupt() -> None:
    saved = io.BytesIO()
    torch.save({"weight": torch.ones(1000)}, saved)
    torch.load(io.BytesIO(saved.getvalue()[:2000]), weights_only=True)


def module_missing() -> None:
    __import__("flash_attn")


def nan_anomaly() -> None:
    with torch.autograd.set_detect_anomaly(True, check_nan=True):
        x = torch.zeros(2, requires_grad=True)
        (x / x.detach()).sqrt().sum().backward()


for attempt in (
    inplace, double_backward, no_grad_fn, shape_mismatch, dtype_mismatch, state_dict_mismatch, checkpoint_corrupt,
    module_missing, nan_anomaly,
):
    try:
        attempt()
    except Exception as error:
        print(f"{attempt.__name__}: {type(error).__name__}: {' '.join(str(error).split())[:300]}")
