//! The job's environment: what this program was given, byte for byte and in its order, and some variables more.
//!
//! `Command::env` would sort the variables, and drop those that come twice or have no `=`.

use std::ffi::{CStr, CString, OsString, c_char};
use std::os::unix::ffi::OsStrExt as _;

unsafe extern "C" {
    /// environ(7).
    static mut environ: *const *const c_char;
}

/// Variables that say by its number for which process others are meant: sd_listen_fds(3), sd_watchdog_enabled(3). Where
/// that is this process, it is the job that is meant, which stands in its place.
const FOR_PROCESS: [&str; 2] = ["LISTEN_PID", "WATCHDOG_PID"];

/// An environment to come.
#[derive(Debug)]
pub struct Environment {
    /// Ends with null, as execve(2) wants it. The first ones are the C library's own, which stay where they are.
    entries: Vec<*const c_char>,
    /// Those of `entries` that are to have the number of the process whose environment it becomes.
    for_process: Vec<(usize, Numbered)>,
    _added: Vec<CString>,
}

/// `NAME=` and room for a number.
#[derive(Debug)]
struct Numbered {
    text: [u8; 32],
    name: usize,
}

// SAFETY: what the pointers point to is not changed by anybody: this program sets no variable.
unsafe impl Send for Environment {}
// SAFETY: as above.
unsafe impl Sync for Environment {}

impl Environment {
    /// That of this process, with these variables behind it, or in place of what it has of their names.
    pub fn with<'v>(variables: impl IntoIterator<Item = &'v (OsString, OsString)>) -> Self {
        let mut entries = own();
        let mut added = Vec::new();
        for (name, value) in variables {
            let Ok(entry) = CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()) else {
                continue;
            };
            match entries.iter_mut().find(|known| is_of(**known, name.as_bytes())) {
                Some(known) => *known = entry.as_ptr(),
                None => entries.push(entry.as_ptr()),
            }
            added.push(entry);
        }
        let for_process = FOR_PROCESS.iter().filter_map(|name| {
            let own = format!("{name}={}", std::process::id());
            // SAFETY: every entry is a string that ends with null.
            let is_own = |entry: &*const c_char| unsafe { CStr::from_ptr(*entry) }.to_bytes() == own.as_bytes();
            Some((entries.iter().position(is_own)?, Numbered::new(name)?))
        });
        let for_process = for_process.collect();
        entries.push(std::ptr::null());
        Self {
            entries,
            for_process,
            _added: added,
        }
    }

    /// Makes it the environment of this process. To be called between fork and exec: it takes no memory.
    pub fn take_effect(&mut self) {
        for (index, numbered) in &mut self.for_process {
            numbered.set(std::process::id());
            if let Some(entry) = self.entries.get_mut(*index) {
                *entry = numbered.text.as_ptr().cast();
            }
        }
        // SAFETY: in a process that was just forked there is no other thread, and `self` outlives the exec.
        unsafe { environ = self.entries.as_ptr() };
    }
}

impl Numbered {
    fn new(name: &str) -> Option<Self> {
        let mut text = [0; 32];
        let start = [name.as_bytes(), b"="].concat();
        text.get_mut(..start.len())?.copy_from_slice(&start);
        Some(Self {
            text,
            name: start.len(),
        })
    }

    /// Puts a number behind the name.
    fn set(&mut self, number: u32) {
        let digits = number.checked_ilog10().unwrap_or_default();
        let digits = (0..=digits)
            .rev()
            .map(|place| b'0' + (number / 10_u32.pow(place) % 10) as u8);
        // What is behind them is null already.
        let room = self.text.iter_mut().skip(self.name);
        room.zip(digits).for_each(|(place, digit)| *place = digit);
    }
}

/// The entries as they are.
fn own() -> Vec<*const c_char> {
    let mut entries = Vec::new();
    // SAFETY: the list ends with null, or is none, and nobody changes it meanwhile.
    unsafe {
        let mut next = environ;
        while !next.is_null() && !(*next).is_null() {
            entries.push(*next);
            next = next.add(1);
        }
    }
    entries
}

/// Whether an entry is that of a variable.
fn is_of(entry: *const c_char, name: &[u8]) -> bool {
    // SAFETY: every entry is a string that ends with null.
    let entry = unsafe { CStr::from_ptr(entry) }.to_bytes();
    entry.strip_prefix(name).is_some_and(|rest| rest.starts_with(b"="))
}

#[cfg(test)]
mod tests {
    use super::Numbered;

    #[test]
    fn a_number_stands_behind_its_name() {
        for number in [1, 9, 10, 4711, 4_194_304, u32::MAX] {
            let mut numbered = Numbered::new("WATCHDOG_PID").unwrap();
            numbered.set(number);
            let text = String::from_utf8_lossy(&numbered.text).replace('\0', "");
            assert_eq!(text, format!("WATCHDOG_PID={number}"));
        }
    }
}
