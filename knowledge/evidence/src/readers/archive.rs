//! Files packed into one: what is unpacked, and what is only named.

/// An archive that is unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArchiveForm {
    /// A tar file of any kind (POSIX.1-1988 and -2001, GNU, V7).
    Tar,
    /// A zip file (APPNOTE.TXT), or what is left of its beginning.
    Zip,
}

/// The archive that begins with these bytes, if it is one that is unpacked.
pub fn form(head: &[u8]) -> Option<ArchiveForm> {
    if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
        zipped_format(head).is_none().then_some(ArchiveForm::Zip)
    } else {
        is_tar(head).then_some(ArchiveForm::Tar)
    }
}

/// Bytes of a tar file's header, where in it the sum of them stands, and where the mark of POSIX (`ustar`).
const HEADER: usize = 512;
const SUM: std::ops::Range<usize> = 148..156;
const USTAR: std::ops::Range<usize> = 257..262;

/// Whether these are the bytes of a tar file: its first header has the sum that it says. Those from before POSIX have no
/// mark, and are told from chance by a name.
fn is_tar(head: &[u8]) -> bool {
    let Some((header, _)) = head.split_first_chunk::<HEADER>() else {
        return false;
    };
    let field = header.get(SUM).unwrap_or_default();
    let digits = field
        .trim_ascii_start()
        .split(|byte| matches!(byte, 0 | b' '))
        .next()
        .unwrap_or_default();
    let digits = std::str::from_utf8(digits).unwrap_or_default();
    let Ok(said) = u32::from_str_radix(digits, 8) else {
        return false;
    };
    let sum = |of: fn(u8) -> i64| {
        let bytes = header.iter().enumerate();
        bytes
            .map(|(at, byte)| if SUM.contains(&at) { i64::from(b' ') } else { of(*byte) })
            .sum::<i64>()
    };
    // Some old programs took bytes for signed numbers.
    let has_sum = i64::from(said) == sum(i64::from) || i64::from(said) == sum(|byte| i64::from(byte.cast_signed()));
    let is_marked = header.get(USTAR) == Some(b"ustar".as_slice());
    has_sum && (is_marked || header.first().is_some_and(|byte| byte.is_ascii_graphic()))
}

/// What people hand over that has a format of its own and says nothing of a crash, or can not be unpacked here: how it
/// begins, and what it is.
const FOREIGN: [(&[u8], &str); 13] = [
    (
        b"7z\xbc\xaf\x27\x1c",
        "a 7z archive (unpack it with `7z x`, and give its folder)",
    ),
    (
        b"Rar!\x1a\x07",
        "a RAR archive (unpack it with `unrar x`, and give its folder)",
    ),
    (
        b"MSCF\0\0\0\0",
        "a cabinet archive (unpack it with `cabextract`, and give its folder)",
    ),
    (
        b"!<arch>\n",
        "an archive of `ar` or a Debian package (unpack it with `ar x`, and give its folder)",
    ),
    (
        b"hsqs",
        "a SquashFS image (unpack it with `unsquashfs`, and give its folder)",
    ),
    (b"LZIP\x01", "a file compressed by lzip (unpack it with `lzip -d`)"),
    (
        b"\x1f\x9d",
        "a file compressed by `compress` (unpack it with `gzip -d`)",
    ),
    (
        b"\x5d\0\0",
        "a file compressed by LZMA (unpack it with `xz -d --format=lzma`)",
    ),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"%PDF-", "a PDF document (give the text of it)"),
    (b"\x89PNG\r\n", "a picture (give the text that it shows)"),
    (b"\xff\xd8\xff", "a picture (give the text that it shows)"),
    (b"\x93NUMPY", "an array of NumPy"),
];

/// What zip files are whose first member is called like this: files of other programs, with nothing of a crash in them.
const ZIPPED: [(&str, &str); 6] = [
    ("/data.pkl", "a file of `torch.save`, such as a checkpoint"),
    ("/.format_version", "a file of `torch.save`, such as a checkpoint"),
    (".npy", "arrays of NumPy"),
    (
        "[Content_Types].xml",
        "a document of an office program (give the text of it)",
    ),
    ("META-INF/", "a Java archive"),
    ("AndroidManifest.xml", "an Android package"),
];

/// A format that is known and not read, in words.
pub fn foreign_format(head: &[u8]) -> Option<&'static str> {
    let mut foreign = FOREIGN.iter();
    let begun = foreign.find(|(magic, _)| head.starts_with(magic));
    begun.map(|(_, what)| *what).or_else(|| zipped_format(head))
}

/// Where in a zip file the length of its first member's name stands, and the name (APPNOTE.TXT, 4.3.7).
const NAME_LENGTH: usize = 26;
const NAME: usize = 30;

fn zipped_format(head: &[u8]) -> Option<&'static str> {
    if !head.starts_with(b"PK\x03\x04") {
        return None;
    }
    let length = u16::from_le_bytes(*head.get(NAME_LENGTH..)?.first_chunk()?);
    let name = std::str::from_utf8(head.get(NAME..NAME + usize::from(length))?).ok()?;
    let mut zipped = ZIPPED.iter();
    zipped.find(|(ending, _)| name.ends_with(ending)).map(|(_, what)| *what)
}
