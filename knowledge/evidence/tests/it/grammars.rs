//! One line in, one event out: every grammar, in every form its line has had.

use serde_json::{Value, json};
use whycrash_evidence::{Limits, read};

use crate::support::artifact;

/// The events of a text, as JSON.
fn events(text: &str) -> Vec<Value> {
    let (artifact, _keep) = artifact("train.log", text.as_bytes());
    let timeline = read(&artifact, &Limits::default()).evidence.timeline;
    timeline
        .iter()
        .map(|event| serde_json::to_value(event).expect("an event is JSON"))
        .collect()
}

/// The text has exactly one event of this kind, and its particulars have at least these members.
fn check(text: &str, kind: &str, expected: &Value) {
    let all = events(text);
    let found: Vec<&Value> = all.iter().filter(|event| event["kind"] == kind).collect();
    assert_eq!(found.len(), 1, "one {kind} in {text:?}, among {all:#?}");
    for (name, value) in expected.as_object().expect("an object") {
        let of_event = ["rank", "time"].contains(&name.as_str()) || (name == "pid" && kind != "dataloader-worker");
        let place = if of_event { found[0] } else { &found[0]["detail"] };
        assert_eq!(&place[name], value, "{name} of {text:?}");
    }
}

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;

#[test]
fn out_of_memory_of_every_era() {
    for (text, expected) in [
        (
            "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 15.78 GiB total capacity; 12.50 GiB already allocated; 1.25 GiB free; 13.00 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.",
            json!({"backend": "CUDA", "requested": 2 * GIB, "gpu": 0, "allocated": 25 * GIB / 2, "free": 5 * GIB / 4, "reserved_unallocated": GIB / 2}),
        ),
        (
            "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 1; 10.00 GiB total capacity; 9.00 GiB already allocated; 512 bytes free; 9.50 GiB cached)",
            json!({"requested": 20 * MIB, "gpu": 1, "free": 512, "reserved_unallocated": GIB / 2}),
        ),
        (
            "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB (GPU 3; 10.00 GiB total capacity; 9.00 GiB already allocated; 0 bytes free; 5.00 GiB allowed; 9.50 GiB reserved in total by PyTorch)",
            json!({"gpu": 3, "allowed": 5 * GIB}),
        ),
        (
            "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacty of 79.00 GiB of which 100.00 MiB is free. Including non-PyTorch memory, this process has 78.00 GiB memory in use. Of the allocated memory 70.00 GiB is allocated by PyTorch, and 6.00 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting max_split_size_mb to avoid fragmentation.",
            json!({"requested": 512 * MIB, "capacity": 79 * GIB, "this_process": 78 * GIB, "reserved_unallocated": 6 * GIB, "other_processes": []}),
        ),
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.00 GiB. GPU 2 has a total capacity of 80.00 GiB of which 1.00 GiB is free. Process 4711 has 30.00 GiB memory in use. Process 4712 has 9.00 GiB memory in use. Including non-PyTorch memory, this process has 40.00 GiB memory in use. 60.00 GiB allowed; Of the allocated memory 38.00 GiB is allocated by PyTorch, with 2.00 GiB allocated in private pools (e.g., CUDA Graphs), and 1.00 GiB is reserved by PyTorch but unallocated.",
            json!({"gpu": 2, "private_pools": 2 * GIB, "allowed": 60 * GIB, "other_processes": [{"pid": 4711, "bytes": 30 * GIB}, {"pid": 4712, "bytes": 9 * GIB}]}),
        ),
        (
            "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 16.00 MiB. GPU 0 has a total capacity of 64.00 GiB of which 8.00 MiB is free. Of the allocated memory 60.00 GiB is allocated by PyTorch, and 3.00 GiB is reserved by PyTorch but unallocated.",
            json!({"backend": "HIP", "this_process": null}),
        ),
        (
            "torch.OutOfMemoryError: XPU out of memory. Tried to allocate 6.00 GiB. GPU 1 has a total capacity of 15.00 GiB. Of the allocated memory 14.00 GiB is allocated by PyTorch, and 128.00 MiB is reserved by PyTorch but unallocated.",
            json!({"backend": "XPU", "gpu": 1, "capacity": 15 * GIB, "free": null, "allocated": 14 * GIB, "reserved_unallocated": 128 * MIB}),
        ),
        (
            "RuntimeError: MPS backend out of memory (MPS allocated: 17.50 GB, other allocations: 231.22 MB, max allowed: 18.00 GB). Tried to allocate 512.00 MB on private pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory allocations (may cause system failure).",
            json!({"backend": "MPS", "requested": 512 * MIB, "capacity": 18 * GIB, "allocated": 35 * GIB / 2}),
        ),
        (
            "OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. Of the allocated memory 30.00 GiB is allocated by PyTorch, and 3.00 GiB is reserved by PyTorch but unallocated. Including non-PyTorch memory, this process has 36.00 GiB memory in use. GPU 5 has a total capacity of 40.00 GiB of which 1.00 GiB is free.",
            json!({"gpu": 5, "capacity": 40 * GIB, "free": GIB, "allocated": 30 * GIB, "reserved_unallocated": 3 * GIB, "this_process": 36 * GIB}),
        ),
        (
            "RuntimeError: CUDA out of memory. Tried to allocate more than 1EB memory.",
            json!({"requested": 1_u64 << 60}),
        ),
        (
            "  what():  CUDA out of memory. Tried to allocate 64.00 MiB",
            json!({"requested": 64 * MIB, "capacity": null}),
        ),
    ] {
        check(text, "cuda-oom", &expected);
    }
}

