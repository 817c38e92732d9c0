"""Writes synthetic CUDA memory snapshots. No GPU is involved: see caching_allocator.py.

    python3 tests/generators/memory_snapshots.py              the labelled cases and the readers' fixtures
    python3 tests/generators/memory_snapshots.py big FILE N   one snapshot with N trace entries, for measuring
"""

import copy
import itertools
import pathlib
import pickle
import sys

import libtorch_pickle
from caching_allocator import Allocator, GiB, KiB, MiB, OutOfMemory

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORPUS = ROOT / "tests/corpus/files"
FIXTURES = ROOT / "knowledge/evidence/tests/fixtures/memory_snapshots"


class Program:
    """Stacks of a made-up training script; equal stacks are one list, as in real snapshots."""

    def __init__(self):
        self.stacks = {}

    def at(self, function: str, line: int, *outer: tuple) -> list:
        calls = (
            ("unwind::unwind", "??", 0),
            ("at::_ops::empty_memory_format::call(c10::ArrayRef<c10::SymInt>)", "??", 0),
            (function, "/job/train.py", line),
            *(outer or (("step", "/job/train.py", 88),)),
            ("<module>", "/job/train.py", 120),
        )
        frames = [{"name": name, "filename": file, "line": line} for name, file, line in calls]
        return self.stacks.setdefault(calls, frames)


def train(allocator: Allocator, program: Program, layers: int, width: int) -> list:
    """Weights, gradients and the optimizer's two moments."""
    kept = []
    for layer in range(layers):
        kept.append(allocator.alloc(width, program.at("make_layer", 20)))
        kept.append(allocator.alloc(width, program.at("backward", 61)))
        kept.append(allocator.alloc(2 * width, program.at("init_moments", 34)))
        kept.append(allocator.alloc(6 * KiB + layer, program.at("make_norm", 24)))
    return kept


def expect_oom(allocator: Allocator, *request, **more) -> None:
    try:
        allocator.alloc(*request, **more)
    except OutOfMemory:
        return
    raise AssertionError("the request was served")


def exhaustion() -> dict:
    allocator, program = Allocator(24 * GiB), Program()
    train(allocator, program, 16, 320 * MiB)
    for _ in range(40):
        scratch = allocator.alloc(48 * MiB, program.at("forward", 45))
        allocator.alloc(72 * MiB, program.at("forward", 47))
        allocator.free(scratch)
    expect_oom(allocator, 1500 * MiB, program.at("logits", 52))
    return allocator.snapshot()


def fragmentation() -> dict:
    """What a phase frees is cut up by long-lived tensors that each take a little more than half of a block."""
    allocator, program = Allocator(22 * GiB), Program()
    train(allocator, program, 6, 192 * MiB)
    for block in [allocator.alloc(500 * MiB, program.at("collate", 70)) for _ in range(34)]:
        allocator.free(block)
    for _ in range(34):
        allocator.alloc(260 * MiB, program.at("cache_features", 74))
    expect_oom(allocator, 1200 * MiB, program.at("logits", 52))
    return allocator.snapshot()


def side_stream_retention() -> dict:
    """A prefetcher's buffers are freed while the copy stream still holds them."""
    allocator, program = Allocator(15 * GiB), Program()
    train(allocator, program, 4, 256 * MiB)
    for _ in range(22):
        buffer = allocator.alloc(480 * MiB, program.at("prefetch", 102, ("__next__", "/job/prefetch.py", 31)))
        allocator.free(buffer, used_by_other_stream=True)
    expect_oom(allocator, 900 * MiB, program.at("forward", 45))
    return allocator.snapshot()


def private_pools() -> dict:
    """Each captured CUDA graph keeps a pool of its own that nothing else may use."""
    allocator, program = Allocator(15 * GiB), Program()
    train(allocator, program, 4, 128 * MiB)
    for graph in range(1, 9):
        inside = [allocator.alloc(300 * MiB, program.at("capture", 140), pool=(graph, 0)) for _ in range(5)]
        for block in inside:
            allocator.free(block)
    expect_oom(allocator, 2 * GiB, program.at("forward", 45))
    return allocator.snapshot()


def stream_split() -> dict:
    """What one stream has freed can not serve another, and what it still has in each segment keeps that from being given back."""
    allocator, program = Allocator(15 * GiB), Program()
    train(allocator, program, 4, 128 * MiB)
    for block in [allocator.alloc(600 * MiB, program.at("encode", 66), stream=7) for _ in range(20)]:
        allocator.free(block)
    for _ in range(20):
        allocator.alloc(310 * MiB, program.at("remember", 68), stream=7)
    expect_oom(allocator, 1800 * MiB, program.at("forward", 45))
    return allocator.snapshot()


def until_full(step, steps: int | None = None) -> dict:
    """Trains a small model in 8 GiB, then records steps, until one finds no memory or that many were made."""
    allocator, program = Allocator(8 * GiB), Program()
    train(allocator, program, 4, 96 * MiB)
    allocator.trace.clear()
    try:
        for _ in itertools.count() if steps is None else range(steps):
            step(allocator, program)
    except OutOfMemory:
        pass
    return allocator.snapshot()


