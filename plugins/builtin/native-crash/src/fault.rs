//! The other signals that the processor raises.

use crate::scene::Scene;
use crate::{Collect, Verdict};

pub fn rule(scene: &Scene) -> Option<Verdict> {
    match scene.signal()? {
        "SIGBUS" => Some(bus(scene)),
        "SIGFPE" => Some(divide(scene)),
        "SIGILL" => Some(illegal(scene)),
        "SIGTRAP" => Some(trap(scene)),
        _ => None,
    }
}

/// A page of a file mapping that the file does not have.
fn bus(scene: &Scene) -> Verdict {
    let beyond = scene.code() == Some("BUS_ADRERR") || scene.address_kind() == Some("beyond-file");
    if !beyond && scene.code().is_some() {
        return Verdict::Undecided(vec![Collect::asan(&["seg-wild-pointer", "bus-file-truncated"])]);
    }
    let how = if beyond {
        "A mapping was touched whose file no longer reaches that far, or whose file system is full"
    } else {
        "A bus error: almost always a file mapping whose file was truncated, or whose file system (such as /dev/shm) is full"
    };
    Verdict::Found(
        scene
            .finding("bus-file-truncated", if beyond { 0.92 } else { 0.6 })
            .because(format!("{how}{}.", scene.place()))
            .cite_all(scene.fault_facts())
            .cite_all(scene.signal_proof())
            .cite_all(scene.frames_proof()),
    )
}

/// On x86 no other instruction of common code raises SIGFPE: floating point does not trap unless it is told to.
fn divide(scene: &Scene) -> Verdict {
    let certain = scene.code() == Some("FPE_INTDIV");
    Verdict::Found(
        scene
            .finding("fpe-integer-division", if certain { 0.95 } else { 0.8 })
            .because(format!("An integer was divided by zero{}.", scene.place()))
            .cite_all(scene.fault_facts())
            .cite_all(scene.signal_proof())
            .cite_all(scene.frames_proof()),
    )
}

/// Instructions whose only purpose is to trap: `ud2`, `ud1` and `int3` of x86-64.
const X86_TRAPS: [&str; 3] = ["0f0b", "0fb9", "cc"];

/// The instruction itself tells: one that is there to trap, or one that this processor does not know.
fn illegal(scene: &Scene) -> Verdict {
    let Some(instruction) = scene.crash.instruction.as_deref() else {
        return Verdict::Undecided(vec![Collect {
            artifact: "disassembly of the instruction",
            how: "open the core and look at it: gdb -batch -ex 'x/i $pc' PROGRAM CORE (ud2 is a compiler's trap), and compare \
                  lscpu with what the program was built for",
            between: &["ill-trap", "ill-unsupported-instruction"],
        }]);
    };
    if X86_TRAPS.iter().any(|bytes| instruction.starts_with(bytes)) {
        return trap(scene);
    }
    Verdict::Found(
        scene
            .finding("ill-unsupported-instruction", 0.9)
            .because(format!(
                "The processor does not know an instruction of this program (bytes {instruction}){}.",
                scene.place()
            ))
            .cite_all(scene.report.cite_fact("crash.instruction"))
            .cite_all(scene.fault_facts())
            .cite_all(scene.frames_proof()),
    )
}

fn trap(scene: &Scene) -> Verdict {
    Verdict::Found(
        scene
            .finding("ill-trap", 0.85)
            .because(format!(
                "The code ran into a trap instruction that its compiler put where it must not get{}.",
                scene.place()
            ))
            .cite_all(scene.fault_facts())
            .cite_all(scene.signal_proof())
            .cite_all(scene.frames_proof()),
    )
}
