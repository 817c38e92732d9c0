"""Runs small programs, each with an ending of its own, and keeps what they print as cases of the corpus.

    python3 tests/reproducers/endings/run.py --python VENV/bin/python [CASE…]

The programs are in the TOML files beside this one. `case` is the name of one in `tests/corpus/`, whose `case.toml` has
the true cause and what was said of it first: both stay, and the log and how it was made are written anew. `code` becomes
`train.py`, `files` lie beside it, `before` prepares (it compiles, or sets a limit), and `run` is the command, without
which it is `{python} train.py`. `{python}` has torch; `{python3.11}` is that version, and a program whose version is
not on PATH is passed over.

Wants gcc, g++, rustc, java, node, perl, curl and openssl for some, the libraries that a program imports (one without
fails in another way), and root for those that mount a small disk.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
MANIFEST = HERE.parent.parent / "corpus/Cargo.toml"
FOLDER = pathlib.Path("/tmp/endings")
TIMEOUT_SECONDS = 300


def with_pythons(text: str, python: str) -> str | None:
    """The text with interpreters filled in; None where one is not here."""
    text = text.replace("{python}", python)
    for version in set(re.findall(r"\{python([\d.]+)\}", text)):
        interpreter = shutil.which(f"python{version}")
        if interpreter is None:
            return None
        text = text.replace(f"{{python{version}}}", interpreter)
    return text


def prepare(program: dict, python: str) -> pathlib.Path:
    """An empty folder with the program's files."""
    folder = FOLDER / program["case"]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, text in {"train.py": program.get("code", ""), **program.get("files", {})}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(with_pythons(text, python) or text)
    return folder


def log_of(script: str, folder: pathlib.Path) -> tuple[str, int]:
    """What the script prints, with the folder's name left out, and its exit status."""
    ended = subprocess.run(
        ["bash", "-c", f"ulimit -c 0\n{script}"],
        cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**os.environ, "PYTHONUNBUFFERED": "1"}, timeout=TIMEOUT_SECONDS, check=False,
    )
    return ended.stdout.decode("utf-8", "replace").replace(str(folder), "/mnt/job"), ended.returncode


def corpus(*arguments: str) -> str:
    """What the corpus's own program says."""
    command = ["cargo", "run", "-q", "--manifest-path", MANIFEST, "--", *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def collect(program: dict, python: str) -> None:
    """Runs one program and writes its log into its case."""
    script = with_pythons("\n".join([program.get("before", ""), program.get("run", "{python} train.py")]), python)
    if script is None:
        print(f"{program['case']}: passed over, its Python is not here")
        return
    log, status = log_of(script, prepare(program, python))
    label = (pathlib.Path(corpus("folder").strip()) / program["case"] / "case.toml").read_text()
    [artifact] = tomllib.loads(label)["artifacts"]
    made = f'made = "tests/reproducers/endings/; exit status {status}"'
    with tempfile.TemporaryDirectory() as kept:
        target = pathlib.Path(kept) / program["case"]
        target.mkdir()
        (target / artifact).write_text(log)
        (target / "case.toml").write_text(re.sub(r"^made = .*$", lambda _: made, label, flags=re.MULTILINE))
        corpus("keep", str(target))
    print(f"{program['case']}: exit status {status}, {len(log)} bytes", flush=True)


def main() -> None:
    """Runs the named programs, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable, help="interpreter with torch (default: this one)")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="names of cases (default: all)")
    arguments = parser.parse_args()
    programs = [program for file in sorted(HERE.glob("*.toml")) for program in tomllib.loads(file.read_text())["program"]]
    unknown = set(arguments.cases) - {program["case"] for program in programs}
    if unknown:
        parser.error(f"no such case: {', '.join(sorted(unknown))}")
    for program in programs:
        if not arguments.cases or program["case"] in arguments.cases:
            collect(program, arguments.python)


if __name__ == "__main__":
    main()
