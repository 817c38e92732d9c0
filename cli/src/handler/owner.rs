//! Whose core dump it is.

use std::io;
use std::path::PathBuf;

use rustix::process::{geteuid, getgid};

/// A user and their group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    pub user: u32,
    pub group: u32,
}

impl Owner {
    /// Who the core dump of a process belongs to: its user, but root where the kernel says that the process had rights
    /// that its user has not (`suid_dumpable` 2, in core(5) and proc(5)). Whoever is not root can only keep their own.
    pub fn of(user: u32, group: u32, dump_mode: u32) -> Self {
        const FOR_ROOT_ALONE: u32 = 2;
        if !geteuid().is_root() {
            Self {
                user: geteuid().as_raw(),
                group: getgid().as_raw(),
            }
        } else if dump_mode == FOR_ROOT_ALONE {
            Self { user: 0, group: 0 }
        } else {
            Self { user, group }
        }
    }

    /// Turns this process into one of the owner's, for good, with a root directory of its own if there is one. Nothing
    /// happens where it is one already.
    pub fn become_it(self, root: Option<PathBuf>) -> io::Result<()> {
        if !geteuid().is_root() {
            return Ok(());
        }
        if let Some(root) = root {
            std::os::unix::fs::chroot(root)?;
            std::env::set_current_dir("/")?;
        }
        if self.user == 0 {
            return Ok(());
        }
        let done = |result: libc::c_int| {
            if result == 0 {
                Ok(())
            } else {
                Err(io::Error::last_os_error())
            }
        };
        // SAFETY: these take numbers, and an empty list.
        unsafe {
            done(libc::setgroups(0, std::ptr::null()))?;
            done(libc::setresgid(self.group, self.group, self.group))?;
            done(libc::setresuid(self.user, self.user, self.user))
        }
    }
}
