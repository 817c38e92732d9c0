"""Runs the reproducers and keeps what each leaves behind as a labelled case of the corpus.

    python3 tests/reproducers/collect.py --python VENV/bin/python [CASE…]

Wants root for the cases that need a small /dev/shm or a memory limit, cores written to the working directory
(`kernel.core_pattern = core`), gcc, rustc, zstd, and a Python with torch. Everything runs in FOLDER below, so that no
artifact holds a path of the checkout.
"""

import argparse
import dataclasses
import datetime
import os
import pathlib
import platform
import re
import resource
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
MANIFEST = HERE.parent / "corpus/Cargo.toml"
FOLDER = pathlib.Path("/tmp/reproducers")
CXX_FLAGS = ["-g", "-O1", "-fno-omit-frame-pointer", "-pthread", "-fstack-protector-all"]
TIMEOUT_SECONDS = 120


@dataclasses.dataclass
class Case:
    """One run: its name in the corpus, its true cause ("" for none), and how to get there."""

    name: str
    cause: str
    source: str
    args: list[str] = dataclasses.field(default_factory=list)
    wrapper: str = "exec {command}"
    kernel_log: bool = False


SMALL_SHM = "exec unshare -m sh -c 'mount -t tmpfs -o size=2M tmpfs /dev/shm && exec {command}'"
ADDRESS_SPACE = "ulimit -v 16000000; exec {command}"
FEW_DESCRIPTORS = "ulimit -n 96; exec {command}"
# A memory control group (version 1) of this process alone; the kernel kills inside it.
MEMORY_LIMIT = (
    "group=/sys/fs/cgroup/memory/reproducer; mkdir -p $group; echo 1G > $group/memory.limit_in_bytes; "
    "echo $$ > $group/cgroup.procs; exec {command}"
)

