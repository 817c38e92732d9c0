//! What the driver's management library says about the GPUs: it makes no context and takes no GPU memory. It may also
//! hang, or end the process that asks, so it is asked by a process of its own.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nvml_wrapper::enum_wrappers::device::TemperatureSensor;
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::{NvmlError, nvml_try};
use nvml_wrapper::{Device, Nvml};
use serde_json::{Value, json};

use super::Line;
use super::health::Health;
use super::watchdog::Watchdog;
use super::xids::Xids;
use crate::collect::Missing;

/// How often devices are counted anew, and asked how they do and who uses them: that changes slowly, or rarely.
const SLOW: Duration = Duration::from_secs(1);
/// Processes that are told of on one device.
const PROCESSES: usize = 64;

/// Tells about the GPUs, then samples them until nobody listens any more.
pub fn serve(listener: File, interval: Duration) {
    let start = Instant::now();
    let listener = Arc::new(listener);
    let watchdog = Watchdog::start({
        let listener = Arc::clone(&listener);
        move |device| drop(tell(&listener, &not_answering(device, start)))
    });
    let _ = sample(&listener, &watchdog, start, interval);
}

fn sample(listener: &File, watchdog: &Watchdog, start: Instant, interval: Duration) -> std::io::Result<()> {
    let nvml = match watchdog.over(None, load) {
        Ok(nvml) => nvml,
        Err(missing) => return tell(listener, &Line::Missing(missing)),
    };
    tell(listener, &Line::Facts(watchdog.over(None, || facts(&nvml))))?;
    let mut devices: Vec<_> = watchdog.over(None, || devices(&nvml).map(Watched::new).collect());
    let handles = devices.iter().filter_map(|watched| watched.device.as_ref().ok());
    let mut xids = watchdog.over(None, || Xids::of(&nvml, handles));
    let mut count = devices.len() as u32;
    let mut slow = Instant::now();
    loop {
        let round = Instant::now();
        let at = round.duration_since(start).as_millis() as u64;
        let is_slow = round >= slow;
        for (index, device) in devices.iter_mut().enumerate() {
            let lines = watchdog.over(Some(index), || device.sample(&nvml, index, at, is_slow));
            lines.iter().try_for_each(|line| tell(listener, line))?;
        }
        if is_slow {
            slow = round + SLOW.max(interval);
            let now = watchdog.over(None, || nvml.device_count());
            if let Some(now) = now.ok().filter(|now| *now != count) {
                let text = format!("the driver counts {now} GPUs, and counted {count} before");
                tell(listener, &Line::Note { at, text })?;
                count = now;
            }
        }
        xids.until(round + interval, watchdog, |device, code| {
            let at = start.elapsed().as_millis() as u64;
            let device = devices.iter().position(|watched| watched.is(device));
            device.map_or(Ok(()), |device| tell(listener, &Line::Xid { device, at, code }))
        })?;
    }
}

/// One line, whoever tells it: what is written at once comes at once.
fn tell(mut listener: &File, line: &Line) -> std::io::Result<()> {
    let text = serde_json::to_string(line).unwrap_or_default() + "\n";
    listener.write_all(text.as_bytes())
}

/// What is told of a call that does not come back.
fn not_answering(device: Option<usize>, start: Instant) -> Line {
    let at = start.elapsed().as_millis() as u64;
    let why = "the driver does not answer: it hangs".to_owned();
    match device {
        Some(device) => Line::Failed { device, at, why },
        None => Line::Note { at, text: why },
    }
}

/// A device by the handle that it had at the start: numbers shift when another one falls off the bus.
struct Watched<'n> {
    device: Result<Device<'n>, NvmlError>,
    used: Option<u64>,
    failed: Option<String>,
    health: Health,
    /// Bytes that each process uses, by its number.
    processes: BTreeMap<u32, u64>,
}

impl<'n> Watched<'n> {
    fn new(device: Result<Device<'n>, NvmlError>) -> Self {
        Self {
            device,
            used: None,
            failed: None,
            health: Health::new(),
            processes: BTreeMap::new(),
        }
    }

    fn is(&self, other: &Device<'_>) -> bool {
        // SAFETY: the handles are compared and not used.
        self.device
            .as_ref()
            .is_ok_and(|device| unsafe { device.handle() == other.handle() })
    }

