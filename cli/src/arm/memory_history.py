"""Has PyTorch remember its latest allocations, and write them down when memory runs out.

`whycrash run` puts the folder of this file first on PYTHONPATH where that was asked for. Before anything of the job
runs, it takes itself out of `sys.path` and `sys.modules` and lets a `sitecustomize` of the job's own follow, with
whatever that raises. PyTorch is not imported here: this waits for the job to do so, and then for CUDA to be initialised.
"""
import sys

# Allocations and releases that are remembered, and snapshots of one process.
EVENTS = 100000
SNAPSHOTS = 2


class _Wait(object):
    """Is told of the import of torch.cuda, once, and otherwise finds nothing."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch.cuda":
            return None
        sys.meta_path.remove(self)
        specs = (finder.find_spec(name, path, target) for finder in sys.meta_path if hasattr(finder, "find_spec"))
        spec = next((spec for spec in specs if spec is not None), None)
        if spec is not None:
            _follow(spec.loader)
        return spec


def _follow(loader):
    execute = loader.exec_module

    def exec_module(module):
        del loader.exec_module
        execute(module)
        try:
            module._lazy_call(_record)
        except Exception:
            pass

    loader.exec_module = exec_module


def _record():
    try:
        import torch

        torch.cuda.memory._record_memory_history(max_entries=EVENTS, stacks="python")
        torch._C._cuda_attach_out_of_memory_observer(_Observer())
    except Exception:
        pass


class _Observer(object):
    def __init__(self):
        self.left = SNAPSHOTS

    def __call__(self, *_):
        if self.left == 0:
            return
        self.left -= 1
        try:
            import os
            import torch

            folder = os.environ["WHYCRASH_SNAPSHOTS"]
            name = "oom.%s.%d.%d.pickle" % (os.environ.get("RANK", "0"), os.getpid(), SNAPSHOTS - self.left)
            partial = os.path.join(folder, "." + name)
            torch.cuda.memory._dump_snapshot(partial)
            os.rename(partial, os.path.join(folder, name))
        except Exception:
            pass


sys.path[:] = [folder for folder in sys.path if folder != __file__.rpartition("/")[0]]
if sys.version_info >= (3, 6):
    sys.meta_path.insert(0, _Wait())
del sys.modules["sitecustomize"]
# The job's own, or the error that there is none, which the interpreter expects.
import sitecustomize  # noqa: E402,F401
