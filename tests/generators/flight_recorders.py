"""Writes synthetic flight recorder dumps of one job, in the shape of format 2.10. No GPU and no network are involved.

    python3 tests/generators/flight_recorders.py big FOLDER RANKS ENTRIES

Rank 3 stays behind in the last all_reduce of the whole job, which all others wait for.
"""

import pathlib
import sys

import libtorch_pickle

START_NS = 1_790_000_000_000_000_000
STEP_NS = 1_700_000


def stack(depth: int, line: int) -> list:
    outer = [{"name": f"call_{level}", "filename": f"/job/lib/module_{level % 7}.py", "line": level} for level in range(depth)]
    return [{"name": "backward", "filename": "/job/train.py", "line": line}, *outer]


def entry(record: int, sequence: int, group: int, name: str, op: str, sizes: list, state: str, frames: list) -> dict:
    created = START_NS + record * STEP_NS
    done = state == "completed"
    return {
        "frames": frames,
        "record_id": record,
        "pg_id": group,
        "process_group": (str(group), name),
        "collective_seq_id": sequence,
        "p2p_seq_id": 0,
        "op_id": sequence,
        "profiling_name": f"nccl:{op}",
        "time_created_ns": created,
        "input_sizes": sizes,
        "input_dtypes": ["BFloat16"] * len(sizes),
        "output_sizes": sizes,
        "output_dtypes": ["BFloat16"] * len(sizes),
        "state": state,
        "time_discovered_started_ns": created + 9_000 if done else None,
        "time_discovered_completed_ns": created + 80_000 if done else None,
        "retired": done,
        "timeout_ms": 600_000,
        "is_p2p": False,
        "thread_id": "139872311",
        "thread_name": "pt_autograd_0",
    }


def dump(rank: int, ranks: int, entries: int) -> dict:
    """The last `entries` operations of a rank: all-reduces of everyone, and of its node of eight."""
    node = rank // 8
    groups = {0: ("default_pg", range(ranks)), 1 + node: ("node", range(8 * node, min(8 * node + 8, ranks)))}
    stacks = [stack(40, line) for line in range(24)]
    first = 50_000
    made = []
    sequence = dict.fromkeys(groups, first)
    for index in range(entries):
        group = list(groups)[index % 2]
        sequence[group] += 1
        last = index >= entries - 2
        if last and rank == 3 and group == 0:
            break
        state = "scheduled" if last and group == 0 else "completed"
        sizes = [[1024 * (1 + index % 16), 4096]]
        made.append(
            entry(first + index, sequence[group], group, groups[group][0], "all_reduce", sizes, state, stacks[index % 24])
        )
    return {
        "version": "2.10",
        "pg_config": {
            str(group): {"name": str(group), "desc": name, "ranks": str(list(members))}
            for group, (name, members) in groups.items()
        },
        "pg_status": {
            str(group): {
                "last_enqueued_collective": sequence[group],
                "last_started_collective": sequence[group] - 1,
                "last_completed_collective": sequence[group] - 1,
            }
            for group in groups
        },
        "entries": made,
        "comm_lib_version": "2.27.3",
    }


def main() -> None:
    _, _, folder, ranks, entries = sys.argv
    path = pathlib.Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    for rank in range(int(ranks)):
        (path / f"nccl_trace_rank_{rank}").write_bytes(libtorch_pickle.dumps(dump(rank, int(ranks), int(entries))))


if __name__ == "__main__":
    main()
