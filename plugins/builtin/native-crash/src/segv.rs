//! SIGSEGV: told apart by the address, by how it was accessed, and by who did.

use std::collections::BTreeSet;

use whycrash_plugin::{Citation, Finding, Frame, Line, Owner, cite};

use crate::gil;
use crate::lost;
use crate::scene::Scene;
use crate::stack::{Stack, describe, function, module};
use crate::{Collect, Verdict};

/// Addresses below this are a null pointer plus the offset of a member or element.
pub const NULL_END: u64 = 64 << 10;
/// A stack this deep has run away.
const RUNAWAY_DEPTH: u64 = 1000;
/// faulthandler stops after this many frames.
const FAULTHANDLER_FRAMES: u64 = 100;

/// Everything that a fault at an address where nothing is mapped can be.
const LOST_MEMORY: &[&str] = &[
    "seg-use-after-free",
    "seg-buffer-freed-under-tensor",
    "seg-oob-read-write",
    "seg-wild-pointer",
];

pub fn rule(scene: &Scene) -> Option<Verdict> {
    let kernel = scene
        .kernel_fault()
        .is_some_and(|told| told.detail.family == "segfault" && told.event.primary);
    if scene.signal() != Some("SIGSEGV") && !(scene.signal().is_none() && kernel) {
        return None;
    }
    let rules = [
        stack_overflow,
        exec_null,
        gil::violation,
        write_readonly,
        ctypes,
        forked,
        vendor_library,
        null_deref,
        wild,
        freed,
        past_end,
        lost::rule,
        import,
    ];
    Some(match rules.iter().find_map(|rule| rule(scene)) {
        Some(finding) => Verdict::Found(finding),
        None => undecided(scene),
    })
}

/// Functions that take an autograd graph down.
const TEARDOWN: [&str; 3] = [
    "torch::autograd::deleteNode",
    "torch::autograd::Node::~Node",
    "torch::autograd::deleteGradFn",
];
/// So many of them within each other are a recursion, also where a dump of the stack ends after some frames.
const NESTED: usize = 8;

/// The end of a stack, or a stack that repeats itself.
fn stack_overflow(scene: &Scene) -> Option<Finding> {
    let native = scene.native.as_ref();
    let at_end = scene.address_kind() == Some("stack-overflow");
    let runaway = native.is_some_and(|stack| stack.depth >= RUNAWAY_DEPTH && repeats(stack));
    let python = scene
        .python
        .as_ref()
        .filter(|stack| stack.depth >= FAULTHANDLER_FRAMES && repeats(stack));
    let graph = native.and_then(|stack| stack.with(&TEARDOWN));
    let torn_down = native.is_some_and(|stack| stack.count(&TEARDOWN) >= NESTED);
    if !at_end && !runaway && !torn_down && python.is_none() {
        return None;
    }
    let depth = native.or(python).map_or(0, |stack| stack.depth);
    if let (Some(stack), Some(frame)) = (native, graph) {
        return Some(
            scene
                .finding("seg-autograd-deep-graph", if at_end || runaway { 0.9 } else { 0.7 })
                .because(format!(
                    "The stack ran out while an autograd graph was being torn down node by node ({depth} frames): the graph is as deep as the \
                     loop that built it is long{}.",
                    scene.place()
                ))
                .cite(stack.cite(frame))
                .cite_all(scene.fault_facts()),
        );
    }
    let how = match (at_end, runaway) {
        (true, true) => {
            format!("The fault is at the end of the thread's stack, which is {depth} frames deep and repeats itself")
        }
        (true, false) => "The fault is at the end of the thread's stack".to_owned(),
        _ => format!("The stack is {depth} frames deep or more, and repeats itself"),
    };
    let proof = native.or(python).map(recursion_proof).unwrap_or_default();
    Some(
        scene
            .finding("seg-stack-overflow", if at_end { 0.93 } else { 0.75 })
            .because(format!("{how}{}.", scene.place()))
            .cite_all(if at_end { scene.fault_facts() } else { Vec::new() })
            .cite_all(proof),
    )
}

