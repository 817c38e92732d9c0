//! The kernel's log: the NVIDIA driver's Xids, faults, the OOM killer, stuck processors.

use super::Parts;
use crate::Hex;
use crate::model::{EventPayload, Kernel, Xid};
use crate::readers::text::line::Line;
use crate::readers::text::rules::Rule;
use crate::readers::text::sink::Sink;
use crate::readers::text::{Block, regex};

/// What each line of the NVIDIA driver begins with.
const DRIVER: &str = "NVRM: ";

/// Xids and `SXid`s.
pub const XID_RULE: Rule = Rule {
    literals: &["NVRM: Xid (", "SXid (", "XidCriticalError: "],
    read: read_xid,
};

/// Everything else.
pub const RULE: Rule = Rule {
    literals: &[
        ": segfault at ",
        "general protection",
        " trap divide error",
        " trap invalid opcode",
        " trap int3",
        "oom_reaper: reaped process",
        "Remounting filesystem read-only",
        "Aborting journal on device",
        "Detected aborted journal",
        "I/O error",
        "I/O Error",
        "controller is down",
        "Disabling device after reset failure",
        "Removing after probe failure",
        "not responding, timed out",
        "IO_PAGE_FAULT",
        "DMAR: [DMA ",
        "page fault (src_id:",
        " UE memory ",
        " UE page ",
        " UE row ",
        "ncorrected error",
        "hutting down filesystem",
        "out of memory: Kill",
        "Out of memory: Kill",
        "soft lockup - CPU",
        "hard LOCKUP",
        "due to hardware memory corruption",
        " stall on CPU",
        " stalls on CPU",
        "blocked for more than",
        "fallen off the bus",
        "NVRM: ",
        "[Hardware Error]",
        "oom-kill event",
        "oom_kill event",
        "OOMKilled",
        "OOM-killed",
        "OutOfMemoryError: Container killed",
        "Runtime exited with error: signal: killed",
        ": Out Of Memory",
        "low on resource: memory",
        "node running low on memory",
        "tried to allocate more memory than is available",
        "TERM_MEMLIMIT",
        "exceeded memory limit",
        "xceeded job memory limit",
        "xceeded step memory limit",
        "over memory limit",
        "MEM usage ",
        "over cgroup memory limit",
        "PBS: job killed: ",
        "due to memory ",
        "earlyoom",
        "has been killed by the OOM killer",
        "abric manager version ",
        "Failed to start ",
        "sending SIGKILL to process ",
        "sending SIGTERM to process ",
    ],
    read,
};

fn read_xid(line: &Line, sink: &mut Sink) -> Option<Box<dyn Block>> {
    if line.is_quoted() || line.quotes(DRIVER) {
        return None;
    }
    let (pid, xid) = xid(line.text)
        .or_else(|| sxid(line.text))
        .or_else(|| xid_told(line.text))?;
    let mut origin = line.origin.clone();
    origin.pid = pid;
    // One fault of one process is reported once per processor that saw it: that is one event.
    sink.event(EventPayload::Xid(xid), &origin, [line.number; 2], line.text);
    None
}

/// `NVRM: Xid (PCI:0000:07:00): 31, pid=16952, name=python, Ch 00000008, …`; older drivers leave out pid and name, and
/// print `'<unknown>'` where there is no process.
fn xid(text: &str) -> Option<(Option<u32>, Xid)> {
    let parts = Parts::of(
        regex!(r"NVRM: Xid \((?P<pci>(?:PCI:)?[0-9a-fA-F:.]+)(?: GPU-I:\d+)?\): (?P<code>\d+)(?:, (?P<rest>.*?))?\s*$"),
        text,
    )?;
    let rest = parts.text("rest").unwrap_or_default();
    let process = Parts::of(
        regex!(r"pid='?(?P<pid>\d+|<unknown>)'?(?:, name=(?P<name>[^,]*))?(?:, (?P<message>.*))?"),
        &rest,
    );
    let (pid, name, message) = match &process {
        Some(process) => (
            process.number("pid"),
            process.text("name"),
            process.text("message").unwrap_or_default(),
        ),
        None => (None, None, rest.clone()),
    };
    let previous = Parts::of(regex!(r"caused by previous Xid (?P<code>\d+)"), &message);
    let xid = Xid {
        code: parts.number("code")?,
        pci: parts.text("pci")?,
        process: name.filter(|name| name != "<unknown>"),
        caused_by: previous.and_then(|previous| previous.number("code")),
        message,
        count: 1,
        ..Xid::default()
    };
    Some((pid, xid))
}

