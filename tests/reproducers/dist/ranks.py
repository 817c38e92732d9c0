"""Two ranks over gloo that fail, or are said to fail, in the way that the argument names.

    python -X faulthandler ranks.py op-mismatch|shape-mismatch|detail|monitored-barrier|unused-params|param-shape|
        one-sided-broadcast|threads

`detail` is shape-mismatch with TORCH_DISTRIBUTED_DEBUG=DETAIL, which compares the calls of all ranks first.
"""

import datetime
import os
import sys
import tempfile
import threading
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel

WORLD = 2


class TwoHeads(torch.nn.Module):
    """Uses only one of its two heads on rank 1."""

    def __init__(self, rank: int) -> None:
        super().__init__()
        self.rank = rank
        self.heads = torch.nn.ModuleList([torch.nn.Linear(4, 1), torch.nn.Linear(4, 1)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return sum(head(x) for head in (self.heads[: 1] if self.rank else self.heads))


def op_mismatch(rank: int) -> None:
    tensor = torch.ones(4)
    if rank == 0:
        dist.all_reduce(tensor)
    else:
        dist.broadcast(tensor, src=0)


def shape_mismatch(rank: int) -> None:
    dist.all_reduce(torch.ones(1024 if rank == 0 else 4096))


def monitored_barrier(rank: int) -> None:
    if rank == 0:
        dist.monitored_barrier(timeout=datetime.timedelta(seconds=3))
    else:
        time.sleep(6)


def unused_params(rank: int) -> None:
    model = DistributedDataParallel(TwoHeads(rank))
    for _ in range(2):
        model(torch.ones(2, 4)).sum().backward()


def param_shape(rank: int) -> None:
    DistributedDataParallel(torch.nn.Linear(3, 2 + rank))


def one_sided_broadcast(rank: int) -> None:
    """Only rank 0 broadcasts; rank 1 changes its own tensor of the same name."""
    tensor = torch.tensor([1, 2, 3])
    if rank == 0:
        dist.broadcast(tensor, src=0)
    else:
        tensor.add_(1)
    print(f"rank {rank} has {tensor.tolist()}", flush=True)


def threads(rank: int) -> None:
    """Two threads of a process add to one element without a lock."""
    tensor = torch.zeros(1, dtype=torch.int64)

    def add() -> None:
        for _ in range(20_000):
            tensor[0] += 1

    workers = [threading.Thread(target=add) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(f"rank {rank} counted {tensor.item()} of 40000", flush=True)


def run(rank: int, kind: str, store: str) -> None:
    timeout = datetime.timedelta(seconds=20)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=WORLD, timeout=timeout)
    kinds = {
        "op-mismatch": op_mismatch, "shape-mismatch": shape_mismatch, "detail": shape_mismatch,
        "monitored-barrier": monitored_barrier, "unused-params": unused_params, "param-shape": param_shape,
        "one-sided-broadcast": one_sided_broadcast, "threads": threads,
    }
    kinds[kind](rank)
    dist.destroy_process_group()


def main() -> None:
    kind = sys.argv[1]
    if kind in ("detail", "op-mismatch"):
        os.environ["TORCH_DISTRIBUTED_DEBUG"] = "DETAIL"
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(run, args=(kind, os.path.join(folder, "store")), nprocs=WORLD)


if __name__ == "__main__":
    main()
