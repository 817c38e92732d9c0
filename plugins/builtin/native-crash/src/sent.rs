//! A signal of a defect that no instruction raised: another process sent it.

use crate::Verdict;
use crate::scene::Scene;

/// Codes of signals that a process sent (sigaction(2)); the processor's own have others.
const SENT: [&str; 3] = ["SI_USER", "SI_QUEUE", "SI_TKILL"];

/// The siginfo of a core names who sent the signal. A handler that raises a signal again is the process itself.
pub fn rule(scene: &Scene) -> Option<Verdict> {
    let sender = scene.crash.sender.as_ref()?;
    let code = scene.crash.code.as_deref().filter(|code| SENT.contains(code))?;
    let own = scene.crash.pid?;
    if sender.pid == own {
        return None;
    }
    let signal = scene.crash.signal.as_deref()?;
    let who = match sender.pid {
        0 => "a process outside of its container".to_owned(),
        pid => format!("process {pid} of user {}", sender.uid),
    };
    let facts = ["crash.code", "crash.sender.pid", "crash.signal"];
    let finding = scene
        .finding("op-terminated", 0.92)
        .titled(format!("Somebody sent {signal} to the process"))
        .because(format!(
            "{signal} came from {who} ({code}), as `kill` sends it, and not from an instruction of the program: there was no fault. Where \
             the program was then is chance{}.",
            scene.place()
        ))
        .cite_all(facts.iter().filter_map(|path| scene.report.cite_fact(path)));
    Some(Verdict::Found(finding))
}
