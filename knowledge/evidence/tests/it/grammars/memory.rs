//! Memory that ran out, of a GPU and of the machine.

use serde_json::json;

use super::{GIB, MIB, check, events};

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
        (
            "memory allocation of 549755813896 bytes failed",
            json!({"allocator": "Rust", "requested": 549_755_813_896_u64}),
        ),
    ] {
        check(text, "host-oom", &expected);
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
fn schedulers_pass_the_kernels_kill_on() {
    for text in [
        "slurmstepd: error: Detected 2 oom-kill event(s) in StepId=4711.0 cgroup. Some of your processes may have been killed.",
        "slurmstepd: error: Detected 1 oom_kill event in StepId=4711.0. Some of the step tasks have been OOM Killed.",
        "    Reason:       OOMKilled",
        "        \"reason\": \"OOMKilled\",",
        "pod=train-3 reason=OOMKilled exitCode=137",
        "train-worker-0   0/1     OOMKilled   3 (2m ago)   41m",
    ] {
        check(text, "kernel", &json!({"family": "oom-kill", "cgroup": true}));
    }
    for text in [
        "only pods that were OOMKilled are started again",
        "expr: kube_pod_container_status_last_terminated_reason{reason=\"OOMKilled\"} > 0",
        "Exit Code:    0",
    ] {
        assert!(events(text).is_empty(), "{text}");
    }
}
