//! The other signals that the processor raises.

use whycrash_plugin::facts::ElasticFailure;
use whycrash_plugin::{Owner, cite};

use crate::scene::Scene;
use crate::{Collect, Verdict};

pub fn rule(scene: &Scene) -> Option<Verdict> {
    match scene.signal()? {
        "SIGBUS" => Some(bus(scene)),
        "SIGFPE" => Some(arithmetic(scene)),
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

/// What an arithmetic fault may be when nobody says more.
const ARITHMETIC: &[&str] = &["fpe-integer-division", "fpe-integer-overflow", "fpe-float-trap"];

/// The signal's code tells integers from floating point; both failures of an integer division have one code, and only
/// the operands tell them apart.
fn arithmetic(scene: &Scene) -> Verdict {
    let found = |cause: &str, confidence: f64, why: &str| {
        scene
            .finding(cause, confidence)
            .because(format!("{why}{}.", scene.place()))
            .cite_all(scene.fault_facts())
            .cite_all(scene.report.cite_fact("crash.arithmetic"))
            .cite_all(scene.signal_proof())
            .cite_all(scene.frames_proof())
    };
    match (scene.code(), scene.crash.arithmetic.as_deref()) {
        (Some(code), _) if code.starts_with("FPE_FLT") => {
            let why = format!("A floating-point operation {} with its trap switched on", float(code));
            Verdict::Found(found("fpe-float-trap", 0.95, &why))
        }
        (_, Some("floating-point")) => Verdict::Found(found(
            "fpe-float-trap",
            0.88,
            "The signal came from a floating-point operation with its trap switched on",
        )),
        (Some("FPE_INTOVF"), _) | (_, Some("quotient-overflow")) => Verdict::Found(found(
            "fpe-integer-overflow",
            0.95,
            "The quotient of an integer division did not fit (the divisor is not zero), as when the smallest integer is divided by -1",
        )),
        (_, Some("zero-divisor")) => {
            Verdict::Found(found("fpe-integer-division", 0.95, "An integer was divided by zero"))
        }
        // Who sends a signal, or sends it on from a handler, says nothing about arithmetic.
        _ if matches!(scene.crash.code.as_deref(), Some("SI_USER" | "SI_TKILL")) => Verdict::Undecided(Vec::new()),
        _ => {
            let integer = scene.code() == Some("FPE_INTDIV") || scene.kernel_fault().is_some() || divides(scene);
            let (cause, confidence, why) = if integer {
                (
                    "fpe-integer-division",
                    0.8,
                    "An integer was divided by zero, or its quotient did not fit: the operands are not known",
                )
            } else {
                (
                    "fpe-arithmetic",
                    0.6,
                    "An arithmetic fault: mostly an integer that was divided by zero, but a quotient that does not fit and a \
                     floating-point operation with its traps switched on are reported in the same words",
                )
            };
            Verdict::Likely(found(cause, confidence, why), vec![Collect::core(ARITHMETIC)])
        }
    }
}

/// Whether somebody had a debugger show the instruction (`x/i $pc`), and it divides integers.
fn divides(scene: &Scene) -> bool {
    let shown = r"=> 0x[0-9a-f]+[^:]*:\s+i?div[bwlq]?\b";
    scene.report.search(None, shown, 1).is_ok_and(|lines| !lines.is_empty())
}

/// What a floating-point operation did, by the signal's code.
fn float(code: &str) -> &'static str {
    match code {
        "FPE_FLTDIV" => "divided by zero",
        "FPE_FLTOVF" => "gave a number too large for its type",
        "FPE_FLTUND" => "gave a number too small for its type",
        "FPE_FLTRES" => "gave a number that had to be rounded",
        _ => "had no result, such as 0/0 or the conversion of a NaN,",
    }
}

/// Instructions whose only purpose is to trap: `ud2`, `ud1` and `int3` of x86-64.
const X86_TRAPS: [&str; 3] = ["0f0b", "0fb9", "cc"];

/// The instruction itself tells: one that is there to trap, or one that this processor does not know.
fn illegal(scene: &Scene) -> Verdict {
    let Some(instruction) = scene.crash.instruction.as_deref() else {
        return unseen(scene);
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

/// Somebody had a debugger show the instruction (`x/i $pc`): a trap, or one that only newer processors know (with VEX or
/// EVEX prefix, or of the sets that x86-64 took on since SSE4).
fn shown_instruction(scene: &Scene) -> Option<Verdict> {
    const SHOWN: &str = r"=> 0x[0-9a-f]+[^:]*:\s+(?:ud2|ud1|int3|v[a-z0-9]+|popcnt|[tl]zcnt|andn|bextr|bls[ir]|sarx|sh[lr]x|rorx|mulx|pdep|pext|ad[co]x|movbe|rdrand|rdseed|xbegin|aes[a-z0-9]+|sha[0-9a-z]+|pclmul[a-z]+|crc32[a-z]*|tile[a-z]+)\b";
    let line = scene.report.search(None, SHOWN, 1).ok()?.into_iter().next()?;
    let (_, instruction) = line.text.split_once(":\t").or_else(|| line.text.rsplit_once(": "))?;
    let name = instruction.split_whitespace().next()?;
    if ["ud2", "ud1", "int3"].contains(&name) {
        return Some(trap(scene));
    }
    Some(Verdict::Found(
        scene
            .finding("ill-unsupported-instruction", 0.9)
            .because(format!(
                "The processor does not know `{}`, an instruction of newer ones{}.",
                instruction.trim(),
                scene.place()
            ))
            .cite(cite::line(&line))
            .cite_all(scene.frames_proof()),
    ))
}

/// What the instruction was is not known. Programs that are handed out are built for one processor and run on another;
/// traps are in the code of people who build it themselves.
fn unseen(scene: &Scene) -> Verdict {
    let next = vec![Collect {
        artifact: "disassembly of the instruction",
        how: "open the core and look at it: gdb -batch -ex 'x/i $pc' PROGRAM CORE (ud2 is a compiler's trap), and compare \
              lscpu with what the program was built for",
        between: &["ill-trap", "ill-unsupported-instruction"],
    }];
    if let Some(verdict) = shown_instruction(scene) {
        return verdict;
    }
    let lead = scene.native.as_ref().and_then(|stack| stack.lead());
    // Of a rank, its launcher often knows no more than the exit status.
    let is_status_alone = lead.is_none() && !scene.report.told::<ElasticFailure>().is_empty();
    if is_status_alone || lead.is_some_and(|(_, frame)| frame.owner() == Owner::Program) {
        return Verdict::Undecided(next);
    }
    let finding = scene
        .finding("ill-unsupported-instruction", 0.48)
        .because(format!(
            "The processor refused an instruction (SIGILL){}. Mostly a binary was built for newer processors than this one; a trap \
             that the compiler put there is told in the same words.",
            scene.place()
        ))
        .cite_all(scene.signal_proof())
        .cite_all(scene.frames_proof());
    Verdict::Likely(finding, next)
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
