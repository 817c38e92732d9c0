//! The job's environment: what this program was given, byte for byte and in its order, and some variables more.
//!
//! `Command::env` would sort the variables, and drop those that come twice or have no `=`.

use std::ffi::{CStr, CString, OsString, c_char};
use std::os::unix::ffi::OsStrExt as _;

unsafe extern "C" {
    /// environ(7).
    static mut environ: *const *const c_char;
}

/// An environment to come.
#[derive(Debug)]
pub struct Environment {
    /// Ends with null, as execve(2) wants it. The first ones are the C library's own, which stay where they are.
    entries: Vec<*const c_char>,
    _added: Vec<CString>,
}

// SAFETY: what the pointers point to is not changed by anybody: this program sets no variable.
unsafe impl Send for Environment {}
// SAFETY: as above.
unsafe impl Sync for Environment {}

impl Environment {
    /// That of this process, with these variables behind it, or in place of what it has of their names.
    pub fn with(variables: &[(OsString, OsString)]) -> Self {
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
        entries.push(std::ptr::null());
        Self { entries, _added: added }
    }

    /// Makes it the environment of this process. To be called between fork and exec.
    pub fn take_effect(&self) {
        // SAFETY: in a process that was just forked there is no other thread, and `self` outlives the exec.
        unsafe { environ = self.entries.as_ptr() };
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
