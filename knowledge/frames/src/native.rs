//! Frames of native and GPU code.

use crate::{Names, Owner, base, is_installed_python};

/// Names without parameters and template arguments: how a process dies, allocates, starts, calls and dispatches.
const EXACT: [&str; 64] = [
    "raise",
    "abort",
    "gsignal",
    "kill",
    "tgkill",
    "__assert_fail",
    "__assert_fail_base",
    "__assert_perror_fail",
    "__assert",
    "__libc_message",
    "__libc_message_impl",
    "__libc_fatal",
    "__libc_signal_restore_set",
    "__fortify_fail",
    "__stack_chk_fail",
    "__chk_fail",
    "malloc_printerr",
    "malloc_consolidate",
    "_int_free",
    "_int_free_chunk",
    "_int_free_merge_chunk",
    "_int_malloc",
    "_int_realloc",
    "_int_memalign",
    "unlink_chunk",
    "sysmalloc",
    "tcache_get",
    "tcache_put",
    "__libc_free",
    "__libc_malloc",
    "__libc_calloc",
    "__libc_realloc",
    "free",
    "malloc",
    "calloc",
    "realloc",
    "cfree",
    "operator delete",
    "operator delete[]",
    "operator new",
    "operator new[]",
    "_start",
    "clone",
    "clone3",
    "__clone",
    "__clone3",
    "start_thread",
    "thread_start",
    "__restore_rt",
    "killpg",
    "__sigaction",
    "__kernel_rt_sigreturn",
    "<signal handler called>",
    "execute_native_thread_routine",
    "gomp_thread_start",
    "GOMP_parallel",
    "rust_begin_unwind",
    "rust_panic",
    "main",
    "__gxx_personality_v0",
    "abort_message",
    "ffi_call",
    "ffi_call_int",
    "ffi_call_unix64",
];

/// Starts of names.
const STARTS: [&str; 62] = [
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
    "c10::FatalSignalHandler::",
    "folly::symbolizer::",
    "llvm::sys::",
    "ucs_handle_error",
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
    "std::process::abort",
    "std::rt::",
    "std::sys::",
    "std::sys_common::",
    "__rust",
    "__asan_",
];

/// Parts of names.
const PARTS: [&str; 5] = [
    "std::rt::lang_start",
    "__rust_begin_short_backtrace",
    "__rust_end_short_backtrace",
    "backtrace_rs::backtrace",
    "_ctypes_callproc",
];

/// Binaries that fail on what they were given: the C library, the loader, and the interfaces through which Python calls
/// native code.
const RUNTIMES: [&str; 15] = [
    "libc.so",
    "libc-2",
    "libc.musl",
    "ld-musl",
    "ld-linux",
    "ld-2",
    "libm.so",
    "libm-2",
    "libpthread",
    "libgcc_s",
    "libffi",
    "_ctypes",
    "_cffi_backend",
    "linux-vdso",
    "[vdso]",
];

/// The interpreter, and runtimes of languages: in these a frame without a name is a caller, or a starter of threads.
const CALLERS: [&str; 4] = ["python3", "libpython", "libstdc++", "libc++"];

/// Libraries of frameworks and vendors, wherever they are installed.
const LIBRARIES: [&str; 15] = [
    "libgomp",
    "libiomp5",
    "libtorch",
    "libc10",
    "libcuda",
    "libcudnn",
    "libcublas",
    "libcufft",
    "libcurand",
    "libcusolver",
    "libcusparse",
    "libcupti",
    "libnvidia-",
    "libnccl",
    "libmkl_",
];

/// Folders of the system's libraries.
const SYSTEM_FOLDERS: [&str; 6] = [
    "/lib/",
    "/lib64/",
    "/usr/lib/",
    "/usr/lib64/",
    "/usr/local/lib/",
    "/usr/local/cuda",
];

/// Namespaces of libraries whose templates are compiled into the program.
const NAMESPACES: [&str; 10] = [
    "std::",
    "__gnu_cxx::",
    "core::",
    "alloc::",
    "at::",
    "c10::",
    "torch::",
    "pybind11::",
    "thrust::",
    "cub::",
];

/// Folders of headers and sources that are installed and not written.
const SOURCE_FOLDERS: [&str; 4] = ["/usr/include/", "/usr/local/include/", "/rustc/", "/usr/src/"];

