//! CUDA, its libraries, and what frameworks say of their errors.

use serde_json::{Value, json};

use super::{GIB, check, events};

#[test]
fn cuda_and_its_libraries() {
    for (text, expected) in [
        (
            "RuntimeError: CUDA error: an illegal memory access was encountered",
            json!({"api": "cuda", "code": 700, "name": "cudaErrorIllegalAddress", "sticky": true}),
        ),
        (
            "torch.AcceleratorError: CUDA error: device-side assert triggered",
            json!({"code": 710, "sticky": true}),
        ),
        (
            "RuntimeError: CUDA error: out of memory",
            json!({"code": 2, "sticky": false}),
        ),
        (
            "RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable",
            json!({"code": 46}),
        ),
        (
            "RuntimeError: CUDA error: no kernel image is available for execution on the device",
            json!({"code": 209}),
        ),
        (
            "  what():  [X][ERROR] CUDA runtime error in cudaLaunchKernelExC(&config, f, args): no kernel image is available for execution on the device (/src/x.cu:214)",
            json!({"code": 209, "call": "cudaLaunchKernelExC(&config, f, args)", "file": "/src/x.cu", "line": 214}),
        ),
        (
            "[FT][ERROR] CUDA runtime error: an illegal memory access was encountered /src/utils/memory.cu:89",
            json!({"code": 700, "file": "/src/utils/memory.cu", "line": 89}),
        ),
        (
            "node3: Test CUDA failure common.cu:892 'out of memory'",
            json!({"code": 2}),
        ),
        (
            "RuntimeError: HIP error: invalid device ordinal",
            json!({"api": "hip", "code": 101}),
        ),
        (
            "RuntimeError: CUDA driver error: unknown error",
            json!({"api": "driver", "code": 999}),
        ),
        (
            "RuntimeError: cuda runtime error (59) : device-side assert triggered at /pytorch/aten/THC/THCReduce.cuh:12",
            json!({"code": 710, "file": "/pytorch/aten/THC/THCReduce.cuh", "line": 12}),
        ),
        (
            "THCudaCheck FAIL file=/pytorch/aten/THC/THCGeneral.cpp line=405 error=11 : invalid argument",
            json!({"code": 1, "line": 405}),
        ),
        (
            "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
            json!({"api": "cublas", "name": "CUBLAS_STATUS_ALLOC_FAILED", "call": "cublasCreate(handle)"}),
        ),
        (
            "RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED",
            json!({"api": "cudnn", "name": "CUDNN_STATUS_EXECUTION_FAILED"}),
        ),
        (
            "RuntimeError: GET was unable to find an engine to execute this computation",
            json!({"api": "cudnn"}),
        ),
        (
            "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' start method",
            json!({"api": "cuda"}),
        ),
    ] {
        check(text, "cuda-error", &expected);
    }
}

