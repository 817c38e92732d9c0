//! Native code that gave up in one line: heap checks, assertions, failed checks.

use super::Parts;
use crate::model::{EventPayload, NativeAbort};
use crate::readers::text::line::Line;
use crate::readers::text::rules::Rule;
use crate::readers::text::sink::Sink;
use crate::readers::text::{Block, regex};

/// Last words of native code.
pub const RULE: Rule = Rule {
    literals: &[
        "free(): ",
        "malloc(): ",
        "malloc_consolidate(): ",
        "realloc(): ",
        "calloc(): ",
        "munmap_chunk(): ",
        "corrupted double-linked list",
        "corrupted size vs. prev_size",
        "double free or corruption",
        "malloc_printerr",
        "*** stack smashing detected ***",
        "*** buffer overflow detected ***",
        "*** bit out of range",
        "*** %n in writable segment detected ***",
        "' failed.",
        "pure virtual method called",
        "deleted virtual method called",
        "INTERNAL ASSERT FAILED",
        "pybind11::",
        "Check failed: ",
        " library was compiled to use ",
        ") failed",
        "failed assertion ",
        "Assertion failed: ",
        "GGML_ASSERT: ",
        "has overflowed its stack",
        "goroutine stack exceeds ",
    ],
    read,
};

fn read(line: &Line, sink: &mut Sink) -> Option<Box<dyn Block>> {
    if line.is_quoted() {
        return None;
    }
    let abort = glibc(line.text)
        .or_else(|| assertion(line.text))
        .or_else(|| other_assertion(line.text))
        .or_else(|| torch_assert(line.text))
        .or_else(|| check_failed(line.text))
        .or_else(|| runtime(line.text))?;
    sink.event(
        EventPayload::NativeAbort(abort),
        &line.origin,
        [line.number, line.number],
        line.text,
    );
    None
}

fn of(family: &str, message: impl Into<String>) -> NativeAbort {
    NativeAbort {
        family: family.to_owned(),
        message: message.into(),
        ..NativeAbort::default()
    }
}

/// glibc's heap checks and fortified functions. Older versions put the program's name before the message and the
/// address behind it; before 2.22 they also said `glibc detected`.
fn glibc(text: &str) -> Option<NativeAbort> {
    // A line that was not at its end yet may stand before it, as pytest's.
    let smashed = ["*** stack smashing detected ***", "*** buffer overflow detected ***"];
    let at = smashed.iter().find_map(|words| text.find(words)).unwrap_or(0);
    let text = &text[at..];
    let parts = Parts::of(
        regex!(
            r"^(?:\*\*\* (?:Error in `[^']*':|glibc detected \*\*\* \S+:) )?(?P<message>(?:free|malloc|malloc_consolidate|realloc|calloc|munmap_chunk)\(\): [a-z][\w ,.<>=()-]*?|(?:corrupted (?:double-linked list|size vs\. prev_size)|double free or corruption)[\w ()!-]*?|\*\*\* [\w %]+ (?:detected|out of range \d+ - \w+ on fd_set) \*\*\*)(?:: (?:0x[0-9a-f]+ \*\*\*|terminated|.{0,80} terminated))?\s*$"
        ),
        text.trim(),
    )?;
    Some(of("glibc", parts.text("message")?))
}

/// assert(3): program, file, line, function, and the expression in quotes. That of libstdc++ (`_GLIBCXX_ASSERTIONS`)
/// names no program and has other quotes.
fn assertion(text: &str) -> Option<NativeAbort> {
    let parts = Parts::of(
        regex!(
            r"^(?:(?P<program>\S+): )?(?P<file>[^\s:][^:]*):(?P<line>\d+): (?P<function>.+?): Assertion [`'](?P<expression>.*)' failed\.\s*$"
        ),
        text,
    )?;
    Some(NativeAbort {
        file: parts.text("file"),
        line: parts.number("line"),
        function: parts.text("function"),
        ..of("assertion", parts.text("expression")?)
    })
}

