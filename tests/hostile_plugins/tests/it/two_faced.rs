//! Packages in which two readers see two things: each is refused in words that name the entry, wherever it is opened.

use std::io::{Cursor, Write as _};

use whycrash_plugin_host::SigningKey;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::packages::{install, package, page, plugin};

const NAME: &[u8] = b"name = \"team\"\n";
/// Bytes of the records of a zip file without names (APPNOTE.TXT 4.3.7, 4.3.12 and 4.3.16).
const LOCAL: usize = 30;
const LISTED: usize = 46;
const END: usize = 22;

/// A package of the files that belong there, and more.
fn with(more: &[(&str, &[u8])]) -> Vec<u8> {
    let (wasm, own) = (plugin(), page("team-loss", ""));
    let files: [(&str, &[u8]); 3] = [
        ("plugin.toml", NAME),
        ("plugin.wasm", &wasm),
        ("causes/team-loss.md", own.as_bytes()),
    ];
    package(&[&files, more].concat())
}

/// A package whose manifest is written with these options.
fn manifest_with(options: SimpleFileOptions) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file("plugin.toml", options).expect("a file");
    zip.write_all(NAME).expect("it is written");
    finished(zip)
}

/// The rest of it.
fn finished(mut zip: ZipWriter<Cursor<Vec<u8>>>) -> Vec<u8> {
    for (name, bytes) in [
        ("plugin.wasm", plugin()),
        ("causes/team-loss.md", page("team-loss", "").into()),
    ] {
        zip.start_file(name, SimpleFileOptions::default()).expect("a file");
        zip.write_all(&bytes).expect("it is written");
    }
    zip.finish().expect("a zip file").into_inner()
}

fn short(bytes: &[u8], at: usize) -> usize {
    usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]))
}

fn long(bytes: &[u8], at: usize) -> usize {
    short(bytes, at) | short(bytes, at + 2) << 16
}

fn put(bytes: &mut [u8], at: usize, value: usize, count: usize) {
    bytes[at..at + count].copy_from_slice(&value.to_le_bytes()[..count]);
}

/// Where the records of this entry are: in the directory, and before its bytes.
fn records(bytes: &[u8], name: &str) -> (usize, usize) {
    let end = bytes.len() - END;
    let mut at = long(bytes, end + 16);
    loop {
        let called = &bytes[at + LISTED..at + LISTED + short(bytes, at + 28)];
        if called == name.as_bytes() {
            return (at, long(bytes, at + 42));
        }
        at += LISTED + short(bytes, at + 28) + short(bytes, at + 30) + short(bytes, at + 32);
        assert!(at < end, "no {name}");
    }
}

/// The package with another number in the manifest's records, of so many bytes: in the directory there, and before its
/// bytes there.
fn changed((listed, local): (Option<usize>, Option<usize>), count: usize, value: usize) -> Vec<u8> {
    let mut bytes = with(&[]);
    let (in_directory, before) = records(&bytes, "plugin.toml");
    for at in [listed.map(|at| in_directory + at), local.map(|at| before + at)]
        .into_iter()
        .flatten()
    {
        put(&mut bytes, at, value, count);
    }
    bytes
}

