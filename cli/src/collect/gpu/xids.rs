//! Errors that the driver tells of when they happen.

use std::time::{Duration, Instant};

use nvml_wrapper::bitmasks::event::EventTypes;
use nvml_wrapper::enums::event::XidError;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, EventSet, Nvml};

use super::watchdog::Watchdog;

/// How long the driver is asked at once: less than what would look like a driver that hangs.
const TURN: Duration = Duration::from_secs(1);

/// What waits for them.
#[derive(Debug)]
pub struct Xids<'n> {
    /// None where the driver does not tell of any, or does not any more.
    set: Option<EventSet<'n>>,
}

impl<'n> Xids<'n> {
    /// Of these devices, as far as they tell.
    pub fn of<'d>(nvml: &'n Nvml, devices: impl Iterator<Item = &'d Device<'n>>) -> Self
    where
        'n: 'd,
    {
        let wanted = EventTypes::CRITICAL_XID_ERROR;
        let mut telling = devices
            .filter(|device| {
                device
                    .supported_event_types()
                    .is_ok_and(|events| events.contains(wanted))
            })
            .peekable();
        // Without one that does, there is nothing to wait for.
        let set = telling.peek().and_then(|_| nvml.create_event_set().ok());
        let set = set.and_then(|set| telling.try_fold(set, |set, device| device.register_events(wanted, set).ok()));
        Self { set }
    }

    /// Waits until a moment, and tells the devices and the numbers of the errors that come until then.
    pub fn until(
        &mut self,
        moment: Instant,
        watchdog: &Watchdog,
        mut tell: impl FnMut(&Device<'n>, u32) -> std::io::Result<()>,
    ) -> std::io::Result<()> {
        loop {
            let left = moment.saturating_duration_since(Instant::now());
            let Some(set) = self.set.as_ref().filter(|_| left >= Duration::from_millis(1)) else {
                std::thread::sleep(left);
                return Ok(());
            };
            match watchdog.over(None, || set.wait(left.min(TURN).as_millis() as u32)) {
                Ok(event) => {
                    let code = event.event_data.and_then(number);
                    code.map_or(Ok(()), |code| tell(&event.device, code))?;
                }
                Err(NvmlError::Timeout) => {}
                // Asked again, it would say so at once again.
                Err(_) => self.set = None,
            }
        }
    }
}

/// Its number; none where the driver does not know it.
fn number(xid: XidError) -> Option<u32> {
    match xid {
        XidError::Value(number) => u32::try_from(number).ok(),
        XidError::Unknown => None,
    }
}
