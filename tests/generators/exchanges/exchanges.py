"""Makes flight recorder dumps of three ranks that send and receive, with PyTorch's own recorder and no GPU.

    python tests/generators/exchanges/exchanges.py FOLDER [KIND...]

Needs torch 2.15 or later and a C++ compiler: see relay.cpp. Each kind gets a folder with a dump of each rank. A kind
that ends in `-untold` comes from a backend that never tells of completion.
"""

import datetime
import os
import pathlib
import subprocess
import sys
import sysconfig
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch._C import _distributed_c10d as c10d

HERE = pathlib.Path(__file__).resolve().parent
WORLD = 3
TIMEOUT = datetime.timedelta(seconds=3)


def build(folder: pathlib.Path) -> None:
    from torch.utils import cpp_extension

    includes = [f"-I{path}" for path in [*cpp_extension.include_paths(), sysconfig.get_paths()["include"]]]
    libraries = [f"-L{path}" for path in cpp_extension.library_paths()]
    subprocess.run(
        ["g++", "-O0", "-shared", "-fPIC", "-std=c++20", "-DTORCH_EXTENSION_NAME=relay", *includes, HERE / "relay.cpp",
         "-o", folder / "relay.so", *libraries, "-ltorch_python", "-ltorch", "-ltorch_cpu", "-lc10"],
        check=True,
    )


def ring(rank: int, rounds: int = 3) -> None:
    tensor = torch.ones(4)
    for _ in range(rounds):
        if rank == 0:
            dist.send(tensor, 1)
        dist.recv(tensor, (rank - 1) % WORLD)
        if rank > 0:
            dist.send(tensor, (rank + 1) % WORLD)


def pipeline(rank: int, steps: int) -> None:
    """Activations go forward, gradients come back, and sends are waited for late."""
    tensor = torch.ones(2, 4)
    for _ in range(steps):
        if rank > 0:
            dist.recv(tensor, rank - 1)
        if rank < WORLD - 1:
            sent = dist.isend(tensor, rank + 1)
            dist.recv(tensor, rank + 1)
            sent.wait()
        if rank > 0:
            dist.isend(tensor, rank - 1).wait()


def healthy(rank: int) -> None:
    ring(rank)
    pipeline(rank, 6)


def wrapped(rank: int) -> None:
    """More than the recorder holds, with a pause in each step as computing makes; then rank 1 takes no more."""
    for _ in range(40):
        pipeline(rank, 1)
        if rank == 0:
            time.sleep(0.05)
    if rank == 0:
        dist.send(torch.ones(1 << 22), 1)
    elif rank == 1:
        time.sleep(5)


def wrapped_healthy(rank: int) -> None:
    for _ in range(40):
        pipeline(rank, 1)
        if rank == 0:
            time.sleep(0.05)


def size(rank: int) -> None:
    ring(rank)
    if rank == 0:
        dist.send(torch.ones(4), 1)
    elif rank == 1:
        dist.recv(torch.ones(8), 0)


def dtype(rank: int) -> None:
    ring(rank)
    if rank == 0:
        dist.send(torch.ones(8), 1)
    elif rank == 1:
        dist.recv(torch.ones(8, dtype=torch.int32), 0)


def no_receive(rank: int) -> None:
    ring(rank)
    if rank == 0:
        dist.send(torch.ones(1 << 22), 1)
    elif rank == 1:
        time.sleep(5)


def no_send(rank: int) -> None:
    ring(rank)
    if rank == 1:
        dist.recv(torch.ones(8), 0)
    elif rank == 0:
        time.sleep(5)


def both_receive(rank: int) -> None:
    ring(rank)
    if rank < 2:
        dist.recv(torch.ones(8), 1 - rank)


def both_send(rank: int) -> None:
    """Too much for the sockets' buffers."""
    ring(rank)
    if rank < 2:
        dist.send(torch.ones(1 << 24), 1 - rank)
        dist.recv(torch.ones(1 << 24), 1 - rank)


def circle(rank: int) -> None:
    ring(rank)
    dist.recv(torch.ones(8), (rank + 1) % WORLD)


def tags(rank: int) -> None:
    """Taken in another order than they were sent, as their tags allow."""
    ring(rank)
    if rank == 0:
        sent = [dist.isend(torch.ones(count), 1, tag=count) for count in (8, 16)]
        for work in sent:
            work.wait()
    elif rank == 1:
        for count in (16, 8):
            dist.recv(torch.ones(count), 0, tag=count)


def any_source(rank: int) -> None:
    for _ in range(2 * WORLD - 2 if rank == 0 else 2):
        dist.recv(torch.ones(8)) if rank == 0 else dist.send(torch.ones(8), 0)


def batch(rank: int) -> None:
    ring(rank)
    parts = [
        dist.P2POp(dist.isend, torch.ones(8), (rank + 1) % WORLD),
        dist.P2POp(dist.irecv, torch.empty(8), (rank - 1) % WORLD),
    ]
    for work in dist.batch_isend_irecv(parts):
        work.wait()
    dist.all_reduce(torch.ones(8))


KINDS = {
    body.__name__.replace("_", "-"): body
    for body in (healthy, wrapped, wrapped_healthy, size, dtype, no_receive, no_send, both_receive, both_send, circle,
                 tags, any_source, batch)
}


def run(rank: int, kind: str, folder: str, build_folder: str) -> None:
    sys.path.insert(0, build_folder)
    import relay

    tells = not kind.endswith("-untold")

    def make(store, rank, size, timeout):
        return relay.make(dist.ProcessGroupGloo(store, rank, size, timeout), rank, size, tells)

    dist.Backend.register_backend("relay", make, devices=["cpu"])
    os.environ["TORCH_FR_BUFFER_SIZE"] = "60" if kind.startswith("wrapped") else "500"
    store = f"file://{folder}.store"
    dist.init_process_group("relay", init_method=store, rank=rank, world_size=WORLD, timeout=TIMEOUT)
    try:
        KINDS[kind.removesuffix("-untold")](rank)
        print(kind, rank, "ended", flush=True)
    except Exception as error:
        print(kind, rank, str(error)[:120], flush=True)
    # Without stacks, which would name places of the machine that made it.
    dump = c10d._dump_fr_trace(True, False, False, "relay")
    pathlib.Path(folder, f"rank_{rank}").write_bytes(dump)
    time.sleep(1)
    os._exit(0)


def main() -> None:
    target, *kinds = sys.argv[1:]
    build_folder = pathlib.Path(target).resolve()
    build_folder.mkdir(parents=True, exist_ok=True)
    if not (build_folder / "relay.so").exists():
        build(build_folder)
    for kind in kinds or [*KINDS, "healthy-untold", "both-receive-untold"]:
        folder = build_folder / kind
        folder.mkdir(exist_ok=True)
        pathlib.Path(f"{folder}.store").unlink(missing_ok=True)
        mp.spawn(run, args=(kind, str(folder), str(build_folder)), nprocs=WORLD)
        pathlib.Path(f"{folder}.store").unlink(missing_ok=True)


if __name__ == "__main__":
    main()
