//! Event files of `TensorBoard` (`events.out.tfevents.…`), as `SummaryWriter`, TensorFlow and Keras write them: scalars.
//!
//! A file is a row of `TFRecords`, each a length, a masked CRC-32C of it, as many bytes, and theirs. The bytes are an `Event`
//! of TensorFlow (`tensorflow/core/util/event.proto`): its step, and the values of a summary by tag. Images, histograms
//! and texts are passed over.

use std::io::{self, BufRead, Read};

use super::Logged;
use crate::model::Place;
use crate::readers::protobuf::{self, Field};
use crate::readers::{Input, Reading, read_problem};
use crate::{Limits, Problem};

/// Bytes of a record that is looked at; images are longer.
const RECORD_BYTES: u64 = 1 << 20;
/// Bytes before and behind the data of a record.
const HEADER: usize = 12;
const FOOTER: usize = 4;

/// True for a file that starts with a record: the sum of its length is right.
pub fn is_events(head: &[u8]) -> bool {
    head.first_chunk().and_then(length).is_some_and(|length| length > 0)
}

/// The length of a record's data; none where its sum is wrong.
fn length(header: &[u8; HEADER]) -> Option<u64> {
    let (length, sum) = header.split_first_chunk::<8>()?;
    let is_whole = masked_crc32c(length) == u32::from_le_bytes(*sum.first_chunk()?);
    is_whole.then_some(u64::from_le_bytes(*length))
}

/// Reads a file.
pub fn read(input: &Input, limits: &Limits) -> Reading {
    let mut reading = Reading::default();
    let mut logged = Logged::default();
    let damage = match input.stream() {
        Ok(stream) => Records { stream, at: 0 }.read(&mut logged),
        Err(error) => Some(read_problem(&error)),
    };
    logged.finish(input.name(), limits, &mut reading);
    reading.problems.extend(damage);
    reading
}

struct Records<R> {
    stream: R,
    /// Bytes that were read.
    at: u64,
}

impl<R: BufRead> Records<R> {
    /// Reads all records; what ended that early.
    fn read(&mut self, logged: &mut Logged) -> Option<Problem> {
        let mut wrong = None;
        loop {
            match self.record(logged) {
                Ok(Some(true)) => {}
                Ok(Some(false)) => {
                    wrong.get_or_insert_with(|| damaged(self.at, "a record is not as it was written and was left out"));
                }
                Ok(None) => return wrong,
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    let message =
                        "the last record ends early, as where its writer was killed; what came before was read";
                    return Some(Problem::new("unfinished", message));
                }
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    return Some(damaged(
                        self.at,
                        "a record's length is wrong; what came before was read",
                    ));
                }
                Err(error) => return Some(read_problem(&error)),
            }
        }
    }

    /// Reads a record: whether its data is whole. None at the end.
    fn record(&mut self, logged: &mut Logged) -> io::Result<Option<bool>> {
        if self.stream.fill_buf()?.is_empty() {
            return Ok(None);
        }
        let mut header = [0; HEADER];
        self.stream.read_exact(&mut header)?;
        let length = length(&header).ok_or(io::ErrorKind::InvalidData)?;
        let start = self.at;
        self.at = self.at.saturating_add(length).saturating_add((HEADER + FOOTER) as u64);
        if length > RECORD_BYTES {
            let rest = length.saturating_add(FOOTER as u64);
            let skipped = io::copy(&mut (&mut self.stream).take(rest), &mut io::sink())?;
            return if skipped < rest {
                Err(io::ErrorKind::UnexpectedEof.into())
            } else {
                Ok(Some(true))
            };
        }
        let mut data = Vec::new();
        (&mut self.stream).take(length).read_to_end(&mut data)?;
        if (data.len() as u64) < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut footer = [0; FOOTER];
        self.stream.read_exact(&mut footer)?;
        if masked_crc32c(&data) != u32::from_le_bytes(footer) {
            return Ok(Some(false));
        }
        event(&data, [start, self.at], logged);
        Ok(Some(true))
    }
}

fn damaged(at: u64, what: &str) -> Problem {
    Problem::new("damaged", format!("the event file is damaged before byte {at}: {what}"))
}

