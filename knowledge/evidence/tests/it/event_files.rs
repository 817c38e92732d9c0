//! Files of `TensorBoard` and of Weights & Biases, as their writers make them.

/// A field of a message: its number, and its bytes.
fn bytes(number: u8, value: &[u8]) -> Vec<u8> {
    let mut field = vec![number << 3 | 2];
    let mut length = value.len();
    while length >= 0x80 {
        field.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
        length >>= 7;
    }
    field.push(u8::try_from(length).unwrap());
    field.extend_from_slice(value);
    field
}

/// A field that is a small integer.
fn integer(key: &[u8], value: u64) -> Vec<u8> {
    let mut field = key.to_vec();
    let mut value = value;
    while value >= 0x80 {
        field.push(u8::try_from(value & 0x7f).unwrap() | 0x80);
        value >>= 7;
    }
    field.push(u8::try_from(value).unwrap());
    field
}

fn event(step: u64, value: &[u8]) -> Vec<u8> {
    let time = [&[9][..], &1_795_955_379.5_f64.to_le_bytes()].concat();
    [time, integer(&[0x10], step), bytes(5, &bytes(1, value))].concat()
}

/// A scalar as tensorboardX writes it, of a step.
pub fn scalar(tag: &str, step: u64, value: f32) -> Vec<u8> {
    event(
        step,
        &[bytes(1, tag.as_bytes()), vec![0x15], value.to_le_bytes().to_vec()].concat(),
    )
}

/// A scalar as TensorFlow 2 writes it.
pub fn tensor(tag: &str, step: u64, value: f32) -> Vec<u8> {
    let tensor = [integer(&[0x08], 1), bytes(2, &[]), bytes(4, &value.to_le_bytes())].concat();
    event(step, &[bytes(1, tag.as_bytes()), bytes(8, &tensor)].concat())
}

/// CRC-32C, bit by bit, masked as TensorFlow does.
fn masked(bytes: &[u8]) -> u32 {
    let mut sum = !0_u32;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 {
                (sum >> 1) ^ 0x82f6_3b78
            } else {
                sum >> 1
            };
        }
    }
    let sum = !sum;
    sum.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// What stands before the data of a record of this length.
pub fn header(length: u64) -> Vec<u8> {
    let length = length.to_le_bytes();
    [&length[..], &masked(&length).to_le_bytes()].concat()
}

/// A file of these records.
pub fn events_file(records: &[Vec<u8>]) -> Vec<u8> {
    let version = bytes(3, b"brain.Event:2");
    let mut file = Vec::new();
    for record in [&version].into_iter().chain(records) {
        file.extend_from_slice(&header(record.len() as u64));
        file.extend_from_slice(record);
        file.extend_from_slice(&masked(record).to_le_bytes());
    }
    file
}

/// A record of a run.
pub enum Record<'r> {
    /// A row that was logged, each value as JSON.
    History(Vec<(&'r str, String)>),
    /// A piece of text that was printed.
    Output(&'r str),
    /// The code that the run ended with.
    Exit(u64),
}

impl Record<'_> {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::History(items) => {
                let items = items.iter().map(|(name, value)| {
                    let value = [&[0x82, 0x01, u8::try_from(value.len()).unwrap()], value.as_bytes()].concat();
                    bytes(1, &[bytes(2, name.as_bytes()), value].concat())
                });
                bytes(2, &items.collect::<Vec<_>>().concat())
            }
            Self::Output(text) => bytes(13, &[integer(&[0x08], 1), bytes(3, text.as_bytes())].concat()),
            Self::Exit(code) => {
                let exit = integer(&[0x08], *code);
                [&[0x92, 0x01, u8::try_from(exit.len()).unwrap()], exit.as_slice()].concat()
            }
        }
    }
}

/// A file of these records, in blocks as LevelDB has them.
pub fn wandb_file(records: &[Record]) -> Vec<u8> {
    const BLOCK: usize = 32 << 10;
    let mut file = b":W&B\xe1\xbe\x00".to_vec();
    for record in records {
        let record = record.bytes();
        let (mut rest, mut is_first) = (&record[..], true);
        loop {
            let left = BLOCK - file.len() % BLOCK;
            if left < 7 {
                file.extend(std::iter::repeat_n(0, left));
                continue;
            }
            let (piece, behind) = rest.split_at(rest.len().min(left - 7));
            let kind = match (is_first, behind.is_empty()) {
                (true, true) => 1,
                (true, false) => 2,
                (false, false) => 3,
                (false, true) => 4,
            };
            let mut sum = flate2::Crc::new();
            sum.update(&[kind]);
            sum.update(piece);
            file.extend_from_slice(&sum.sum().to_le_bytes());
            file.extend_from_slice(&u16::try_from(piece.len()).unwrap().to_le_bytes());
            file.push(kind);
            file.extend_from_slice(piece);
            (rest, is_first) = (behind, false);
            if rest.is_empty() {
                break;
            }
        }
    }
    file
}