#[test]
fn host_memory() {
    for (text, expected) in [
        (
            "RuntimeError: [enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 4096 bytes. Error code 12 (Cannot allocate memory)",
            json!({"allocator": "DefaultCPUAllocator", "requested": 4096}),
        ),
        (
            "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 256. TiB for an array with shape (35184372088832,) and data type float64",
            json!({"allocator": "numpy", "requested": 256_u64 << 40}),
        ),
        ("  what():  std::bad_alloc", json!({"allocator": "malloc"})),
    ] {
        check(text, "host-oom", &expected);
    }
}

#[test]
fn dataloader_workers() {
    for (text, expected) in [
        (
            "RuntimeError: DataLoader worker (pid 734) is killed by signal: Killed. ",
            json!({"pid": 734, "signal": "Killed", "shared_memory": false}),
        ),
        (
            "RuntimeError: DataLoader worker (pid 734) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit.",
            json!({"signal": "Bus error", "shared_memory": true}),
        ),
        (
            "RuntimeError: DataLoader worker (pid 9) exited unexpectedly with exit code 7. Details are lost due to multiprocessing.",
            json!({"pid": 9, "exit_code": 7}),
        ),
        (
            "RuntimeError: DataLoader worker (pid(s) 9, 10) exited unexpectedly",
            json!({"pid": 9, "signal": null, "exit_code": null}),
        ),
        (
            "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).",
            json!({"signal": "Bus error", "shared_memory": true}),
        ),
        (
            "ERROR: Unexpected segmentation fault encountered in worker.",
            json!({"signal": "Segmentation fault", "shared_memory": false}),
        ),
    ] {
        check(text, "dataloader-worker", &expected);
    }
    for (text, expected) in [
        (
            "RuntimeError: unable to mmap 4096 bytes from file </torch_1_2_3>: Cannot allocate memory (12)",
            json!({"operation": "mmap", "bytes": 4096, "object": "/torch_1_2_3", "reason": "Cannot allocate memory"}),
        ),
        (
            "RuntimeError: unable to open shared memory object </torch_1_2_3> in read-write mode: Too many open files (24)",
            json!({"operation": "descriptors"}),
        ),
        (
            "RuntimeError: unable to resize file <filename not specified> to the right size: Invalid argument (22)",
            json!({"operation": "resize", "reason": "Invalid argument"}),
        ),
        (
            "RuntimeError: unable to allocate shared memory(shm) for file </torch_1_2_3>: No space left on device (28)",
            json!({"operation": "allocate", "object": "/torch_1_2_3", "reason": "No space left on device"}),
        ),
        (
            "RuntimeError: received 0 items of ancdata",
            json!({"operation": "descriptors"}),
        ),
    ] {
        check(text, "shared-memory", &expected);
    }
}