/// Numbers of the fields of an `Event`, a `Summary`, its values, and a `TensorProto`.
const STEP: u64 = 2;
const SUMMARY: u64 = 5;
const VALUE: u64 = 1;
const TAG: u64 = 1;
const SIMPLE_VALUE: u64 = 2;
const TENSOR: u64 = 8;
const DTYPE: u64 = 1;
const CONTENT: u64 = 4;

/// The values of an event, which is in these bytes.
fn event(event: &[u8], bytes: [u64; 2], logged: &mut Logged) {
    let step = protobuf::last(event, STEP).and_then(Field::integer).unwrap_or_default();
    let step = i64::try_from(step).is_ok().then_some(step);
    let parts = |message, number| {
        protobuf::fields(message).filter_map(move |(found, field)| (found == number).then(|| field.bytes())?)
    };
    for value in parts(event, SUMMARY).flat_map(|summary| parts(summary, VALUE)) {
        let tag = protobuf::last(value, TAG).and_then(Field::text);
        let simple = || protobuf::last(value, SIMPLE_VALUE)?.float();
        let tensor = || scalar(protobuf::last(value, TENSOR)?.bytes()?);
        let (Some(tag), Some(number)) = (tag, simple().or_else(tensor)) else {
            continue;
        };
        let place = || {
            let at = step.map_or_else(String::new, |step| format!(" at step {step}"));
            (Place::Bytes(bytes), format!("{tag} = {}{at}", written(number)))
        };
        logged.add(tag, step, number, place);
    }
}

fn written(number: f64) -> String {
    number.to_string().to_ascii_lowercase()
}

/// The one number that a tensor has, of the types that scalars are written in; none where it has more.
fn scalar(tensor: &[u8]) -> Option<f64> {
    let dtype = protobuf::last(tensor, DTYPE)?.integer()?;
    let content = protobuf::last(tensor, CONTENT)
        .and_then(Field::bytes)
        .unwrap_or_default();
    // What is not in the content is in a field for each type, as a packed list or by itself.
    let listed = |number| match protobuf::last(tensor, number)? {
        Field::Bytes(bytes) => Some(bytes.to_vec()),
        Field::Fixed32(bytes) => Some(bytes.to_vec()),
        Field::Fixed64(bytes) => Some(bytes.to_vec()),
        Field::Varint(_) => None,
    };
    match dtype {
        1 => {
            let bytes = if content.is_empty() {
                listed(5)?
            } else {
                content.to_vec()
            };
            Some(f32::from_le_bytes(bytes.try_into().ok()?).into())
        }
        2 => {
            let bytes = if content.is_empty() {
                listed(6)?
            } else {
                content.to_vec()
            };
            Some(f64::from_le_bytes(bytes.try_into().ok()?))
        }
        3 => Some(i32::from_le_bytes(content.try_into().ok()?).into()),
        9 => Some(i64::from_le_bytes(content.try_into().ok()?) as f64),
        // Of bfloat16 the upper half of a float is kept.
        14 => {
            let [low, high]: [u8; 2] = content.try_into().ok()?;
            Some(f32::from_le_bytes([0, 0, low, high]).into())
        }
        _ => None,
    }
}

/// The CRC-32C (Castagnoli) of bytes, rotated and moved as TensorFlow stores it (`tensorflow/core/lib/hash/crc32c.h`).
pub fn masked_crc32c(bytes: &[u8]) -> u32 {
    /// What is added to it.
    const DELTA: u32 = 0xa282_ead8;
    let index = |sum: u32, byte: u8| usize::from(sum.to_le_bytes()[0] ^ byte);
    let sum = !bytes.iter().fold(!0, |sum, byte| {
        TABLE.get(index(sum, *byte)).copied().unwrap_or_default() ^ (sum >> 8)
    });
    sum.rotate_right(15).wrapping_add(DELTA)
}

/// The remainders of all bytes.
static TABLE: [u32; 256] = {
    /// The polynomial, its bits reversed.
    const CASTAGNOLI: u32 = 0x82f6_3b78;
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut sum = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            sum = if sum & 1 == 1 {
                (sum >> 1) ^ CASTAGNOLI
            } else {
                sum >> 1
            };
            bit += 1;
        }
        table[byte] = sum;
        byte += 1;
    }
    table
};