/// Whether few functions make up almost all of a stack.
fn repeats(stack: &Stack) -> bool {
    const CYCLE: usize = 8;
    let distinct: BTreeSet<_> = stack
        .frames
        .iter()
        .skip(stack.frames.len() / 4)
        .map(|(_, frame)| (function(frame), &frame.file))
        .collect();
    // Of a stack whose middle was left out, few frames are there to compare.
    let shown = if stack.depth > RUNAWAY_DEPTH { 12 } else { 64 };
    let is_cycle = stack.frames.len() >= shown && distinct.len() <= CYCLE.min(stack.frames.len() / 4);
    is_cycle || stack.depth > RUNAWAY_DEPTH && calls_itself(stack)
}

/// Whether all that people left of a long stack, before they left out its middle, is one function.
fn calls_itself(stack: &Stack) -> bool {
    const SHOWN: usize = 4;
    let innermost: Vec<_> = stack
        .frames
        .iter()
        .take(SHOWN)
        .map(|(_, frame)| function(frame))
        .collect();
    innermost.len() == SHOWN && innermost.iter().all(|name| *name == innermost[0])
}

/// The innermost frame, and the next one of the same function.
fn recursion_proof(stack: &Stack) -> Vec<Citation> {
    let Some(first) = stack.meaningful() else {
        return Vec::new();
    };
    let again = stack
        .frames
        .iter()
        .find(|frame| frame.0 > first.0 && frame.1.function == first.1.function);
    [Some(first), again]
        .into_iter()
        .flatten()
        .map(|frame| stack.cite(frame))
        .collect()
}

/// The processor was sent to address zero, or to data.
fn exec_null(scene: &Scene) -> Option<Finding> {
    let executed = scene.crash.access.as_deref() == Some("execute") || scene.address_kind() == Some("not-code");
    let at_null = scene
        .native
        .as_ref()
        .and_then(|stack| stack.frames.first())
        .is_some_and(|(_, frame)| frame.address.is_some_and(|address| address < NULL_END) && frame.trust == "context");
    if !executed && !at_null {
        return None;
    }
    let stack = scene.native.as_ref();
    let caller = stack.and_then(|stack| stack.frames.iter().find(|(_, frame)| frame.function.is_some()));
    let origin = caller.map_or_else(String::new, |(_, frame)| format!(", called from {}", describe(frame)));
    let target = match scene.crash.address() {
        Some(address) if address >= NULL_END => format!("{address:#x}, which is not code"),
        _ => "a null function pointer".to_owned(),
    };
    Some(
        scene
            .finding("seg-exec-null", 0.93)
            .because(format!("The processor jumped to {target}{origin}."))
            .cite_all(scene.fault_facts())
            .cite_all(stack.zip(caller).map(|(stack, frame)| stack.cite(frame)))
            .cite_all(scene.signal_proof()),
    )
}

/// A write to memory that is mapped for reading alone.
fn write_readonly(scene: &Scene) -> Option<Finding> {
    let written = scene.crash.access.as_deref() == Some("write") || scene.code() == Some("SEGV_ACCERR");
    if scene.address_kind() != Some("read-only") || !written {
        return None;
    }
    Some(
        scene
            .finding("seg-write-readonly", 0.93)
            .because(format!(
                "Memory that is mapped for reading alone was written to{}.",
                at_address(scene) + &scene.place()
            ))
            .cite_all(scene.fault_facts())
            .cite_all(scene.frames_proof()),
    )
}

/// The line of a debugger in which an argument has the lower half of an address, and its sign in the upper one: what
/// ctypes makes of a pointer where nobody told it that a function returns or takes one (`restype`, `argtypes` are C's
/// `int` by default). All bits set is no such address: it is -1, as `mmap` returns it.
fn cut_pointer(scene: &Scene) -> Option<Line> {
    const CUT: &str = r"^(?:#0 .*|0x[0-9a-f]+ in .*)[(, ]\w+=0xffffffff(?:[89a-e][0-9a-f]{7}|f[0-9a-e][0-9a-f]{6})\b";
    scene.report.search(None, CUT, 1).ok()?.into_iter().next()
}

