//! SIGKILL leaves nothing in the process; the kernel's log tells who sent it.

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
        return Some(unknown(scene));
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
