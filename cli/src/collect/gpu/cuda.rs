//! What the CUDA driver says by itself, asked by a process of its own with a limit of time: a driver that is wedged
//! never answers. No context is created.
//!
//! A few functions are looked up by name, and their results are plain numbers: bindings that make an enumeration of
//! them have no place for the codes of a newer driver, and an older one lacks functions.

use std::ffi::{CStr, c_char, c_int, c_uint};
use std::fmt::Write as _;
use std::io::Read as _;
use std::os::fd::AsFd as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use libloading::Library;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::collect::{Missing, host};
use crate::run::Ending;

/// How long a driver may take: with eight GPUs and none of them in use, its start takes seconds.
const PATIENCE: Duration = Duration::from_secs(10);
/// The result of a call that went well.
const SUCCESS: c_int = 0;
/// Bytes of the longest name.
const NAME: usize = 256;

/// Attributes of a device by the names that they get here, with their numbers in `CUdevice_attribute` (cuda.h).
const ATTRIBUTES: [(&str, c_int); 12] = [
    ("compute_capability_major", 75),
    ("compute_capability_minor", 76),
    ("multiprocessors", 16),
    ("kernel_time_limit", 17),
    ("integrated", 18),
    ("compute_mode", 20),
    ("concurrent_kernels", 31),
    ("ecc", 32),
    ("unified_addressing", 41),
    ("pageable_memory_access", 88),
    ("memory_pools", 115),
    ("gpu_direct_rdma", 116),
];

/// What the process that asks tells.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    /// There is no driver here.
    NoDriver,
    /// What it says.
    Said(Value),
}

/// A process that asks.
#[derive(Debug)]
pub struct Asked {
    process: Child,
    since: Instant,
}

impl Asked {
    /// Starts it; none where there is no room for it.
    pub fn start() -> Option<Self> {
        let mut ask = Command::new("/proc/self/exe");
        ask.arg("ask-driver")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        // What it says there about these calls is not the job's.
        let process = ask.env_remove("CUDA_LOG_FILE").spawn().ok()?;
        Some(Self {
            process,
            since: Instant::now(),
        })
    }

    /// What the driver says; nothing where there is none.
    pub fn answer(mut self) -> Result<Option<Value>, Missing> {
        let mut said = Vec::new();
        let is_whole = self.read(&mut said);
        if !is_whole {
            // It may be where no signal ends it: then nobody waits for it.
            let _ = self.process.kill();
            let why = format!("it has not answered for {} s: it hangs", PATIENCE.as_secs());
            return Err(missing(why));
        }
        match serde_json::from_slice(&said) {
            Ok(Answer::Said(value)) => Ok(Some(value)),
            Ok(Answer::NoDriver) => Ok(None),
            Err(_) => Err(missing(format!(
                "it ended the process that asked it{}",
                self.by_signal()
            ))),
        }
    }

    /// Reads to the end, unless that takes too long.
    fn read(&mut self, said: &mut Vec<u8>) -> bool {
        let Some(pipe) = &mut self.process.stdout else {
            return true;
        };
        let mut chunk = [0; 16 << 10];
        loop {
            let left = PATIENCE.saturating_sub(self.since.elapsed());
            let pause = PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO);
            match poll(&mut [PollFd::new(pipe.as_fd(), PollFlags::POLLIN)], pause) {
                Ok(0) => return false,
                Err(nix::Error::EINTR) => continue,
                _ => {}
            }
            match pipe.read(&mut chunk) {
                Ok(length) if length > 0 => said.extend_from_slice(chunk.get(..length).unwrap_or_default()),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                _ => return true,
            }
        }
    }

    fn by_signal(&mut self) -> String {
        use std::os::unix::process::ExitStatusExt;
        let status = self.process.wait().map(ExitStatusExt::into_raw);
        let signal = status.ok().and_then(Ending::of_raw).and_then(Ending::signal);
        signal.map_or_else(String::new, |signal| format!(" by {}", signal.name()))
    }
}

fn missing(why: String) -> Missing {
    let mend = "see what nvidia-smi and the kernel log say; a driver that hangs goes on doing so until the GPU or the \
                machine is reset";
    Missing::new("CUDA driver", why, mend)
}

/// Asks the driver, and writes down what it says: the life of that process.
pub fn tell(mut listener: impl std::io::Write) -> anyhow::Result<()> {
    let answer = match Driver::load() {
        Some(driver) => Answer::Said(driver.described()),
        None => Answer::NoDriver,
    };
    serde_json::to_writer(&mut listener, &answer)?;
    Ok(listener.flush()?)
}

