//! Archives byte by byte, so that they can lie.

use std::io::Write as _;

/// An entry of a tar file: its header, and what stands behind it.
#[derive(Clone)]
pub struct TarEntry {
    pub header: [u8; 512],
    pub content: Vec<u8>,
}

/// A tar entry of this type, with the content's size in its header.
pub fn tar_entry(name: &str, kind: u8, content: &[u8]) -> TarEntry {
    let mut header = [0; 512];
    header[..name.len().min(100)].copy_from_slice(&name.as_bytes()[..name.len().min(100)]);
    header[100..107].copy_from_slice(b"0000644");
    header[108..115].copy_from_slice(b"0000000");
    header[116..123].copy_from_slice(b"0000000");
    header[136..147].copy_from_slice(b"00000000000");
    header[156] = kind;
    header[257..265].copy_from_slice(b"ustar  \0");
    let entry = TarEntry {
        header,
        content: content.to_vec(),
    };
    entry.with_size(content.len() as u64)
}

/// A file in a tar file.
pub fn tar_file(name: &str, content: &[u8]) -> TarEntry {
    tar_entry(name, b'0', content)
}

impl TarEntry {
    /// The same that claims to have so many bytes.
    pub fn with_size(mut self, size: u64) -> Self {
        self.header[124..136].copy_from_slice(&tar_number(size));
        self.summed()
    }

    /// The same with these bytes in its header.
    pub fn with(mut self, at: usize, bytes: &[u8]) -> Self {
        self.header[at..at + bytes.len()].copy_from_slice(bytes);
        self.summed()
    }

    /// The same with the sum of its header in it.
    fn summed(mut self) -> Self {
        self.header[148..156].fill(b' ');
        let sum: u32 = self.header.iter().map(|byte| u32::from(*byte)).sum();
        self.header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        self
    }

    /// A sparse file in GNU's format: where its only part begins, how long that is, and how long the file is.
    pub fn sparse(self, offset: u64, size: u64) -> Self {
        let length = self.content.len() as u64;
        self.with(156, b"S")
            .with(386, &tar_number(offset))
            .with(398, &tar_number(length))
            .with(483, &tar_number(size))
    }
}

/// A number of a header: octal, or in base 256 where it is too large for that.
pub fn tar_number(number: u64) -> [u8; 12] {
    let mut field = [0; 12];
    if number < 1 << 33 {
        field.copy_from_slice(format!("{number:011o}\0").as_bytes());
    } else {
        field[0] = 0x80;
        field[4..].copy_from_slice(&number.to_be_bytes());
    }
    field
}

/// A tar file of these entries.
pub fn tar(entries: &[TarEntry]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in entries {
        bytes.extend(entry.header);
        bytes.extend(&entry.content);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
    }
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

/// Headers of POSIX.1-2001 for the next entry.
pub fn pax(records: &[(&str, &str)]) -> TarEntry {
    let mut content = String::new();
    for (key, value) in records {
        let rest = format!(" {key}={value}\n");
        let mut length = rest.len() + 1;
        while length != rest.len() + length.to_string().len() {
            length += 1;
        }
        content += &format!("{length}{rest}");
    }
    tar_entry("PaxHeaders/x", b'x', content.as_bytes())
}

/// A member of a zip file; every number in it may be a lie.
#[derive(Clone)]
pub struct ZipEntry {
    pub name: Vec<u8>,
    pub local_name: Vec<u8>,
    pub flags: u16,
    pub method: u16,
    pub crc: u32,
    pub packed: Vec<u8>,
    pub packed_bytes: u32,
    pub bytes: u32,
    /// Type of the file, as on Unix.
    pub mode: u32,
    /// Where the directory says it is, if not where it is.
    pub at: Option<u32>,
}

/// A member that is packed by this method.
pub fn zip_entry(name: &str, method: u16, content: &[u8]) -> ZipEntry {
    let packed = match method {
        8 => deflate(content),
        12 => bzip2(content),
        93 => zstd(content),
        95 => xz(content),
        _ => content.to_vec(),
    };
    ZipEntry {
        name: name.into(),
        local_name: name.into(),
        flags: 0,
        method,
        crc: crc32fast::hash(content),
        packed_bytes: u32::try_from(packed.len()).unwrap(),
        bytes: u32::try_from(content.len()).unwrap(),
        packed,
        mode: 0o100_644,
        at: None,
    }
}

/// A zip file, and where its directory is.
pub struct Zip {
    pub bytes: Vec<u8>,
    pub directory: usize,
}

/// A zip file of these members.
pub fn zip(entries: &[ZipEntry]) -> Vec<u8> {
    whole_zip(entries).bytes
}

pub fn whole_zip(entries: &[ZipEntry]) -> Zip {
    let mut bytes = Vec::new();
    let mut places = Vec::new();
    for entry in entries {
        places.push(u32::try_from(bytes.len()).unwrap());
        bytes.extend(b"PK\x03\x04\x14\0");
        bytes.extend(entry.flags.to_le_bytes());
        bytes.extend(entry.method.to_le_bytes());
        bytes.extend([0; 4]);
        for number in [entry.crc, entry.packed_bytes, entry.bytes] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(u16::try_from(entry.local_name.len()).unwrap().to_le_bytes());
        bytes.extend([0; 2]);
        bytes.extend(&entry.local_name);
        bytes.extend(&entry.packed);
    }
    let directory = bytes.len();
    for (entry, place) in entries.iter().zip(places) {
        bytes.extend(b"PK\x01\x02\x14\x03\x14\0");
        bytes.extend(entry.flags.to_le_bytes());
        bytes.extend(entry.method.to_le_bytes());
        bytes.extend([0; 4]);
        for number in [entry.crc, entry.packed_bytes, entry.bytes] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(u16::try_from(entry.name.len()).unwrap().to_le_bytes());
        bytes.extend([0; 8]);
        bytes.extend((entry.mode << 16).to_le_bytes());
        bytes.extend(entry.at.unwrap_or(place).to_le_bytes());
        bytes.extend(&entry.name);
    }
    let size = u32::try_from(bytes.len() - directory).unwrap();
    let count = u16::try_from(entries.len()).unwrap();
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend(count.to_le_bytes());
    bytes.extend(count.to_le_bytes());
    bytes.extend(size.to_le_bytes());
    bytes.extend(u32::try_from(directory).unwrap().to_le_bytes());
    bytes.extend([0; 2]);
    Zip { bytes, directory }
}

pub fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).unwrap()
}

pub fn lz4(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(1)).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
