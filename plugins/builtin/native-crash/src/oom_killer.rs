//! SIGKILL leaves nothing in the process; the kernel's log tells who sent it.

use crate::Verdict;
use crate::scene::Scene;

pub fn rule(scene: &Scene) -> Option<Verdict> {
    if scene.signal().is_some_and(|signal| signal != "SIGKILL") {
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
