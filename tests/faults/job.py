"""A distributed job on the CPU in which one rank fails, in one of the ways that jobs of many GPUs do.

To be started by torchrun: every rank adds numbers up with the others, step after step, and after some steps one of them
has a fault. Nothing else about the job differs.
"""

import argparse
import ctypes
import datetime
import os
import signal
import threading
import time

import torch
import torch.distributed as dist


class InjectedError(Exception):
    pass


def raise_in_main():
    raise InjectedError("a fault in the training loop")


def raise_into_main():
    """From another thread, into whatever the main thread does."""

    def later():
        main = ctypes.c_ulong(threading.main_thread().ident)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(main, ctypes.py_object(InjectedError))

    threading.Thread(target=later).start()


def raise_in_handler():
    def handler(number, frame):
        raise InjectedError("a fault in a signal handler")

    signal.signal(signal.SIGUSR1, handler)
    os.kill(os.getpid(), signal.SIGUSR1)


def keep_the_lock():
    """Native code that waits without giving the interpreter's lock back, in a thread beside the main one."""
    threading.Thread(target=lambda: ctypes.PyDLL(None).sleep(3600), daemon=True).start()


def segfault():
    ctypes.string_at(1)


def sleep():
    time.sleep(3600)


def send(number):
    return lambda: os.kill(os.getpid(), number)


FAULTS = {
    "exception": raise_in_main,
    "async-exception": raise_into_main,
    "handler-exception": raise_in_handler,
    "abort": os.abort,
    "held-gil": keep_the_lock,
    "segfault": segfault,
    "sigint": send(signal.SIGINT),
    "sigkill": send(signal.SIGKILL),
    "sigterm": send(signal.SIGTERM),
    "sigstop": send(signal.SIGSTOP),
    "sleep": sleep,
}


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--fault", choices=FAULTS, required=True)
    arguments.add_argument("--rank", type=int, default=2)
    arguments.add_argument("--step", type=int, default=20)
    arguments.add_argument("--timeout", type=float, default=25)
    asked = arguments.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=asked.timeout))
    for step in range(2000):
        if step == asked.step and dist.get_rank() == asked.rank:
            FAULTS[asked.fault]()
        total = torch.ones(1000)
        dist.all_reduce(total)
        time.sleep(0.02)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
