//! A heap that counts what a thread holds, so that memory out of proportion is found although the machine could give it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

#[global_allocator]
static HEAP: Counting = Counting;

thread_local! {
    /// Bytes that this thread holds, and the most that it held.
    static HELD: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

fn grow(bytes: isize) {
    // A thread that ends has no counter any more.
    let _ = HELD.try_with(|held| {
        let (now, peak) = held.get();
        let now = now + bytes;
        held.set((now, peak.max(now)));
    });
}

// SAFETY: every call is passed on unchanged to the system's allocator; the counter beside it touches no memory of the
// caller and allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size().cast_signed());
        // SAFETY: the caller keeps the contract of `alloc`, which is the one passed on to.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grow(layout.size().cast_signed());
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        grow(-layout.size().cast_signed());
        // SAFETY: `pointer` came from `System` with this layout, because every allocation is passed on to it.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        grow(size.cast_signed() - layout.size().cast_signed());
        // SAFETY: as in `dealloc`; the caller keeps the contract for the new size.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// What `work` gives, and the most that it held on this thread's heap at one time.
pub fn peak_of<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get().0;
    HELD.set((before, before));
    let done = work();
    let peak = HELD.get().1 - before;
    (done, usize::try_from(peak).unwrap_or(0))
}