#[test]
fn native_code_that_gave_up() {
    for (text, expected) in [
        (
            "free(): double free detected in tcache 2",
            json!({"family": "glibc", "message": "free(): double free detected in tcache 2"}),
        ),
        ("malloc(): corrupted top size", json!({"family": "glibc"})),
        ("munmap_chunk(): invalid pointer", json!({"family": "glibc"})),
        (
            "double free or corruption (!prev)",
            json!({"family": "glibc", "message": "double free or corruption (!prev)"}),
        ),
        ("corrupted size vs. prev_size", json!({"family": "glibc"})),
        (
            "*** Error in `python': free(): invalid next size (fast): 0x000055d1 ***",
            json!({"family": "glibc", "message": "free(): invalid next size (fast)"}),
        ),
        (
            "*** stack smashing detected ***: terminated",
            json!({"family": "glibc", "message": "*** stack smashing detected ***"}),
        ),
        (
            "*** buffer overflow detected ***: terminated",
            json!({"family": "glibc"}),
        ),
        (
            "python: /src/ext.cpp:35: void f(at::Tensor): Assertion `x.is_contiguous() && \"contiguous\"' failed.",
            json!({"family": "assertion", "file": "/src/ext.cpp", "line": 35, "function": "void f(at::Tensor)", "message": "x.is_contiguous() && \"contiguous\""}),
        ),
        (
            "RuntimeError: x.numel() == 0 INTERNAL ASSERT FAILED at \"/src/ext.cpp\":31, please report a bug to PyTorch. broken",
            json!({"family": "torch-check", "file": "/src/ext.cpp", "line": 31, "message": "x.numel() == 0 broken"}),
        ),
        ("pure virtual method called", json!({"family": "pure-virtual"})),
        (
            "terminate called without an active exception",
            json!({"family": "cpp-exception", "message": "terminate called without an active exception"}),
        ),
        (
            "terminate called after throwing an instance of 'std::runtime_error'\n  what():  loss is NaN",
            json!({"family": "cpp-exception", "exception": "std::runtime_error", "message": "loss is NaN"}),
        ),
        (
            "libc++abi: terminating due to uncaught exception of type std::runtime_error: loss is NaN",
            json!({"exception": "std::runtime_error", "message": "loss is NaN"}),
        ),
        (
            "thread 'main' (31881) panicked at src/main.rs:22:11:\ncalled `Result::unwrap()` on an `Err` value: 7\nnote: run with",
            json!({"family": "rust-panic", "file": "src/main.rs", "line": 22, "function": "main", "message": "called `Result::unwrap()` on an `Err` value: 7"}),
        ),
        (
            "thread 'io' panicked at 'index out of bounds', src/lib.rs:3:5",
            json!({"family": "rust-panic", "message": "index out of bounds", "line": 3}),
        ),
        (
            "F1121 09:53:46.407000 29074 dispatch.cc:88] Check failed: a == b (1 vs. 2)",
            json!({"family": "glog-fatal", "pid": 29074}),
        ),
    ] {
        check(text, "native-abort", &expected);
    }
}

