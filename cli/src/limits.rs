//! Limits of resources, as the kernel tells them.

use nix::sys::resource::{RLIM_INFINITY, getrlimit};
pub use nix::sys::resource::{Resource, rlim_t};

/// A limit of this process; none in a field stands for no limit.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    pub soft: Option<rlim_t>,
    pub hard: Option<rlim_t>,
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
