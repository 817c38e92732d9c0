//! What a program that gave up had to say: glibc keeps its message in memory for debuggers, and an uncaught C++
//! exception is still where it was thrown.

use whycrash_evidence::model::{Crash, Frame};

use crate::names;
use crate::process::fault;
use crate::process::memory::{Bytes, Memory};

/// Longest message that is read.
const MAX_MESSAGE: usize = 4096;
/// Bytes of the stack that are searched for an exception: the frames of `abort`, `terminate` and the throw are small.
const MAX_STACK: u64 = 16 << 10;
/// `GNUCC++` and 0, or 1 for one thrown again (`std::rethrow_exception`), as a little-endian number (Itanium C++ ABI:
/// Exception Handling, 2.2.1; libstdc++ `unwind-cxx.h`).
const EXCEPTION_CLASS: u64 = u64::from_be_bytes(*b"GNUCC++\0");
/// From the unwinder's header in `__cxa_exception` (libstdc++ `unwind-cxx.h`) back to the type, and on to the object.
const TYPE_BEFORE_HEADER: u64 = 80;
const OBJECT_AFTER_HEADER: u64 = 32;
/// Base classes that are followed at most.
const MAX_BASES: usize = 16;
/// `std::exception`, mangled.
const STD_EXCEPTION: &str = "St9exception";

/// Adds to a crash by `abort` what the program said.
pub(crate) fn add(crash: &mut Crash, frames: &[Frame], memory: Memory<'_>) {
    if crash.signal.as_deref() != Some("SIGABRT") {
        return;
    }
    let found = abort_message(memory).or_else(|| {
        let terminated = frames
            .iter()
            .filter_map(|frame| frame.function.as_deref())
            .any(is_terminate);
        Some((
            uncaught(memory).filter(|_| terminated)?,
            "exception in memory".to_owned(),
        ))
    });
    if let Some((message, source)) = found {
        crash.message = Some(message);
        crash.message_source = Some(source);
    }
}

fn is_terminate(function: &str) -> bool {
    [
        "std::terminate",
        "__cxxabiv1::__terminate",
        "__gnu_cxx::__verbose_terminate_handler",
    ]
    .iter()
    .any(|name| function.starts_with(name))
}

/// `__abort_msg` of glibc: a pointer to a length (of the mapping that holds it) and the text (glibc `include/assert.h`,
/// `struct abort_msg_s`).
fn abort_message(memory: Memory<'_>) -> Option<(String, String)> {
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let is_libc = |path: &str| name(path).starts_with("libc.so") || name(path).starts_with("libc-2");
    // A static program is its own libc.
    let libc = memory.modules.named(is_libc).next();
    let (path, loaded) = libc.or_else(|| memory.modules.named(|_| true).next())?;
    let message = memory.word(loaded.data_address("__abort_msg")?).filter(|at| *at != 0)?;
    let text = text_at(memory, message.checked_add(4)?)?;
    Some((text, format!("__abort_msg of {}", name(path))))
}

/// Type and text of the exception that the stack of the crashed thread is about.
fn uncaught(memory: Memory<'_>) -> Option<String> {
    let registers = memory.core.threads.first()?.registers;
    // A handler of the signal may have run on a stack of its own.
    let interrupted = fault::interruptions(memory, &registers).map(|interrupted| interrupted.registers);
    let mut stacks = std::iter::once(registers)
        .chain(interrupted)
        .map(|registers| memory.core.stack_pointer(&registers));
    describe(memory, stacks.find_map(|stack| exception_header(memory, stack & !7))?)
}

/// The unwinder's header of an exception that a word of the stack points to.
fn exception_header(memory: Memory<'_>, stack: u64) -> Option<u64> {
    let is_header = |candidate: &u64| {
        let class = || memory.word(*candidate);
        candidate.is_multiple_of(16) && class().is_some_and(|class| class & !1 == EXCEPTION_CLASS)
    };
    (0..MAX_STACK / 8)
        .map_while(|index| memory.word(stack.checked_add(index * 8)?))
        .find(is_header)
}

/// Type and text of an exception.
fn describe(memory: Memory<'_>, header: u64) -> Option<String> {
    let kind = memory.word(header.checked_sub(TYPE_BEFORE_HEADER)?)?;
    let mangled = type_name(memory, kind)?;
    let name = names::demangle(&format!("_ZTS{mangled}"));
    let name = name.strip_prefix("typeinfo name for ").unwrap_or(&mangled).to_owned();
    let object = header.checked_add(OBJECT_AFTER_HEADER)?;
    let what = is_std_exception(memory, kind, 0)
        .then(|| memory.word(object.checked_add(8)?))
        .flatten()
        .and_then(|text| text_at(memory, text));
    Some(match what {
        // The exceptions of the standard library, and most of others, have a string first (behind the virtual table).
        Some(what) => format!("{name}: {what}"),
        None => name,
    })
}

/// The mangled name that `std::type_info` has behind its virtual table; a leading `*` says that it is compared by
/// address.
fn type_name(memory: Memory<'_>, kind: u64) -> Option<String> {
    let name = text_at(memory, memory.word(kind.checked_add(8)?)?)?;
    let name = name.strip_prefix('*').unwrap_or(&name);
    let is_mangled = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$'));
    (is_mangled && !name.is_empty()).then(|| name.to_owned())
}

/// Follows the base classes: the first one stands behind the name (`__si_class_type_info`), or behind flags and a count
/// (`__vmi_class_type_info`).
fn is_std_exception(memory: Memory<'_>, kind: u64, depth: usize) -> bool {
    let Some(name) = type_name(memory, kind) else {
        return false;
    };
    if name == STD_EXCEPTION {
        return true;
    }
    let base = |offset: u64| memory.word(kind.checked_add(offset)?);
    depth < MAX_BASES
        && [16, 24]
            .into_iter()
            .filter_map(base)
            .any(|base| base.is_multiple_of(8) && is_std_exception(memory, base, depth + 1))
}

/// Printable text up to a NUL, without what is blank at its end.
fn text_at(memory: Memory<'_>, address: u64) -> Option<String> {
    let mut bytes = Vec::new();
    while bytes.len() < MAX_MESSAGE {
        let byte = memory.number(address.checked_add(bytes.len() as u64)?, 1)? as u8;
        if byte == 0 {
            break;
        }
        bytes.push(byte);
    }
    let end = if bytes.len() == MAX_MESSAGE { "…" } else { "" };
    let text = format!("{}{end}", String::from_utf8_lossy(&bytes).trim_end());
    let is_text = |character: char| !character.is_control() || matches!(character, '\n' | '\t');
    (!text.is_empty() && text.chars().all(is_text)).then_some(text)
}