/// What Kubernetes' device plugin was told by NVML: `XidCriticalError: Xid=94 on Device=GPU-1b6e…; marking device as
/// unhealthy.`
fn xid_told(text: &str) -> Option<(Option<u32>, Xid)> {
    let parts = Parts::of(
        regex!(r"XidCriticalError: Xid=(?P<code>\d+) on Device=(?P<device>[\w-]+)(?P<message>.*)"),
        text,
    )?;
    let xid = Xid {
        code: parts.number("code")?,
        pci: parts.text("device")?,
        message: parts
            .text("message")
            .unwrap_or_default()
            .trim_start_matches([';', ' '])
            .to_owned(),
        count: 1,
        ..Xid::default()
    };
    Some((None, xid))
}

/// `nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress …`.
fn sxid(text: &str) -> Option<(Option<u32>, Xid)> {
    let parts = Parts::of(
        regex!(r"SXid \((?P<pci>PCI:[0-9a-fA-F:.]+)\): (?P<code>\d+), (?P<severity>[^,]+?)(?:, (?P<message>.*?))?\s*$"),
        text,
    )?;
    let xid = Xid {
        code: parts.number("code")?,
        nvswitch: true,
        pci: parts.text("pci")?,
        severity: parts.text("severity"),
        message: parts.text("message").unwrap_or_default(),
        count: 1,
        ..Xid::default()
    };
    Some((None, xid))
}

fn read(line: &Line, sink: &mut Sink) -> Option<Box<dyn Block>> {
    if line.is_quoted() || line.quotes(DRIVER) {
        return None;
    }
    let (pid, kernel) = fault(line.text)
        .or_else(|| trap(line.text))
        .or_else(|| oom_kill(line.text))
        .or_else(|| reaped(line.text).filter(|(pid, _)| !is_killed(sink, *pid)))
        .or_else(|| oom_kill_told(line.text))
        .or_else(|| storage(line))
        .or_else(|| lockup(line.text))
        .or_else(|| memory_failure(line.text))
        .or_else(|| device(line))?;
    let mut origin = line.origin.clone();
    origin.pid = pid;
    sink.event(
        EventPayload::Kernel(kernel),
        &origin,
        [line.number, line.number],
        line.text,
    );
    None
}

fn of(family: &str, text: &str) -> Kernel {
    Kernel {
        family: family.to_owned(),
        message: text.trim().to_owned(),
        ..Kernel::default()
    }
}

/// Where the instruction pointer is: `in lib.so[4a3e47,7dbe26d79000+d1c000]`. The first number, in new kernels, is the
/// offset in the file; without it that follows from the mapping's base, which older kernels alone print.
const OBJECT: &str = r"(?: in (?P<object>[^\[\s]+)\[(?:(?P<offset>[0-9a-f]+),)?(?P<base>[0-9a-f]+)\+[0-9a-f]+\])?";

fn with_object(kernel: Kernel, parts: &Parts) -> Kernel {
    let ip = parts.hex("ip");
    let offset = parts
        .hex("offset")
        .or_else(|| Some(Hex(ip?.0.checked_sub(parts.hex("base")?.0)?)));
    Kernel {
        ip,
        sp: parts.hex("sp"),
        object: parts.text("object"),
        offset,
        process: parts.text("comm"),
        ..kernel
    }
}