#[test]
fn processes_that_ended() {
    for (text, expected) in [
        ("Segmentation fault (core dumped)", json!({"signal": "SIGSEGV"})),
        ("Killed", json!({"signal": "SIGKILL"})),
        (
            "run.sh: line 3:  4711 Bus error               (core dumped) python train.py",
            json!({"signal": "SIGBUS", "pid": 4711}),
        ),
        (
            "srun: error: node7: task 3: Exited with exit code 1",
            json!({"exit_code": 1, "signal": null}),
        ),
        (
            "srun: error: node7: tasks 0-3: Segmentation fault (core dumped)",
            json!({"signal": "SIGSEGV"}),
        ),
        (
            "subprocess.CalledProcessError: Command '['nvcc']' died with <Signals.SIGKILL: 9>.",
            json!({"signal": "SIGKILL"}),
        ),
        (
            "Process trainer exited with code 137",
            json!({"exit_code": 137, "signal": "SIGKILL"}),
        ),
        (
            "Process finished with exit code 139 (interrupted by signal 11:SIGSEGV)",
            json!({"exit_code": 139, "signal": "SIGSEGV"}),
        ),
        (
            "command terminated with exit code 137",
            json!({"exit_code": 137, "signal": "SIGKILL"}),
        ),
        ("      Exit Code:    137", json!({"exit_code": 137})),
        (
            "[2026-11-21 10:00:00,120] [ERROR] [launch.py:325:sigkill_handler] ['/usr/bin/python3', '-u', 'train.py'] exits with return code = -11",
            json!({"exit_code": -11, "signal": "SIGSEGV"}),
        ),
        (
            "srun: error: gpu17: task 3: Out Of Memory",
            json!({"signal": "SIGKILL"}),
        ),
        (
            "slurmstepd: error: *** JOB 4711 ON gpu17 CANCELLED AT 2026-11-21T10:00:00 DUE TO TIME LIMIT ***",
            json!({"signal": "SIGTERM"}),
        ),
    ] {
        check(text, "process-exit", &expected);
    }
}

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
        "Search for `cudaErrorAssert' in the documentation for more information.",
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
fn nccl() {
    for (text, expected) in [
        (
            "torch.distributed.DistBackendError: NCCL error in: /src/NCCLUtils.hpp:219, invalid usage (run with NCCL_DEBUG=WARN for details), NCCL version 2.19.3\nncclInvalidUsage: This usually reflects invalid usage of NCCL library.\nLast error:\nDuplicate GPU detected : rank 3 and rank 0 both on CUDA device f000",
            json!({"result": "ncclInvalidUsage", "message": "invalid usage", "version": "2.19.3", "line": 219, "last_error": "Duplicate GPU detected : rank 3 and rank 0 both on CUDA device f000"}),
        ),
        (
            "RuntimeError: NCCL error in: /src/ProcessGroupNCCL.cpp:784, unhandled system error, NCCL version 2.7.8",
            json!({"result": "ncclSystemError", "last_error": null}),
        ),
    ] {
        check(text, "nccl-error", &expected);
    }
    for (text, expected) in [
        (
            "node1:4242:4301 [3] NCCL WARN NET/IB : Got completion from peer 10.0.0.7<5432> with status=12 opcode=1 len=0 vendor err 129",
            json!({"host": "node1", "device": 3, "family": "net-ib", "pid": 4242}),
        ),
        (
            "[2026-11-21 10:29:16] vm:11521:11534 [0] misc/cudawrap.cc:279 (initOnceFunc) NCCL WARN Cuda failure 'out of memory'",
            json!({"source": "misc/cudawrap.cc:279", "family": "cuda", "time": "2026-11-21T10:29:16Z"}),
        ),
        (
            "node1:1:2 [0] include/shm.h:28 NCCL WARN Error: failed to extend /dev/shm/nccl-a to 9637892 bytes, error: No space left on device (28)",
            json!({"family": "shm"}),
        ),
        (
            "node1:1:2 [0] NCCL INFO transport/net.cc:40 -> 2",
            json!({"family": "path", "source": "transport/net.cc:40"}),
        ),
    ] {
        check(text, "nccl-warning", &expected);
    }
}