    /// What has changed since the last time; now and then also what changes slowly.
    fn sample(&mut self, nvml: &Nvml, device: usize, at: u64, is_slow: bool) -> Vec<Line> {
        let memory = match &self.device {
            Ok(handle) => memory(nvml, handle).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        let (used, total) = match memory {
            Ok(memory) => memory,
            Err(why) => {
                let is_new = self.failed.replace(why.clone()).as_ref() != Some(&why);
                return Vec::from_iter(is_new.then_some(Line::Failed { device, at, why }));
            }
        };
        self.failed = None;
        let changed = self.used.replace(used) != Some(used);
        let mut lines = Vec::from_iter(changed.then_some(Line::Used {
            device,
            at,
            used,
            total,
        }));
        if let (Ok(handle), true) = (&self.device, is_slow) {
            let changes = self.health.changes(nvml, handle).into_iter();
            lines.extend(changes.map(|(name, value)| Line::Changed {
                device,
                at,
                name: name.to_owned(),
                value,
            }));
            let changes = changes_of(&mut self.processes, handle).into_iter();
            lines.extend(changes.map(|(pid, used)| Line::Process { device, at, pid, used }));
        }
        lines
    }
}

/// The processes that use more or less of a device than they did, with their bytes; those that are gone use none.
fn changes_of(known: &mut BTreeMap<u32, u64>, device: &Device<'_>) -> Vec<(u32, u64)> {
    let Ok(running) = device.running_compute_processes() else {
        return Vec::new();
    };
    let bytes = |memory: UsedGpuMemory| match memory {
        UsedGpuMemory::Used(bytes) => Some(bytes),
        // In a container, and on a part of a GPU, the driver may not tell.
        UsedGpuMemory::Unavailable => None,
    };
    let now: BTreeMap<u32, u64> = running
        .into_iter()
        .filter_map(|process| Some((process.pid, bytes(process.used_gpu_memory)?)))
        .take(PROCESSES)
        .collect();
    let gone = known.keys().filter(|pid| !now.contains_key(pid)).map(|pid| (*pid, 0));
    let changed = now.iter().filter(|(pid, bytes)| known.get(pid) != Some(bytes));
    let changes = gone.chain(changed.map(|(pid, bytes)| (*pid, *bytes))).collect();
    *known = now;
    changes
}

/// Bytes used on a device, and all that it has.
fn memory(nvml: &Nvml, device: &Device<'_>) -> Result<(u64, u64), NvmlError> {
    match device.memory_info() {
        // Drivers before R510 have the older function alone.
        Err(NvmlError::FailedToLoadSymbol(missing)) => {
            let Ok(ask) = &nvml.lib().nvmlDeviceGetMemoryInfo else {
                return Err(NvmlError::FailedToLoadSymbol(missing));
            };
            let mut memory = MaybeUninit::zeroed();
            // SAFETY: the handle is the library's, and it fills a record of plain numbers, of which zeros are some.
            let (code, memory) = unsafe {
                let code = ask(device.handle(), memory.as_mut_ptr());
                (code, memory.assume_init())
            };
            nvml_try(code)?;
            Ok((memory.used, memory.total))
        }
        known => known.map(|memory| (memory.used, memory.total)),
    }
}

/// The library, or why it can not be had.
fn load() -> Result<Nvml, Missing> {
    let mend = "install the NVIDIA driver; in a container, use the NVIDIA container toolkit (--gpus all)";
    Nvml::init().map_err(|error| {
        Missing::new(
            "GPUs",
            format!("the driver's management library does not load: {error}"),
            mend,
        )
    })
}

/// Driver, CUDA version and devices.
fn facts(nvml: &Nvml) -> Value {
    let cuda = nvml
        .sys_cuda_driver_version()
        .ok()
        .map(|version| format!("{}.{}", version / 1000, version % 1000 / 10));
    let devices: Vec<Value> = devices(nvml)
        .enumerate()
        .map(|(index, device)| match device {
            Ok(device) => describe(nvml, index, &device),
            Err(error) => json!({"index": index, "error": error.to_string()}),
        })
        .collect();
    json!({"driver": nvml.sys_driver_version().ok(), "cuda": cuda, "devices": devices})
}

fn describe(nvml: &Nvml, index: usize, device: &Device<'_>) -> Value {
    let capability = device.cuda_compute_capability().ok();
    json!({
        "index": index,
        "name": device.name().ok(),
        "uuid": device.uuid().ok(),
        "pci": device.pci_info().ok().map(|pci| pci.bus_id),
        "compute_capability": capability.map(|version| format!("{}.{}", version.major, version.minor)),
        "memory": memory(nvml, device).ok().map(|(_, total)| total),
        "ecc": device.is_ecc_enabled().ok().map(|state| state.currently_enabled),
        "temperature": device.temperature(TemperatureSensor::Gpu).ok(),
    })
}

fn devices(nvml: &Nvml) -> impl Iterator<Item = Result<Device<'_>, NvmlError>> {
    (0..nvml.device_count().unwrap_or(0)).map(|index| nvml.device_by_index(index))
}