CASES = [
    Case("seg-null-deref-worker-thread", "seg-null-deref", "seg-null-deref/null_in_worker.cpp"),
    Case("seg-stack-overflow-main", "seg-stack-overflow", "seg-stack-overflow/recursion.cpp"),
    Case("seg-stack-overflow-small-thread", "seg-stack-overflow", "seg-stack-overflow/recursion.cpp", ["worker"]),
    Case("seg-exec-null-callback", "seg-exec-null", "seg-exec-null/call_null.cpp"),
    Case("seg-wild-pointer-text", "seg-wild-pointer", "seg-wild-pointer/noncanonical.cpp"),
    Case("seg-use-after-free-prefetch", "seg-use-after-free", "seg-use-after-free/prefetch.cpp"),
    Case("seg-oob-past-mapping", "seg-oob-read-write", "seg-oob-read-write/past_mapping.cpp"),
    Case("seg-oob-storage-resized", "seg-oob-read-write", "seg-oob-read-write/storage_resized.py"),
    Case("seg-write-readonly-literal", "seg-write-readonly", "seg-write-readonly/literal.cpp"),
    Case("seg-user-ctypes-null", "seg-user-ctypes", "seg-user-ctypes/null_string.py"),
    Case("seg-user-ctypes-cut-pointer", "seg-user-ctypes", "seg-user-ctypes/cut_pointer.py"),
    Case("seg-buffer-freed-munmap", "seg-buffer-freed-under-tensor", "seg-buffer-freed-under-tensor/munmap.py"),
    Case("seg-gil-violation-checked", "seg-gil-violation", "seg-gil-violation/no_gil.py", ["checked"]),
    Case("bus-file-truncated-dataset", "bus-file-truncated", "bus-file-truncated/truncate.cpp"),
    Case("ill-unsupported-avx512er", "ill-unsupported-instruction", "ill-unsupported-instruction/avx512er.cpp"),
    Case("ill-trap-unreachable", "ill-trap", "ill-trap/trap.cpp"),
    Case("fpe-integer-division-shard", "fpe-integer-division", "fpe-integer-division/divide.cpp"),
    Case("fpe-integer-overflow-stride", "fpe-integer-overflow", "fpe-integer-overflow/overflow.cpp"),
    Case("fpe-integer-overflow-memory", "fpe-integer-overflow", "fpe-integer-overflow/overflow.cpp", ["memory"]),
    Case("fpe-float-trap-invalid", "fpe-float-trap", "fpe-float-trap/trap.cpp"),
    Case("fpe-float-trap-divide", "fpe-float-trap", "fpe-float-trap/trap.cpp", ["divide"]),
    Case("fpe-float-trap-handled", "fpe-float-trap", "fpe-float-trap/trap.cpp", ["divide", "handled"]),
    Case("fpe-float-trap-deferred", "fpe-float-trap", "fpe-float-trap/trap.cpp", ["divide", "deferred"]),
    Case("abrt-assert-batch", "abrt-assert", "abrt-assert/assert.cpp"),
    Case("abrt-heap-double-free", "abrt-heap-corruption", "abrt-heap-corruption/double_free.cpp"),
    Case("abrt-heap-invalid-pointer", "abrt-heap-corruption", "abrt-heap-corruption/double_free.cpp", ["invalid"]),
    Case("abrt-heap-overrun", "abrt-heap-corruption", "abrt-heap-corruption/double_free.cpp", ["overrun"]),
    Case("abrt-stack-smash-label", "abrt-stack-smash", "abrt-stack-smash/overrun.cpp"),
    Case("abrt-uncaught-main", "abrt-uncaught-exception", "abrt-uncaught-exception/terminate.cpp"),
    Case("abrt-uncaught-thread", "abrt-uncaught-exception", "abrt-uncaught-exception/terminate.cpp", ["thread"]),
    Case("abrt-uncaught-noexcept", "abrt-uncaught-exception", "abrt-uncaught-exception/terminate.cpp", ["noexcept"]),
    Case("abrt-uncaught-corrupted-file", "abrt-uncaught-exception", "abrt-uncaught-exception/terminate.cpp", ["corrupted"]),
    Case("abrt-pure-virtual-constructor", "abrt-pure-virtual", "abrt-pure-virtual/constructor.cpp"),
    Case("abrt-rust-panic-expect", "abrt-rust-panic", "abrt-rust-panic/panic.rs"),
    Case("dl-worker-killed", "dl-worker-oom-killed", "dl-worker/workers.py", ["killed"]),
    Case("dl-worker-memory-limit", "dl-worker-oom-killed", "dl-worker/workers.py", ["memory"], MEMORY_LIMIT, True),
    Case("dl-worker-segfault-ctypes", "dl-worker-segfault", "dl-worker/workers.py", ["segfault"]),
    Case("dl-worker-segfault-while-sending", "dl-worker-segfault", "dl-worker/workers.py", ["segfault", "at-once"]),
    Case("dl-worker-abort-double-free", "dl-worker-abort", "dl-worker/workers.py", ["abort"]),
    Case("dl-worker-fpe", "fpe-integer-division", "dl-worker/workers.py", ["fpe"]),
    Case("dl-worker-exit-7", "dl-worker-exitcode", "dl-worker/workers.py", ["exit"]),
    Case("dl-worker-exception", "", "dl-worker/workers.py", ["exception"]),
    Case("dl-shm-batch", "dl-shm-bus-error", "dl-worker/workers.py", ["shm-batch"], SMALL_SHM),
    Case("dl-shm-decoder", "dl-shm-bus-error", "dl-worker/workers.py", ["shm-decoder"], SMALL_SHM),
    Case("dl-fd-exhausted-kept", "dl-fd-exhausted", "dl-fd-exhausted/keep_batches.py", [], FEW_DESCRIPTORS),
    Case("host-oom-killer-cgroup", "host-oom-killer", "host-oom-killer/allocate.py", [], MEMORY_LIMIT, True),
    Case("oom-host-allocator-ulimit", "oom-host-allocator", "oom-host-allocator/address_space.py", [], ADDRESS_SPACE),
    Case("hang-lock-order-watchdog", "hang-lock-order", "hang-lock-order/deadlock.cpp"),
    Case("dist-shape-mismatch-gloo", "dist-shape-mismatch", "dist/ranks.py", ["shape-mismatch"]),
    Case("dist-op-mismatch-detail", "dist-op-mismatch", "dist/ranks.py", ["op-mismatch"]),
    Case("dist-monitored-barrier-gloo", "dist-monitored-barrier", "dist/ranks.py", ["monitored-barrier"]),
    Case("ddp-unused-params-head", "ddp-unused-params", "dist/ranks.py", ["unused-params"]),
    Case("ddp-param-shape-linear", "ddp-param-shape", "dist/ranks.py", ["param-shape"]),
    Case("py-index-error", "", "py-index-error/index.py"),
    Case("py-checkpoint-corrupt-safetensors", "py-checkpoint-corrupt", "py-checkpoint-corrupt/truncated_safetensors.py"),
]


def build(case: Case, folder: pathlib.Path) -> pathlib.Path | None:
    """Compiles the case's program into `folder`; None for one that an interpreter runs."""
    source = folder / pathlib.Path(case.source).name
    binary = source.with_suffix("")
    if source.suffix == ".cpp":
        subprocess.run(["g++", *CXX_FLAGS, source.name, "-o", binary.name], cwd=folder, check=True)
    elif source.suffix == ".rs":
        # The symbol table is enough: the standard library's own debug information is twenty times the program.
        flags = ["-O", "-C", "panic=abort", "-C", "strip=debuginfo"]
        subprocess.run(["rustc", *flags, source.name], cwd=folder, check=True)
    else:
        return None
    return binary


