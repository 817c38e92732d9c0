"""A model of PyTorch's caching allocator on a device that is not there: same size classes, splitting, merging,
streams, private pools and trace entries, so that its snapshots have the shape of real ones."""

from dataclasses import dataclass, field

KiB, MiB, GiB = 1 << 10, 1 << 20, 1 << 30


class OutOfMemory(Exception):
    pass


@dataclass(eq=False)
class Block:
    address: int
    size: int
    segment: "Segment"
    state: str = "inactive"
    requested: int = 0
    frames: list = field(default_factory=list)


@dataclass(eq=False)
class Segment:
    address: int
    size: int
    stream: int
    pool: tuple
    small: bool
    frames: list
    blocks: list = field(default_factory=list)


class Allocator:
    def __init__(self, capacity: int, device: int = 0, other_processes: int = 0):
        self.capacity, self.device = capacity, device
        self.free_on_device = capacity - other_processes
        self.segments: list[Segment] = []
        self.trace: list[dict] = []
        self.next_address = 0x7F_1000_0000_00
        self.now_us = 1_750_000_000_000_000
        self.recording = True

    def record(self, action: str, size: int, stream: int, frames: list, **more) -> None:
        self.now_us += 37
        if self.recording:
            entry = {"action": action, **more, "size": size, "stream": stream, "time_us": self.now_us, "frames": frames}
            self.trace.append(entry)

    def alloc(self, requested: int, frames: list, stream: int = 0, pool: tuple = (0, 0)) -> Block:
        size = max(512, (requested + 511) // 512 * 512)
        small = size <= MiB
        block = self.find(size, stream, pool, small) or self.grow(size, requested, stream, pool, small, frames)
        remainder = block.size - size
        if remainder >= (512 if small else MiB + 1):
            rest = Block(block.address + size, remainder, block.segment)
            block.size = size
            blocks = block.segment.blocks
            blocks.insert(blocks.index(block) + 1, rest)
        block.state, block.requested, block.frames = "active_allocated", requested, frames
        self.record("alloc", requested, stream, frames, addr=block.address)
        return block

    def find(self, size: int, stream: int, pool: tuple, small: bool):
        usable = [
            block
            for segment in self.segments
            if (segment.stream, segment.pool, segment.small) == (stream, pool, small)
            for block in segment.blocks
            if block.state == "inactive" and block.size >= size
        ]
        return min(usable, key=lambda block: (block.size, block.address), default=None)

    def grow(self, size, requested, stream, pool, small, frames):
        if small:
            segment_size = 2 * MiB
        elif size < 10 * MiB:
            segment_size = 20 * MiB
        else:
            segment_size = (size + 2 * MiB - 1) // (2 * MiB) * (2 * MiB)
        if segment_size > self.free_on_device:
            self.release_cached()
        if segment_size > self.free_on_device:
            self.record("oom", requested, stream, frames, device_free=self.free_on_device)
            raise OutOfMemory
        segment = Segment(self.next_address, segment_size, stream, pool, small, frames)
        self.next_address += segment_size + 2 * MiB
        self.free_on_device -= segment_size
        self.segments.append(segment)
        self.record("segment_alloc", segment_size, stream, frames, addr=segment.address)
        block = Block(segment.address, segment_size, segment)
        segment.blocks.append(block)
        return block

    def release_cached(self) -> None:
        """Gives whole free segments back; those of a private pool belong to its graph as long as that lives."""

        def is_free(segment):
            return segment.pool == (0, 0) and [block.state for block in segment.blocks] == ["inactive"]

        for segment in [segment for segment in self.segments if is_free(segment)]:
            self.segments.remove(segment)
            self.free_on_device += segment.size
            self.record("segment_free", segment.size, segment.stream, [], addr=segment.address)

    def free(self, block: Block, used_by_other_stream: bool = False, frames: list | None = None) -> None:
        """`frames` is where the program let go of the block, if that is to be told from where it was allocated."""
        frames = frames or block.frames
        self.record("free_requested", block.requested, block.segment.stream, frames, addr=block.address)
        if used_by_other_stream:
            block.state = "active_pending_free"
        else:
            self.complete(block, frames)

    def complete(self, block: Block, frames: list) -> None:
        self.record("free_completed", block.requested, block.segment.stream, frames, addr=block.address)
        block.state, block.requested, block.frames = "inactive", 0, []
        blocks = block.segment.blocks
        at = blocks.index(block)
        for other in [*blocks[at + 1 : at + 2], *blocks[max(at - 1, 0) : at]]:
            if other.state == "inactive":
                block.address = min(block.address, other.address)
                block.size += other.size
                blocks.remove(other)

    def snapshot(self) -> dict:
        traces = [[] for _ in range(self.device)] + [self.trace]
        return {
            "segments": [self.describe(segment) for segment in self.segments],
            "device_traces": traces,
            "allocator_settings": {
                "PYTORCH_CUDA_ALLOC_CONF": "",
                "max_split_size": -1,
                "garbage_collection_threshold": 0.0,
                "expandable_segments": False,
                "pinned_num_register_threads": 1,
                "release_lock_on_cudamalloc": False,
                "pinned_use_cuda_host_register": False,
                "roundup_power2_divisions": {str(1 << power): 0 for power in range(16)},
            },
            "external_annotations": [],
        }

    def describe(self, segment: Segment) -> dict:
        def total(*states):
            return sum(block.size for block in segment.blocks if block.state in states)

        return {
            "device": self.device,
            "address": segment.address,
            "total_size": segment.size,
            "allocated_size": total("active_allocated"),
            "active_size": total("active_allocated", "active_pending_free"),
            "requested_size": sum(block.requested for block in segment.blocks),
            "stream": segment.stream,
            "segment_type": "small" if segment.small else "large",
            "segment_pool_id": segment.pool,
            "is_expandable": False,
            "frames": segment.frames,
            "blocks": [
                {
                    "address": block.address,
                    "size": block.size,
                    "requested_size": block.requested,
                    "state": block.state,
                    "frames": block.frames,
                }
                for block in segment.blocks
            ],
        }
