#!/usr/bin/env python3
"""Makes seeds for symbols: small programs, compiled here, in crashes of theirs; interpreters' memory; line tables.

usage: symbol_seeds.py FOLDER    (one folder a target below it)
"""
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from seeds import core, gpu_core, header, note, program

FIXTURES = Path(__file__).parent.parent / "evidence/tests/fixtures/minidumps"
PAGE = 4096

C = """
typedef unsigned long size;
struct batch { float *data; size rows; };
static inline float load(const float *data, size index) { return data[index]; }
static inline float sum(const struct batch *batch) {
    float total = 0;
    for (size row = 0; row < batch->rows; row++) { total += load(batch->data, row); }
    return total;
}
__attribute__((noinline)) float reduce(struct batch *batch, int depth) {
    if (depth > 0) { return reduce(batch, depth - 1) + 1; }
    return sum(batch);
}
float step(struct batch *batch) { return reduce(batch, 7); }
"""

CPP = """
namespace trainer {
template <typename T> struct Reducer {
    virtual T apply(const T *data, unsigned long count) const {
        T total{};
        for (unsigned long index = 0; index < count; index++) { total += load(data, index); }
        return total;
    }
    static T load(const T *data, unsigned long index) { return data[index]; }
};
namespace { int twice(int value) { return value * 2; } }
int run(const Reducer<int> &reducer, const int *data) { return twice(reducer.apply(data, 3)); }
}
extern "C" void __cxa_pure_virtual() {}
"""

RUST = """
#![no_std]
#[panic_handler] fn panic(_: &core::panic::PanicInfo) -> ! { loop {} }
pub mod shard { pub struct Sum(pub u64); impl Sum { #[inline(never)] pub fn add(&mut self, words: &[u64]) {
    words.iter().map(|word| word.wrapping_mul(31)).for_each(|word| self.0 = self.0.wrapping_add(word)); } } }
#[no_mangle] pub extern "C" fn step(words: *const u64) -> u64 {
    let mut sum = shard::Sum(0); sum.add(unsafe { core::slice::from_raw_parts(words, 4) }); sum.0 }
"""

PLAIN = ["-shared", "-fPIC", "-nostdlib", "-Wl,--build-id"]
VARIANTS = {
    "O0": ["-O0", "-g"], "O2": ["-O2", "-g"], "dwarf4": ["-O1", "-g", "-gdwarf-4"], "zlib": ["-O2", "-g", "-gz=zlib"],
    "debug_frame": ["-O1", "-g", "-fno-asynchronous-unwind-tables"], "bare": ["-O2", "-s"], "line": ["-O1", "-g1"],
}


def programs():
    """Names and bytes of what the compilers make of the sources."""
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        for suffix, source, compiler in [("c", C, "gcc"), ("cpp", CPP, "g++")]:
            (at / f"step.{suffix}").write_text(source)
            for name, flags in VARIANTS.items():
                yield f"{suffix}_{name}", compiled(at, [compiler, *PLAIN, *flags, f"step.{suffix}"])
        (at / "step.rs").write_text(RUST)
        # Linked as a library of Rust it would have all of the compiler's own functions in it.
        (at / "rust.o").write_bytes(compiled(at, ["rustc", "--edition=2021", "--crate-type=lib", "--emit=obj", "-g", "-O", "step.rs"]))
        yield "rust", compiled(at, ["gcc", *PLAIN, "rust.o"])


def compiled(folder, command):
    subprocess.run([*command, "-o", "out"], cwd=folder, check=True, stderr=subprocess.DEVNULL)
    return (folder / "out").read_bytes()


