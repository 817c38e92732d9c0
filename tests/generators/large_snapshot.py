#!/usr/bin/env python3
"""Writes a memory snapshot of any size, piece by piece, as CPython's pickler (protocol 4) would: to measure what reading
it costs. Frames are shared by all stacks; with --own-lists every allocation has a frame list of its own, as PyTorch
2.x makes them, else those are shared too.

usage: large_snapshot.py FILE MEGABYTES [--own-lists]
"""
import random
import struct
import sys

FRAMES, STACKS, DEPTH, LIVE, PER_SEGMENT = 4000, 2000, 40, 100_000, 100


QUAD, INT = struct.Struct("<q").pack, struct.Struct("<i").pack


class Writer:
    """Writes opcodes and counts what they memoize."""

    def __init__(self, file):
        self.file, self.memoized, self.strings = file, 0, {}
        file.write(b"\x80\x04")

    def memoize(self):
        self.memoized += 1
        return self.memoized - 1

    def text(self, value):
        if value in self.strings:
            return get(self.strings[value])
        self.strings[value] = self.memoize()
        data = value.encode()
        length = b"\x8c" + bytes([len(data)]) if len(data) < 256 else b"X" + struct.pack("<I", len(data))
        return length + data + b"\x94"

    def record(self, **members):
        """A dict of texts, numbers, opcodes, and what gives opcodes when it is called: memo numbers follow the order in
        which things are written."""
        self.memoize()
        out = [b"}\x94("]
        for key, value in members.items():
            out.append(self.text(key))
            value = value() if callable(value) else value
            out.append(value if isinstance(value, bytes) else self.text(value) if isinstance(value, str) else number(value))
        return b"".join(out) + b"u"


def get(index):
    return b"h" + bytes([index]) if index < 256 else b"j" + struct.pack("<I", index)


def number(value):
    if 0 <= value < 256:
        return b"K" + bytes([value])
    if value < 1 << 31:
        return b"J" + struct.pack("<i", value)
    return b"\x8a\x08" + struct.pack("<q", value)


def main(path, megabytes, own_lists):
    rng = random.Random(1)
    with open(path, "wb", buffering=1 << 20) as file:
        writer = Writer(file)
        file.write(b"}\x94(")
        writer.memoize()
        frames, stacks, patterns, live, latest = [], [], [], [], [0]

        def frame_list():
            """A new list, of frames that are written where they are first met."""
            latest[0] = writer.memoize()
            if len(patterns) == STACKS:
                return rng.choice(patterns)
            out, all_known = [b"]\x94("], len(frames) == FRAMES
            for _ in range(DEPTH):
                if len(frames) < FRAMES:
                    frames.append(writer.memoized)
                    out.append(writer.record(name=f"layer{len(frames)}", filename=f"/model/part{len(frames) % 97}.py", line=len(frames)))
                else:
                    out.append(get(rng.choice(frames)))
            if all_known:
                patterns.append(b"".join(out) + b"e")
            return b"".join(out) + b"e"

        def stack():
            """The list of an allocation; its memo number is then in `latest`."""
            if own_lists or len(stacks) < STACKS:
                written = frame_list()
                stacks.append(latest[0])
                return written
            latest[0] = rng.choice(stacks)
            return get(latest[0])

        keys = {}

        def entry(action, address, size, time, frames):
            """A trace entry; the opcodes that are the same in all entries of an action are made once."""
            if action not in keys:
                written = writer.record(action=action, addr=address, size=size, stream=0, time_us=time, frames=frames)
                key = writer.text
                keys[action] = (
                    b"}\x94(" + key("action") + key(action) + key("addr") + b"\x8a\x08",
                    key("size") + b"J",
                    key("stream") + b"K\x00" + key("time_us") + b"\x8a\x08",
                    key("frames"),
                )
                return written
            writer.memoized += 1
            start, sized, timed, framed = keys[action]
            frames = frames() if callable(frames) else frames
            return b"".join((start, QUAD(address), sized, INT(size), timed, QUAD(time), framed, frames, b"u"))

        # The trace first: its frames are then there for the blocks that are still alive.
        file.write(writer.text("device_traces") + b"]\x94]\x94")
        writer.memoize(), writer.memoize()
        time, next_address, free = 1_700_000_000_000_000, 0x7F_0000_0000_00, []
        while file.tell() < megabytes << 20:
            file.write(b"(")
            for _ in range(500):
                time += 7
                if len(live) < LIVE or rng.random() < 0.33:
                    address = free.pop() if free else next_address
                    next_address = max(next_address, address + 4096)
                    size = rng.choice((512, 1024, 2048, 4096))
                    file.write(entry("alloc", address, size, time, stack))
                    live.append((address, size, latest[0]))
                else:
                    index = rng.randrange(len(live))
                    live[index], (address, size, at) = live[-1], live[index]
                    live.pop()
                    file.write(entry("free_requested", address, size, time, get(at)))
                    file.write(entry("free_completed", address, size, time, get(at)))
                    free.append(address)
            file.write(b"e")
        file.write(b"a")
        file.write(writer.text("segments") + b"]\x94(")
        writer.memoize()
        live.sort()
        for first in range(0, len(live), PER_SEGMENT):
            blocks = live[first : first + PER_SEGMENT]
            start, end = blocks[0][0], blocks[-1][0] + 4096

            def tiled():
                writer.memoize()
                written, at = [b"]\x94("], start
                for address, size, frames_at in blocks:
                    if address > at:
                        written.append(writer.record(address=at, size=address - at, requested_size=0, state="inactive"))
                    written.append(writer.record(address=address, size=size, requested_size=size, state="active_allocated", frames=get(frames_at)))
                    at = address + size
                return b"".join(written) + b"e"

            file.write(writer.record(device=0, address=start, total_size=end - start, stream=0, segment_type="large", blocks=tiled))
        file.write(b"eu.")
    print(f"{len(live)} allocations alive, {writer.memoized} memoized", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), "--own-lists" in sys.argv[3:])
