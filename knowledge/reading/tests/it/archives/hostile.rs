//! Archives that somebody made to do harm, or that something damaged: each is refused or cut by name, what can be read
//! beside it is, and it costs no more than what it has bytes for.

use whycrash_reading::ReportLimits;

use super::build::{
    TarEntry, ZipEntry, bzip2, deflate, gzip, pax, tar, tar_entry, tar_file, tar_number, whole_zip, xz, zip, zip_entry,
    zstd,
};
use super::{LOG, failures, names, read};
use crate::heap::peak_of;

/// What a hostile archive is, its bytes, and a word of the problem that it must have.
type Case = (&'static str, Vec<u8>, &'static str, &'static str);

/// Bytes of heap that reading one may hold: windows of decompressors are the most of it.
const HEAP: usize = 48 << 20;

/// Limits that a small file meets.
fn limits() -> ReportLimits {
    ReportLimits {
        members: 20,
        unpacked_bytes: 8 << 20,
        core_bytes: 64 << 20,
        ..ReportLimits::default()
    }
}

/// A log that must be read although it is beside something hostile.
fn good() -> TarEntry {
    tar_file("good.log", LOG.as_bytes())
}

fn beside(entry: TarEntry) -> Vec<u8> {
    tar(&[good(), entry])
}

fn zipped_beside(entry: ZipEntry) -> Vec<u8> {
    zip(&[zip_entry("good.log", 8, LOG.as_bytes()), entry])
}

/// The first bytes of a core, and nothing but a hole behind them.
fn core_with_hole() -> TarEntry {
    let size = tar_number(i64::MAX.cast_unsigned());
    let core = tar_file("core", b"\x7fELF").with(156, b"S");
    let parts = core.with(386, &tar_number(0)).with(398, &tar_number(4));
    parts.with(410, &size).with(422, &tar_number(0)).with(483, &size)
}

fn hostile_names() -> Vec<Case> {
    let names = [
        ("a path out of the archive", "../../etc/passwd", "leads out"),
        ("one that begins inside", "logs/../../../etc/passwd", "leads out"),
        ("one as Windows writes it", "..\\..\\boot.ini", "leads out"),
        ("an absolute path", "/etc/passwd", "absolute"),
        ("an absolute path on Windows", "C:\\boot.ini", "absolute"),
    ];
    let tars = names
        .iter()
        .map(|(what, name, word)| (*what, beside(tar_file(name, b"x")), "not-unpacked", *word));
    let zips = names
        .iter()
        .map(|(what, name, word)| (*what, zipped_beside(zip_entry(name, 8, b"x")), "not-unpacked", *word));
    tars.chain(zips).collect()
}

fn hostile_tars() -> Vec<Case> {
    let link = |name: &str, kind: u8| tar_entry(name, kind, b"").with(157, b"/etc/shadow");
    let long_name = tar_entry("././@LongLink", b'L', &vec![b'a'; 20 << 20]);
    let sparse = |content: &[u8], size: u64| tar_file("core", content).sparse(size - content.len() as u64, size);
    let records = |records: &[(&str, &str)], content: &[u8]| tar(&[good(), pax(records), tar_file("x", content)]);
    let one = [
        ("GNU.sparse.major", "1"),
        ("GNU.sparse.name", "x"),
        ("GNU.sparse.realsize", "99"),
    ];
    let block = |text: &str| {
        let mut block = text.as_bytes().to_vec();
        block.resize(512, 0);
        block
    };
    let cut = |bytes: Vec<u8>, from_end: usize| bytes[..bytes.len() - from_end].to_vec();
    vec![
        (
            "a symbolic link",
            beside(link("passwd", b'2')),
            "not-a-file",
            "symbolic link",
        ),
        ("a hard link", beside(link("passwd", b'1')), "not-a-file", "hard link"),
        (
            "a character device",
            beside(tar_entry("mem", b'3', b"")),
            "not-a-file",
            "device",
        ),
        ("a disk", beside(tar_entry("sda", b'4', b"")), "not-a-file", "device"),
        ("a pipe", beside(tar_entry("pipe", b'6', b"")), "not-a-file", "pipe"),
        (
            "two files of one name",
            tar(&[good(), good()]),
            "not-unpacked",
            "good.log",
        ),
        (
            "a name of 20 MiB",
            gzip(&tar(&[good(), long_name])),
            "not-unpacked",
            "name",
        ),
        (
            "headers of 20 MiB",
            gzip(&records(&[("path", &"a".repeat(20 << 20))], b"x")),
            "not-unpacked",
            "name",
        ),
        (
            "a hole of 8 EiB",
            beside(sparse(b"text", i64::MAX.cast_unsigned())),
            "limit-expansion-ratio",
            "so many times its size",
        ),
        (
            "a core with a hole of 8 EiB",
            beside(core_with_hole()),
            "limit-unpacked-bytes",
            "more than one may",
        ),
        (
            "a size that no file has",
            beside(tar_file("x.log", b"x").with_size(i64::MAX.cast_unsigned())),
            "truncated",
            "cut off",
        ),
        (
            "a size of the largest number there is",
            beside(tar_file("x.log", b"x").with_size(u64::MAX)),
            "",
            "",
        ),
        (
            "a wrong sum",
            beside(tar_file("x.log", b"x").with(156, b"0")).map_sum(),
            "damaged",
            "damaged",
        ),
        (
            "an end within a header",
            cut(beside(tar_file("x.log", b"x")), 1024 + 512 + 100),
            "truncated",
            "cut off",
        ),
        (
            "an end within a file",
            cut(beside(tar_file("x.log", &[b'x'; 2000])), 2000),
            "truncated",
            "cut off",
        ),
        (
            "more files than a report may have",
            tar(&[
                vec![good()],
                (0..50).map(|n| tar_file(&format!("{n}.log"), b"x")).collect(),
            ]
            .concat()),
            "limit-members",
            "more files",
        ),
        (
            "a list of parts out of order",
            records(&one, &block("2\n50\n10\n10\n10\n")),
            "not-unpacked",
            "sparse",
        ),
        (
            "a list of more parts than any",
            records(&one, &block("99999999999\n")),
            "not-unpacked",
            "sparse",
        ),
        (
            "a list of parts that ends nowhere",
            records(&one, &[b'1'; 2048]),
            "not-unpacked",
            "sparse",
        ),
        (
            "a sparse file of an old version",
            records(&[("GNU.sparse.size", "99"), ("GNU.sparse.numblocks", "1")], b"x"),
            "not-unpacked",
            "sparse",
        ),
        (
            "nothing but hidden files",
            tar(&[tar_file(".ssh/id_rsa", b"x")]),
            "not-unpacked",
            "hidden",
        ),
        (
            "nothing but folders",
            tar(&[tar_entry("logs/", b'5', b"")]),
            "not-unpacked",
            "no file",
        ),
        ("no name", tar(&[good(), tar_file("", b"x")]), "not-unpacked", "no name"),
    ]
}

fn bombs() -> Vec<Case> {
    let zeros = vec![0; 100 << 20];
    let lines = "x\n".repeat(6 << 20).into_bytes();
    let bomb = tar(&[good(), tar_file("bomb.log", &lines)]);
    let small = tar(&[tar_file("a.log", &lines[..4 << 20])]);
    let nested = tar(&[
        good(),
        tar_file("a.tgz", &gzip(&small)),
        tar_file("b.tgz", &gzip(&small)),
        tar_file("c.tgz", &gzip(&small)),
    ]);
    let deep = |depth: usize| {
        (0..depth).fold(LOG.as_bytes().to_vec(), |inner, _| {
            tar(&[good(), tar_file("in.tar", &inner)])
        })
    };
    let deep_zip = |depth: usize| {
        (0..depth).fold(zip(&[zip_entry("0.log", 8, &lines[..1 << 20])]), |inner, _| {
            let same = (0..4).map(|n| zip_entry(&format!("{n}.zip"), 8, &inner));
            zip(&[vec![zip_entry("good.log", 8, LOG.as_bytes())], same.collect()].concat())
        })
    };
    let concatenated = {
        let many = zstd(&zeros[..10 << 20]).repeat(20);
        [
            zstd(&tar(&[good(), tar_file("x", &[]).with_size(200 << 20)])[..2048]),
            many,
        ]
        .concat()
    };
    let window = {
        // The largest window that the format knows, in a block header with a right sum.
        let mut xz = xz(b"x");
        let header_end = 12 + (usize::from(xz[12]) + 1) * 4 - 4;
        let size_at = xz[12..header_end]
            .windows(2)
            .position(|pair| pair == [0x21, 1])
            .unwrap()
            + 14;
        xz[size_at] = 40;
        let sum = crc32fast::hash(&xz[12..header_end]);
        xz[header_end..header_end + 4].copy_from_slice(&sum.to_le_bytes());
        xz
    };
    vec![
        (
            "a tar bomb in gzip",
            gzip(&bomb),
            "limit-unpacked-bytes",
            "more than one may",
        ),
        (
            "a tar bomb in zstd",
            zstd(&bomb),
            "limit-unpacked-bytes",
            "more than one may",
        ),
        (
            "a tar bomb in bzip2",
            bzip2(&bomb),
            "limit-unpacked-bytes",
            "more than one may",
        ),
        (
            "a tar bomb in xz",
            xz(&bomb),
            "limit-unpacked-bytes",
            "more than one may",
        ),
        (
            "bombs in a tar file",
            nested,
            "limit-unpacked-bytes",
            "more than one may",
        ),
        (
            "a file of zeros",
            zstd(&tar(&[good(), tar_file("z", &zeros)])),
            "limit-expansion-ratio",
            "so many times its size",
        ),
        (
            "many compressed files in a row",
            concatenated,
            "limit-expansion-ratio",
            "so many times its size",
        ),
        (
            "a zip bomb",
            zipped_beside(zip_entry("bomb.log", 93, &zeros)),
            "limit-expansion-ratio",
            "so many times its size",
        ),
        ("tar files in tar files", deep(5), "not-unpacked", "within archives"),
        (
            "zip files in zip files, as 42.zip",
            deep_zip(5),
            "not-unpacked",
            "within archives",
        ),
        (
            "a window of 4 GiB",
            tar(&[good(), tar_file("x.xz", &window)]),
            "damaged-compression",
            "window",
        ),
    ]
}

fn hostile_zips() -> Vec<Case> {
    let plain = || zip_entry("x.log", 8, b"plain text\n");
    let with = |change: &dyn Fn(&mut ZipEntry)| {
        let mut entry = plain();
        change(&mut entry);
        zipped_beside(entry)
    };
    let two = || vec![zip_entry("good.log", 8, LOG.as_bytes()), plain()];
    let end_of = |bytes: &[u8]| bytes.len() - 22;
    let patched = |at: usize, with: &[u8]| {
        let mut bytes = zip(&two());
        let at = end_of(&bytes) + at;
        bytes[at..at + with.len()].copy_from_slice(with);
        bytes
    };
    let overlapping = {
        // The second record of the directory leads to the same bytes as the first, under the same name in the file.
        let mut entries = vec![zip_entry("good.log", 8, LOG.as_bytes())];
        let mut twin = entries[0].clone();
        twin.at = Some(0);
        entries.push(twin);
        zip(&entries)
    };
    let quoting = {
        // Each member's bytes are all that follows: its own stored text, and the next member with its record.
        let mut entries = vec![
            zip_entry("good.log", 8, LOG.as_bytes()),
            zip_entry("x.log", 0, &[b'x'; 500]),
        ];
        let kernel = zip_entry("y.log", 0, &[b'y'; 100]);
        let reach = u32::try_from(30 + "y.log".len() + 100).unwrap();
        entries[1].packed_bytes += reach;
        entries[1].bytes = entries[1].packed_bytes;
        entries.push(kernel);
        zip(&entries)
    };
    let many = {
        let mut bytes = zip(&two());
        let at = end_of(&bytes);
        let end_64 = {
            let mut end = b"PK\x06\x06".to_vec();
            end.extend(44_u64.to_le_bytes());
            end.extend([0; 12]);
            end.extend((1_u64 << 40).to_le_bytes());
            end.extend((1_u64 << 40).to_le_bytes());
            let directory = whole_zip(&two()).directory as u64;
            end.extend((at as u64 - directory).to_le_bytes());
            end.extend(directory.to_le_bytes());
            end
        };
        let locator = [
            b"PK\x06\x07\0\0\0\0".as_slice(),
            &(at as u64).to_le_bytes(),
            &1_u32.to_le_bytes(),
        ]
        .concat();
        bytes.splice(at..at, [end_64, locator].concat());
        bytes
    };
    let cut = |from_end: usize| {
        let bytes = zip(&two());
        bytes[..bytes.len() - from_end].to_vec()
    };
    let streamed = {
        // As `zip -` writes: sizes behind the bytes, and then it was cut.
        let mut entries = two();
        for entry in &mut entries {
            entry.flags = 1 << 3;
            let sums = [entry.crc, entry.packed_bytes, entry.bytes]
                .map(u32::to_le_bytes)
                .concat();
            entry.packed.extend([b"PK\x07\x08".as_slice(), &sums].concat());
            (entry.crc, entry.packed_bytes, entry.bytes) = (0, 0, 0);
        }
        let whole = whole_zip(&entries);
        whole.bytes[..whole.directory].to_vec()
    };
    vec![
        (
            "an encrypted member",
            with(&|entry| entry.flags = 1),
            "encrypted",
            "password",
        ),
        (
            "one that is encrypted with AES",
            with(&|entry| entry.method = 99),
            "encrypted",
            "password",
        ),
        (
            "a way of packing that is not known",
            with(&|entry| entry.method = 98),
            "not-unpacked",
            "method 98",
        ),
        (
            "a symbolic link",
            with(&|entry| entry.mode = 0o120_777),
            "not-a-file",
            "symbolic link",
        ),
        (
            "a device",
            with(&|entry| entry.mode = 0o020_666),
            "not-a-file",
            "device",
        ),
        (
            "two members with the same bytes",
            overlapping,
            "not-unpacked",
            "shares its bytes",
        ),
        (
            "members that quote each other",
            quoting,
            "not-unpacked",
            "shares its bytes",
        ),
        (
            "another name where it stands",
            with(&|entry| entry.local_name = b"y.log".into()),
            "not-unpacked",
            "is not where",
        ),
        (
            "a place behind the end",
            with(&|entry| entry.at = Some(1 << 30)),
            "not-unpacked",
            "is not where",
        ),
        (
            "a place that is no member",
            with(&|entry| entry.at = Some(7)),
            "not-unpacked",
            "is not where",
        ),
        (
            "more bytes than there are",
            with(&|entry| entry.packed_bytes = 1 << 30),
            "not-unpacked",
            "is not where",
        ),
        (
            "a wrong sum",
            with(&|entry| entry.crc = 7),
            "damaged",
            "not what the directory",
        ),
        (
            "a size that is too small",
            with(&|entry| entry.bytes = 3),
            "damaged",
            "not what the directory",
        ),
        (
            "a size that is too large",
            with(&|entry| entry.bytes = 1 << 31),
            "damaged",
            "not what the directory",
        ),
        (
            "bytes that are not deflated",
            with(&|entry| entry.packed = vec![0xff; entry.packed.len()]),
            "damaged-compression",
            "decompressed",
        ),
        (
            "a directory that lies elsewhere",
            patched(16, &[0xff, 0xff, 0, 0]),
            "truncated",
            "directory",
        ),
        (
            "a directory of another size",
            patched(12, &[1, 0, 0, 0]),
            "truncated",
            "directory",
        ),
        (
            "more entries than there are",
            patched(8, &[0xff, 0xff, 0xff, 0x7f]),
            "damaged",
            "directory",
        ),
        ("more entries than a disk holds", many, "damaged", "directory"),
        ("no end", cut(22), "truncated", "cut off"),
        ("no directory", cut(130), "truncated", "cut off"),
        ("no end of a stream", streamed, "truncated", "cut off"),
        (
            "names by the thousand",
            zip(&[
                vec![zip_entry("good.log", 8, LOG.as_bytes())],
                (0..60).map(|n| zip_entry(&format!("{n}"), 0, b"x")).collect(),
            ]
            .concat()),
            "limit-members",
            "more files",
        ),
        (
            "the same name twice",
            zip(&[two(), two()].concat()),
            "not-unpacked",
            "good.log",
        ),
    ]
}

/// Breaks the sum of the second header.
trait MapSum {
    fn map_sum(self) -> Self;
}

impl MapSum for Vec<u8> {
    fn map_sum(mut self) -> Self {
        self[1024 + 150] ^= 1;
        self
    }
}

#[test]
fn what_is_hostile_in_an_archive_is_refused_by_name_and_the_rest_is_read() {
    let cases = [hostile_names(), hostile_tars(), bombs(), hostile_zips()].concat();
    assert!(cases.len() >= 60, "{}", cases.len());
    for (what, bytes, code, word) in cases {
        let (report, heap) = peak_of(|| read("x", &bytes, limits()));
        let problems: Vec<String> = report
            .head
            .artifacts
            .iter()
            .flat_map(|head| {
                head.problems
                    .iter()
                    .map(move |problem| format!("{} {} {}", head.name, problem.code, problem.message))
            })
            .collect();
        let is_told = problems
            .iter()
            .any(|problem| problem.contains(&format!(" {code} ")) && problem.contains(word));
        assert!(code.is_empty() || is_told, "{what}: {problems:#?}");
        assert!(heap < HEAP + bytes.len(), "{what}: {heap} bytes of heap");
        // A hole takes no room.
        let unpacked: u64 = report.texts.iter().map(|text| text.lines().unwrap().bytes()).sum();
        assert!(unpacked <= 64 << 20, "{what}: {unpacked} bytes of text");
        let is_good = |name: &str| name.ends_with("good.log");
        if names(&report).iter().any(|name| is_good(name)) {
            assert!(
                failures(&report).iter().any(|(artifact, _)| is_good(artifact)),
                "{what}"
            );
        } else {
            assert!(
                what.starts_with("nothing but"),
                "{what}: the good log is not read: {problems:#?}"
            );
        }
        for name in names(&report) {
            assert!(
                !name.contains("..") && !name.contains("//") && !name.contains('\u{1b}'),
                "{what}: {name}"
            );
        }
    }
}

#[test]
fn any_archive_that_is_cut_anywhere_is_read_as_far_as_it_is_there() {
    let logs = [good(), tar_file("more.log", LOG.repeat(20).as_bytes())];
    let zipped = zip(&[
        zip_entry("good.log", 8, LOG.as_bytes()),
        zip_entry("more.log", 8, LOG.repeat(20).as_bytes()),
    ]);
    let wholes = [
        tar(&logs),
        gzip(&tar(&logs)),
        zstd(&tar(&logs)),
        xz(&tar(&logs)),
        bzip2(&tar(&logs)),
        zipped,
    ];
    for whole in wholes {
        // Less of a tar file than its first header is a few words of text, and so are the first bytes of others.
        let least = if whole.starts_with(b"good") { 512 } else { 16 };
        for end in (least..whole.len()).step_by(whole.len() / 40 + 1) {
            let report = read("x", &whole[..end], limits());
            let heads = &report.head.artifacts;
            let is_silent = heads.iter().all(|head| head.problems.is_empty());
            let there: u64 = heads.iter().skip(1).map(|head| head.bytes).sum();
            assert!(
                !is_silent || there == 21 * LOG.len() as u64,
                "{end} of {}: {heads:#?}",
                whole.len()
            );
        }
    }
}

#[test]
fn a_damaged_byte_anywhere_ends_in_no_panic() {
    let logs = [good(), tar_file("more.log", LOG.as_bytes())];
    let zipped = zip(&[
        zip_entry("good.log", 8, LOG.as_bytes()),
        zip_entry("more.log", 95, LOG.as_bytes()),
    ]);
    for whole in [
        tar(&logs)[..2048].to_vec(),
        xz(&tar(&logs)),
        bzip2(&tar(&logs)),
        deflate(&tar(&logs)),
        zipped,
    ] {
        for at in (0..whole.len()).step_by(whole.len() / 100 + 1) {
            for change in [0x01, 0x80, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] ^= change;
                read("x", &bytes, limits());
            }
        }
    }
}

#[test]
fn formats_that_are_not_unpacked_are_named() {
    let torch = zip(&[
        zip_entry("model/data.pkl", 0, b"\x80\x02}q\0."),
        zip_entry("model/version", 0, b"3\n"),
    ]);
    let numpy = zip(&[zip_entry("weights.npy", 0, b"\x93NUMPY\x01\0")]);
    for (bytes, word) in [
        (b"7z\xbc\xaf\x27\x1c\0\x04".to_vec(), "7z x"),
        (b"Rar!\x1a\x07\x01\0".to_vec(), "unrar"),
        (b"SQLite format 3\0".to_vec(), "SQLite"),
        (torch, "torch.save"),
        (numpy, "NumPy"),
    ] {
        let report = read("x", &bytes, limits());
        let problems = &report.head.artifacts[0].problems;
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].message.contains(word), "{problems:?}");
        assert!(problems[0].leaves_unread());
    }
}
