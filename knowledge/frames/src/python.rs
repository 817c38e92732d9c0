//! Frames of Python code.

use crate::{Names, Owner, is_installed_python};

/// Function, or `*` for any, and the end of the file's path.
const MACHINERY: [(&str, &str); 18] = [
    ("_call_impl", "torch/nn/modules/module.py"),
    ("_wrapped_call_impl", "torch/nn/modules/module.py"),
    ("reraise", "torch/_utils.py"),
    ("decorate_context", "torch/utils/_contextlib.py"),
    ("decorate_autocast", "torch/amp/autocast_mode.py"),
    ("_fn", "torch/_dynamo/eval_frame.py"),
    ("compile_wrapper", "torch/_dynamo/eval_frame.py"),
    ("_engine_run_backward", "torch/autograd/graph.py"),
    ("handler", "torch/utils/data/_utils/signal_handling.py"),
    (
        "wrapper",
        "torch/distributed/elastic/multiprocessing/errors/__init__.py",
    ),
    ("*", "torch/distributed/c10d_logger.py"),
    ("*", "torch/utils/data/dataloader.py"),
    ("*", "torch/utils/data/_utils/worker.py"),
    ("*", "torch/utils/data/_utils/fetch.py"),
    ("_bootstrap", "multiprocessing/process.py"),
    ("run", "multiprocessing/process.py"),
    ("_call_with_frames_removed", "importlib._bootstrap>"),
    ("*", "/threading.py"),
];

/// Parts of paths of torch wherever it lies: built from source, or installed into a folder that is not Python's own
/// (`pip install --target`, archives of wheels).
const TORCH: [&str; 17] = [
    "/torch/serialization.py",
    "/torch/_utils.py",
    "/torch/_tensor.py",
    "/torch/_ops.py",
    "/torch/functional.py",
    "/torch/storage.py",
    "/torch/hub.py",
    "/torch/nn/",
    "/torch/optim/",
    "/torch/autograd/",
    "/torch/distributed/",
    "/torch/utils/data/",
    "/torch/utils/checkpoint.py",
    "/torch/cuda/",
    "/torch/_dynamo/",
    "/torch/_inductor/",
    "/torch/multiprocessing/",
];

/// Folders of the interfaces through which Python calls native code, where they are installed.
const CALL_INTERFACES: [&str; 2] = ["/ctypes/", "/cffi/"];

pub fn owner(names: &Names) -> Owner {
    let function = names.function.unwrap_or_default();
    // Tracebacks of Windows have its separators.
    let file = &names.file.unwrap_or_default().replace('\\', "/");
    let installed = is_installed_python(file) || TORCH.iter().any(|part| file.contains(part));
    let known = MACHINERY
        .iter()
        .any(|(name, end)| (*name == "*" || function == *name) && file.ends_with(end));
    let calls = installed && CALL_INTERFACES.iter().any(|folder| file.contains(folder));
    if known || calls || file.starts_with("<frozen importlib") {
        Owner::Machinery
    } else if installed || file.starts_with("<frozen ") {
        Owner::Library
    } else {
        Owner::Program
    }
}
