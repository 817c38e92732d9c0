"""Writes a value the way libtorch's C++ pickler does: protocol 2, containers filled in one go, strings memoized by
content, frame lists by identity. Only what memory snapshots and flight recorder dumps need."""

import struct


def dumps(value) -> bytes:
    out = [b"\x80\x02"]
    memo: dict = {}
    kept = []

    def put(key) -> None:
        number = memo[key] = len(memo)
        out.append(b"q" + bytes([number]) if number < 256 else b"r" + struct.pack("<I", number))

    def get(key) -> bool:
        number = memo.get(key)
        if number is not None:
            out.append(b"h" + bytes([number]) if number < 256 else b"j" + struct.pack("<I", number))
        return number is not None

    def write(value) -> None:
        if value is None:
            out.append(b"N")
        elif value is True or value is False:
            out.append(b"\x88" if value else b"\x89")
        elif isinstance(value, int):
            out.append(integer(value))
        elif isinstance(value, float):
            out.append(b"G" + struct.pack(">d", value))
        elif isinstance(value, str):
            if not get(("s", value)):
                data = value.encode()
                out.append(b"X" + struct.pack("<I", len(data)) + data)
                put(("s", value))
        elif isinstance(value, tuple):
            for item in value:
                write(item)
            out.append({1: b"\x85", 2: b"\x86", 3: b"\x87"}[len(value)])
        elif not get(id(value)):
            kept.append(value)
            out.append(b"]" if isinstance(value, list) else b"}")
            put(id(value))
            out.append(b"(")
            for item in value if isinstance(value, list) else (part for pair in value.items() for part in pair):
                write(item)
            out.append(b"e" if isinstance(value, list) else b"u")

    write(value)
    out.append(b".")
    return b"".join(out)


def integer(value: int) -> bytes:
    if 0 <= value < 1 << 8:
        return b"K" + bytes([value])
    if 0 <= value < 1 << 16:
        return b"M" + struct.pack("<H", value)
    if -(1 << 31) <= value < 1 << 31:
        return b"J" + struct.pack("<i", value)
    data = value.to_bytes((value.bit_length() + 8) // 8, "little", signed=True)
    data = data if len(data) > 8 else value.to_bytes(8, "little", signed=True)
    return b"\x8a" + bytes([len(data)]) + data
