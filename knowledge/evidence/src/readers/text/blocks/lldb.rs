//! How lldb prints what [`super::debugger`] reads of other debuggers:
//!
//! * `* thread #1, name = 'train', stop reason = signal SIGSEGV: address not mapped to object (fault address: 0x18)`
//! * ``  * frame #0: 0x0000558d1f2c41a6 train`split_node(this=0x00007ffd, lo=8812) at bvh.cpp:204:9``
//! * ``    frame #3: 0x00007f21b0c29d90 libc.so.6`__libc_start_call_main + 128``

use crate::Hex;
use crate::model::{Frame, FrameKind, Place};
use crate::readers::text::regex;

/// A thread, as the line above its frames tells of it.
#[derive(Debug)]
pub struct Head {
    pub name: Option<String>,
    /// The signal that stopped it; macOS tells an exception of Mach's instead, `EXC_BAD_ACCESS` where others have SIGSEGV.
    pub signal: Option<String>,
    /// The signal's code, by its name: Mach's `KERN_INVALID_ADDRESS` (1) and `KERN_PROTECTION_FAILURE` (2).
    pub code: Option<&'static str>,
    /// The address that it was about, where the signal has one.
    pub address: Option<Hex>,
}

/// The line above a thread's frames.
pub fn head(text: &str) -> Option<Head> {
    let found = regex!(
        r"(?x) ^\s*(?:\(lldb\)\ )?(?:\*\ )?thread\ \#\d+(?:,|:)
            (?:.*?\bname\ =\ '(?P<name>[^']*)')?
            .*?\bstop\ reason\ =\ (?:(?:signal\ )?(?P<signal>SIG[A-Z]+)|(?P<mach>EXC_BAD_ACCESS)(?:\ \(code=(?P<code>\d+))?)?
            (?:.*\b(?:fault\ )?address\s?[:=]\ ?(?P<address>0x[0-9a-f]+))?"
    )
    .captures(text)?;
    let part = |name| Some(found.name(name)?.as_str());
    let of_mach = part("mach").map(|_| "SIGSEGV");
    let code = match part("code") {
        Some("1") => Some("SEGV_MAPERR"),
        Some("2") => Some("SEGV_ACCERR"),
        _ => None,
    };
    Some(Head {
        code,
        name: part("name").map(str::to_owned),
        signal: part("signal").or(of_mach).map(str::to_owned),
        address: part("address").and_then(|address| address.parse().ok()),
    })
}

/// A frame, and its place in the stack.
pub fn frame(text: &str, number: u64) -> Option<(u64, Frame)> {
    let found = regex!(
        r"(?x) ^\s*(?:\*\ )?frame\ \#(?P<index>\d+):\ (?P<at>0x[0-9a-f]+)\ (?P<module>[^`]+)`
            (?P<function>.+?)(?:\([\w.]+=.*\))?(?:\ \[(?:opt|inlined|artificial)\])*
            (?:\ \+\ \d+)?(?:\ at\ (?P<file>\S+?):(?P<line>\d+)(?::\d+)?)?(?:\ \[(?:opt|inlined|artificial)\])*\s*$"
    )
    .captures(text)?;
    let part = |name| Some(found.name(name)?.as_str());
    // The name that lldb gives to what has none: `___lldb_unnamed_symbol123`.
    let function = part("function").filter(|name| !name.starts_with("___lldb_unnamed"));
    let frame = Frame {
        kind: FrameKind::Native,
        function: function.map(super::readable),
        module: part("module").map(str::to_owned),
        address: part("at").and_then(|at| at.parse().ok()),
        file: part("file").map(str::to_owned),
        line: part("line").and_then(|line| line.parse().ok()),
        at: Some(Place::Line([number, number])),
        ..Frame::default()
    };
    Some((part("index")?.parse().ok()?, frame))
}
