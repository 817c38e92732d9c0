//! What the kernel said while the job ran.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;

use rustix::fs::SeekFrom;

use super::Missing;

/// Bytes of one record at most (`PRINTKRB_RECORD_MAX`, with room for its dictionary).
const RECORD: usize = 8192;
/// Records kept at most: a driver that fails can print without end, and its first words are what tells.
const RECORDS: usize = 20_000;

/// `/dev/kmsg`, opened at its end when the job started.
#[derive(Debug)]
pub struct KernelLog {
    file: Result<File, String>,
    /// What was read so far: it can be read once.
    text: String,
}

impl KernelLog {
    /// Remembers where the log ends now.
    pub fn from_now() -> Self {
        let open = || -> std::io::Result<File> {
            let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
            let file = File::options().read(true).custom_flags(flags).open("/dev/kmsg")?;
            rustix::fs::seek(&file, SeekFrom::End(0))?;
            Ok(file)
        };
        Self {
            file: open().map_err(|error| error.to_string()),
            text: String::new(),
        }
    }

    /// What was added since, in the form of dmesg(1).
    pub fn since(&mut self) -> Result<String, Missing> {
        let file = self.file.as_mut().map_err(|why| unreadable(why))?;
        let mut buffer = [0; RECORD];
        for _ in 0..RECORDS {
            match file.read(&mut buffer) {
                Ok(length) if length > 0 => self.text.extend(line(buffer.get(..length).unwrap_or_default())),
                // Records were overwritten before they were read; the next ones are there.
                Err(error) if error.raw_os_error() == Some(rustix::io::Errno::PIPE.raw_os_error()) => {}
                _ => break,
            }
        }
        Ok(self.text.clone())
    }
}

/// Whether the log can be read.
pub fn readable() -> Result<(), Missing> {
    KernelLog::from_now().file.map(drop).map_err(|why| unreadable(&why))
}

fn unreadable(why: &str) -> Missing {
    let mend = "run as root, allow it with `sysctl kernel.dmesg_restrict=0`, or give a container --device /dev/kmsg";
    Missing::new("kernel log", format!("can not read /dev/kmsg: {why}"), mend)
}

/// `[seconds.micros] text` of a record `priority,sequence,microseconds,flags;text`
/// (Documentation/ABI/testing/dev-kmsg).
fn line(record: &[u8]) -> Option<String> {
    let record = String::from_utf8_lossy(record);
    let (head, text) = record.split_once(';')?;
    let micros: u64 = head.split(',').nth(2)?.parse().ok()?;
    Some(format!(
        "[{:>5}.{:06}] {}\n",
        micros / 1_000_000,
        micros % 1_000_000,
        text.lines().next()?
    ))
}
