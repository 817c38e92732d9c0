//! What gdb answers where somebody asks it about a signal:
//!
//! * `p $_siginfo`: `$1 = {si_signo = 11, si_errno = 0, si_code = 1, _sifields = {… _sigfault = {si_addr = 0x8, …`, or one
//!   member, `p $_siginfo.si_code`: `$2 = 2` (sigaction(2) has the members)
//! * lldb's `memory region`: `[0x000000012a3b4000-0x00000002f4f10000) r-- mapped file /model.gguf`
//! * `info proc mappings`: start, end, size, offset, since gdb 12 the permissions, and the file

use crate::Hex;
use crate::readers::elf_core::code_name;
use crate::readers::text::grammar::exit::number_of_signal;
use crate::readers::text::regex;

/// Mappings that are kept: a process that uses CUDA has some thousand.
const MAPPINGS: usize = 8192;

/// A member of `siginfo_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Member {
    Code,
    Address,
    Other,
}

#[derive(Debug)]
struct Mapping {
    start: u64,
    end: u64,
    permissions: String,
}

/// What has been answered so far.
#[derive(Debug, Default)]
pub struct Answers {
    asked: Option<Member>,
    code: Option<i32>,
    address: Option<Hex>,
    mappings: Vec<Mapping>,
}

impl Answers {
    /// Takes a line that is a question or an answer to one.
    pub fn take(&mut self, text: &str) -> bool {
        self.question(text) || self.answer(text) || self.mapping(text)
    }

    fn question(&mut self, text: &str) -> bool {
        let Some(found) = regex!(r"^(?:\(gdb\) )?(?:p|print)(?:/\w)? \$_siginfo(?:\.([\w.]+))?\s*$").captures(text)
        else {
            return false;
        };
        self.asked = Some(match found.get(1).map_or("", |member| member.as_str()) {
            "si_code" => Member::Code,
            member if member.ends_with("si_addr") => Member::Address,
            _ => Member::Other,
        });
        true
    }

    fn answer(&mut self, text: &str) -> bool {
        let Some(value) = regex!(r"^\$\d+ = (?:\([^()]*\) )?(.+?)\s*$").captures(text) else {
            return false;
        };
        let value = value.get(1).map_or("", |value| value.as_str());
        match self.asked.take() {
            Some(Member::Code) => self.code = value.parse().ok(),
            Some(Member::Address) => self.address = value.split(' ').next().and_then(|address| address.parse().ok()),
            Some(Member::Other) if value.starts_with('{') => self.whole(value),
            _ => {}
        }
        true
    }

    fn whole(&mut self, value: &str) {
        let found = regex!(r"\bsi_code = (-?\d+)").captures(value);
        self.code = found.and_then(|found| found.get(1)?.as_str().parse().ok());
        let found = regex!(r"\b_sigfault = \{si_addr = (0x[0-9a-f]+)").captures(value);
        self.address = found.and_then(|found| found.get(1)?.as_str().parse().ok());
    }

    fn mapping(&mut self, text: &str) -> bool {
        let Some(found) = regex!(
            r"^\s*0x([0-9a-f]{1,16})\s+0x([0-9a-f]{1,16})\s+0x[0-9a-f]+\s+0x[0-9a-f]+\s+([r-][w-][x-][ps])(?:\s|$)"
        )
        .captures(text)
        .or_else(|| regex!(r"^\s*\[0x([0-9a-f]{1,16})-0x([0-9a-f]{1,16})\) ([r-][w-][x-])(?:\s|$)").captures(text)) else {
            return false;
        };
        let number = |index| u64::from_str_radix(&found[index], 16).unwrap_or_default();
        if self.mappings.len() < MAPPINGS {
            self.mappings.push(Mapping {
                start: number(1),
                end: number(2),
                permissions: found[3].to_owned(),
            });
        }
        true
    }

    /// The signal's code, by its name.
    pub fn code(&self, signal: &str) -> Option<String> {
        Some(code_name(number_of_signal(signal)?, self.code?))
    }

    /// What the signal was about.
    pub fn address(&self) -> Option<Hex> {
        self.address
    }

    /// What the address is, going by its mapping: memory that may only be read. People leave out mappings, so that one
    /// which is not there tells nothing.
    pub fn address_kind(&self, told: Option<Hex>) -> Option<&'static str> {
        let Hex(address) = self.address.or(told)?;
        let mapping = self
            .mappings
            .iter()
            .find(|mapping| (mapping.start..mapping.end).contains(&address))?;
        mapping.permissions.starts_with("r-").then_some("read-only")
    }
}