#[test]
fn cuda_errors_in_the_words_of_other_libraries() {
    for (text, expected) in [
        (
            "CUDA error (csrc/attention/forward.cpp:88): an illegal memory access was encountered",
            json!({"code": 700, "file": "csrc/attention/forward.cpp", "line": 88, "sticky": true}),
        ),
        (
            "RuntimeError: Triton Error [CUDA]: misaligned address",
            json!({"code": 716}),
        ),
        (
            "RuntimeError: /src/engine/kernels.cu:31 in function launch: CUDA Error: unspecified launch failure",
            json!({"code": 719}),
        ),
        (
            "Error invalid device ordinal at line 61 in file /src/csrc/ops.cu",
            json!({"code": 101, "file": "/src/csrc/ops.cu", "line": 61}),
        ),
        (
            "CUDA error at scan.cu:12 code=700(cudaErrorIllegalAddress) \"cudaDeviceSynchronize()\"",
            json!({"code": 700, "file": "scan.cu", "line": 12, "call": "cudaDeviceSynchronize()"}),
        ),
        (
            "Search for `cudaErrorStreamCaptureUnsupported' in https://docs.nvidia.com/cuda/ for more information.",
            json!({"code": 900}),
        ),
        (
            "Error: Cuda(Load { cuda: DriverError(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, \"the provided PTX was compiled with an unsupported toolchain.\") })",
            json!({"api": "driver", "code": 222}),
        ),
        (
            "(event_synchronize(e)) error( cudaErrorIllegalAddress): an illegal memory access was encountered a.hpp:153",
            json!({"code": 700}),
        ),
        (
            "RuntimeError: CUDA error encountered at: /src/join.cuh:357:700 cudaErrorIllegalAddress an illegal memory address was met",
            json!({"code": 700}),
        ),
        (
            "  what():  /src/predictor.cu(322): unspecified launch failure",
            json!({"code": 719}),
        ),
        (
            "Faiss assertion 'err == cudaSuccess' failed in void f() at a.cpp:312; details: CUDA error 2 out of memory",
            json!({"code": 2}),
        ),
        (
            "LogicError: cuMemcpyDtoHAsync failed: misaligned address",
            json!({"code": 716}),
        ),
        (
            "hip_queue: hipMemsetAsync() failed (error code = HIP:1)",
            json!({"api": "hip", "code": 1, "call": "hipMemsetAsync"}),
        ),
        (
            "[error] Unexpected error from cudaGetDeviceCount(). Did you call it before? Error 805: MPS client failed to connect to the MPS control daemon or the MPS server",
            json!({"code": 805}),
        ),
        (
            "GPUassert: device-side assert triggered scan.cu 12",
            json!({"code": 710, "file": "scan.cu", "line": 12}),
        ),
        (
            "acme.CUDARuntimeError: cudaErrorLaunchFailure: unspecified launch failure",
            json!({"code": 719}),
        ),
        (
            "XlaRuntimeError: INTERNAL: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered",
            json!({"api": "driver", "code": 700, "sticky": true}),
        ),
        (
            "[11/21/2026-10:00:00] [TRT] [E] 1: [runner.cpp::run::12] Error Code 1: Cuda Runtime (an illegal instruction was encountered)",
            json!({"code": 715}),
        ),
        (
            "Memory access fault by GPU node-2 (Agent handle: 0x55d0) on address 0x7f1200000000. Reason: Page not present or supervisor privilege.",
            json!({"api": "hip", "sticky": true}),
        ),
    ] {
        check(text, "cuda-error", &expected);
    }
    for text in [
        "wrote the results at line 12 in file /data/out.csv",
        "Error rates at line 4 in file /data/rates.csv",
        "CUDA_ERROR_POLICY is not set",
        "failed to allocate 2.00G (2147483648 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
        "caught cudaErrorNotReady, polling on",
    ] {
        assert_eq!(events(text), Vec::<Value>::new(), "{text}");
    }
}

#[test]
fn a_folded_message_is_read_whole() {
    let message = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79.00 GiB of which 1.00 GiB is free. Including non-PyTorch memory, this process has 78.00 GiB memory in use. Of the allocated memory 70.00 GiB is allocated by PyTorch, and 6.00 GiB is reserved by PyTorch but unallocated. If reserved";
    let expected = json!({"gpu": 3, "this_process": 78 * GIB, "reserved_unallocated": 6 * GIB});
    for width in [64, 80, 116] {
        let letters: Vec<char> = message.chars().collect();
        let anywhere: Vec<String> = letters.chunks(width).map(|line| line.iter().collect()).collect();
        check(&anywhere.join("\n"), "cuda-oom", &expected);
        let mut between = vec![String::new()];
        for word in message.split(' ') {
            let last = between.last_mut().expect("a line");
            if last.len() + 1 + word.len() > width {
                between.push(word.to_owned());
            } else {
                *last = format!("{last} {word}").trim_start().to_owned();
            }
        }
        check(&between.join("\n"), "cuda-oom", &expected);
    }
    let cut = "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total\nstep 4\nstep 5\n";
    check(cut, "cuda-oom", &json!({"requested": 2 * GIB, "capacity": null}));
}

#[test]
fn equal_device_asserts_are_counted() {
    let line = |thread: u32, expression: &str| {
        format!(
            "/pytorch/aten/src/ATen/native/cuda/Loss.cu:250: nll_loss_forward<float, long>: block: [0,0,0], thread: [{thread},0,0] Assertion `{expression}` failed.\n"
        )
    };
    let mut text: String = (3..1003)
        .map(|thread| line(thread, "t >= 0 && t < n_classes"))
        .collect();
    check(
        &text,
        "device-assert",
        &json!({"count": 1000, "line": 250, "function": "nll_loss_forward<float, long>", "thread": [3, 0, 0]}),
    );
    text += &line(0, "srcIndex < srcSelectDimSize && \"it's\"");
    assert_eq!(events(&text).len(), 2);
}

#[test]
fn windows_names_no_function_in_a_device_assert() {
    check(
        r"C:\actions-runner\pytorch\aten\src\ATen\native\cuda\NLLLoss2d.cu:105: block: [8,0,0], thread: [416,0,0] Assertion `t >= 0 && t < n_classes` failed.",
        "device-assert",
        &json!({"line": 105, "function": "NLLLoss2d.cu", "expression": "t >= 0 && t < n_classes"}),
    );
}

