//! Functions that stand on every stack and tell nothing: how a process dies, starts, calls and dispatches.

use crate::model::{Frame, FrameKind};

/// True for a frame that says nothing about the defect.
pub(super) fn is_machinery(frame: &Frame, function: &str) -> bool {
    match frame.kind {
        FrameKind::Python => python(frame, function),
        FrameKind::Native => native(function),
        FrameKind::Gpu => false,
    }
}

/// Names as they are after normalising: no parameters, no template arguments.
const EXACT: [&str; 46] = [
    "raise",
    "abort",
    "gsignal",
    "kill",
    "tgkill",
    "__assert_fail",
    "__assert_fail_base",
    "__assert",
    "__libc_message",
    "__libc_message_impl",
    "__libc_fatal",
    "malloc_printerr",
    "__fortify_fail",
    "__stack_chk_fail",
    "__chk_fail",
    "_int_free",
    "_int_malloc",
    "_int_free_chunk",
    "__libc_free",
    "__libc_malloc",
    "free",
    "malloc",
    "cfree",
    "operator delete",
    "operator new",
    "_start",
    "clone",
    "clone3",
    "__clone",
    "__clone3",
    "start_thread",
    "thread_start",
    "__restore_rt",
    "__kernel_rt_sigreturn",
    "<signal handler called>",
    "execute_native_thread_routine",
    "gomp_thread_start",
    "GOMP_parallel",
    "rust_begin_unwind",
    "__rust_start_panic",
    "rust_panic",
    "main",
    "__gxx_personality_v0",
    "abort_message",
    "ffi_call",
    "_ctypes_callproc",
];

/// Starts of names.
const STARTS: [&str; 56] = [
    "__pthread_kill",
    "pthread_kill",
    "__GI_",
    "__libc_start",
    "_Unwind_",
    "__cxa_",
    "__cxxabiv1::",
    "std::terminate",
    "__gnu_cxx::__verbose_terminate",
    "faulthandler_",
    "_Py_",
    "Py_",
    "PyObject_",
    "_PyObject_",
    "PyEval_",
    "_PyEval_",
    "PyRun_",
    "pyrun_",
    "run_mod",
    "run_eval_code",
    "PyVectorcall_",
    "_PyVectorcall_",
    "PyCFunction_",
    "PyFunction_",
    "_PyFunction_",
    "cfunction_",
    "method_vectorcall",
    "slot_tp_",
    "type_call",
    "vectorcall_",
    "object_vacall",
    "pymain_",
    "pybind11::cpp_function",
    "pybind11::detail::",
    "c10::impl::",
    "c10::Dispatcher::",
    "c10::KernelFunction",
    "c10::OperatorHandle",
    "c10::TypedOperatorHandle",
    "at::_ops::",
    "c10::function_ref",
    "c10::Error::",
    "c10::detail::torch",
    "torch::autograd::THP",
    "std::function",
    "std::_Function_handler",
    "std::__invoke",
    "std::invoke",
    "std::thread::",
    "std::panicking::",
    "core::panicking::",
    "core::ops::function::",
    "std::rt::",
    "std::sys::",
    "std::sys_common::",
    "__rust",
];

fn native(function: &str) -> bool {
    let bare = function.trim_start_matches("void ");
    EXACT.contains(&bare)
        || STARTS.iter().any(|start| bare.starts_with(start))
        || bare.contains("std::rt::lang_start")
        || bare.contains("__rust_begin_short_backtrace")
        || bare.contains("__rust_end_short_backtrace")
        || bare.contains("backtrace_rs::backtrace")
        || bare.ends_with("_ctypes_callproc")
        || bare.starts_with("__rustc::")
}

/// Function, or `*` for any, and the end of the file's path.
const PYTHON: [(&str, &str); 18] = [
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

fn python(frame: &Frame, function: &str) -> bool {
    let file = frame.file.as_deref().unwrap_or_default();
    let known = PYTHON
        .iter()
        .any(|(name, end)| (*name == "*" || function == *name) && file.ends_with(end));
    known || file.starts_with("<frozen importlib")
}