def leak() -> dict:
    """The loss of every step is kept with its graph."""
    return until_full(lambda allocator, program: keep(allocator, program, program.at("losses.append", 91)), 60)


def kept_features() -> dict:
    """The features of every step are kept in a list. They have no graph: nothing else grows."""
    return until_full(lambda allocator, program: keep(allocator, program, program.at("extract_features", 77)), 60)


def keep(allocator: Allocator, program: Program, frames: list) -> None:
    """A step that keeps one block."""
    scratch = [allocator.alloc(60 * MiB, program.at("forward", 45)) for _ in range(3)]
    allocator.alloc(120 * MiB, frames)
    for block in scratch:
        allocator.free(block)


def kept_graphs() -> dict:
    """A score that was computed from every layer's output is kept: with its graph, so that all of them are."""

    def step(allocator, program):
        for line, width in ((45, 30), (46, 18), (47, 24), (51, 3)):
            allocator.alloc(width * MiB, program.at("forward", line, ("rollout", "/job/train.py", 80)))

    return until_full(step)


def kept_gradients() -> dict:
    """Gradients with a graph of their own hold on to what they were computed from, and that to them."""
    torch = "/opt/venv/lib/python3.12/site-packages/torch"
    calls = (
        ("_engine_run_backward", f"{torch}/autograd/graph.py", 829),
        ("grad", f"{torch}/autograd/__init__.py", 510),
        ("penalty", "/job/train.py", 66),
        ("step", "/job/train.py", 88),
    )
    frames = [{"name": name, "filename": file, "line": line} for name, file, line in calls]

    def step(allocator, program):
        scratch = allocator.alloc(60 * MiB, program.at("forward", 45))
        allocator.alloc(84 * MiB, frames)
        allocator.free(scratch)

    return until_full(step)


def kept_tables() -> dict:
    """Every layer that is made has a table of its own, and the layers of earlier trials stay."""

    def step(allocator, program):
        scratch = allocator.alloc(60 * MiB, program.at("forward", 45))
        allocator.alloc(52 * MiB, program.at("__init__", 12, ("build", "/job/trial.py", 9)))
        allocator.free(scratch)

    return until_full(step)


def given_back() -> dict:
    """A buffer that a side stream still reads is freed, and its segment given back."""
    allocator, program = Allocator(24 * GiB), Program()
    train(allocator, program, 4, 96 * MiB)
    buffer = allocator.alloc(512 * MiB, program.at("prefetch", 58), stream=0)
    allocator.alloc(64 * MiB, program.at("copy_next", 61), stream=0x5581_2C40)
    for _ in range(4):
        allocator.free(allocator.alloc(90 * MiB, program.at("forward", 45)))
    allocator.free(buffer, frames=program.at("drop", 59))
    allocator.release_cached()
    for _ in range(2):
        allocator.free(allocator.alloc(90 * MiB, program.at("forward", 45)))
    return allocator.snapshot()


def wide() -> dict:
    """A tensor with more elements than 32 bits number."""
    allocator, program = Allocator(80 * GiB), Program()
    train(allocator, program, 4, 96 * MiB)
    allocator.alloc(9 * GiB, program.at("all_scores", 73))
    return allocator.snapshot()


def healthy() -> dict:
    allocator, program = Allocator(24 * GiB), Program()
    train(allocator, program, 6, 64 * MiB)
    for _ in range(12):
        scratch = [allocator.alloc(90 * MiB, program.at("forward", 45)) for _ in range(4)]
        for block in scratch:
            allocator.free(block)
    return allocator.snapshot()


def freed_after_oom() -> dict:
    """The dump is made after an `except` freed most: the final state looks roomy, the moment of failure did not."""
    allocator, program = Allocator(8 * GiB), Program()
    kept = train(allocator, program, 4, 256 * MiB)
    activations = [allocator.alloc(100 * MiB, program.at("forward", 45)) for _ in range(36)]
    expect_oom(allocator, 700 * MiB, program.at("logits", 52))
    for block in activations + kept[:4]:
        allocator.free(block)
    return allocator.snapshot()


def as_1_13(snapshot: dict) -> dict:
    """Up to 2.0: owners in `history`, no addresses of blocks, no requested sizes, no settings, no times."""
    old = {"segments": [], "device_traces": [[drop(e, "time_us") for e in trace] for trace in snapshot["device_traces"]]}
    for segment in snapshot["segments"]:
        segment = drop(segment, "requested_size", "segment_pool_id", "is_expandable", "frames")
        segment["blocks"] = [
            {
                "size": block["size"],
                "state": block["state"],
                **(
                    {"history": [{"addr": block["address"], "real_size": block["requested_size"], "frames": block["frames"]}]}
                    if block["requested_size"]
                    else {}
                ),
            }
            for block in segment["blocks"]
        ]
        old["segments"].append(segment)
    return old


