#!/usr/bin/env python3
"""Makes small seeds of the formats whose real files are too large to mutate: cores, GPU cores, pickles, JSON.

usage: seeds.py FOLDER    (one folder a target below it)
"""
import io
import json
import pickle
import struct
import sys
import tarfile
import zipfile
import zlib
from pathlib import Path

PAGE = 4096


def note(name, kind, description):
    name = name + b"\0"
    pad = lambda data: data + b"\0" * (-len(data) % 4)
    return struct.pack("<III", len(name), len(description), kind) + pad(name) + pad(description)


def core(machine, threads=2, extended_count=False):
    """An ELF core: notes, a mapped binary's first page with a build id, a stack."""
    registers = 27 if machine == 62 else 34
    base, stack = 0x400000, 0x7FFF_0000_0000
    notes = b""
    for thread in range(threads):
        status = struct.pack("<iiihHQQiiii", 11, 0, 0, 11, 0, 0, 0, 100 + thread, 1, 1, 1) + b"\0" * 64
        words = [base + 0x10 + index for index in range(registers)]
        if machine == 62:
            words[19], words[16] = stack + 64, base + 0x100
        else:
            words[31], words[32] = stack + 64, base + 0x100
        notes += note(b"CORE", 1, status + struct.pack(f"<{registers}Q", *words) + b"\0" * 8)
        if thread == 0:
            info = struct.pack("<4c4sIIQ", b"S", b"R", b"\0", b"\0", b"\0" * 4, 0, 0, 0)[:24]
            notes += note(b"CORE", 3, info + struct.pack("<4i", 100, 1, 1, 1) + b"trainer".ljust(16, b"\0") + b"trainer --x".ljust(80, b"\0"))
            notes += note(b"CORE", 0x53494749, struct.pack("<iiiiQ", 11, 0, 1, 0, 0x10).ljust(128, b"\0"))
            notes += note(b"CORE", 6, struct.pack("<6Q", 3, base + 64, 33, stack, 0, 0))
            notes += note(b"CORE", 0x46494C45, struct.pack("<8Q", 2, PAGE, base, base + PAGE, 0, base + PAGE, base + 2 * PAGE, 1) + b"/bin/trainer\0/bin/trainer\0")
        if machine == 183:
            notes += note(b"LINUX", 0x406, struct.pack("<2Q", 0x7F << 48, 0x7F << 48))
    binary = header(3, machine, 2, 0) + program(1, 5, 0, 0, PAGE) + program(4, 4, 64 + 2 * 56, 64 + 2 * 56, 36, align=4)
    binary += struct.pack("<III", 4, 20, 3) + b"GNU\0" + bytes(range(20))
    frames = b"".join(struct.pack("<2Q", stack + 64 + 16 * index, base + 0x100) for index in range(8))
    segments = [(base, binary.ljust(256, b"\x90"), PAGE, 5), (stack, frames, PAGE, 6)]
    count = len(segments) + 1
    offset = 64 + count * 56 + (64 if extended_count else 0)
    table = program(4, 0, offset, 0, len(notes), memory=0, align=4)
    offset += len(notes)
    body = notes
    for address, data, size, flags in segments:
        table += program(1, flags, offset, address, len(data), memory=size)
        offset += len(data)
        body += data
    if extended_count:
        section = struct.pack("<IIQQQQIIQQ", 0, 0, 0, 0, 0, 0, 0, count, 0, 0)
        return header(4, machine, 0xFFFF, 64 + count * 56) + table + section + body
    return header(4, machine, count, 0) + table + body


def header(kind, machine, count, sections):
    ident = b"\x7fELF\x02\x01\x01" + b"\0" * 9
    return ident + struct.pack("<HHIQQQIHHHHHH", kind, machine, 1, 0, 64, sections, 0, 64, 56, count, 64, 1 if sections else 0, 0)


def program(kind, flags, offset, address, size, memory=None, align=PAGE):
    return struct.pack("<IIQQQQQQ", kind, flags, offset, address, address, size, size if memory is None else memory, align)