/// Folders of the C library's own sources, as distributions build it.
const C_LIBRARY_SOURCES: [&str; 4] = ["./nptl/", "../nptl/", "../sysdeps/", "./csu/"];

pub fn owner(names: &Names) -> Owner {
    let module = names.module.unwrap_or_default();
    let binary = base(module);
    let starts = |list: &[&str]| list.iter().any(|start| binary.starts_with(start));
    if starts(&RUNTIMES) {
        return Owner::Machinery;
    }
    let calls = binary == "python" || starts(&CALLERS);
    let is_library = calls || starts(&LIBRARIES);
    let Some(function) = names.function.map(bare) else {
        return if module.is_empty() || calls {
            Owner::Machinery
        } else {
            of_module(module, is_library)
        };
    };
    let file = names.file.unwrap_or_default();
    let of_c_library = C_LIBRARY_SOURCES.iter().any(|folder| file.starts_with(folder));
    if of_c_library || is_machinery(function) || is_memory_function(function) {
        return Owner::Machinery;
    }
    // `<alloc::vec::Vec<T> as core::ops::index::Index<usize>>::index`
    let path = function.trim_start_matches(['<', '&']);
    let compiled_in = NAMESPACES.iter().any(|namespace| path.starts_with(namespace))
        || SOURCE_FOLDERS.iter().any(|folder| file.starts_with(folder));
    of_module(module, compiled_in || is_library)
}

fn of_module(module: &str, is_library: bool) -> Owner {
    let installed = is_installed_python(module) || SYSTEM_FOLDERS.iter().any(|folder| module.starts_with(folder));
    if is_library || installed {
        Owner::Library
    } else {
        Owner::Program
    }
}

fn is_machinery(function: &str) -> bool {
    EXACT.contains(&function)
        || STARTS.iter().any(|start| function.starts_with(start))
        || PARTS.iter().any(|part| function.contains(part))
}

/// `memcpy`, `__strlen_avx2`, `__memmove_evex_unaligned_erms`: they fail on what they were given, also where they are
/// not in a C library of their own.
fn is_memory_function(function: &str) -> bool {
    const PLAIN: [&str; 14] = [
        "memcpy", "memmove", "memset", "memcmp", "memchr", "strlen", "strnlen", "strcpy", "strncpy", "strcmp",
        "strncmp", "strcat", "strchr", "strdup",
    ];
    const VARIANTS: [&str; 6] = ["_avx", "_evex", "_sse", "_ssse", "_erms", "_generic"];
    let name = function.trim_start_matches('_');
    let string = ["mem", "str", "wcs", "wmem"]
        .iter()
        .any(|start| name.starts_with(start));
    PLAIN.contains(&name) || string && VARIANTS.iter().any(|variant| name.contains(variant))
}

/// A function's qualified name: without its result, parameters, template arguments, version and clones.
fn bare(function: &str) -> &str {
    let function = function.split(" [clone ").next().unwrap_or(function);
    let (mut start, mut end, mut depth) = (0, function.len(), 0_u32);
    for (at, letter) in function.char_indices() {
        let (before, rest) = function.split_at(at);
        let of_operator = before.trim_end_matches(['<', '>', '=', '-', '(']).ends_with("operator");
        match letter {
            '(' | '<' | ' ' | '>' | ')' if of_operator => {}
            '(' if depth == 0 && !rest.starts_with("(anonymous namespace)") => {
                end = at;
                break;
            }
            '(' | '<' => depth += 1,
            ')' | '>' => depth = depth.saturating_sub(1),
            // What stands before is the type of the result.
            ' ' if depth == 0 => start = at + 1,
            _ => {}
        }
    }
    let name = function.get(start..end).unwrap_or_default();
    let arguments = name.find('<').filter(|at| *at > 0 && !name.contains("operator"));
    let name = name.get(..arguments.unwrap_or(name.len())).unwrap_or(name);
    let name = name.split_once('@').map_or(name, |(name, _version)| name);
    match name.split_once('.') {
        Some((name, clone)) if !name.is_empty() && is_clone(clone) => name,
        _ => name,
    }
}

/// What compilers add to the name of a function's copy.
fn is_clone(suffix: &str) -> bool {
    ["constprop", "isra", "part", "cold", "llvm", "lto_priv"]
        .iter()
        .any(|kind| suffix.starts_with(kind))
}
