"""Uses CUDA in a forked worker of a process that has initialised it. Needs a GPU.

    python forked.py
"""

import torch
from torch.utils.data import DataLoader, Dataset


class Samples(Dataset):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.zeros(4, device="cuda")


def main() -> None:
    torch.zeros(1, device="cuda")
    for batch in DataLoader(Samples(), batch_size=2, num_workers=1):
        print(batch)


if __name__ == "__main__":
    main()