#[test]
fn process_groups() {
    for (text, expected) in [
        (
            "[rank1]:[E1003 18:37:01.832146912 ProcessGroupNCCL.cpp:607] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=6463, OpType=ALLREDUCE, NumelIn=1, NumelOut=2, Timeout(ms)=1800000) ran for 1800017 milliseconds before timing out.",
            json!({"family": "timeout", "rank": 1, "sequence": 6463, "operation": "ALLREDUCE", "elements_in": 1, "elements_out": 2, "timeout_ms": 1_800_000, "ran_ms": 1_800_017}),
        ),
        (
            "[Rank 2] Watchdog caught collective operation timeout: WorkNCCL(OpType=BROADCAST, Timeout(ms)=600000) ran for 600100 milliseconds before timing out.",
            json!({"family": "timeout", "rank": 2, "sequence": null}),
        ),
        (
            "[PG 0 (default_pg) Rank 1] Exception (either an error or timeout) detected by watchdog at work: 6463, last enqueued NCCL work: 6463, last completed NCCL work: 6462.",
            json!({"family": "failure", "group": "0", "description": "default_pg", "rank": 1, "sequence": 6463, "last_enqueued": 6463, "last_completed": 6462}),
        ),
        (
            "[PG ID 0 PG GUID 0(default_pg) Rank 6] failure detected by watchdog at work sequence id: 9 PG status: last enqueued work: 9, last completed work: -1",
            json!({"family": "failure", "rank": 6, "sequence": 9, "last_completed": -1}),
        ),
        (
            "[Rank 3] ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress in monitoring enqueued collectives.",
            json!({"family": "stuck", "rank": 3}),
        ),
        (
            "Could not acquire GIL within 300 ms on exit, possible GIL induced hang",
            json!({"family": "gil"}),
        ),
    ] {
        check(text, "watchdog", &expected);
    }
    for (text, expected) in [
        (
            "\t- [0, 4] finished collective #31, but didn't join collective #32 (count from 1)",
            json!({"family": "desync", "ranks": [0, 4], "sequence": 32}),
        ),
        (
            "\t- [1, 2] joined but didn't finish collective #32",
            json!({"family": "desync", "ranks": [1, 2], "sequence": 32}),
        ),
        (
            "RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is running collective: CollectiveFingerPrint(SequenceNumber=7, OpType=ALLREDUCE, TensorShape=[4]), but Rank 1 is running collective: CollectiveFingerPrint(SequenceNumber=7, OpType=BROADCAST).",
            json!({"family": "fingerprint", "ranks": [0, 1], "sequence": 7}),
        ),
        (
            "RuntimeError: [Rank 0]: Ranks 1, 3 failed to pass monitoredBarrier in 6000 ms",
            json!({"family": "monitored-barrier", "ranks": [1, 3]}),
        ),
        (
            "RuntimeError: [1]: params[0] in this process with sizes [3, 2] appears not to match sizes of the same param in process 0.",
            json!({"family": "parameter-shape", "ranks": [1]}),
        ),
    ] {
        check(text, "collective-mismatch", &expected);
    }
    for (text, expected) in [
        (
            "[c10d] recvValue failed on SocketImpl(fd=76, addr=[::1]:4, remote=[node0]:29500): Connection reset by peer",
            json!({"operation": "receive", "peer": "[node0]:29500", "reason": "Connection reset by peer"}),
        ),
        (
            "[c10d] sendBytes failed on SocketImpl(fd=3, addr=[a]:1, remote=[b]:2): Broken pipe",
            json!({"operation": "send", "reason": "Broken pipe"}),
        ),
        (
            "torch.distributed.DistStoreError: wait timeout after 300000ms, keys: /default_pg/0//store_based_barrier",
            json!({"operation": "wait"}),
        ),
        (
            "torch.distributed.DistNetworkError: The client socket has timed out after 60000ms while trying to connect to (node0, 29500).",
            json!({"operation": "connect", "peer": "node0, 29500"}),
        ),
        (
            "torch.distributed.DistStoreError: Timed out after 61 seconds waiting for clients. 3/4 clients joined.",
            json!({"operation": "join"}),
        ),
        (
            "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: 29500, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use",
            json!({"operation": "listen"}),
        ),
    ] {
        check(text, "rendezvous", &expected);
    }
}

#[test]
fn log_lines_of_every_month_have_a_time() {
    let said = "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600012 milliseconds before timing out.";
    for (head, time) in [
        (
            "[rank2]:[E704 13:48:58.260494728 ProcessGroupNCCL.cpp:616] ",
            "0000-07-04T13:48:58.260494728Z",
        ),
        (
            "[rank2]:[E1103 13:48:58.25 ProcessGroupNCCL.cpp:616] ",
            "0000-11-03T13:48:58.25Z",
        ),
        ("E0205 13:48:58.250000 4711 acme/api.py:12] ", "0000-02-05T13:48:58.25Z"),
    ] {
        check(
            &format!("{head}[Rank 2] {said}"),
            "watchdog",
            &json!({"rank": 2, "time": time}),
        );
    }
    check(
        &format!("[rank2]:[E ProcessGroupNCCL.cpp:607] [Rank 2] {said}"),
        "watchdog",
        &json!({"rank": 2, "time": null, "family": "timeout"}),
    );
    check(
        "[rank1]:[E ProcessGroupNCCL.cpp:1316] [PG 5 Rank 1] Heartbeat monitor timed out! Process will be terminated after dumping debug info. workMetaList_.size()=3",
        "watchdog",
        &json!({"rank": 1, "family": "stuck", "group": "5"}),
    );
    check(
        "RuntimeError: [/src/gloo/transport/tcp/unbound_buffer.cc:84] Timed out waiting 1800000ms for recv operation to complete",
        "watchdog",
        &json!({"family": "timeout", "operation": "recv", "timeout_ms": 1_800_000}),
    );
    check(
        "[Sat Nov 21 09:53:46 2026] NVRM: Xid (PCI:0000:07:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
        "xid",
        &json!({"code": 79, "time": "2026-11-21T09:53:46Z"}),
    );
}

