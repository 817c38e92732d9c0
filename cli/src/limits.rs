//! Limits of resources, as the kernel tells them.

use nix::sys::resource::{RLIM_INFINITY, getrlimit};
pub use nix::sys::resource::{Resource, rlim_t};

/// A limit of this process; none in a field stands for no limit.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    pub soft: Option<rlim_t>,
    pub hard: Option<rlim_t>,
}

/// Has all threads share one arena of memory where address space is limited. glibc reserves 64 MiB or more for each that
/// asks first, so that soon nothing is left for what they ask for. For a process that has one thread yet.
pub fn share_memory_between_threads() {
    let is_limited = limit(Resource::RLIMIT_AS).is_some_and(|limit| limit.soft.is_some());
    #[cfg(target_env = "gnu")]
    if is_limited {
        // SAFETY: it sets a number of glibc's, which no other thread can be reading.
        unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
    }
    #[cfg(not(target_env = "gnu"))]
    let _ = is_limited;
}

/// This process's limit of a resource; none where that can not be known: a sandbox may refuse the question.
pub fn limit(resource: Resource) -> Option<Limit> {
    let (soft, hard) = getrlimit(resource).ok()?;
    let finite = |limit: rlim_t| (limit != RLIM_INFINITY).then_some(limit);
    Some(Limit {
        soft: finite(soft),
        hard: finite(hard),
    })
}
