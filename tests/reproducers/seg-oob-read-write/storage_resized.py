"""Resizes a storage to nothing while a view of it is in use, then reads through the view.

    python -X faulthandler storage_resized.py
"""

import torch

torch.set_num_threads(1)


def main() -> None:
    weights = torch.ones(1 << 20)
    view = weights[1 << 10 :]
    weights.untyped_storage().resize_(0)
    print(view.sum())


main()