def gpu_core(image=None):
    """A GPU core of sections alone: device, context, grid, multiprocessor, block, warp, thread, call stack, image."""
    strings = b"\0GPU 0\0kernel(int*)\0sm_90\0570.0\0"
    rows = lambda size, *words: (struct.pack(f"<{len(words)}I", *words)).ljust(size, b"\0")
    tables = [
        ("devtbl", 9, 0, 0, rows(96, 1, 0, 7, 0, 14, 0, 4, 2, 32, 9, 0)),
        ("ctxtbl.dev0", 10, 1, 0, rows(64, 1, 0)),
        ("smtbl.dev0", 11, 1, 0, rows(24, 0, 0, 14)),
        ("gridtbl.dev0", 12, 1, 0, rows(160, 1, 0, 1, 0, 0x1000, 0, 14, 0, 1, 1, 1, 32, 1, 1)),
        ("ctatbl.dev0.sm0", 13, 3, 0, rows(64, 1, 0, 0, 0, 0, 0)),
        ("wptbl.dev0.sm0.cta0", 14, 5, 0, rows(64, 0x1000, 0, 14, 0, 1, 1, 1, 0)),
        ("lntbl.dev0.sm0.cta0.wp0", 15, 6, 0, rows(64, 0x1010, 0, 1, 0, 14, 0, 0, 0) * 2),
        ("bt.dev0.sm0.cta0.wp0.ln0", 8, 7, 0, rows(32, 1, 0x1010, 0, 0x1000, 0) * 2),
        ("meta", 22, 0, 0, rows(64, 1, 2, 3, 27)),
        ("relfimg.dev0.ctx0", 7, 0, 0, image or header(2, 190, 0, 0)),
    ]
    names, body, headers = b"\0", b"", b"\0" * 64
    for name, kind, link, info, data in [*tables, (".strtab", 3, 0, 0, strings), (".shstrtab", 3, 0, 0, None)]:
        label = name if name.startswith(".") else ".cudbg." + name
        start, names = len(names), names + label.encode() + b"\0"
        data = names if data is None else data
        number = kind if kind == 3 else 0x80000000 + kind
        row = 1 if kind == 3 else {7: 0, 15: len(data) // 2, 8: len(data) // 2}.get(kind, len(data))
        headers += struct.pack("<IIQQQQIIQQ", start, number, 0, 0, 64 + len(body), len(data), link, info, 8, row)
        body += data + b"\0" * (-len(data) % 8)
    count = len(headers) // 64
    start = b"\x7fELF\x02\x01\x01\x33" + b"\0" * 8
    start += struct.pack("<HHIQQQIHHHHHH", 4, 190, 1, 0, 0, 64 + len(body), 0, 64, 0, 0, 64, count, count - 1)
    return start + body + headers


def snapshot():
    frames = [{"name": "forward", "filename": "model.py", "line": 7}, {"name": "main", "filename": "train.py", "line": 3}]
    block = lambda size, state: {"size": size, "requested_size": size - 8, "address": 0x7F0000000000, "state": state, "frames": frames}
    segment = {"device": 0, "address": 0x7F0000000000, "total_size": 2048, "allocated_size": 512, "active_size": 512, "requested_size": 504,
               "stream": 0, "segment_type": "small", "segment_pool_id": (0, 0), "is_expandable": False, "frames": frames,
               "blocks": [block(512, "active_allocated"), block(512, "active_awaiting_free"), block(1024, "inactive")]}
    entry = lambda action, size: {"action": action, "addr": 0x7F0000000000, "size": size, "stream": 0, "time_us": 1, "frames": frames}
    actions = ["alloc", "free_requested", "free_completed", "segment_alloc", "segment_map", "segment_free", "snapshot"]
    trace = [entry(action, 512) for action in actions] + [{**entry("oom", 1 << 30), "device_free": 1 << 20}]
    settings = {"PYTORCH_CUDA_ALLOC_CONF": "", "expandable_segments": False, "max_split_size": -1}
    return {"segments": [segment, {**segment, "segment_type": "large"}], "device_traces": [trace, []], "allocator_settings": settings}


def recorder():
    entry = lambda number, state, op: {
        "frames": [{"name": "step", "filename": "train.py", "line": 9}], "record_id": number, "pg_id": 0, "process_group": ("0", "default_pg"),
        "collective_seq_id": number, "p2p_seq_id": 0, "op_id": number, "profiling_name": op, "time_created_ns": number, "input_sizes": [[4, 4]],
        "output_sizes": [[4, 4]], "input_dtypes": ["Float"], "output_dtypes": ["Float"], "state": state, "time_discovered_started_ns": None,
        "time_discovered_completed_ns": 5, "retired": state == "completed", "timeout_ms": 600000, "is_p2p": False}
    entries = [entry(1, "completed", "nccl:all_reduce"), entry(2, "started", "nccl:all_gather"), {**entry(3, "scheduled", "nccl:send 0->1"), "is_p2p": True}]
    return {"version": "2.10", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}},
            "pg_status": {"0": {"last_enqueued_collective": 3, "last_started_collective": 2, "last_completed_collective": 1}},
            "comm_lib_version": "2.21.5", "entries": entries}