/// `python[2536443]: segfault at 0 ip … sp … error 4 in libnccl.so.2[…]`.
fn fault(text: &str) -> Option<(Option<u32>, Kernel)> {
    let parts = Parts::of(
        regex!(&format!(
            r"(?P<comm>[^\s\[\]][^\[\]]*?)\[(?P<pid>\d+)\]: segfault at (?P<address>[0-9a-f]+) ip (?P<ip>[0-9a-f]+) sp (?P<sp>[0-9a-f]+) error (?P<error>[0-9a-f]+){OBJECT}"
        )),
        text,
    )?;
    let error = parts.hex("error")?.0;
    // Bits of the x86 page fault error code: 2 is a write, 0x10 an instruction fetch.
    let access = match error {
        error if error & 0x10 != 0 => "execute",
        error if error & 2 != 0 => "write",
        _ => "read",
    };
    let kernel = Kernel {
        address: parts.hex("address"),
        access: Some(access.to_owned()),
        ..of("segfault", text)
    };
    Some((parts.number("pid"), with_object(kernel, &parts)))
}

/// `traps: python[29942] general protection fault ip:… sp:… error:0 in lib.so[…]`.
fn trap(text: &str) -> Option<(Option<u32>, Kernel)> {
    let parts = Parts::of(
        regex!(&format!(
            r"(?P<comm>[^\s:][^\[\]:]*?)\[(?P<pid>\d+)\]:? (?:general protection(?: fault)?|trap (?:divide error|invalid opcode|int3)) ip:(?P<ip>[0-9a-f]+) sp:(?P<sp>[0-9a-f]+) error:[0-9a-f]+{OBJECT}"
        )),
        text,
    )?;
    Some((parts.number("pid"), with_object(of("trap", text), &parts)))
}

/// `Out of memory: Killed process 17282 (python) total-vm:4528548kB, anon-rss:1460228kB, …`, older: `Kill process …`.
fn oom_kill(text: &str) -> Option<(Option<u32>, Kernel)> {
    let parts = Parts::of(
        regex!(
            r"(?P<cgroup>Memory cgroup )?[Oo]ut of memory: Kill(?:ed)? process (?P<pid>\d+),? (?:UID \d+,? )?\((?P<comm>[^)]*)\)(?:.*?anon-rss:(?P<rss>\d+)kB)?"
        ),
        text,
    )?;
    let kernel = Kernel {
        process: parts.text("comm"),
        rss: parts.number::<u64>("rss").and_then(|kib| kib.checked_mul(1024)),
        cgroup: Some(parts.text("cgroup").is_some()),
        ..of("oom-kill", text)
    };
    Some((parts.number("pid"), kernel))
}

/// `oom_reaper: reaped process 17282 (python), now anon-rss:0kB, …`: the memory of a victim is taken from it. It comes after
/// the kill, and is all that is left of it where the ring of the kernel's log has turned.
fn reaped(text: &str) -> Option<(Option<u32>, Kernel)> {
    let parts = Parts::of(
        regex!(r"oom_reaper: reaped process (?P<pid>\d+) \((?P<comm>[^)]*)\)"),
        text,
    )?;
    let kernel = Kernel {
        process: parts.text("comm"),
        ..of("oom-kill", text)
    };
    Some((parts.number("pid"), kernel))
}

/// Whether the kill of a process has been read.
fn is_killed(sink: &Sink, pid: Option<u32>) -> bool {
    sink.events.iter().any(|event| {
        event.pid == pid && matches!(&event.payload, EventPayload::Kernel(kernel) if kernel.family == "oom-kill")
    })
}

/// `EXT4-fs (nvme1n1p1): Remounting filesystem read-only`, `XFS (dm-2): … Shutting down filesystem`: the file system gave
/// up writing after errors of its own or of what lies below it.
fn storage(line: &Line) -> Option<(Option<u32>, Kernel)> {
    let gave_up = regex!(
        r"\b\w+-fs \([^)]+\): Remounting filesystem read-only|\bXFS \([^)]+\): .*[Ss]hutting down filesystem|\bAborting journal on device |\bEXT4-fs error \(device [^)]+\): .*Detected aborted journal|\bXFS \([^)]+\): (?:metadata|log) I/O error|\b(?:Buffer I/O error on dev(?:ice)?|I/O error, dev|(?:critical|unrecoverable) (?:medium|target) error, dev) (?:nvme|sd|md|dm-|vd)|\bnvme\d\w*: (?:I/O Cmd\(.*I/O Error|.*controller is down|Removing after probe failure|Disabling device after reset failure)|\bnfs: server \S+ not responding, timed out|\bnvme nvme\d+: (?:controller is down|Removing after probe failure|Disabling device after reset failure|Device not ready; aborting)"
    );
    gave_up.is_match(line.text).then(|| (None, of("storage", line.text)))
}