/// The package with an entry whose name is replaced wherever it stands.
fn renamed(name: &str, to: &[u8]) -> Vec<u8> {
    assert_eq!(name.len(), to.len());
    let mut bytes = with(&[(name, b"x")]);
    let (listed, local) = records(&bytes, name);
    for at in [listed + LISTED, local + LOCAL] {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
    bytes
}

/// The package with other bytes before it, to which all places are moved or not.
fn behind(first: &[u8], are_moved: bool) -> Vec<u8> {
    let mut bytes = with(&[]);
    if are_moved {
        let end = bytes.len() - END;
        for name in ["plugin.toml", "plugin.wasm", "causes/team-loss.md"] {
            let (listed, local) = records(&bytes, name);
            put(&mut bytes, listed + 42, local + first.len(), 4);
        }
        let directory = long(&bytes, end + 16);
        put(&mut bytes, end + 16, directory + first.len(), 4);
    }
    [first, &bytes].concat()
}

/// The package with an entry that its directory does not name.
fn unlisted() -> Vec<u8> {
    let mut bytes = with(&[("last.txt", b"hidden")]);
    let (listed, _) = records(&bytes, "last.txt");
    let end = bytes.len() - END;
    let directory = long(&bytes, end + 16);
    let count = short(&bytes, end + 8) - 1;
    put(&mut bytes, end + 8, count, 2);
    put(&mut bytes, end + 10, count, 2);
    put(&mut bytes, end + 12, listed - directory, 4);
    bytes.drain(listed..end);
    bytes
}

/// Each by what it is, with words that its refusal has.
fn two_faced() -> Vec<(&'static str, Vec<u8>, &'static [&'static str])> {
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let mut commented = ZipWriter::new(Cursor::new(Vec::new()));
    commented.set_comment("PK\u{5}\u{6}");
    let mut damaged = manifest_with(stored);
    let at = records(&damaged, "plugin.toml").1 + LOCAL + "plugin.toml".len();
    damaged[at] ^= 1;
    let mut linking = ZipWriter::new(Cursor::new(Vec::new()));
    linking
        .add_symlink("plugin.toml", "/etc/passwd", stored)
        .expect("a link");
    let many: Vec<String> = (0..5000).map(|number| format!("{number}")).collect();
    let many: Vec<(&str, &[u8])> = many.iter().map(|name| (name.as_str(), b"".as_slice())).collect();
    let odd_name = |name: &str| with(&[(name, b"x")]);
    vec![
        (
            "two manifests",
            renamed("plugin.tomx", b"plugin.toml"),
            &["two entries called plugin.toml"],
        ),
        (
            "two components",
            renamed("plugin.wasx", b"plugin.wasm"),
            &["two entries called plugin.wasm"],
        ),
        (
            "another case",
            odd_name("Causes/Team-loss.md"),
            &["Causes/Team-loss.md", "one file where case does not count"],
        ),
        (
            "a folder that is a file",
            odd_name("plugin.toml/"),
            &["its plugin.toml/ is no regular file"],
        ),
        (
            "bytes before it",
            behind(b"MZ", false),
            &["something stands before its first entry"],
        ),
        (
            "bytes before it that count",
            behind(b"MZ", true),
            &["bytes before its plugin.toml that belong to no entry"],
        ),
        (
            "a package before it",
            [with(&[]), with(&[])].concat(),
            &["something stands before its first entry"],
        ),
        (
            "bytes behind it",
            [with(&[]), b"more".to_vec()].concat(),
            &["more behind the record at its end"],
        ),
        (
            "a comment",
            finished(commented),
            &["more behind the record at its end", "comment"],
        ),
        (
            "an entry that is not listed",
            unlisted(),
            &["bytes before its directory that belong to no entry"],
        ),
        (
            "ZIP64",
            manifest_with(stored.large_file(true)),
            &["its plugin.toml is", "ZIP64"],
        ),
        (
            "a password",
            changed((Some(8), Some(6)), 2, 1),
            &["its plugin.toml is encrypted"],
        ),
        (
            "strong encryption",
            changed((Some(8), Some(6)), 2, 0x41),
            &["its plugin.toml is encrypted"],
        ),
        (
            "a patch",
            changed((Some(8), Some(6)), 2, 0x20),
            &["its plugin.toml has flags"],
        ),
        (
            "bzip2",
            changed((Some(10), Some(8)), 2, 12),
            &["its plugin.toml is compressed otherwise"],
        ),
        (
            "a method of two minds",
            changed((Some(10), None), 2, 0),
            &["its plugin.toml", "size"],
        ),
        (
            "a name of two minds",
            changed((None, Some(LOCAL)), 1, 0x50),
            &["its plugin.toml is called or packed otherwise"],
        ),
        (
            "a sum of two minds",
            changed((Some(16), None), 4, 7),
            &["its plugin.toml is called or packed otherwise"],
        ),
        (
            "a wrong sum",
            changed((Some(16), Some(14)), 4, 7),
            &["its plugin.toml is damaged"],
        ),
        (
            "too small a size",
            changed((Some(24), Some(22)), 4, 3),
            &["its plugin.toml is damaged"],
        ),
        ("changed bytes", damaged, &["its plugin.toml is damaged"]),
        (
            "another place",
            changed((Some(42), None), 4, 4),
            &["its plugin.toml is called or packed otherwise"],
        ),
        (
            "a place far away",
            changed((Some(42), None), 4, 0xffff_0000),
            &["its plugin.toml is called or packed otherwise"],
        ),
        ("a link", finished(linking), &["its plugin.toml is a symbolic link"]),
        (
            "a device",
            changed((Some(38), None), 4, 0x21ff_0000),
            &["its plugin.toml is no regular file"],
        ),
        ("very many entries", with(&many), &["5003 entries, more than the 4096"]),
        (
            "an absolute path",
            odd_name("/etc/cron.d/x"),
            &["its /etc/cron.d/x has an absolute path"],
        ),
        ("a drive", odd_name("C:/x"), &["its C:/x has an absolute path"]),
        (
            "the folder above",
            odd_name("causes/../../x"),
            &["its causes/../../x has a path that leads out"],
        ),
        (
            "this folder",
            odd_name("causes/./team-x.md"),
            &["its causes/./team-x.md has a path that leads out"],
        ),
        (
            "no folder",
            odd_name("causes//team-x.md"),
            &["its causes//team-x.md has a path that leads out"],
        ),
        (
            "backslashes",
            odd_name("causes\\team-x.md"),
            &["causes\\team-x.md has a name of other characters"],
        ),
        (
            "other letters",
            odd_name("causes/te\u{430}m-x.md"),
            &["has a name of other characters"],
        ),
        (
            "a name that acts",
            renamed("x-----", b"\x1b[31mx"),
            &["has a name of other characters"],
        ),
        (
            "a name that is no text",
            renamed("x-----", b"\xff\xff\xff\xff\xff\xff"),
            &["has a name of other characters"],
        ),
        (
            "a long name",
            odd_name(&"x".repeat(300)),
            &["has a name that is too long"],
        ),
    ]
}

#[test]
fn what_can_be_read_in_two_ways_is_refused_in_our_words() {
    let (key, _) = SigningKey::generate().expect("a key");
    for (what, bytes, words) in two_faced() {
        let (plugin, _) = install(&bytes);
        let problem = plugin.problem.unwrap_or_default();
        for word in words {
            assert!(problem.contains(word), "{what}: {problem:?} lacks {word:?}");
        }
        let is_plain = |c: char| !c.is_control() && c != '\u{fffd}' || what.contains("name");
        assert!(
            problem.len() < 300 && problem.chars().all(is_plain),
            "{what}: {problem:?}"
        );
        let signed = key.sign(bytes).expect_err(what).to_string();
        assert!(signed.ends_with(&problem), "{what}: {signed:?} instead of {problem:?}");
    }
}

#[test]
fn what_every_zip_program_writes_is_taken() {
    let plain = with(&[("LICENSE", b"for people"), ("docs/README.md", b"for people")]);
    let mut folders = ZipWriter::new(Cursor::new(Vec::new()));
    folders
        .add_directory("causes", SimpleFileOptions::default())
        .expect("a folder");
    folders
        .start_file("plugin.toml", SimpleFileOptions::default())
        .expect("a file");
    folders.write_all(NAME).expect("it is written");
    // As a program writes it that can not go back in what it writes.
    let mut streamed = ZipWriter::new_stream(Vec::new());
    for (name, bytes) in [("plugin.toml", NAME.to_vec()), ("plugin.wasm", plugin())] {
        streamed.start_file(name, SimpleFileOptions::default()).expect("a file");
        streamed.write_all(&bytes).expect("it is written");
    }
    streamed
        .start_file("causes/team-loss.md", SimpleFileOptions::default())
        .expect("a file");
    streamed
        .write_all(page("team-loss", "").as_bytes())
        .expect("it is written");
    let streamed = streamed.finish().expect("a zip file").into_inner();
    for (what, bytes) in [("plain", plain), ("folders", finished(folders)), ("streamed", streamed)] {
        let (plugin, _) = install(&bytes);
        assert_eq!((plugin.problem, plugin.name.as_str()), (None, "team"), "{what}");
    }
}