/// The line of a debugger in which ctypes calls a function that nobody told it the arguments of: a number that is an
/// address is handed over as an `int`, which has half of it.
fn undeclared(scene: &Scene) -> Option<Line> {
    const CALL: &str = r"^(?:#\d+ .*)?\b_ctypes_callproc \(.*\bargtypes=0x0\b";
    scene.report.search(None, CALL, 1).ok()?.into_iter().next()
}

/// Python handed an address to C: nothing but the call interface lies between the interpreter and the fault.
fn ctypes(scene: &Scene) -> Option<Finding> {
    let python = scene.python.as_ref().and_then(|stack| {
        let innermost = stack.frames.first()?;
        let file = innermost.1.file.as_deref()?;
        ["/ctypes/__init__.py", "/cffi/"]
            .iter()
            .any(|part| file.contains(part))
            .then(|| stack.cite(innermost))
    });
    let mut cut = cut_pointer(scene);
    let native = scene.native.as_ref().and_then(|stack| {
        let direct: Vec<_> = stack
            .frames
            .iter()
            .take_while(|(_, frame)| !is_interpreter(frame))
            .collect();
        let interface = direct.iter().find(|(_, frame)| is_call_interface(frame))?;
        // A function of a library in between is that library's bug as likely as the caller's.
        let own = direct
            .iter()
            .take_while(|found| found.0 < interface.0)
            .all(|(_, frame)| frame.owner() == Owner::Machinery);
        if cut.is_none() && direct.first().is_some_and(|callee| callee.0 + 1 == interface.0) {
            cut = undeclared(scene);
        }
        (own || cut.is_some()).then(|| stack.cite(interface))
    });
    if python.is_none() && native.is_none() {
        return None;
    }
    Some(
        scene
            .finding("seg-user-ctypes", if native.is_some() { 0.93 } else { 0.9 })
            .because(format!(
                "A foreign function called from Python through ctypes or cffi was given an address that it can not use{}.",
                at_address(scene) + &scene.place()
            ))
            .cite_all(python)
            .cite_all(native)
            .cite_all(cut.as_ref().map(cite::line))
            .cite_all(scene.fault_facts())
            .cite_all(scene.frames_proof()),
    )
}

fn is_interpreter(frame: &Frame) -> bool {
    function(frame).is_some_and(|name| name.starts_with("_PyEval") || name.starts_with("PyObject_Vectorcall"))
}

pub fn is_call_interface(frame: &Frame) -> bool {
    function(frame).is_some_and(|name| {
        [
            "ffi_call",
            "_ctypes_callproc",
            "_call_function_pointer",
            "string_at",
            "wstring_at",
        ]
        .contains(&name)
    }) || module(frame).is_some_and(|name| {
        ["libffi", "_ctypes", "_cffi_backend"]
            .iter()
            .any(|start| name.starts_with(start))
    })
}

/// In the driver, in a child that a process with a context of its own had forked.
fn forked(scene: &Scene) -> Option<Finding> {
    let native = scene.native.as_ref()?;
    let driver = native
        .frames
        .iter()
        .take(8)
        .find(|(_, frame)| module(frame).is_some_and(|name| name.starts_with("libcuda.so")))?;
    let python = scene.python.as_ref()?;
    let fork = python.frames.iter().find(|(_, frame)| {
        let file = frame.file.as_deref().unwrap_or_default();
        file.ends_with("multiprocessing/popen_fork.py") || function(frame) == Some("_fork")
    })?;
    Some(
        scene
            .finding("seg-multiprocess-fork-gpu", 0.88)
            .because(format!(
                "A forked child used the driver, whose context had been made by its parent{}.",
                scene.place()
            ))
            .cite(native.cite(driver))
            .cite(python.cite(fork))
            .cite_all(scene.fault_facts()),
    )
}