/// The kernel's kill as a scheduler passes it on, without the process: `slurmstepd: error: Detected 1 oom-kill event(s)
/// in StepId=…` (`oom_kill` since Slurm 23) and `task 3: Out Of Memory`, Kubernetes' `Reason: OOMKilled`, runc's
/// words, those of Amazon's ECS and Lambda, and those of other schedulers for a limit that they watch themselves. They
/// mean the job's own limit; the kubelet's eviction, Ray, systemd-oomd and earlyoom watch the whole node.
fn oom_kill_told(text: &str) -> Option<(Option<u32>, Kernel)> {
    let of_cgroup = regex!(
        r#"Detected \d+ oom[-_]kill event|(?:^|[\s,(]|\{")"?(?i:reason)"?\s*[:=]\s*"?OOMKilled|^\S+\s+\d+/\d+\s+OOMKilled\s|^srun: error: \S+: tasks? [\d,\[\]-]+: Out Of Memory|container init was OOM-killed|\bOutOfMemoryError: Container killed due to memory usage|\bError: Runtime exited with error: signal: killed$|^TERM_MEMLIMIT: |"OOMKilled":\s*true\b|^(?:srun|slurmstepd): error: .*[Ee]xceeded (?:(?:job|step) )?memory limit|PBS: job killed: (?:mem|vmem|pmem|pvmem) .*exceed|\bjob \S+ exceeded P?V?MEM usage (?:hard|soft) limit|[Jj]ob has gone over (?:cgroup )?memory limit"#
    );
    let of_node = regex!(
        r"The node was low on resource: memory|killed due to the node running low on memory|[Nn]otebook tried to allocate more memory than is available|\bKilled /\S+ due to memory (?:used|pressure)|\bsending SIG(?:TERM|KILL) to process \d+ .*\bVmRSS\b|\b(?:user@\d+\.service|(?:session|run|docker|cri|slurm)\S*\.(?:scope|service)): A process of this unit has been killed by the OOM killer"
    );
    // What runs on the desktop of a workstation has a unit of its own, and what is started in a terminal runs in that one's.
    let unit =
        Parts::of(regex!(r"\bKilled /\S*/app-(?P<name>[^/\s]+) due to"), text).and_then(|parts| parts.text("name"));
    if unit.is_some_and(|name| !regex!(r"(?i)term|vte|konsole|tmux|screen|code|jupyter").is_match(&name)) {
        return None;
    }
    let by_cgroup = of_cgroup.is_match(text);
    let kernel = Kernel {
        cgroup: Some(by_cgroup),
        ..of("oom-kill", text)
    };
    (by_cgroup || of_node.is_match(text)).then_some((None, kernel))
}

/// `watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [pt_data_pin:1234]`, `INFO: task python:99 blocked for more than
/// 120 seconds`.
fn lockup(text: &str) -> Option<(Option<u32>, Kernel)> {
    if let Some(parts) = Parts::of(
        regex!(r"soft lockup - CPU#\d+ stuck for (?P<seconds>\d+)s!(?: \[(?P<comm>[^\]]*):(?P<pid>\d+)\])?"),
        text,
    ) {
        let kernel = Kernel {
            process: parts.text("comm"),
            seconds: parts.number("seconds"),
            ..of("soft-lockup", text)
        };
        return Some((parts.number("pid"), kernel));
    }
    if text.contains("hard LOCKUP") || regex!(r"INFO: rcu_\w+ .*\bstalls? on CPU").is_match(text) {
        return Some((None, of("soft-lockup", text)));
    }
    let parts = Parts::of(
        regex!(r"task (?P<comm>.+?):(?P<pid>\d+) blocked for more than (?P<seconds>\d+) seconds"),
        text,
    )?;
    let kernel = Kernel {
        process: parts.text("comm"),
        seconds: parts.number("seconds"),
        ..of("hung-task", text)
    };
    Some((parts.number("pid"), kernel))
}