#[test]
fn stores_of_older_versions_and_gloo() {
    for (text, expected) in [
        (
            "RuntimeError: connect() timed out. Original timeout was 60000 ms.",
            json!({"operation": "connect", "reason": "connect() timed out. Original timeout was 60000 ms."}),
        ),
        (
            "RuntimeError: Address already in use",
            json!({"operation": "listen", "reason": "Address already in use"}),
        ),
        (
            "torch.distributed.DistNetworkError: Connection reset by peer",
            json!({"operation": "receive"}),
        ),
        (
            "RuntimeError: Timed out initializing process group in store based barrier on rank: 3, for key: store_based_barrier_key:1 (world_size=8, worker_count=7, timeout=0:30:00)",
            json!({"operation": "join"}),
        ),
        (
            "RuntimeError: [/src/gloo/transport/tcp/pair.cc:589] Read error [10.0.0.7]:25266: Connection reset by peer",
            json!({"operation": "receive", "peer": "10.0.0.7:25266", "reason": "Connection reset by peer"}),
        ),
        (
            "[E ProcessGroupGloo.cpp:144] Gloo connectFullMesh failed with [/src/gloo/transport/tcp/pair.cc:144] no error",
            json!({"operation": "connect"}),
        ),
        (
            "torch.distributed.elastic.rendezvous.api.RendezvousClosedError",
            json!({"operation": "connect"}),
        ),
    ] {
        check(text, "rendezvous", &expected);
    }
    assert!(events("ConnectionResetError: Connection reset by peer, will try again").is_empty());
}

#[test]
fn supervisors_tell_the_signal_by_its_number() {
    for (text, signal) in [
        (
            "mpirun noticed that process rank 3 with PID 20113 on node n1 exited on signal 9 (Killed).",
            "SIGKILL",
        ),
        (
            "prterun noticed that process rank 0 with PID 71 on node gpu-2 exited on signal 11 (Segmentation fault: 11).",
            "SIGSEGV",
        ),
        (
            "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)",
            "SIGKILL",
        ),
        (
            "worker 4 (pid 881) was terminated by signal 6, restarting it is off",
            "SIGABRT",
        ),
        ("Child process died with signal 7.", "SIGBUS"),
    ] {
        check(text, "process-exit", &json!({"signal": signal}));
    }
    for text in [
        "Killed by signal 2 handler installed",
        "process 12 installed its handler for signal 11",
        "sent to process 12: signal 9 of the radio",
    ] {
        assert!(events(text).is_empty(), "{text}");
    }
}

