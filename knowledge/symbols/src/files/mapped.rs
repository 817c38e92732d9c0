//! Files mapped into memory, safe from who shortens them.
//!
//! A mapped file may lose its end while it is read: its owner writes it anew in place, or a network folder goes away.
//! Reading a page that is gone raises SIGBUS, which ends the process, and with it the reading of everybody else's
//! crashes. Reading files into memory instead would cost gigabytes for what a stack needs some pages of. So a handler
//! puts pages of zeros where the file's are gone, and the map remembers that it is torn.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use nix::libc::{self, c_int, c_void, siginfo_t};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

/// Maps that may exist at one time; a core has 16 384 binaries at most.
const MAX_MAPS: usize = 1 << 16;

/// Every map that exists, for the handler, which may neither lock nor allocate.
static MAPS: [Slot; MAX_MAPS] = [const { Slot::new() }; MAX_MAPS];

/// What was done on SIGBUS before; set once the handler is in place.
static BEFORE: OnceLock<SigAction> = OnceLock::new();

/// Where a map is.
struct Slot {
    /// Address of its first byte; 0 for a slot that is free.
    start: AtomicUsize,
    /// Address after its last page; 0 while nothing is there.
    end: AtomicUsize,
    is_torn: AtomicBool,
}

impl Slot {
    const fn new() -> Self {
        Self {
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            is_torn: AtomicBool::new(false),
        }
    }

    /// Takes the slot if it is free.
    fn take(&self, start: usize, end: usize) -> bool {
        let taken = self
            .start
            .compare_exchange(0, start, Ordering::AcqRel, Ordering::Relaxed);
        if taken.is_ok() {
            self.is_torn.store(false, Ordering::Release);
            self.end.store(end, Ordering::Release);
        }
        taken.is_ok()
    }

    fn free(&self) {
        self.end.store(0, Ordering::Release);
        self.start.store(0, Ordering::Release);
    }

    fn contains(&self, address: usize) -> bool {
        let end = self.end.load(Ordering::Acquire);
        let start = self.start.load(Ordering::Acquire);
        start != 0 && (start..end).contains(&address)
    }
}

/// A file's bytes, as they were or as zeros.
#[derive(Debug)]
pub(crate) struct Mapped {
    bytes: memmap2::Mmap,
    slot: usize,
}

impl Mapped {
    /// Maps a regular file; pages are read when they are touched.
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        install()?;
        // SAFETY: the map is private and read-only. If the file is shortened the handler keeps every address of the
        // map readable; if it is written to in place, the readers of these bytes see others than before, and no reader
        // here relies on two looks at one byte agreeing.
        #[expect(clippy::disallowed_methods, reason = "this is the one place that maps files")]
        let bytes = unsafe { memmap2::Mmap::map(file)? };
        let start = bytes.as_ptr() as usize;
        let end = start + bytes.len().next_multiple_of(page_size());
        let slot = MAPS.iter().position(|slot| slot.take(start, end));
        let slot = slot.ok_or_else(|| io::Error::other("too many files are mapped at one time"))?;
        Ok(Self { bytes, slot })
    }

    /// Whether a part of the file was gone when it was read: zeros stand for it.
    pub(crate) fn is_torn(&self) -> bool {
        MAPS.get(self.slot)
            .is_some_and(|slot| slot.is_torn.load(Ordering::Acquire))
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // Before the map goes, because its addresses may be given to another one at once.
        if let Some(slot) = MAPS.get(self.slot) {
            slot.free();
        }
    }
}

/// Bytes of a page of this machine; asked for before the handler is in place.
fn page_size() -> usize {
    static SIZE: OnceLock<usize> = OnceLock::new();
    *SIZE.get_or_init(|| {
        // SAFETY: asks for a number.
        let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        usize::try_from(size).unwrap_or(4096)
    })
}

/// Puts the handler in place, once for the process.
fn install() -> io::Result<()> {
    static INSTALLED: OnceLock<nix::Result<()>> = OnceLock::new();
    let install = || {
        page_size();
        let handler = SigHandler::SigAction(on_bus_error);
        let action = SigAction::new(handler, SaFlags::SA_SIGINFO | SaFlags::SA_ONSTACK, SigSet::empty());
        // SAFETY: the handler calls nothing but what may be called from one: atomic loads and stores, and `mmap`.
        let before = unsafe { sigaction(Signal::SIGBUS, &action)? };
        let _ = BEFORE.set(before);
        Ok(())
    };
    Ok((*INSTALLED.get_or_init(install))?)
}

extern "C" fn on_bus_error(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel gives a handler with SA_SIGINFO a valid `info`, which for SIGBUS has an address.
    let address = unsafe { (*info).si_addr() } as usize;
    if !replace(address) {
        pass_on(signal, info, context);
    }
}

/// Puts zeros in place of a map's pages from this address on; false when it is in no map.
fn replace(address: usize) -> bool {
    let Some(slot) = MAPS.iter().find(|slot| slot.contains(address)) else {
        return false;
    };
    let page = address & !(page_size() - 1);
    let end = slot.end.load(Ordering::Acquire);
    let flags = libc::MAP_FIXED | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: the pages from `page` to `end` belong to a map of ours, which nobody unmaps while somebody reads it, as
    // the thread that this handler interrupts does. `errno` is put back because that thread may be about to look at it.
    let made = unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        let made = libc::mmap(
            page as *mut c_void,
            end.saturating_sub(page),
            libc::PROT_READ,
            flags,
            -1,
            0,
        );
        *errno = before;
        made
    };
    slot.is_torn.store(true, Ordering::Release);
    made != libc::MAP_FAILED
}

/// Does what was done before there was this handler: runs the one there was, or lets the signal end the process.
fn pass_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    match BEFORE.get().map(SigAction::handler) {
        Some(SigHandler::SigAction(handler)) => handler(signal, info, context),
        Some(SigHandler::Handler(handler)) => handler(signal),
        Some(SigHandler::SigDfl | SigHandler::SigIgn) | None => {
            let action = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
            // SAFETY: the default action has no handler that could do wrong; the instruction runs again and ends the
            // process.
            let _ = unsafe { sigaction(Signal::SIGBUS, &action) };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_file_that_is_shortened_under_its_map_reads_as_zeros() {
        let mut file = tempfile::tempfile().expect("a temporary file");
        let pages = 8;
        file.write_all(&vec![7; pages * page_size()]).expect("room");
        let (map, whole) = (Mapped::of(&file).expect("a map"), Mapped::of(&file).expect("a map"));
        assert_eq!(
            (map.len(), map.iter().all(|byte| *byte == 7)),
            (pages * page_size(), true)
        );
        assert!(!map.is_torn());
        file.set_len(page_size() as u64).expect("a shorter file");
        assert_eq!(map[page_size() - 1], 7, "what is left is as it was");
        assert_eq!(map[3 * page_size()], 0);
        assert_eq!(map[map.len() - 1], 0);
        assert!(map.is_torn());
        assert!(!whole.is_torn(), "nobody looked at what is gone of it");
        drop(map);
        let (kept, lost) = whole.split_at(page_size());
        assert!(kept.iter().all(|byte| *byte == 7) && lost.iter().all(|byte| *byte == 0));
        assert!(whole.is_torn());
    }
}
