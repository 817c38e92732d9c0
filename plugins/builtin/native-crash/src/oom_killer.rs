//! SIGKILL leaves nothing in the process; the kernel's log tells who sent it.

use serde::Deserialize;

use crate::scene::Scene;
use crate::{Collect, Verdict};

/// Numbers of processes below this one are only given out while a machine starts (`RESERVED_PIDS`, `kernel/pid.c`): who
/// has one is in a container, which counts for itself, and the kernel's log has another number for it.
const OF_CONTAINERS: u32 = 300;

/// What shells and launchers make of SIGKILL.
const KILLED: [i32; 2] = [137, -9];

pub fn rule(scene: &Scene) -> Option<Verdict> {
    // The kernel's log tells of the whole machine: a process that did not end this way was not the victim.
    let killed = match (scene.signal(), scene.crash.exit_code) {
        (Some(signal), _) => signal == "SIGKILL",
        (None, Some(code)) => KILLED.contains(&code),
        (None, None) => false,
    };
    if !killed {
        return None;
    }
    // Another process of the machine may have been killed, not this one.
    let own = scene.crash.pid.filter(|own| *own >= OF_CONTAINERS);
    let is_of_it = |killed: Option<u32>| {
        own.zip(killed)
            .is_none_or(|(own, killed)| own == killed || is_in_container(scene, killed))
    };
    let mut kills = scene.kernel.iter().filter(|told| told.detail.family == "oom-kill");
    let Some(kill) = kills.find(|told| is_of_it(told.event.pid)) else {
        return Some(counted(scene).unwrap_or_else(|| unknown(scene)));
    };
    let detail = &kill.detail;
    let limit = if detail.cgroup == Some(true) {
        "its memory cgroup's limit was reached"
    } else {
        "the machine's memory was used up"
    };
    let victim = detail.process.as_deref().unwrap_or("the process");
    let held = detail.rss.map_or_else(String::new, |bytes| {
        format!(", which held {:.1} GiB", bytes as f64 / f64::from(1 << 30))
    });
    Some(Verdict::Found(
        scene
            .finding("host-oom-killer", 0.93)
            .because(format!("The kernel killed {victim}{held}, because {limit}."))
            .cite(scene.report.cite(&kill.event))
            .cite_all(scene.report.cite_fact("crash.signal")),
    ))
}

/// Whether the kernel's log names a container's group as that of the process that it killed.
fn is_in_container(scene: &Scene, killed: u32) -> bool {
    let group = format!(
        r"oom-kill:.*\btask_memcg=\S*(?:docker|containerd|kubepods|crio|libpod|podman|lxc)\S*,task=[^,]*,pid={killed}\b"
    );
    scene.report.find(&group).is_ok_and(|lines| !lines.is_empty())
}

/// What the collector's counter of the kernel's kills says: they are counted in the control group that the job ran in,
/// whose memory or the machine's was short.
fn counted(scene: &Scene) -> Option<Verdict> {
    let kills: u64 = scene.report.context_text("oom_kills")?.parse().ok()?;
    let counter = scene.report.cite_fact("context.oom_kills")?;
    let signal = scene
        .report
        .cite_fact("crash.signal")
        .or_else(|| scene.report.cite_fact("crash.exit_code"));
    if kills > 0 {
        let finding = scene.finding("host-oom-killer", 0.85).because(format!(
            "While the job ran, the kernel killed {} of its control group for want of memory, by the group's own counter, and this one \
             was killed (SIGKILL).",
            if kills == 1 { "a process".to_owned() } else { format!("{kills} processes") }
        ));
        return Some(Verdict::Found(finding.cite(counter).cite_all(signal)));
    }
    let log = if scene.kernel.is_empty() && !is_unavailable(scene, "kernel log") {
        ", and its log of that time, which could be read, tells of no kill"
    } else {
        ""
    };
    let finding = scene
        .finding("op-terminated", 0.8)
        .titled("Somebody killed the process (SIGKILL); the out-of-memory killer did not")
        .because(format!(
            "The kernel's out-of-memory killer did not end the process: the counter of its kills in the job's control group did not \
             move (oom_kills 0){log}. So somebody sent SIGKILL: a scheduler at a limit, a launcher that gave up on its ranks, a monitor \
             of memory that acts before the kernel does (systemd-oomd, earlyoom, Ray), or a person."
        ))
        .cite(counter)
        .cite_all(signal);
    Some(Verdict::Likely(
        finding,
        vec![Collect {
            artifact: "what the scheduler says of the job",
            how: "sacct -j JOB -o state,exitcode,maxrss,timelimit; kubectl describe pod; journalctl -u systemd-oomd -u earlyoom",
            between: &["op-terminated"],
        }],
    ))
}

/// Whether the collector says that it could not get something.
fn is_unavailable(scene: &Scene, what: &str) -> bool {
    #[derive(Deserialize)]
    struct Missing {
        what: String,
    }
    let missing: Vec<Missing> = scene.report.get("context.unavailable").unwrap_or_default();
    missing.iter().any(|missing| missing.what == what)
}

/// Nobody says who killed it.
fn unknown(scene: &Scene) -> Verdict {
    let proof = ["crash.signal", "crash.exit_code"];
    let finding = scene
        .finding("kill-sigkill", 0.5)
        .because(
            "The process was killed (SIGKILL), and nothing here says by whom. The kernel does that when memory runs out; a scheduler, \
             a launcher that gave up on its ranks, or a person may have done it instead.",
        )
        .cite_all(proof.iter().filter_map(|path| scene.report.cite_fact(path)));
    Verdict::Likely(
        finding,
        vec![Collect {
            artifact: "kernel log",
            how: "dmesg -T | grep -i -E 'killed process|oom' on the host (not in the container), or journalctl -k; and what the scheduler \
                  says of the job, such as sacct -j JOB -o state,exitcode,maxrss",
            between: &["host-oom-killer", "op-terminated", "oom-host-allocator"],
        }],
    )
}