#[test]
fn hip_names_no_thread_in_a_device_assert() {
    let line = "/src/aten/src/ATen/native/hip/Indexing.hip:1255: indexSelectLargeIndex: Device-side assertion `srcIndex < srcSelectDimSize' failed.\n";
    check(
        &line.repeat(3),
        "device-assert",
        &json!({"line": 1255, "function": "indexSelectLargeIndex", "expression": "srcIndex < srcSelectDimSize", "count": 3}),
    );
}

#[test]
fn a_number_alone_tells_the_error() {
    for (text, code) in [
        (
            "ERROR: ../rtSafe/cuda/reformat.cu (902) - Cuda Error in execute: 719 (unspecified launch failure)",
            719,
        ),
        (
            "  what():  Error downloading array forces: Invalid error code (701) at /src/Array.cpp:7",
            701,
        ),
        ("CUDA error: (77)", 700),
        ("CUDA error: 716", 716),
        ("HIP error(98)", 98),
        ("RuntimeError: Unknown CU result: 77", 700),
        ("ERROR: misaligned address in scan.cu at line 7 (error-code 716)", 716),
        (
            "CUDA error: an illegal memory access was encountered: ../src/View.cpp: 212",
            700,
        ),
        (
            "KERNEL_ERROR: invalid configuration argument in scan.cu at line 7 (error-code 9)",
            9,
        ),
        (
            "CUDA error: Launch exceeded timeout in cuCtxSynchronize(), line 1342",
            702,
        ),
        ("CUDA error: Out of memory in cuMemAlloc(&pointer, size)", 2),
        ("MUSA error: invalid device ordinal", 101),
        ("MUSA runtime error: out of memory", 2),
    ] {
        check(text, "cuda-error", &json!({"code": code}));
    }
    for text in [
        "exit with error code (77)",
        "CUDA error 1234567",
        "the error-code 716 is in the manual",
    ] {
        assert!(events(text).is_empty(), "{text}");
    }
}

#[test]
fn gpu_core_dump_progress() {
    let text = "[06:43:15.209195] coredump: Detected an exception of type CUDBG_EXCEPTION_WARP_ILLEGAL_ADDRESS (14)\n\
        [06:43:15.209195] coredump:   - Device: 0\n[06:43:15.209195] coredump:   - SM: 124\n[06:43:15.209195] coredump:   - Warp: 3\n\
        [06:43:15.209195] coredump:   - PC 0x7f10\n[06:43:15.209195] coredump: SM 123/132 has finished state collection\n\
        [06:43:15.209195] coredump: Writing ELF file to /tmp/core.cuda.host.7\n";
    check(
        text,
        "gpu-exception",
        &json!({"exception": "WARP_ILLEGAL_ADDRESS", "code": 14, "device": 0, "sm": 124, "warp": 3, "pc": "0x7f10", "core": "/tmp/core.cuda.host.7"}),
    );
}

#[test]
fn what_torch_warns_of_while_it_looks_for_gpus() {
    let warning = "/venv/torch/cuda/__init__.py:129: UserWarning: CUDA initialization: Unexpected error from \
                   cudaGetDeviceCount(). Did you run some cuda functions before calling NumCudaDevices() that might have already set \
                   an error? Error 802: system not yet initialized (Triggered internally at ../c10/cuda/CUDAFunctions.cpp:108.)";
    check(warning, "cuda-log", &json!({"code": 802}));
    let old =
        "x.py:1: UserWarning: CUDA initialization: The NVIDIA driver on your system is too old (found version 10020).";
    check(old, "cuda-log", &json!({"code": null}));
    let tensorflow = "failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected";
    check(tensorflow, "cuda-log", &json!({"code": null}));
}

#[test]
fn the_whole_message_of_a_graph_of_tensorflow() {
    let text = "Traceback (most recent call last):\n  File \"fit.py\", line 40, in <module>\n    model.fit(ds)\n\
                tensorflow.python.framework.errors_impl.ResourceExhaustedError: Graph execution error:\n\n\
                Detected at node 'conv2d_12/Conv2D' defined at (most recent call last):\n    File \"fit.py\", line 40, in <module>\n\
                Node: 'conv2d_12/Conv2D'\nOOM when allocating tensor with shape[64,512,56,56]\n\t [[{{node conv2d_12}}]] \
                [Op:__inference_train_function_8891]\nsaved the log\n";
    let all = events(text);
    let message = all[0]["detail"]["message"].as_str().unwrap();
    assert!(
        message.contains("OOM when allocating tensor") && !message.contains("saved the log"),
        "{message}"
    );
}