/// The driver's library.
struct Driver {
    library: Library,
}

/// A device by its number in this process.
type Device = c_int;

impl Driver {
    fn load() -> Option<Self> {
        // SAFETY: this runs code of the driver, in a process that may end by it.
        let library = unsafe { Library::new("libcuda.so.1") };
        library.ok().map(|library| Self { library })
    }

    fn described(&self) -> Value {
        let mut about = Map::new();
        let mut add = |name: &str, value: Value| about.insert(name.to_owned(), value);
        let path = library_path();
        let compatible = path.as_ref().map(|path| path.contains("/compat/"));
        add("library", json!(path));
        add("forward_compatibility", json!(compatible));
        add("kernel_driver", json!(kernel_driver()));
        add("version", json!(self.version().ok()));
        for variable in ["CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"] {
            add(&variable.to_lowercase(), json!(std::env::var(variable).ok()));
        }
        match self.call::<unsafe extern "C" fn(c_uint) -> c_int>("cuInit", |init| {
            // SAFETY: the only flag there is is none.
            unsafe { init(0) }
        }) {
            Ok(()) => {
                let devices = self.devices();
                add("peer_access", self.peers(&devices));
                add("devices", devices.iter().map(|device| self.device(device)).collect());
            }
            Err(why) => drop(add("error", json!(why))),
        }
        about.retain(|_, value| !value.is_null());
        Value::Object(about)
    }

    /// Such as 13.0: the newest CUDA that it serves.
    fn version(&self) -> Result<String, String> {
        let version =
            self.number::<unsafe extern "C" fn(*mut c_int) -> c_int>("cuDriverGetVersion", |get, version| {
                // SAFETY: it writes one number.
                unsafe { get(version) }
            })?;
        Ok(format!("{}.{}", version / 1000, version % 1000 / 10))
    }

    fn devices(&self) -> Vec<Result<Device, String>> {
        type Count = unsafe extern "C" fn(*mut c_int) -> c_int;
        type Get = unsafe extern "C" fn(*mut Device, c_int) -> c_int;
        /// No machine has more.
        const DEVICES: c_int = 256;
        // SAFETY: both write one number.
        let count = self.number::<Count>("cuDeviceGetCount", |get, count| unsafe { get(count) });
        match count {
            Ok(count) => {
                let get = |index| {
                    // SAFETY: as above.
                    self.number::<Get>("cuDeviceGet", |get, device| unsafe { get(device, index) })
                };
                (0..count.min(DEVICES)).map(get).collect()
            }
            Err(why) => vec![Err(why)],
        }
    }

    /// What is known of a device, and what it does not tell, by the name of the call.
    fn device(&self, device: &Result<Device, String>) -> Value {
        let device = match device {
            Ok(device) => *device,
            Err(why) => return json!({"error": why}),
        };
        let mut errors = Vec::new();
        let mut fact = |value: Result<Value, String>| value.map_err(|why| errors.push(why)).unwrap_or_default();
        let uuid = fact(self.uuid(device).map(Value::from));
        let mut about = json!({
            "name": fact(self.text("cuDeviceGetName", device).map(Value::from)),
            "pci": fact(self.text("cuDeviceGetPCIBusId", device).map(Value::from)),
            "memory": fact(self.memory(device).map(Value::from)),
            "mig": uuid.as_str().map(|uuid| uuid.starts_with("MIG-")),
            "uuid": uuid,
        });
        for (name, number) in ATTRIBUTES {
            about[name] = fact(self.attribute(device, number).map(Value::from));
        }
        errors.dedup();
        about["errors"] = json!((!errors.is_empty()).then_some(errors));
        if let Some(members) = about.as_object_mut() {
            members.retain(|_, value| !value.is_null());
        }
        about
    }

    /// Of a MIG instance its own, where the driver knows that (since 11.4).
    fn uuid(&self, device: Device) -> Result<String, String> {
        type Get = unsafe extern "C" fn(*mut [u8; 16], Device) -> c_int;
        let ask = |name: &str| {
            let mut uuid = [0; 16];
            // SAFETY: it writes 16 bytes.
            self.call::<Get>(name, |get| unsafe { get(&raw mut uuid, device) })
                .map(|()| uuid)
        };
        let gpu = ask("cuDeviceGetUuid")?;
        let own = ask("cuDeviceGetUuid_v2").unwrap_or(gpu);
        Ok(format!(
            "{}-{}",
            if own == gpu { "GPU" } else { "MIG" },
            hyphenated(own)
        ))
    }