/// In a library of the vendor, which has no sources to look into.
fn vendor_library(scene: &Scene) -> Option<Finding> {
    let frame = scene
        .native
        .as_ref()
        .and_then(|stack| Some((stack, stack.innermost()?)));
    let from_frame = frame.and_then(|(stack, fault)| Some((module(&fault.1)?.to_owned(), stack.cite(fault))));
    // Stacks that a handler printed name functions and often no modules.
    let from_name = scene.native.as_ref().and_then(|stack| {
        let fault = stack.innermost()?;
        let is_of_nccl = function(&fault.1)?
            .strip_prefix("nccl")?
            .starts_with(char::is_uppercase);
        (module(&fault.1).is_none() && is_of_nccl).then(|| ("libnccl.so".to_owned(), stack.cite(fault)))
    });
    let from_kernel = scene
        .kernel_fault()
        .and_then(|told| Some((told.detail.object.clone()?, scene.report.cite(&told.event))));
    let (library, proof) = from_frame
        .into_iter()
        .chain(from_name)
        .chain(from_kernel)
        .find(|(library, _)| vendor(library).is_some())?;
    Some(
        scene
            .finding(vendor(&library)?, 0.85)
            .because(format!(
                "The fault is inside of {library}{}.",
                at_address(scene) + &scene.place()
            ))
            .cite(proof)
            .cite_all(scene.fault_facts())
            .cite_all(scene.signal_proof()),
    )
}

fn vendor(library: &str) -> Option<&'static str> {
    let library = library.rsplit('/').next()?;
    match library {
        // With the plugins that it loads for networks and tuning.
        _ if library.starts_with("libnccl.so") || library.starts_with("libnccl-") => Some("seg-libnccl"),
        _ if library.starts_with("libcuda.so") => Some("seg-libcuda"),
        _ => None,
    }
}

fn null_deref(scene: &Scene) -> Option<Finding> {
    let kernel = scene.kernel_fault().filter(|_| scene.crash.address.is_none());
    let from_kernel =
        kernel.and_then(|told| u64::from_str_radix(told.detail.address.as_deref()?.trim_start_matches("0x"), 16).ok());
    // Only a core tells what the address is; a small one alone is told by the kernel's line as well.
    let told = scene.crash.address().filter(|_| scene.address_kind().is_none());
    let null = scene.address_kind() == Some("null") || from_kernel.or(told).is_some_and(|address| address < NULL_END);
    if !null {
        return None;
    }
    let known = scene.native.is_some();
    Some(
        scene
            .finding("seg-null-deref", if known { 0.92 } else { 0.8 })
            .because(format!(
                "A null pointer was used{}.",
                at_address(scene) + &scene.place()
            ))
            .cite_all(scene.fault_facts())
            .cite_all(scene.signal_proof())
            .cite_all(scene.frames_proof()),
    )
}

/// An address that no pointer can have.
fn wild(scene: &Scene) -> Option<Finding> {
    if scene.address_kind() != Some("non-canonical") {
        return None;
    }
    Some(
        scene
            .finding("seg-wild-pointer", 0.9)
            .because(format!(
                "A pointer was used whose value is no address at all: it was overwritten, or never was a pointer{}.",
                at_address(scene) + &scene.place()
            ))
            .cite_all(scene.fault_facts())
            .cite_all(scene.frames_proof()),
    )
}

/// Memory that is gone while another thread is tearing down the object that the faulting code belongs to.
fn freed(scene: &Scene) -> Option<Finding> {
    if scene.address_kind() != Some("unmapped") {
        return None;
    }
    let stack = scene.native.as_ref()?;
    let classes: BTreeSet<&str> = stack
        .frames
        .iter()
        .take(8)
        .filter_map(|(_, frame)| class(function(frame)?))
        .collect();
    let teardown = scene
        .report
        .walks()
        .filter(|walk| walk.thread.id != stack.thread())
        .find_map(|walk| {
            let found = walk.frames().take(32).find(|(_, frame)| {
                function(frame)
                    .is_some_and(|name| class(name).is_some_and(|class| classes.contains(class)) && tears_down(name))
            });
            found.map(|(index, frame)| (walk.cite(index, &frame), describe(&frame), walk.thread.id.clone()))
        });
    let (citation, frame, thread) = teardown?;
    Some(
        scene
            .finding("seg-use-after-free", 0.75)
            .because(format!(
                "Memory that is no longer there was used{}; meanwhile thread {thread} is in {frame}, which takes the same object down.",
                at_address(scene) + &scene.place()
            ))
            .cite_all(scene.fault_facts())
            .cite_all(stack.proof())
            .cite(citation),
    )
}

