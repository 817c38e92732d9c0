//! How the C library keeps memory for this process.

/// Has all threads share as many arenas of glibc as there are processors, two at least.
///
/// It would make up to eight for each processor (mallopt(3), `M_ARENA_MAX`), and every one keeps what its threads once
/// needed: 257 small reports took a server from 27 to 117 MB that way, and to 35 with two. To be called before there are
/// threads; other C libraries have nothing of the kind.
pub fn bound_arenas() {
    #[cfg(target_env = "gnu")]
    {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let arenas = libc::c_int::try_from(processors.max(2)).unwrap_or(libc::c_int::MAX);
        // SAFETY: this sets a number of the C library, and no other thread is there that could take memory meanwhile.
        let is_set = unsafe { libc::mallopt(libc::M_ARENA_MAX, arenas) };
        debug_assert_eq!(is_set, 1, "glibc takes any number of arenas");
    }
}
