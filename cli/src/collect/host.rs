//! The machine: system, processor, memory, limits.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

/// A small file of `/proc` or `/sys` as text.
pub fn read(path: impl AsRef<Path>) -> Option<String> {
    std::fs::read_to_string(path)
        .ok()
        .map(|text| text.trim_end().to_owned())
}

/// Name of this host.
pub fn name() -> Option<String> {
    read("/proc/sys/kernel/hostname")
}

/// Release of the running kernel.
pub fn kernel() -> Option<String> {
    read("/proc/sys/kernel/osrelease")
}

/// Name of the operating system, as os-release(5) has it for people.
pub fn system() -> Option<String> {
    let text = read("/etc/os-release").or_else(|| read("/usr/lib/os-release"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(line.trim_matches('"').to_owned())
}

/// Model and number of the processors this process may use.
pub fn processor() -> Value {
    let model = read("/proc/cpuinfo").and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    let usable = std::thread::available_parallelism().map(std::num::NonZero::get).ok();
    json!({"architecture": std::env::consts::ARCH, "model": model, "usable": usable})
}

/// Memory in bytes: of the machine, of `/dev/shm`, and of the control group this process is in.
pub fn memory() -> Value {
    let text = read("/proc/meminfo").unwrap_or_default();
    let field = |name: &str| -> Option<u64> {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
    };
    json!({
        "total": field("MemTotal"), "available": field("MemAvailable"),
        "swap_total": field("SwapTotal"), "swap_free": field("SwapFree"),
        "shm": shared_memory(), "cgroup": ControlGroup::own().map(|group| group.memory()),
    })
}

/// Size of `/dev/shm` and what is used of it, in bytes.
pub fn shared_memory() -> Option<Value> {
    let about = rustix::fs::statvfs("/dev/shm").ok()?;
    let (size, free) = (about.f_blocks * about.f_frsize, about.f_bfree * about.f_frsize);
    Some(json!({"size": size, "used": size.saturating_sub(free)}))
}

/// The limits of getrlimit(2), `[soft, hard]` by name, as the kernel words them.
pub fn limits() -> Map<String, Value> {
    /// Columns of the name, the soft limit and the hard limit in `/proc/self/limits`.
    const COLUMNS: [(usize, usize); 3] = [(0, 26), (26, 47), (47, 68)];
    let text = read("/proc/self/limits").unwrap_or_default();
    let row = |line: &str| {
        let [name, soft, hard] =
            COLUMNS.map(|(from, to)| line.get(from..to.min(line.len())).unwrap_or_default().trim().to_owned());
        (name.trim_start_matches("Max ").replace(' ', "_"), json!([soft, hard]))
    };
    text.lines().skip(1).map(row).collect()
}

/// A control group, version 2 or 1, as far as memory goes.
#[derive(Debug)]
pub struct ControlGroup {
    folder: PathBuf,
    names: [&'static str; 4],
}

impl ControlGroup {
    /// The one this process is in. In a container its path is often that of the host, and the root is what is seen.
    pub fn own() -> Option<Self> {
        let text = read("/proc/self/cgroup")?;
        let path_of = |line: &str| {
            line.splitn(3, ':')
                .nth(2)
                .map(|path| path.trim_start_matches('/').to_owned())
        };
        let one = text.lines().find(|line| {
            line.split(':')
                .nth(1)
                .is_some_and(|kinds| kinds.split(',').any(|kind| kind == "memory"))
        });
        let (root, path, names) = match one {
            Some(line) => (
                "/sys/fs/cgroup/memory",
                path_of(line)?,
                [
                    "memory.limit_in_bytes",
                    "memory.usage_in_bytes",
                    "memory.max_usage_in_bytes",
                    "memory.oom_control",
                ],
            ),
            None => (
                "/sys/fs/cgroup",
                path_of(text.lines().find(|line| line.starts_with("0::"))?)?,
                ["memory.max", "memory.current", "memory.peak", "memory.events"],
            ),
        };
        let candidates = [Path::new(root).join(path), PathBuf::from(root)];
        let folder = candidates.into_iter().find(|folder| folder.join(names[1]).exists())?;
        Some(Self { folder, names })
    }

    /// How often the kernel has killed a process of the group for lack of memory.
    pub fn oom_kills(&self) -> Option<u64> {
        let text = read(self.folder.join(self.names[3]))?;
        text.lines()
            .find_map(|line| line.strip_prefix("oom_kill "))?
            .trim()
            .parse()
            .ok()
    }

    fn memory(&self) -> Value {
        let [limit, used, peak, _] = self
            .names
            .map(|name| read(self.folder.join(name)).and_then(|text| text.parse::<u64>().ok()));
        json!({"limit": limit, "used": used, "peak": peak, "oom_kills": self.oom_kills()})
    }
}