def texts():
    dump = [{"pid": 1, "thread_id": 140, "thread_name": "MainThread", "os_thread_id": 7, "active": True, "owns_gil": True,
             "frames": [{"name": "f", "filename": "a.py", "module": None, "short_filename": "a.py", "line": 3}]}]
    yield "py_spy", "dump.json", dump
    yield "context", "context.json", {"whycrash_context": 1, "command": ["python", "train.py"], "pid": 7, "rank": 3, "exit": {"signal": "SIGSEGV", "code": None}, "ended": "2026-01-01T00:00:00Z"}
    yield "context", "exit.json", {"whycrash_context": 1, "exit": {"signal": None, "code": -9}}
    stack = "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n    g()\nValueError: x\n"
    yield "elastic", "error.json", {"message": {"message": "ValueError: x", "errorCode": 1, "extraInfo": {"py_callstack": stack, "timestamp": "1795253134"}}}
    yield "elastic", "plain.json", {"message": "ValueError: x", "timestamp": 1795253134, "errorCode": -6}
    yield "flight_recorder", "rank_0.json", recorder()


def field(number, value):
    """A field of Protocol Buffers that has bytes, or a small number."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def masked(data):
    """CRC-32C, bit by bit, as TFRecords have it."""
    total = 0xFFFFFFFF
    for byte in data:
        total ^= byte
        for _ in range(8):
            total = total >> 1 ^ (0x82F63B78 if total & 1 else 0)
    total ^= 0xFFFFFFFF
    return struct.pack("<I", ((total >> 15 | total << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def events_file():
    """Scalars of TensorBoard, as a float and as a tensor."""
    file = b""
    for step in range(6):
        loss = struct.pack("<f", 0.5 if step < 4 else float("nan"))
        tensor = field(8, field(1, 1) + field(2, b"") + field(4, loss))
        values = [field(1, b"train/loss") + b"\x15" + loss, field(1, b"lr") + tensor]
        event = field(2, step) + field(5, b"".join(field(1, value) for value in values))
        length = struct.pack("<Q", len(event))
        file += length + masked(length) + event + masked(event)
    return file


def run_of_wandb():
    """Rows, what was printed, and the exit code of a run."""
    records = []
    for step in range(6):
        items = {b"_step": b"%d" % step, b"loss": b"0.5" if step < 4 else b'"NaN"'}
        records.append(field(2, b"".join(field(1, field(2, name) + field(16, value)) for name, value in items.items())))
        records.append(field(13, field(1, 1) + field(3, b"step\n")))
    records.append(field(13, field(1, 0) + field(3, b"Traceback (most recent call last):\nKeyError: 'x'\n")))
    records.append(field(18, field(1, 1)))
    file = b":W&B\xe1\xbe\x00"
    for record in records:
        total = zlib.crc32(b"\x01" + record)
        file += struct.pack("<IHB", total, len(record), 1) + record
    return file


def notebook():
    """A cell that printed, and one that failed."""
    raised = {"output_type": "error", "ename": "KeyError", "evalue": "'x'",
              "traceback": ["KeyError   Traceback (most recent call last)", "Cell In[2], line 1\n----> 1 f()", "KeyError: 'x'"]}
    outputs = [[{"output_type": "stream", "name": "stderr", "text": ["step 1\n"]}], [raised]]
    cells = [{"cell_type": "code", "execution_count": count, "metadata": {}, "source": ["f()"], "outputs": output}
             for count, output in enumerate(outputs, 1)]
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def exports():
    """Lines of a log as stores of logs hand them out, and events of a cluster."""
    lines = ["Traceback (most recent call last):", "KeyError: 'x'"]
    times = [f"2026-03-14T08:51:{second:02}Z" for second in range(len(lines))]
    loki = {"stream": {"pod": "a"}, "values": [[f"{1773478277 + at}000000000", line] for at, line in enumerate(lines)]}
    yield "loki.json", {"data": {"resultType": "streams", "result": [loki, loki]}}
    hits = [{"_source": {"@timestamp": time, "message": line}} for time, line in zip(times, lines)]
    yield "hits.json", {"hits": {"hits": hits[::-1]}}
    event = {"apiVersion": "v1", "kind": "Event", "type": "Warning", "reason": "Evicted", "message": "m", "lastTimestamp": times[0],
             "involvedObject": {"kind": "Pod", "name": "a"}}
    yield "events.json", {"apiVersion": "v1", "kind": "List", "items": [event]}


def archives():
    """Archives of each form, one of them in another."""
    files = {"logs/rank-0.log": b"ValueError: x\n" * 20, "logs/empty.log": b"", "../out.log": b"x"}
    forms = {"gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT, "ustar": tarfile.USTAR_FORMAT}
    modes = {"tar": "w", "tgz": "w:gz", "tbz": "w:bz2", "txz": "w:xz"}
    for form, number in forms.items():
        for mode, how in modes.items():
            packed = io.BytesIO()
            with tarfile.open(fileobj=packed, mode=how, format=number) as archive:
                for name, content in files.items():
                    entry = tarfile.TarInfo(name)
                    entry.size = len(content)
                    archive.addfile(entry, io.BytesIO(content))
                link = tarfile.TarInfo("deep/" * 30 + "link")
                link.type, link.linkname = tarfile.SYMTYPE, "x" * (90 if form == "ustar" else 120)
                archive.addfile(link)
            yield f"{form}.{mode}", packed.getvalue()
    inner = packed.getvalue()
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", method) as archive:
            for name, content in {**files, "inner.txz": inner}.items():
                archive.writestr(name, content)
        yield f"{method}.zip", packed.getvalue()
        yield f"{method}.cut.zip", packed.getvalue()[:-60]


def main(folder):
    def write(target, name, data):
        at = folder / target / name
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_bytes(data)

    for name, machine in [("x86_64", 62), ("aarch64", 183)]:
        write("elf_core", f"{name}.core", core(machine))
        write("elf_core", f"{name}_extended.core", core(machine, threads=3, extended_count=True))
    write("gpu_core", "light.nvcudmp", gpu_core())
    for protocol in (2, 4, 5):
        write("memory_snapshot", f"snapshot_{protocol}.pickle", pickle.dumps(snapshot(), protocol))
        write("flight_recorder", f"nccl_trace_{protocol}", pickle.dumps(recorder(), protocol))
        values = [None, True, 1, 300, -7, 1 << 62, (1 << 64) - 1, 1.5, "x", ("a", 1), {"k": [(), {}]}]
        write("pickle", f"values_{protocol}.pickle", pickle.dumps(values + [values], protocol))
    for name, data in archives():
        write("unpack", name, data)
        write("any", name, data)
    rows = [{"step": step, "loss": 0.5 if step < 4 else float("nan")} for step in range(6)]
    table = "step,loss\n" + "".join(f"{row['step']},{row['loss']}\n" for row in rows)
    by_line = "".join(json.dumps(row) + "\n" for row in rows)
    for target, name, data in [
        ("tfevents", "events.out.tfevents.1.a", events_file()),
        ("wandb", "run-a.wandb", run_of_wandb()),
        ("notebook", "train.ipynb", json.dumps(notebook()).encode()),
        ("metrics", "metrics.csv", table.encode()),
        ("metrics", "metrics.jsonl", by_line.encode()),
    ]:
        write(target, name, data)
        write("any", name, data)
    for name, value in exports():
        write("any", name, json.dumps(value).encode())
    for target, name, value in texts():
        write(target, name, json.dumps(value).encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