/// `Memory failure: 0x3fa3: Sending SIGBUS to python:7711 due to hardware memory corruption`; older kernels say
/// `Killing`, or `MCE 0x3fa3: `.
fn memory_failure(text: &str) -> Option<(Option<u32>, Kernel)> {
    let parts = Parts::of(
        regex!(
            r"(?:Memory failure:|MCE) 0x[0-9a-f]+: (?:Sending SIGBUS to|Killing)(?:$| (?P<comm>.+):(?P<pid>\d+) due to hardware memory corruption)"
        ),
        text,
    )?;
    let kernel = Kernel {
        process: parts.text("comm"),
        ..of("memory-failure", text)
    };
    Some((parts.number("pid"), kernel))
}

/// The driver's other lines, as far as they tell of trouble, and machine checks.
fn device(line: &Line) -> Option<(Option<u32>, Kernel)> {
    let text = line.text;
    if text.contains("NVRM: Xid") {
        return None;
    }
    if text.contains("fallen off the bus") {
        return Some((None, of("fallen-off-bus", text)));
    }
    // The daemon that sets up NVSwitches stops where its version is not the driver's; systemd tells when it did.
    let no_fabric = regex!(
        r"abric manager version \S+ (?:does not|doesn't) match|Failed to start .*(?i:nvidia[- ]fabric ?manager)"
    );
    if no_fabric.is_match(text) {
        return Some((None, of("fabric-manager", text)));
    }
    // The processor's unit for the addresses of devices kept a GPU from memory that it was not given.
    let refused = regex!(
        r"^(?:nvidia|amdgpu) [0-9a-f:.]+: AMD-Vi: Event logged \[IO_PAGE_FAULT|^DMAR: \[DMA (?:Read|Write)\b.*\bfault addr"
    );
    if refused.is_match(text) {
        return Some((None, of("iommu", text)));
    }
    if let Some(fault) = amd_page_fault(text) {
        return Some(fault);
    }
    if line.origin.kernel && is_memory_error(text) {
        return Some((None, of("memory-failure", text)));
    }
    if line.origin.kernel && text.contains("[Hardware Error]") {
        return Some((None, of("hardware", text)));
    }
    let trouble = regex!(
        r"NVRM: .*\b(?i:error|fail(?:ed|ure)|timeout|timed out|assert|fatal|mismatch|API mismatch|RmInitAdapter|No NVIDIA (?:devices|graphics adapter) probed)\b"
    );
    trouble.is_match(text).then(|| (None, of("nvrm", text)))
}

/// `amdgpu 0000:c3:00.0: amdgpu: [gfxhub0] no-retry page fault (src_id:0 ring:24 vmid:8 pasid:32770, for process python3
/// pid 5022 thread python3 pid 5022)`; newer drivers name the process on a line of its own, and some name none
/// (`gmc_v9_0.c` and its successors in Linux).
fn amd_page_fault(text: &str) -> Option<(Option<u32>, Kernel)> {
    let parts = Parts::of(
        regex!(
            r"^amdgpu [0-9a-f:.]+: (?:amdgpu: )?\[\w+\](?: (?:no-)?retry)? page fault \(src_id:\d+ ring:\d+ vmid:\d+ pasid:\d+(?:, for process (?P<comm>.*?) pid (?P<pid>\d+) thread)?"
        ),
        text,
    )?;
    let kernel = Kernel {
        process: parts.text("comm").filter(|comm| !comm.is_empty()),
        ..of("gpu-page-fault", text)
    };
    Some((parts.number("pid").filter(|pid| *pid != 0), kernel))
}

/// `EDAC MC3: 1 UE memory read error on CPU_SrcID#1_MC#1_Chan#2_DIMM#0`: the memory controller could not correct what it
/// read (CE: it could).
fn is_memory_error(text: &str) -> bool {
    regex!(r"\bEDAC \S+: \d+ UE\b").is_match(text)
}