/// Assertions of other make: `file.c:7: GGML_ASSERT(a < b) failed`, before 2024 `GGML_ASSERT: file.c:7: a < b` (ggml),
/// ``file.mm:7: failed assertion `a < b'`` (Apple), `Assertion failed: (a < b), function f, file x.c, line 7.` (BSD),
/// `Assertion failed: a < b, file x.c, line 7` (Microsoft).
fn other_assertion(text: &str) -> Option<NativeAbort> {
    let parts = Parts::of(
        regex!(
            r"^(?P<file>(?:[A-Za-z]:)?[^\s:][^:]*):(?P<line>\d+): (?:(?P<macro>[A-Z][A-Z_]*ASSERT\(.*\)) failed|failed assertion [`'](?P<apple>.*)')\s*$|^Assertion failed: (?P<expression>.+?), (?:function (?P<function>.+?), )?file (?P<in>[^,]+), line (?P<at>\d+)\.?\s*$|(?:^|\.\. )GGML_ASSERT: (?P<old_file>\S+?):(?P<old_line>\d+): (?P<old>.+?)\s*$"
        ),
        text,
    )?;
    // How ggml ends after it has told of an error of CUDA.
    let expression = ["macro", "apple", "expression", "old"]
        .iter()
        .find_map(|name| parts.text(name))
        .filter(|expression| expression != "!\"CUDA error\"")?;
    Some(NativeAbort {
        file: ["file", "in", "old_file"].iter().find_map(|name| parts.text(name)),
        line: ["line", "at", "old_line"].iter().find_map(|name| parts.number(name)),
        function: parts.text("function"),
        ..of("assertion", expression)
    })
}

/// `… INTERNAL ASSERT FAILED at "/path/file.cpp":12, please report a bug to PyTorch. …` or `at file.cpp:12`.
fn torch_assert(text: &str) -> Option<NativeAbort> {
    let parts = Parts::of(
        regex!(
            r#"(?:^|: )(?P<expression>[^:]*? ?)INTERNAL ASSERT FAILED at "?(?P<file>[^"]+?)"?:(?P<line>\d+)(?:, please report a bug to PyTorch\.? ?(?P<rest>.*))?"#
        ),
        text,
    )?;
    let expression = parts.text("expression").unwrap_or_default();
    let message = [expression.trim(), parts.text("rest").unwrap_or_default().trim()]
        .join(" ")
        .trim()
        .to_owned();
    Some(NativeAbort {
        file: parts.text("file"),
        line: parts.number("line"),
        ..of("torch-check", message)
    })
}

/// glog: `F1121 09:53:46.4 123 file.cc:12] Check failed: a == b (1 vs. 2)`; the prefix is off already. And what `TensorFlow`
/// says, the same way, of a processor that lacks what it was built for.
fn check_failed(text: &str) -> Option<NativeAbort> {
    let parts = Parts::of(
        regex!(
            r"^(?P<message>Check failed: .*|The TensorFlow library was compiled to use .* instructions, but (?:these|they) aren't available on your machine.*)$"
        ),
        text,
    )?;
    Some(of("glog-fatal", parts.text("message")?))
}

/// The own last words of the C++ runtime, of pybind11, and of Rust and Go where a stack ran over.
fn runtime(text: &str) -> Option<NativeAbort> {
    let trimmed = text.trim();
    if ["pure virtual method called", "deleted virtual method called"].contains(&trimmed) {
        return Some(of("pure-virtual", trimmed));
    }
    if regex!(r"^thread '.*' (?:\(\d+\) )?has overflowed its stack$|^runtime: goroutine stack exceeds \d+-byte limit$")
        .is_match(trimmed)
    {
        return Some(of("stack-overflow", trimmed));
    }
    let parts = Parts::of(
        regex!(r"^(?:Fatal error: |.*: )?(?P<message>pybind11::(?:handle::(?:inc|dec)_ref\(\)|\w+).*)$"),
        trimmed,
    )?;
    parts
        .text("message")
        .filter(|message| message.contains("GIL") || message.contains("is being called"))
        .map(|message| of("pybind11", message))
}