    fn memory(&self, device: Device) -> Result<u64, String> {
        type Get = unsafe extern "C" fn(*mut usize, Device) -> c_int;
        let mut bytes = 0;
        // SAFETY: it writes one number.
        self.call::<Get>("cuDeviceTotalMem_v2", |get| unsafe { get(&raw mut bytes, device) })?;
        Ok(bytes as u64)
    }

    fn attribute(&self, device: Device, attribute: c_int) -> Result<c_int, String> {
        type Get = unsafe extern "C" fn(*mut c_int, c_int, Device) -> c_int;
        // SAFETY: it writes one number.
        self.number::<Get>("cuDeviceGetAttribute", |get, value| unsafe {
            get(value, attribute, device)
        })
    }

    /// Pairs of devices, of which the first can reach the memory of the second.
    fn peers(&self, devices: &[Result<Device, String>]) -> Value {
        type Can = unsafe extern "C" fn(*mut c_int, Device, Device) -> c_int;
        let devices: Vec<(usize, Device)> = (0..)
            .zip(devices)
            .filter_map(|(at, d)| Some((at, *d.as_ref().ok()?)))
            .collect();
        let mut pairs = Vec::new();
        for (first, device) in &devices {
            for (second, peer) in devices.iter().filter(|(second, _)| second != first) {
                // SAFETY: it writes one number.
                let can = self.number::<Can>("cuDeviceCanAccessPeer", |can, yes| unsafe { can(yes, *device, *peer) });
                if can.is_ok_and(|can| can != 0) {
                    pairs.push([*first, *second]);
                }
            }
        }
        json!(pairs)
    }

    /// A text from a function that takes the buffer, its length, and the device.
    fn text(&self, name: &str, device: Device) -> Result<String, String> {
        type Get = unsafe extern "C" fn(*mut c_char, c_int, Device) -> c_int;
        let mut buffer = [0_u8; NAME];
        // SAFETY: it writes no more than it is told, and ends it with null.
        self.call::<Get>(name, |get| unsafe {
            get(buffer.as_mut_ptr().cast(), NAME as c_int - 1, device)
        })?;
        let text = CStr::from_bytes_until_nul(&buffer).unwrap_or_default();
        Ok(text.to_string_lossy().into_owned())
    }

    /// Calls a function that writes one number.
    fn number<F: Copy>(&self, name: &str, call: impl FnOnce(F, *mut c_int) -> c_int) -> Result<c_int, String> {
        let mut number = 0;
        self.call::<F>(name, |function| call(function, &raw mut number))?;
        Ok(number)
    }

    /// Calls a function by its name, which has to be of type `F`; what the driver says against it.
    fn call<F: Copy>(&self, name: &str, call: impl FnOnce(F) -> c_int) -> Result<(), String> {
        // SAFETY: the types above are those of cuda.h, and the library stays as long as `self`.
        let function = unsafe { self.library.get::<F>(name.as_bytes()) };
        let function = function.map_err(|_| format!("{name}: this driver does not have it"))?;
        match call(*function) {
            SUCCESS => Ok(()),
            code => Err(format!("{name}: {}", self.error_name(code))),
        }
    }

    fn error_name(&self, code: c_int) -> String {
        type Get = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;
        // SAFETY: it points to a text of its own, which stays, or to nothing.
        let name = unsafe {
            let mut name = std::ptr::null();
            let get = self.library.get::<Get>(b"cuGetErrorName").ok();
            get.map(|get| get(code, &raw mut name));
            (!name.is_null()).then(|| CStr::from_ptr(name).to_string_lossy().into_owned())
        };
        name.map_or_else(|| format!("error {code}"), |name| format!("{name} ({code})"))
    }
}

/// As tools print it.
fn hyphenated(uuid: [u8; 16]) -> String {
    let mut text = String::new();
    for (index, byte) in uuid.iter().enumerate() {
        if [4, 6, 8, 10].contains(&index) {
            text.push('-');
        }
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Where the library was found: a newer one than the kernel's driver lies in a folder named `compat`.
fn library_path() -> Option<String> {
    let maps = host::read("/proc/self/maps")?;
    let mut paths = maps
        .lines()
        .filter_map(|line| line.find('/').and_then(|at| line.get(at..)));
    paths.find(|path| path.contains("/libcuda.so")).map(str::to_owned)
}

/// The version of the kernel's part: `NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  …`.
fn kernel_driver() -> Option<String> {
    let text = host::read("/proc/driver/nvidia/version")?;
    let mut words = text.lines().next()?.split_whitespace();
    let is_version = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
    words.find(is_version).map(str::to_owned)
}