def run(case: Case, folder: pathlib.Path, command: str) -> subprocess.CompletedProcess:
    """Runs the program with cores and faulthandler on, in the folder of its own."""

    def allow_cores() -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONFAULTHANDLER": "1", "LC_ALL": "C.UTF-8"}
    script = case.wrapper.format(command=command)
    return subprocess.run(
        ["bash", "-c", script],
        cwd=folder, env=environment, capture_output=True, timeout=TIMEOUT_SECONDS, preexec_fn=allow_cores, check=False,
    )


def kernel_lines(since: float) -> bytes:
    """The kernel's lines from `since` (seconds since boot) on, as `dmesg` prints them."""
    lines = subprocess.run(["dmesg"], capture_output=True, check=True).stdout.splitlines(keepends=True)
    stamp = re.compile(rb"\[\s*(\d+\.\d+)\]")
    return b"".join(line for line in lines if (match := stamp.match(line)) and float(match[1]) >= since)


def versions(case: Case, python: str) -> str:
    """What the case was made with, for its `case.toml`."""
    libc = "glibc " + platform.libc_ver()[1]
    kernel = "Linux " + platform.release().split("-")[0]
    if case.source.endswith(".cpp"):
        compiler = subprocess.run(["g++", "-dumpfullversion"], capture_output=True, text=True, check=True).stdout.strip()
        return f"gcc {compiler}, {libc}, {kernel}"
    if case.source.endswith(".rs"):
        compiler = subprocess.run(["rustc", "-V"], capture_output=True, text=True, check=True).stdout.split()[1]
        return f"rustc {compiler}, {libc}, {kernel}"
    ask = "import torch, sys; print('Python', sys.version.split()[0] + ', torch', torch.__version__)"
    return f"{subprocess.run([python, '-c', ask], capture_output=True, text=True, check=True).stdout.strip()}, {kernel}"


def collect(case: Case, python: str) -> None:
    """Runs one case and takes it into the corpus."""
    folder = FOLDER / case.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copy(HERE / case.source, folder)
    binary = build(case, folder)
    program = str(binary) if binary else f"{python} {folder / pathlib.Path(case.source).name}"
    command = " ".join([program, *case.args])

    started = float(pathlib.Path("/proc/uptime").read_text().split()[0])
    ended = run(case, folder, command)

    target = FOLDER / "kept" / case.name
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    artifacts = []
    # Cores of Python are too large to keep; their stacks are in faulthandler's dump.
    if binary and (folder / "core").exists():
        subprocess.run(["zstd", "-q", "-19", folder / "core", "-o", target / "core.zst"], check=True)
        artifacts.append("core.zst")
        (target / "bin").mkdir()
        shutil.copy(binary, target / "bin")
    if ended.stderr:
        (target / "stderr.txt").write_bytes(ended.stderr)
        artifacts.append("stderr.txt")
    if case.kernel_log:
        (target / "kernel.log").write_bytes(kernel_lines(started))
        artifacts.append("kernel.log")
    how = f"tests/reproducers/{' '.join([case.source, *case.args])}"
    if "{command}" != case.wrapper.removeprefix("exec "):
        how += " in: " + case.wrapper.removeprefix("exec ").format(command="…")
    today = datetime.date.today().isoformat()
    (target / "case.toml").write_text(
        f'cause = "{case.cause}"\n'
        f'made = """{how}; exit status {ended.returncode}"""\n'
        f'versions = "{versions(case, python)}; {today}"\n'
        f"artifacts = {artifacts}\n".replace("'", '"')
        + f'date = "{today}"\norigin = "real"\n'
    )
    subprocess.run(["cargo", "run", "-q", "--manifest-path", MANIFEST, "--", "keep", target], check=True)
    size = sum(file.stat().st_size for file in target.rglob("*") if file.is_file())
    print(f"{case.name}: exit status {ended.returncode}, {', '.join(artifacts)}, {size // 1024} KiB", flush=True)


def main() -> None:
    """Collects the named cases, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable, help="interpreter with torch (default: this one)")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="names of cases (default: all)")
    arguments = parser.parse_args()
    unknown = set(arguments.cases) - {case.name for case in CASES}
    if unknown:
        parser.error(f"no such case: {', '.join(sorted(unknown))}")
    for case in CASES:
        if not arguments.cases or case.name in arguments.cases:
            collect(case, arguments.python)


if __name__ == "__main__":
    main()
