//! Whose frames are, as their names tell.

mod waits;

use whycrash_frames::{Names, Owner, lead, owner};

fn native<'a>(function: &'a str, module: &'a str) -> Names<'a> {
    Names {
        function: Some(function).filter(|function| !function.is_empty()),
        module: Some(module).filter(|module| !module.is_empty()),
        ..Names::default()
    }
}

fn python<'a>(function: &'a str, file: &'a str) -> Names<'a> {
    Names {
        python: true,
        function: Some(function),
        file: Some(file),
        ..Names::default()
    }
}

#[test]
fn native_frames_have_owners() {
    for (expected, function, module) in [
        (
            Owner::Program,
            "trainer::SumReducer<float>::reduce(float const*) const",
            "/job/build/app",
        ),
        (
            Owner::Program,
            "std::vector<float> trainer::load<int>(std::string const&)",
            "/job/build/app",
        ),
        (Owner::Program, "(anonymous namespace)::decode(int)", "/job/decode.so"),
        (Owner::Program, "", "/job/decode.so"),
        (Owner::Program, "sum", ""),
        (Owner::Program, "step(int)", "/job/libcustom_ops.so"),
        (
            Owner::Library,
            "std::vector<int, std::allocator<int> >::operator[](unsigned long)",
            "/job/build/app",
        ),
        (
            Owner::Library,
            "<alloc::vec::Vec<T> as core::ops::index::Index<usize>>::index",
            "/job/target/release/loader",
        ),
        (
            Owner::Program,
            "<loader::Shard as core::fmt::Display>::fmt",
            "/job/target/release/loader",
        ),
        (
            Owner::Library,
            "at::native::sum_kernel<float>(at::Tensor&)",
            "/venv/lib/python3.12/site-packages/torch/lib/libtorch_cpu.so",
        ),
        (Owner::Library, "", "/usr/lib/x86_64-linux-gnu/libcuda.so.570.133.20"),
        (Owner::Library, "PyErr_Occurred", "/usr/bin/python3.12"),
        (
            Owner::Library,
            "cv::imdecode(cv::_InputArray const&, int)",
            "/x/site-packages/cv2/cv2.abi3.so",
        ),
        (Owner::Machinery, "__strlen_avx2", ""),
        (
            Owner::Machinery,
            "__memmove_avx_unaligned_erms",
            "/lib/x86_64-linux-gnu/libc.so.6",
        ),
        (Owner::Machinery, "memcpy@@GLIBC_2.14", ""),
        (Owner::Machinery, "getenv", "/lib/x86_64-linux-gnu/libc.so.6"),
        (Owner::Machinery, "operator new(unsigned long)", "/job/build/app"),
        (Owner::Machinery, "_int_free", ""),
        (Owner::Machinery, "unlink_chunk.constprop.0", ""),
        (Owner::Machinery, "ffi_call_unix64", "/usr/lib/libffi.so.8"),
        (
            Owner::Machinery,
            "_call_function_pointer",
            "/usr/lib/python3.12/lib-dynload/_ctypes.cpython-312.so",
        ),
        (
            Owner::Machinery,
            "void std::__invoke_impl<void, main::{lambda()#1}>(std::__invoke_other)",
            "/job/build/app",
        ),
        (
            Owner::Machinery,
            "core::panicking::panic_fmt::h0123456789abcdef",
            "/job/build/app",
        ),
        (Owner::Machinery, "", "/usr/bin/python3.12"),
        (Owner::Machinery, "main", "/job/build/app"),
    ] {
        assert_eq!(owner(&native(function, module)), expected, "{function} in {module}");
    }
    let inlined = Names {
        file: Some("/usr/include/c++/12/bits/stl_algo.h"),
        ..native("sort_helper(int*)", "/job/build/app")
    };
    assert_eq!(owner(&inlined), Owner::Library, "a header of the system");
}

#[test]
fn python_frames_have_owners() {
    for (expected, function, file) in [
        (Owner::Program, "step", "/job/train.py"),
        (Owner::Program, "<module>", "<stdin>"),
        (Owner::Program, "wrap", "/job/ctypes/binding.py"),
        (Owner::Program, "load", "/home/a/lib/python3.x/load.py"),
        (
            Owner::Library,
            "relu",
            "/venv/lib/python3.12/site-packages/torch/nn/functional.py",
        ),
        (Owner::Library, "loads", "/usr/lib/python3.12/json/__init__.py"),
        (Owner::Library, "save", "/opt/deps/torch/serialization.py"),
        (Owner::Library, "_save", "/workspace/pytorch/torch/serialization.py"),
        (
            Owner::Library,
            "save",
            r"C:\venv\Lib\site-packages\torch\serialization.py",
        ),
        (Owner::Library, "decode", r"C:\Python311\Lib\json\decoder.py"),
        (
            Owner::Machinery,
            "_call_impl",
            r"C:\venv\Lib\site-packages\torch\nn\modules\module.py",
        ),
        (Owner::Program, "save", r"C:\job\train.py"),
        (Owner::Program, "save", "/home/me/torch/train.py"),
        (Owner::Machinery, "string_at", "/usr/lib/python3.12/ctypes/__init__.py"),
        (
            Owner::Machinery,
            "_call_impl",
            "/venv/lib/python3.12/site-packages/torch/nn/modules/module.py",
        ),
        (
            Owner::Machinery,
            "_call_with_frames_removed",
            "<frozen importlib._bootstrap>",
        ),
    ] {
        assert_eq!(owner(&python(function, file)), expected, "{function} in {file}");
    }
}

#[test]
fn the_program_leads_before_libraries_and_those_before_its_entry() {
    let libc = native("__memmove_avx_unaligned_erms", "/lib/libc.so.6");
    let torch = native("at::native::sum()", "/x/site-packages/torch/lib/libtorch.so");
    let own = native("decode(int)", "/job/decode.so");
    let entry = native("main", "/job/app");
    assert_eq!(lead([libc, torch, own, entry]), Some(2));
    assert_eq!(lead([libc, torch, entry]), Some(1));
    assert_eq!(lead([libc, entry]), Some(1));
    assert_eq!(lead([libc]), None);
}