def as_2_1(snapshot: dict) -> dict:
    """2.1: frames on blocks, no settings, no times."""
    return {
        "segments": snapshot["segments"],
        "device_traces": [[drop(e, "time_us") for e in trace] for trace in snapshot["device_traces"]],
    }


def as_2_15(snapshot: dict) -> dict:
    """2.15: pool ids and metadata on entries, annotations, pinned host memory."""
    new = copy.copy(snapshot)
    new["device_traces"] = [
        [{**e, "pool_id": (0, 0), "compile_context": "N/A", "user_metadata": "", "internal_metadata": "malloc"} for e in trace]
        for trace in snapshot["device_traces"]
    ]
    note = {"action": "annotate", "addr": 0, "size": 0, "stream": 0, "time_us": 1_750_000_000_000_001, "frames": []}
    new["device_traces"][0].insert(0, note)
    new["external_annotations"] = [{"name": "step#1", "stage": "START", "device": 0, "time_us": 1_750_000_000_000_001}]
    new["host_segments"] = [{"address": 1 << 46, "total_size": 4 * MiB, "blocks": []}]
    new["host_traces"] = []
    return new


def drop(members: dict, *names: str) -> dict:
    return {key: value for key, value in members.items() if key not in names}


def big(entries: int) -> dict:
    """A long recording with 60-frame stacks. As the recorder makes them: the frames are shared by all stacks, while
    each allocation and each free has a list of its own."""
    outer = tuple((f"call_{depth}", f"/job/lib/module_{depth % 17}.py", 10 + depth) for depth in range(56))
    program = Program()
    stacks = [program.at("forward", line, *outer) for line in range(400)]
    shared = {}
    stacks = [[shared.setdefault(tuple(frame.values()), frame) for frame in stack] for stack in stacks]
    allocator = Allocator(80 * GiB)
    live = []
    while len(allocator.trace) < entries:
        index = len(allocator.trace)
        live.append(allocator.alloc(MiB * (1 + index % 40), list(stacks[index % len(stacks)])))
        if len(live) > 120:
            allocator.free(live.pop(index * 7 % 120), frames=list(stacks[index * 3 % len(stacks)]))
    return allocator.snapshot()


def main() -> None:
    if sys.argv[1:2] == ["big"]:
        pathlib.Path(sys.argv[2]).write_bytes(pickle.dumps(big(int(sys.argv[3])), protocol=4))
        return
    corpus = {
        "oom-exhaustion-snapshot": (exhaustion(), libtorch_pickle.dumps),
        "oom-fragmentation-snapshot": (fragmentation(), lambda value: pickle.dumps(value, protocol=4)),
        "oom-side-stream-retention-snapshot": (side_stream_retention(), lambda value: pickle.dumps(value, protocol=5)),
        "oom-private-pools-snapshot": (private_pools(), lambda value: pickle.dumps(value, protocol=4)),
        "oom-stream-split-snapshot": (stream_split(), lambda value: pickle.dumps(value, protocol=4)),
        "oom-leak-snapshot": (leak(), lambda value: pickle.dumps(value, protocol=4)),
        "oom-kept-features-snapshot": (kept_features(), lambda value: pickle.dumps(value, protocol=4)),
        "leak-kept-graphs-snapshot": (kept_graphs(), lambda value: pickle.dumps(value, protocol=4)),
        "leak-kept-gradients-snapshot": (kept_gradients(), libtorch_pickle.dumps),
        "leak-kept-tables-snapshot": (kept_tables(), lambda value: pickle.dumps(value, protocol=5)),
        "ima-given-back": (given_back(), lambda value: pickle.dumps(value, protocol=4)),
        "ima-wide-tensor": (wide(), libtorch_pickle.dumps),
        "memory-snapshot-healthy": (healthy(), libtorch_pickle.dumps),
    }
    for case, (snapshot, dumps) in corpus.items():
        (CORPUS / case).mkdir(parents=True, exist_ok=True)
        (CORPUS / case / "snapshot.pickle").write_bytes(dumps(snapshot))
    FIXTURES.mkdir(parents=True, exist_ok=True)
    late = freed_after_oom()
    fixtures = {
        "freed_after_oom": (late, "python4"),
        "torch_1_13": (as_1_13(late), "python4"),
        "torch_2_1": (as_2_1(late), "libtorch"),
        "torch_2_15": (as_2_15(late), "python5"),
        "bare_segments": (late["segments"], "python4"),
    }
    for name, (snapshot, writer) in fixtures.items():
        data = {
            "python4": lambda value: pickle.dumps(value, protocol=4),
            "python5": lambda value: pickle.dumps(value, protocol=5),
            "libtorch": libtorch_pickle.dumps,
        }[writer](snapshot)
        (FIXTURES / f"{name}.pickle").write_bytes(data)


if __name__ == "__main__":
    main()
