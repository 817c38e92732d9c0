"""Keeps every batch that workers made, each of which holds a descriptor, until the limit is reached.

    bash -c 'ulimit -n 96; python keep_batches.py'
"""

import torch
from torch.utils.data import DataLoader, Dataset


class Samples(Dataset):
    def __len__(self) -> int:
        return 1000

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {"image": torch.zeros(8), "label": torch.tensor([index])}


def main() -> None:
    torch.multiprocessing.set_sharing_strategy("file_descriptor")
    seen = []
    for batch in DataLoader(Samples(), batch_size=1, num_workers=2):
        seen.append(batch["label"])
    print("kept", len(seen))


if __name__ == "__main__":
    main()
