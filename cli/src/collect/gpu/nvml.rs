//! What the driver's management library says about the GPUs: it makes no context and takes no GPU memory. It may also
//! hang, or end the process that asks, so it is asked by a process of its own.

use std::fs::File;
use std::io::Write as _;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nvml_wrapper::enum_wrappers::device::TemperatureSensor;
use nvml_wrapper::error::{NvmlError, nvml_try};
use nvml_wrapper::{Device, Nvml};
use serde_json::{Value, json};

use super::Line;
use super::watchdog::Watchdog;
use crate::collect::Missing;

/// How often devices are counted anew: they come and go rarely.
const COUNT: Duration = Duration::from_secs(1);

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
    let mut count = devices.len() as u32;
    let mut counted = Instant::now();
    loop {
        let at = start.elapsed().as_millis() as u64;
        for (index, device) in devices.iter_mut().enumerate() {
            if let Some(line) = watchdog.over(Some(index), || device.sample(&nvml, index, at)) {
                tell(listener, &line)?;
            }
        }
        if counted.elapsed() >= COUNT.max(interval) {
            counted = Instant::now();
            let now = watchdog.over(None, || nvml.device_count());
            if let Some(now) = now.ok().filter(|now| *now != count) {
                let text = format!("the driver counts {now} GPUs, and counted {count} before");
                tell(listener, &Line::Note { at, text })?;
                count = now;
            }
        }
        std::thread::sleep(interval);
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
}

impl<'n> Watched<'n> {
    fn new(device: Result<Device<'n>, NvmlError>) -> Self {
        Self {
            device,
            used: None,
            failed: None,
        }
    }

    /// What has changed since the last time.
    fn sample(&mut self, nvml: &Nvml, device: usize, at: u64) -> Option<Line> {
        let memory = match &self.device {
            Ok(handle) => memory(nvml, handle).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        match memory {
            Ok((used, total)) => {
                self.failed = None;
                let changed = self.used.replace(used) != Some(used);
                changed.then_some(Line::Used {
                    device,
                    at,
                    used,
                    total,
                })
            }
            Err(why) => {
                let new = self.failed.as_ref() != Some(&why);
                self.failed = Some(why.clone());
                new.then_some(Line::Failed { device, at, why })
            }
        }
    }
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
