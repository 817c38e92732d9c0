//! SIGKILL leaves nothing in the process; the kernel's log tells who sent it.

use crate::Verdict;
use crate::scene::Scene;

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
    let kill = scene.kernel.iter().find(|told| told.detail.family == "oom-kill")?;
    let detail = &kill.detail;
    // Another process of the machine was killed, not this one.
    let other = scene
        .crash
        .pid
        .zip(kill.event.pid)
        .is_some_and(|(own, killed)| own != killed);
    if other {
        return None;
    }
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
