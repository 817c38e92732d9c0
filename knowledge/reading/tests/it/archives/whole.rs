//! Archives that somebody packed to be read.

use std::fs;

use whycrash_evidence::ArtifactKind;
use whycrash_reading::{Report, ReportLimits};

use super::build::{TarEntry, ZipEntry, bzip2, gzip, lz4, pax, tar, tar_entry, tar_file, xz, zip, zip_entry, zstd};
use super::{LOG, failures, names, read};

/// A folder with two logs.
fn logs(first: &str) -> Vec<TarEntry> {
    vec![
        tar_entry(&format!("{first}logs/"), b'5', b""),
        tar_file(&format!("{first}logs/rank-0.log"), LOG.as_bytes()),
        tar_file(&format!("{first}logs/rank-1.log"), b"all is well\n"),
    ]
}

fn zipped(method: u16) -> Vec<ZipEntry> {
    vec![
        zip_entry("logs/", 0, b""),
        zip_entry("logs/rank-0.log", method, LOG.as_bytes()),
        zip_entry("logs/rank-1.log", method, b"all is well\n"),
    ]
}

#[test]
fn what_is_in_an_archive_is_read_whatever_it_is_packed_with() {
    let plain = tar(&logs(""));
    let old: Vec<TarEntry> = logs("").into_iter().map(|entry| entry.with(257, &[0; 8])).collect();
    for (what, bytes) in [
        ("a tar file", plain.clone()),
        ("one that begins with a dot", tar(&logs("./"))),
        ("one of before POSIX", tar(&old)),
        ("one that gzip packed", gzip(&plain)),
        ("one that zstd packed", zstd(&plain)),
        ("one that xz packed", xz(&plain)),
        ("one that bzip2 packed", bzip2(&plain)),
        ("one that lz4 packed", lz4(&plain)),
        ("one that was packed twice", gzip(&xz(&plain))),
        ("a zip file as it is", zip(&zipped(0))),
        ("a deflated one", zip(&zipped(8))),
        ("one with bzip2", zip(&zipped(12))),
        ("one with zstd", zip(&zipped(93))),
        ("one with xz", zip(&zipped(95))),
        ("a zip file that gzip packed", gzip(&zip(&zipped(8)))),
    ] {
        let report = read("crash", &bytes, ReportLimits::default());
        let said = "no such shard".to_owned();
        assert_eq!(
            failures(&report),
            [("crash/logs/rank-0.log".to_owned(), said)],
            "{what}"
        );
        assert_eq!(
            names(&report),
            ["crash", "crash/logs/rank-0.log", "crash/logs/rank-1.log"],
            "{what}"
        );
        let kinds: Vec<ArtifactKind> = report.head.artifacts.iter().map(|head| head.kind).collect();
        assert_eq!(
            kinds,
            [ArtifactKind::Archive, ArtifactKind::Log, ArtifactKind::Log],
            "{what}"
        );
        for head in &report.head.artifacts {
            assert_eq!(head.problems, [], "{what}, {}", head.name);
            assert_eq!(
                head.archive.as_deref(),
                (head.name != "crash").then_some("crash"),
                "{what}"
            );
        }
        let text = report.text("crash/logs/rank-0.log").expect("its lines");
        assert_eq!(text.range(5, 5).unwrap(), ["ValueError: no such shard"], "{what}");
    }
}

#[test]
fn a_file_that_is_packed_alone_is_read_in_place() {
    let packers: [(&str, fn(&[u8]) -> Vec<u8>); 5] = [
        ("gzip", gzip),
        ("zstd", zstd),
        ("xz", xz),
        ("bzip2", bzip2),
        ("lz4", lz4),
    ];
    for (what, pack) in packers {
        for bytes in [pack(LOG.as_bytes()), pack(&pack(LOG.as_bytes()))] {
            let report = read("job.log", &bytes, ReportLimits::default());
            let said = "no such shard".to_owned();
            assert_eq!(failures(&report), [("job.log".to_owned(), said)], "{what}");
            assert_eq!(names(&report), ["job.log"], "{what}");
        }
    }
}

#[test]
fn archives_and_packed_files_within_archives_are_read() {
    let inner = gzip(&tar(&[tar_file("pod/train.log", LOG.as_bytes())]));
    let packed = [
        tar(&[
            tar_file("a/inner.tgz", &inner),
            tar_file("a/kept.log.xz", &xz(LOG.as_bytes())),
        ]),
        zip(&[
            zip_entry("a/inner.tgz", 0, &inner),
            zip_entry("a/kept.log.xz", 8, &xz(LOG.as_bytes())),
        ]),
    ];
    for bytes in packed {
        let report = read("all", &bytes, ReportLimits::default());
        let of: Vec<String> = failures(&report).into_iter().map(|(artifact, _)| artifact).collect();
        assert_eq!(of, ["all/a/inner.tgz/pod/train.log", "all/a/kept.log.xz"]);
        let inner = report.artifact("all/a/inner.tgz/pod/train.log").expect("the log");
        assert_eq!(inner.archive.as_deref(), Some("all/a/inner.tgz"));
    }
}

