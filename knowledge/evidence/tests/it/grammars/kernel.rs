//! The kernel's log.

use serde_json::{Value, json};

use super::{check, events};

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
        ("[May19 19:57] ", Value::Null),
        ("[  +0.000127] ", Value::Null),
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
fn dates_of_the_united_states_and_a_journal_s_program_stand_before_a_line() {
    let line = "NVRM: Xid (PCI:0000:07:00): 31, pid=16952, name=python, Ch 00000008, intr 00000000. MMU Fault";
    for (prefix, time) in [
        ("704.7s\t1374\t2023-07-18 07:22:09 ", "2023-07-18T07:22:09Z"),
        ("07/18/2023 07:22:09 - ", "2023-07-18T07:22:09Z"),
        ("[2023/07/18 07:22:09] ", "2023-07-18T07:22:09Z"),
        ("2023-07-18T09:22:09+0200 gn12 vllm[68046]: ", "2023-07-18T07:22:09Z"),
        (
            "5763:2023-07-18T09:22:09+0200 gn12 vllm[68046]: ",
            "2023-07-18T07:22:09Z",
        ),
    ] {
        check(&format!("{prefix}{line}"), "xid", &json!({"code": 31, "time": time}));
    }
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
        (
            "watchdog: Watchdog detected hard LOCKUP on cpu 17",
            json!({"family": "soft-lockup", "seconds": null}),
        ),
        (
            "[1.5] rcu: INFO: rcu_sched self-detected stall on CPU",
            json!({"family": "soft-lockup", "seconds": null}),
        ),
        (
            "[1.5] Memory failure: 0x3fa3: Sending SIGBUS to python:7711 due to hardware memory corruption",
            json!({"family": "memory-failure", "process": "python", "pid": 7711}),
        ),
        (
            "MCE 0x3fa3: Killing python:7711 due to hardware memory corruption",
            json!({"family": "memory-failure", "pid": 7711}),
        ),
        (
            "[ERROR] [tid 4711] fabric manager version 550.54.15 does not match the nvidia driver version 550.90.07.",
            json!({"family": "fabric-manager"}),
        ),
        ("[1.5] NVRM: No NVIDIA devices probed.", json!({"family": "nvrm"})),
        (
            "systemd[1]: user@1000.service: A process of this unit has been killed by the OOM killer.",
            json!({"family": "oom-kill", "cgroup": false}),
        ),
        (
            "[1.5] oom_reaper: reaped process 77 (python3), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB",
            json!({"family": "oom-kill", "process": "python3", "pid": 77, "cgroup": null}),
        ),
        (
            "[1.5] EXT4-fs (nvme1n1p1): Remounting filesystem read-only",
            json!({"family": "storage"}),
        ),
        (
            "[1.5] nvme nvme2: Disabling device after reset failure: -19",
            json!({"family": "storage"}),
        ),
        (
            "[1.5] nfs: server nas-07 not responding, timed out",
            json!({"family": "storage"}),
        ),
        (
            "[12.500000] EDAC MC3: 1 UE memory read error on CPU_SrcID#1_MC#1_Chan#2_DIMM#0 (channel:2 slot:0)",
            json!({"family": "memory-failure", "process": null}),
        ),
        (
            "[12.500000] nvidia 0000:41:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0021 address=0xd0139068 flags=0x0020]",
            json!({"family": "iommu"}),
        ),
        (
            "[1.5] XFS (dm-2): Log I/O Error Detected. Shutting down filesystem",
            json!({"family": "storage"}),
        ),
    ] {
        check(text, "kernel", &expected);
    }
    for of_others in [
        "systemd[1]: postgresql.service: A process of this unit has been killed by the OOM killer.",
        "systemd[1]: Failed to start Hostname Service.",
        "[1.5] nfs: server nas-07 not responding, still trying",
        "[1.5] EDAC MC3: 1 CE memory read error on CPU_SrcID#1_MC#1_Chan#2_DIMM#0 (channel:2 slot:0)",
        "Memory failure: 0x3fa3: already hardware poisoned",
    ] {
        assert!(events(of_others).is_empty(), "{of_others}");
    }
}

#[test]
fn what_is_reaped_after_a_kill_is_the_same_victim() {
    let killed = "Out of memory: Killed process 77 (python3) total-vm:9kB, anon-rss:8kB, file-rss:0kB\n";
    let reaped = |pid: u32| format!("oom_reaper: reaped process {pid} (python3), now anon-rss:0kB\n");
    assert_eq!(events(&format!("{killed}{}", reaped(77))).len(), 1);
    assert_eq!(events(&format!("{killed}{}", reaped(78))).len(), 2);
}

#[test]
fn a_line_of_the_driver_in_quotation_marks_is_somebodys_advice() {
    let quoted = "If the log has `NVRM: Xid (PCI:0000:c1:00): 79, GPU has fallen off the bus.`, drain the node.";
    assert!(events(quoted).is_empty(), "{:?}", events(quoted));
}

#[test]
fn a_line_of_the_driver_that_is_a_records_field_is_one() {
    for line in [
        r#"  message: "NVRM: Xid (PCI:0000:c1:00): 79, GPU has fallen off the bus.""#,
        r#"time=2026-01-02T03:04:05Z level=error msg="NVRM: Xid (PCI:0000:c1:00): 79, GPU has fallen off the bus.""#,
    ] {
        assert_eq!(events(line).len(), 1, "{line}");
    }
}

#[test]
fn what_a_device_plugin_is_told_is_an_xid() {
    check(
        "I0809 13:32:51.873541       1 health.go:185] XidCriticalError: Xid=94 on Device=GPU-1b6ec030; marking device as unhealthy.",
        "xid",
        &json!({"code": 94, "pci": "GPU-1b6ec030", "message": "marking device as unhealthy."}),
    );
}