def places(binary):
    """Sixteen addresses within the functions of a program: where its symbol table says, and a little further."""
    count, at = struct.unpack_from("<H", binary, 60)[0], struct.unpack_from("<Q", binary, 40)[0]
    found = []
    for index in range(count):
        _, kind, _, _, offset, size, *_ = struct.unpack_from("<IIQQQQIIQQ", binary, at + index * 64)
        if kind in (2, 11):
            symbols = (struct.unpack_from("<IBBHQQ", binary, symbol) for symbol in range(offset, offset + size, 24))
            found += [value + step for _, info, _, _, value, length in symbols if info & 15 == 2 for step in (1, length // 2)]
    return (found + [64] * 16)[:16]


def crash(binary):
    """A core that maps the first page of a program, and stopped in its functions."""
    base, stack = 0x5555_5555_4000, 0x7FFF_0000_0000
    at = places(binary)
    size = -(-len(binary) // PAGE) * PAGE
    notes = b""
    for thread, place in enumerate(at[:4]):
        words = [base + place] * 27
        words[4], words[19] = stack + 64, stack + 16
        status = struct.pack("<iiihHQQiiii", 11, 0, 0, 11, 0, 0, 0, 100 + thread, 1, 1, 1) + b"\0" * 64
        notes += note(b"CORE", 1, status + struct.pack("<27Q", *words) + b"\0" * 8)
    files = struct.pack("<5Q", 1, PAGE, base, base + size, 0) + b"/bin/trainer\0"
    notes += note(b"CORE", 0x46494C45, files)
    frames = b"".join(struct.pack("<2Q", stack + 64 + 16 * index, base + place) for index, place in enumerate(at))
    segments = [(base, binary[:1024], size, 5), (stack, frames, PAGE, 6)]
    offset = 64 + 3 * 56
    table, body = program(4, 0, offset, 0, len(notes), memory=0, align=4), notes
    for address, data, length, flags in segments:
        table += program(1, flags, offset + len(body), address, len(data), memory=length)
        body += data
    return header(4, 62, 3, 0) + table + body


def pair(first, second):
    return struct.pack("<I", len(first)) + first + second


SYMBOL_FILE = """MODULE Linux x86_64 5A865AB22664BC5E2A9FB3019E57AB350 n_plain_O2
INFO CODE_ID B25A865A64265EBC2A9FB3019E57AB3574972FF1
FILE 0 /src/reduce.cpp
INLINE_ORIGIN 0 trainer::load_elem(float const*, unsigned long)
FUNC 3130 480 0 trainer::do_crash(int)
3130 480 53 0
FUNC 3630 40 0 trainer::SumReducer<float>::reduce(int)
INLINE 0 30 0 0 3640 10
3630 10 29 0
3640 30 22 0
PUBLIC 3000 0 _init
STACK CFI INIT 3630 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
STACK CFI 3634 .cfa: $rsp 16 + $rbx: .cfa -16 + ^
"""


def line_table(starts):
    """The `.debug_line` of two functions, as ptxas writes it (DWARF 2)."""
    head = bytes([1, 1, 0xFB, 14, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1]) + b"/src\0\0scatter.cu\0\x01\0\0\0"
    table = struct.pack("<HI", 2, len(head)) + head
    for start, rows in zip(starts, (b"\3\x1d\1\2\x80\2", b"\3\x09\1\3\3\2\x90\1\1\3\1\2\x20\1\2\xd0\1")):
        table += b"\0\x09\2" + struct.pack("<Q", start) + rows + b"\0\1\1"
    return struct.pack("<I", len(table)) + table


def cubin():
    """A GPU program of two functions with their lines."""
    at = 0x1000
    sections = [(".text._Z7scatterPfPKi", 1, at, b"\0" * 0x180), (".text._Z4idlev", 1, 2 * at, b"\0" * 0x100),
                (".debug_line", 1, 0, line_table((2 * at, at)))]
    names, body, headers = b"\0", b"", b"\0" * 64
    for name, kind, address, data in [*sections, (".shstrtab", 3, 0, None)]:
        start, names = len(names), names + name.encode() + b"\0"
        data = names if data is None else data
        headers += struct.pack("<IIQQQQIIQQ", start, kind, 0, address, 64 + len(body), len(data), 0, 0, 1, 0)
        body += data
    count = len(headers) // 64
    start = b"\x7fELF\x02\x01\x01\x33" + b"\0" * 8
    start += struct.pack("<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, 64 + len(body), 0, 64, 0, 0, 64, count, count - 1)
    return start + body + headers


def interpreter(minor):
    """The memory of a CPython 3.11 or 3.12: one interpreter, one thread, three frames, one code object."""
    base = 0x7F00_0001_0000
    memory = bytearray(8192)

    def word(at, value, size=8):
        memory[at:at + size] = value.to_bytes(size, "little")

    state, thread, inner, frames, code, name, table = 512, 1024, 1536, 2048, 3072, 4096, 5120
    layout = {11: (16, 8, 160, 56, 8, 32, 48, 56, 184, 112, 120, 72, 136, 48), 12: (72, 8, 144, 56, 0, 0, 8, 56, 192, 112, 120, 68, 136, 40)}
    threads, following, native, cframe, current, at_code, previous, at_line, start, file, title, first, lines, text = layout[minor]
    word(40, base + state)
    word(state + threads, base + thread)
    word(thread + following, 0)
    word(thread + native, 4711)
    word(thread + cframe, base + inner)
    word(inner + current, base + frames)
    for frame in range(3):
        at = frames + frame * 96
        word(at + at_code, base + code)
        word(at + previous, base + at + 96 if frame < 2 else 0)
        word(at + at_line, base + code + start + 4)
        memory[at + 68 if minor == 11 else at + 70] = frame == 2
    word(code + file, base + name)
    word(code + title, base + name)
    word(code + first, 7, 4)
    word(code + lines, base + table)
    word(name + 16, 5)
    word(name + 32, (1 | 8 | 16) << 2, 4)
    memory[name + text:name + text + 5] = b"train"
    word(table + 16, 4)
    memory[table + 32:table + 36] = bytes([0x80 | 10 << 3 | 7, 0, 0, 0])
    return bytes([minor - 9]) + bytes(memory)


def main(folder):
    def write(target, name, data):
        at = folder / target / name
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_bytes(data)

    for name, binary in programs():
        write("program", name, binary + struct.pack("<16H", *(place & 0xFFFF for place in places(binary))))
        write("symbolicate", name, pair(binary, crash(binary)))
    for machine in (62, 183):
        write("symbolicate", f"without_{machine}", pair(b"", core(machine)))
    for dump in FIXTURES.glob("*.dmp"):
        write("symbol_file", dump.stem, pair(SYMBOL_FILE.encode(), dump.read_bytes()))
    write("gpu_lines", "cubin", gpu_core(cubin()))
    for minor in (11, 12):
        write("python", f"3_{minor}", interpreter(minor))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