/// The class of a C++ member function, without its arguments.
fn class(name: &str) -> Option<&str> {
    let name = name.split('(').next()?;
    let (class, _) = name.rsplit_once("::")?;
    (!class.starts_with("std::") && !class.is_empty()).then_some(class)
}

fn tears_down(name: &str) -> bool {
    let member = name
        .split('(')
        .next()
        .and_then(|name| name.rsplit("::").next())
        .unwrap_or_default()
        .to_ascii_lowercase();
    [
        "~", "close", "stop", "shutdown", "destroy", "clear", "reset", "release", "free", "teardown",
    ]
    .iter()
    .any(|word| member.starts_with(word))
}

/// Right behind memory, in a page that is there to catch exactly this.
fn past_end(scene: &Scene) -> Option<Finding> {
    if scene.address_kind() != Some("guard-page") {
        return None;
    }
    Some(
        scene
            .finding("seg-oob-read-write", 0.75)
            .because(format!(
                "A page was touched that nobody may touch, as they stand behind a mapping: the {} ran past its end{}.",
                scene.access(),
                at_address(scene) + &scene.place()
            ))
            .cite_all(scene.fault_facts())
            .cite_all(scene.frames_proof()),
    )
}

/// The interpreter was loading an extension module when it happened.
fn import(scene: &Scene) -> Option<Finding> {
    let stack = scene.python.as_ref()?;
    let innermost = stack.frames.first()?;
    let loading = innermost.1.file.as_deref()?.contains("importlib._bootstrap")
        && function(&innermost.1)
            .is_some_and(|name| ["create_module", "exec_module", "_call_with_frames_removed"].contains(&name));
    if !loading {
        return None;
    }
    let user = stack.lead();
    let by = user.map_or_else(String::new, |(_, frame)| format!(", imported by {}", describe(frame)));
    Some(
        scene
            .finding("abi-import-order-segv", 0.7)
            .because(format!(
                "The process died while an extension module was being loaded{by}: its initialisation met a library of another build that \
                 was loaded before it."
            ))
            .cite(stack.cite(innermost))
            .cite_all(user.map(|frame| stack.cite(frame)))
            .cite_all(scene.signal_proof()),
    )
}

pub fn at_address(scene: &Scene) -> String {
    scene
        .crash
        .address()
        .map_or_else(String::new, |address| format!(" ({} at {address:#x})", scene.access()))
}

fn undecided(scene: &Scene) -> Verdict {
    let mut next = Vec::new();
    if scene.native.is_none() {
        next.push(Collect::core(&[
            "seg-null-deref",
            "seg-use-after-free",
            "seg-oob-read-write",
            "seg-stack-overflow",
            "seg-wild-pointer",
        ]));
    }
    next.push(Collect::asan(LOST_MEMORY));
    match family(scene) {
        Some(finding) => Verdict::Likely(finding, next),
        None => Verdict::Undecided(next),
    }
}

/// What is certain where no rule decides: that it was a fault, and as far as it is known where.
fn family(scene: &Scene) -> Option<Finding> {
    let unmapped = scene.address_kind() == Some("unmapped");
    let (cause, confidence, what) = if unmapped {
        (
            "seg-unmapped",
            0.6,
            "An address was used that nothing is mapped at: memory that is gone, an index far past its end, or an overwritten pointer",
        )
    } else {
        (
            "seg-fault",
            0.5,
            "The process died of a segmentation fault, and these artifacts do not tell which kind",
        )
    };
    let proof: Vec<Citation> = scene
        .signal_proof()
        .into_iter()
        .chain(if unmapped { scene.fault_facts() } else { Vec::new() })
        .chain(scene.frames_proof())
        .collect();
    (!proof.is_empty()).then(|| {
        scene
            .finding(cause, confidence)
            .because(format!("{what}{}.", at_address(scene) + &scene.place()))
            .cite_all(proof)
    })
}