#[test]
fn sparse_files_and_long_names_of_tar_files_are_as_they_were() {
    let mut whole = vec![0; 100_000];
    whole.extend(LOG.as_bytes());
    let map = {
        let mut map = format!("1\n100000\n{}\n", LOG.len()).into_bytes();
        map.resize(512, 0);
        [map, LOG.as_bytes().to_vec()].concat()
    };
    let long = "deep/".repeat(30) + "train.log";
    let size = whole.len().to_string();
    let records = [
        ("GNU.sparse.major", "1"),
        ("GNU.sparse.minor", "0"),
        ("GNU.sparse.name", "new.log"),
        ("GNU.sparse.realsize", size.as_str()),
    ];
    let entries = [
        tar_file("old.log", LOG.as_bytes()).sparse(100_000, whole.len() as u64),
        pax(&records),
        tar_file("GNUSparseFile.1/new.log", &map),
        tar_entry("././@LongLink", b'L', long.as_bytes()),
        tar_file(&long, LOG.as_bytes()),
        pax(&[("path", &format!("pax/{long}"))]),
        tar_file("short", LOG.as_bytes()),
    ];
    let report = read("x.tar", &tar(&entries), ReportLimits::default());
    let expected = [
        "x.tar".to_owned(),
        "x.tar/old.log".to_owned(),
        "x.tar/new.log".to_owned(),
        format!("x.tar/{long}"),
        format!("x.tar/pax/{long}"),
    ];
    assert_eq!(names(&report), expected, "{:?}", report.head.artifacts[0].problems);
    assert_eq!(failures(&report).len(), 4);
    for sparse in ["x.tar/old.log", "x.tar/new.log"] {
        let head = report.artifact(sparse).expect("it");
        assert_eq!((head.bytes, head.problems.len()), (whole.len() as u64, 0), "{sparse}");
    }
}

#[test]
fn hidden_files_are_left_out_of_an_archive_as_of_a_folder() {
    let entries = [
        tar_file("._train.log", b"\0\x05\x16\x07"),
        tar_file("logs/.cache/x", b"x"),
        tar_file("__MACOSX/train.log", b"x"),
        tar_file("train.log", LOG.as_bytes()),
    ];
    let report = read("x.tar", &tar(&entries), ReportLimits::default());
    assert_eq!(names(&report), ["x.tar", "x.tar/train.log"]);
    assert_eq!(report.head.artifacts[0].problems, []);
}

#[test]
fn a_report_keeps_its_id_and_its_lines_when_it_is_stored() {
    let bytes = gzip(&tar(&logs("")));
    let report = read("x.tgz", &bytes, ReportLimits::default());
    let id = report.head.id.clone();
    let again = read(
        "x.tgz",
        &bytes,
        ReportLimits {
            members: 0,
            ..ReportLimits::default()
        },
    );
    assert_eq!(id, again.head.id, "an archive is given, its members are not");
    let folder = tempfile::tempdir().unwrap();
    let parts = report.store(folder.path()).unwrap();
    let loaded = Report::load(&parts).unwrap();
    let lines = |report: &Report| report.text("x.tgz/logs/rank-0.log").unwrap().range(1, 9).unwrap();
    assert_eq!(lines(&loaded), LOG.lines().collect::<Vec<_>>());
    let text = parts.text_of("x.tgz/logs/rank-1.log").unwrap().expect("it is stored");
    assert_eq!(text.range(1, 9).unwrap(), ["all is well"]);
    assert!(parts.text_of("x.tgz/logs/rank-2.log").unwrap().is_none());
}

#[test]
fn unpacking_leaves_no_file_and_no_open_file_behind() {
    let open = || fs::read_dir("/proc/self/fd").unwrap().count();
    let many: Vec<TarEntry> = (0..300)
        .map(|number| tar_file(&format!("rank-{number}.log"), LOG.as_bytes()))
        .collect();
    let before = open();
    let report = read("x.tar", &tar(&many), ReportLimits::default());
    assert_eq!(report.texts.len(), 300);
    // Other tests have files open, too.
    assert!(open() < before + 100, "a text has a file of its own");
}

#[test]
fn text_of_windows_is_read_as_text() {
    let utf16 = |order: fn(u16) -> [u8; 2], mark: bool| {
        let text = LOG.replace('\n', "\r\n") + "größer 😀\r\n";
        let mark = mark.then_some(0xfeff);
        mark.into_iter()
            .chain(text.encode_utf16())
            .flat_map(order)
            .collect::<Vec<u8>>()
    };
    let ascii = |order: fn(u16) -> [u8; 2]| LOG.encode_utf16().flat_map(order).collect::<Vec<u8>>();
    for (what, bytes) in [
        ("UTF-16 of PowerShell", utf16(u16::to_le_bytes, true)),
        ("UTF-16, the other way round", utf16(u16::to_be_bytes, true)),
        ("UTF-16 without a mark", ascii(u16::to_le_bytes)),
        ("UTF-16 without a mark, the other way round", ascii(u16::to_be_bytes)),
        ("UTF-8 with a mark", [b"\xef\xbb\xbf", LOG.as_bytes()].concat()),
        (
            "UTF-8 with a mark, packed",
            gzip(&[b"\xef\xbb\xbf", LOG.as_bytes()].concat()),
        ),
        ("UTF-16 that is packed", xz(&utf16(u16::to_le_bytes, true))),
        ("Latin-1", [LOG.as_bytes(), b"gr\xf6\xdfer\n"].concat()),
    ] {
        let report = read("out.log", &bytes, ReportLimits::default());
        assert_eq!(failures(&report).len(), 1, "{what}: {:?}", report.head.artifacts);
        assert_eq!(report.head.artifacts[0].problems, [], "{what}");
        let text = report.text("out.log").expect("its lines");
        assert_eq!(text.range(1, 1).unwrap(), ["step 1"], "{what}");
        assert_eq!(text.range(5, 5).unwrap(), ["ValueError: no such shard"], "{what}");
        if what.contains("PowerShell") {
            assert_eq!(text.range(6, 6).unwrap(), ["größer 😀"]);
        }
    }
}
