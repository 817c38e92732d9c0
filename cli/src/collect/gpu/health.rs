//! How a GPU does beside its memory: clocks and what holds them down, temperature, power, use, and what it has counted
//! of errors. Each is a series: a name, and how to ask for its value.

use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, EccCounter, MemoryError, TemperatureSensor};
use nvml_wrapper::enums::device::SampleValue;
use nvml_wrapper::error::{NvmlError, nvml_try};
use nvml_wrapper::structs::device::FieldId;
use nvml_wrapper::sys_exports::field_id;
use nvml_wrapper::{Device, Nvml};
use serde_json::Value;

/// How the value of a series is asked for.
type Ask = fn(&Nvml, &Device<'_>) -> Result<Value, NvmlError>;

/// All of them, by the names that they have in the record.
const SERIES: [(&str, Ask); 14] = [
    ("sm_clock_mhz", |_, device| Ok(device.clock_info(Clock::SM)?.into())),
    ("memory_clock_mhz", |_, device| {
        Ok(device.clock_info(Clock::Memory)?.into())
    }),
    ("throttled_by", throttled_by),
    ("temperature_c", |_, device| {
        Ok(device.temperature(TemperatureSensor::Gpu)?.into())
    }),
    ("power_w", |_, device| Ok((device.power_usage()? / 1000).into())),
    ("busy_percent", |_, device| Ok(device.utilization_rates()?.gpu.into())),
    ("ecc_corrected", |_, device| ecc(device, MemoryError::Corrected)),
    ("ecc_uncorrected", |_, device| ecc(device, MemoryError::Uncorrected)),
    ("rows_remapped_corrected", |nvml, device| {
        Ok(Rows::of(nvml, device)?.corrected.into())
    }),
    ("rows_remapped_uncorrected", |nvml, device| {
        Ok(Rows::of(nvml, device)?.uncorrected.into())
    }),
    ("row_remap_pending", |nvml, device| {
        Ok((Rows::of(nvml, device)?.pending != 0).into())
    }),
    ("row_remap_failed", |nvml, device| {
        Ok((Rows::of(nvml, device)?.failed != 0).into())
    }),
    ("pcie_replays", |_, device| Ok(device.pcie_replay_counter()?.into())),
    ("nvlink_errors", |_, device| nvlink_errors(device)),
];

/// Why the clocks are lower than they could be. Idleness and what somebody set are not told.
const REASONS: [(ThrottleReasons, &str); 7] = [
    (ThrottleReasons::SW_POWER_CAP, "power-cap"),
    (ThrottleReasons::HW_SLOWDOWN, "hardware-slowdown"),
    (ThrottleReasons::SYNC_BOOST, "sync-boost"),
    (ThrottleReasons::SW_THERMAL_SLOWDOWN, "thermal-slowdown"),
    (ThrottleReasons::HW_THERMAL_SLOWDOWN, "hardware-thermal-slowdown"),
    (ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN, "power-brake"),
    (ThrottleReasons::DISPLAY_CLOCK_SETTING, "display"),
];

/// Errors of all links of a device together: of packets, of replays, and of links that had to be trained anew.
const LINK_ERRORS: [FieldId; 4] = [
    FieldId(field_id::NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL),
    FieldId(field_id::NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL),
    FieldId(field_id::NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL),
    FieldId(field_id::NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL),
];

/// What one device is asked for, and what it said last.
#[derive(Debug)]
pub struct Health {
    asked: Vec<(&'static str, Ask, Option<Value>)>,
}

impl Health {
    /// Of a device that was not asked yet.
    pub fn new() -> Self {
        let asked = SERIES.iter().map(|(name, ask)| (*name, *ask, None));
        Self { asked: asked.collect() }
    }

    /// The values that have changed since the last time, by name. What this device or its driver does not know is not
    /// asked for again.
    pub fn changes(&mut self, nvml: &Nvml, device: &Device<'_>) -> Vec<(&'static str, Value)> {
        let mut changes = Vec::new();
        self.asked.retain_mut(|(name, ask, last)| {
            let value = match ask(nvml, device) {
                Ok(value) => value,
                Err(error) => return !is_for_good(&error),
            };
            if last.as_ref() != Some(&value) {
                *last = Some(value.clone());
                changes.push((*name, value));
            }
            true
        });
        changes
    }
}

fn is_for_good(error: &NvmlError) -> bool {
    matches!(
        error,
        NvmlError::NotSupported | NvmlError::NoPermission | NvmlError::InvalidArg | NvmlError::FailedToLoadSymbol(_)
    )
}

fn throttled_by(_: &Nvml, device: &Device<'_>) -> Result<Value, NvmlError> {
    let all = device.current_throttle_reasons()?;
    let reasons = REASONS
        .iter()
        .filter(|(reason, _)| all.contains(*reason))
        .map(|(_, name)| *name);
    Ok(reasons.collect())
}

/// Errors since the driver was loaded.
fn ecc(device: &Device<'_>, kind: MemoryError) -> Result<Value, NvmlError> {
    Ok(device.total_ecc_errors(kind, EccCounter::Volatile)?.into())
}

fn nvlink_errors(device: &Device<'_>) -> Result<Value, NvmlError> {
    let values = device.field_values_for(&LINK_ERRORS)?;
    let number = |value: SampleValue| match value {
        SampleValue::U32(number) => Some(u64::from(number)),
        SampleValue::U64(number) => Some(number),
        _ => None,
    };
    let counts: Vec<u64> = values
        .into_iter()
        .filter_map(|sample| number(sample.ok()?.value.ok()?))
        .collect();
    if counts.is_empty() {
        return Err(NvmlError::NotSupported);
    }
    Ok(counts.into_iter().fold(0, u64::saturating_add).into())
}

/// Rows of memory that were replaced by spare ones (Ampere and newer).
#[derive(Debug, Default)]
struct Rows {
    corrected: u32,
    uncorrected: u32,
    pending: u32,
    failed: u32,
}

impl Rows {
    fn of(nvml: &Nvml, device: &Device<'_>) -> Result<Self, NvmlError> {
        let Ok(ask) = &nvml.lib().nvmlDeviceGetRemappedRows else {
            return Err(NvmlError::NotSupported);
        };
        let mut rows = Self::default();
        // SAFETY: the handle is the library's, and it writes four numbers.
        let code = unsafe {
            ask(
                device.handle(),
                &raw mut rows.corrected,
                &raw mut rows.uncorrected,
                &raw mut rows.pending,
                &raw mut rows.failed,
            )
        };
        nvml_try(code)?;
        Ok(rows)
    }
}
