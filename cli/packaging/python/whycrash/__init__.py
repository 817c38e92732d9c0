"""Says why a GPU training job crashed: ``import whycrash; whycrash.install()`` at the top of a program.

The same as to start it with ``whycrash run -- python program.py``, for those who would rather write a line of code.
"""

import os
import subprocess
import sys
import sysconfig
import threading
import warnings

__all__ = ["install", "program"]

# Holds the process number of the `whycrash run` that watches; what a job starts inherits it.
_WATCHED = "WHYCRASH_WATCHED_BY"


def program():
    """The path of the ``whycrash`` program, or None: it came with this package, or is on the PATH."""
    folders = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", _user_scheme())]
    folders += os.environ.get("PATH", os.defpath).split(os.pathsep)
    paths = (os.path.join(folder, "whycrash") for folder in folders if folder)
    return next((path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK)), None)


def install(*arguments):
    """Starts this program anew under ``whycrash run``, unless it is watched already; true when it is watched.

    Call it before anything else, because everything before it is done twice. ``arguments`` are those of ``whycrash
    run``, such as ``"--server", "https://crashes.example"``. Where the program can not be watched (it has threads
    already, is an interactive session, or came through standard input), a warning says why, and it goes on as it is.
    """
    if _is_watched():
        return True
    whycrash = program()
    reason = _reason_not_to(whycrash)
    if reason:
        warnings.warn(f"whycrash does not watch this program: {reason}", RuntimeWarning, stacklevel=2)
        return False
    os.environ[_WATCHED] = str(os.getpid())
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(whycrash, [whycrash, "run", *arguments, "--", *_own_command()])


def _user_scheme():
    return "posix_user" if os.name == "posix" else sysconfig._get_default_scheme()


def _is_watched():
    """Whether a ``whycrash run`` is above this process, or was when it was started."""
    if _WATCHED in os.environ:
        return True
    pid = os.getpid()
    while pid > 1:
        try:
            with open(f"/proc/{pid}/stat") as file:
                name, _, rest = file.read().partition("(")[2].rpartition(")")
        except OSError:
            return False
        if name == "whycrash":
            return True
        pid = int(rest.split()[1])
    return False


def _reason_not_to(whycrash):
    if whycrash is None:
        return "there is no program whycrash, neither with this package nor on the PATH"
    if hasattr(sys, "ps1") or sys.flags.interactive:
        return "it is an interactive session"
    if len(_own_command()) < 2 or sys.argv[:1] in ([""], ["-"]):
        return "it came through standard input, which can not be read again"
    if threading.active_count() > 1:
        return "it has started threads already: call whycrash.install() before anything else"
    try:
        works = subprocess.run([whycrash, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{whycrash} can not be run: {error}"
    if works.returncode != 0:
        said = works.stderr.decode(errors="replace").strip()
        return f"{whycrash} can not be run: {said}"
    return None


def _own_command():
    """What this process was started with, and the interpreter that it is."""
    try:
        with open("/proc/self/cmdline", "rb") as file:
            words = file.read().split(b"\0")[:-1]
    except OSError:
        return []
    return [os.fsencode(sys.executable), *words[1:]]