#[test]
fn limits_of_memory_that_others_than_the_kernel_watch() {
    for (text, cgroup) in [
        (
            "slurmstepd: error: Step 881.0 exceeded memory limit (131921044 > 131072000), being killed",
            true,
        ),
        ("slurmstepd: error: Exceeded job memory limit at some point.", true),
        ("=>> PBS: job killed: mem 70gb exceeded limit 64gb", true),
        (
            "Error from slot1@n3: Job has gone over cgroup memory limit of 8192 megabytes.",
            true,
        ),
        (
            "systemd-oomd[812]: Killed /user.slice/user-1000.slice/run-r3a.scope due to memory pressure for /user.slice being 81.20%",
            false,
        ),
        (
            "sending SIGTERM to process 5111 uid 1000 \"python\": badness 921, VmRSS 60112 MiB",
            false,
        ),
    ] {
        check(text, "kernel", &json!({"family": "oom-kill", "cgroup": cgroup}));
    }
    assert!(
        events("=>> PBS: job killed: walltime 86433 exceeded limit 86400")
            .iter()
            .all(|event| event["kind"] != "kernel")
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
fn ranks_that_horovod_waits_for() {
    let text = "[2026-01-08 22:10:41.231440: W horovod/common/stall_inspector.cc:107] One or more tensors were submitted to be \
                reduced, gathered or broadcasted by subset of ranks and are waiting for remainder of ranks for more than 60 seconds.";
    check(text, "watchdog", &json!({"family": "stalled", "ran_ms": 60_000}));
    let went_on = format!("{text}\nstep 1 loss 2.0\nstep 2 loss 1.9\nstep 3 loss 1.8\n");
    assert!(events(&went_on).iter().all(|event| event["survived"] == true));
}

#[test]
fn a_log_of_json_records_is_read_and_data_is_not() {
    let error = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB";
    for record in [
        json!({"ts": "2026-04-11T08:22:41Z", "msg": error}),
        json!({"severity": "ERROR", "textPayload": error}),
        json!({"timestamp": "2026-04-11T08:22:41Z", "levelname": "ERROR", "message": error}),
    ] {
        check(&record.to_string(), "cuda-oom", &json!({"requested": 20 * MIB}));
    }
    for data in [
        json!({"text": error, "label": 0}),
        json!({"messages": [{"role": "user", "content": error}]}),
    ] {
        assert!(events(&data.to_string()).is_empty(), "{data}");
    }
    assert!(events(&format!("> > {error}\n> what now?\n")).is_empty());
}

#[test]
fn a_traceback_in_one_record_is_read_like_any_other() {
    let traceback = "Traceback (most recent call last):\n  File \"/w/train.py\", line 8, in step\n    loss.backward()\n\
                     KeyError: 'lr'\n";
    for record in [
        json!({"asctime": "2026-04-11 08:22:41,120", "levelname": "ERROR", "message": "step failed", "exc_info": traceback, "rank": 3}),
        json!({"severity": "ERROR", "textPayload": traceback, "rank": 3}),
        json!({"time": "2026-04-11T08:22:41Z", "level": "error", "msg": "x", "error": {"stack_trace": traceback}, "rank": 3}),
    ] {
        let expected = json!({"exception": "KeyError", "rank": 3, "thread": "traceback-1"});
        check(
            &format!("{record}\n{}\n", json!({"level": "info", "msg": "bye"})),
            "python-exception",
            &expected,
        );
    }
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

#[test]
fn schedulers_pass_the_kernels_kill_on() {
    for text in [
        "slurmstepd: error: Detected 2 oom-kill event(s) in StepId=4711.0 cgroup. Some of your processes may have been killed.",
        "slurmstepd: error: Detected 1 oom_kill event in StepId=4711.0. Some of the step tasks have been OOM Killed.",
        "    Reason:       OOMKilled",
        "        \"reason\": \"OOMKilled\",",
        "train-worker-0   0/1     OOMKilled   3 (2m ago)   41m",
    ] {
        check(text, "kernel", &json!({"family": "oom-kill", "cgroup": true}));
    }
    for text in ["only pods that were OOMKilled are started again", "Exit Code:    0"] {
        assert!(events(text).is_empty(), "{text}");
    }
}

#[test]
fn autograd() {
    for (text, expected) in [
        (
            "Parameter indices which did not receive grad for rank 0: 2 3",
            json!({"family": "unused-parameters", "parameters": ["2", "3"]}),
        ),
        (
            "Parameters which did not receive grad for rank 1: b.bias, b.weight",
            json!({"parameters": ["b.bias", "b.weight"]}),
        ),
        (
            "RuntimeError: Expected to mark a variable ready only once. Parameter at index 4 with name a.weight has been marked as ready twice.",
            json!({"family": "ready-twice", "parameters": ["a.weight"]}),
        ),
        (
            "RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [2]], which is output 0 of Sigmoid, is at version 1; expected version 0 instead. Hint: enable",
            json!({"family": "inplace", "detail": "[torch.FloatTensor [2]], which is output 0 of Sigmoid, is at version 1; expected version 0 instead"}),
        ),
        (
            "RuntimeError: Trying to backward through the graph a second time",
            json!({"family": "backward-twice"}),
        ),
        (
            "RuntimeError: Function 'ExpBackward0' returned nan values in its 0th output.",
            json!({"family": "nan", "detail": "ExpBackward0"}),
        ),
    ] {
        check(text, "autograd", &expected);
    }
}

#[test]
fn kernel_log_behind_every_prefix() {
    let line = "NVRM: Xid (PCI:0000:07:00): 31, pid=16952, name=python, Ch 00000008, intr 00000000. MMU Fault";
    for (prefix, time) in [
        ("", Value::Null),
        ("[12345.678901] ", Value::Null),
        (
            "kern  :warn  : 2025-01-21T04:41:44,283302+00:00 ",
            json!("2025-01-21T04:41:44.283302Z"),
        ),
        (
            "2025-01-21T04:41:44.283302+01:00 node1 kernel: ",
            json!("2025-01-21T03:41:44.283302Z"),
        ),
        ("Jan 21 04:41:44 node1 kernel: ", json!("0000-01-21T04:41:44Z")),
        (
            "Jan 21 04:41:44 node1 kernel: [12345.678901] ",
            json!("0000-01-21T04:41:44Z"),
        ),
        ("4,1234,98765432,-;", Value::Null),
    ] {
        let expected = json!({"code": 31, "pci": "PCI:0000:07:00", "process": "python", "pid": 16952, "time": time});
        check(&format!("{prefix}{line}"), "xid", &expected);
    }
    let journald = r#"{"__REALTIME_TIMESTAMP":"1737434504283302","SYSLOG_IDENTIFIER":"kernel","MESSAGE":"NVRM: Xid (PCI:0000:07:00): 79, pid=1, name=x, GPU has fallen off the bus."}"#;
    check(
        journald,
        "xid",
        &json!({"code": 79, "message": "GPU has fallen off the bus.", "time": "2025-01-21T04:41:44.283302Z"}),
    );
}

#[test]
fn kernel_log() {
    for (text, expected) in [
        (
            "NVRM: Xid (PCI:0000:38:00): 13, pid='<unknown>', name=<unknown>, Graphics Exception: ESR 0x54=0x11",
            json!({"code": 13, "process": null, "pid": null, "message": "Graphics Exception: ESR 0x54=0x11"}),
        ),
        ("NVRM: Xid (PCI:0000:04:00): 69", json!({"code": 69, "message": ""})),
        (
            "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress",
            json!({"code": 12028, "nvswitch": true, "severity": "Non-fatal", "message": "Link 32 egress"}),
        ),
    ] {
        check(text, "xid", &expected);
    }
    for (text, expected) in [
        (
            "[1.5] llama-server[16980]: segfault at 20d803fdc ip 00007dbe270a3e47 sp 00007dbe error 4 in libcuda.so.570.133.20[4a3e47,7dbe26d79000+d1c000] likely on CPU 29",
            json!({"family": "segfault", "process": "llama-server", "pid": 16980, "address": "0x20d803fdc", "access": "read", "object": "libcuda.so.570.133.20", "offset": "0x4a3e47"}),
        ),
        (
            "[1.5] python[9]: segfault at 8 ip 0000000000401234 sp 00007 error 6 in a.out[400000+2000]",
            json!({"access": "write", "offset": "0x1234"}),
        ),
        (
            "[1.5] a.out[9]: segfault at 0 ip 0000000000000000 sp 00007 error 14 likely on CPU 1",
            json!({"access": "execute", "object": null}),
        ),
        (
            "[1.5] traps: python[29942] general protection fault ip:7f05d5e377fd sp:7ff error:0 in libtorch_cpu.so[6a377fd,7f05d0383000+111bb000]",
            json!({"family": "trap", "process": "python", "pid": 29942}),
        ),
        (
            "[1.5] Memory cgroup out of memory: Killed process 17282 (python) total-vm:4528548kB, anon-rss:1460228kB, file-rss:240884kB",
            json!({"family": "oom-kill", "process": "python", "pid": 17282, "cgroup": true, "rss": 1_460_228 * 1024}),
        ),
        (
            "Out of memory: Kill process 456 (python) score 50 or sacrifice child",
            json!({"family": "oom-kill", "cgroup": false, "pid": 456}),
        ),
        (
            "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [pt_data_pin:1234]",
            json!({"family": "soft-lockup", "process": "pt_data_pin", "pid": 1234, "seconds": 22}),
        ),
        (
            "INFO: task python:99 blocked for more than 120 seconds.",
            json!({"family": "hung-task", "pid": 99, "seconds": 120}),
        ),
        (
            "NVRM: GPU 0000:01:00.0: GPU has fallen off the bus.",
            json!({"family": "fallen-off-bus"}),
        ),
    ] {
        check(text, "kernel", &expected);
    }
}

#[test]
fn what_is_only_mentioned_did_not_happen() {
    for text in [
        "# RuntimeError: CUDA error: an illegal memory access was encountered",
        "    # CUDA out of memory. Tried to allocate 2.00 GiB",
        "raise RuntimeError('CUDA error: device-side assert triggered')",
        "print(\"DataLoader worker (pid 1) is killed by signal: Killed.\")",
        "if you see CUDA out of memory, lower the batch size",
        "The watchdog timeout is 1800 s",
        "Killed the old server before starting",
        "Killed 3 stale processes",
        "Aborted transaction 7",
        "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  570.133.20",
        "nccl info: NCCL WARN is the level",
        "cuDNN version 9.1, CUDNN_STATUS_SUCCESS",
        "Fatal errors are printed to stderr",
        "node1:1:2 [0] NCCL INFO Channel 00/02 : 0 1",
        "node1:1:2 [0] NCCL INFO init.cc:40 -> 0",
        "Process 4711 is the master",
        "see: Assertion `x' failed. in the manual",
        "Thread 12 finished",
    ] {
        assert!(events(text).is_empty(), "{text:?} gave {:#?}", events(text));
    }
}
