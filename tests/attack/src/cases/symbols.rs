//! Symbols that are none, and addresses of debuginfod that name no file.

use super::{Size, noise};
use crate::case::{Case, Expect};

const PATH: &str = "/api/v1/symbols";

/// Cases that aim at symbols.
pub fn cases(size: Size) -> Vec<Case> {
    let mut cases = Vec::new();
    let send = |name: &str, data: &[u8]| {
        let front = b"--x\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.so\"\r\n\r\n";
        let body = [front, data, b"\r\n--x--\r\n"].concat();
        let headers = [("Content-Type", "multipart/form-data; boundary=x")];
        Case::request(format!("symbols: {name}"), "POST", PATH, &headers, &body)
    };
    let module = |id: &str, name: &str| format!("MODULE Linux x86_64 {id} {name}\nFUNC 10 10 0 f\n");
    let files: [(&str, Vec<u8>); 12] = [
        ("nothing", Vec::new()),
        ("noise", noise(100_000, 11)),
        ("an ELF head alone", elf(&[])),
        (
            "sections beyond the file",
            elf(&[(40, 0xffff_ffff_ffff_0000), (60, 0xffff)]),
        ),
        (
            "segments beyond the file",
            elf(&[(32, 0x7fff_ffff_ffff_ffff), (56, 0xffff)]),
        ),
        ("a note beyond the file", elf(&[(32, 64), (56, 1)])),
        ("a module without an id", module("", "a.so").into_bytes()),
        ("an id that is a path", module("../../../../etc", "a.so").into_bytes()),
        ("an id without end", module(&"A".repeat(100_000), "a.so").into_bytes()),
        (
            "a name that is a path",
            module("5A865AB22664BC5E2A9FB3019E57AB350", "../../../../tmp/x").into_bytes(),
        ),
        (
            "a name without end",
            module("5A865AB22664BC5E2A9FB3019E57AB351", &"n".repeat(100_000)).into_bytes(),
        ),
        (
            "lines without end",
            [
                module("5A865AB22664BC5E2A9FB3019E57AB352", "a.so").into_bytes(),
                vec![b'x'; size.pick(1, 64) << 20],
            ]
            .concat(),
        ),
    ];
    cases.extend(files.iter().map(|(name, data)| send(name, data)));
    let ids = [
        "",
        "0",
        "00",
        "abc",
        "zz",
        "..",
        "%2e%2e",
        &"0".repeat(40),
        &"0".repeat(10_000),
        "%00",
        "0123456789abcdef0123456789abcdef01234567/../..",
    ];
    for id in ids {
        for kind in ["executable", "debuginfo", "source/etc/passwd", "section/.text", ""] {
            let path = format!("/buildid/{id}/{kind}");
            cases.push(Case::request(format!("debuginfod {path:.60}"), "GET", &path, &[], b"").expect(Expect::Refused));
        }
    }
    cases
}

/// The head of an ELF file with numbers put in at some places.
pub fn elf(numbers: &[(usize, u64)]) -> Vec<u8> {
    let mut bytes = vec![0; 4096];
    bytes[..20].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x04\0\x3e\0");
    bytes[20] = 1;
    // Sizes of the head itself, of a segment's entry and of a section's.
    for (at, value) in [(52, 64_u16), (54, 56), (58, 64)] {
        bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
    }
    for (at, value) in numbers {
        let width = if *at < 48 { 8 } else { 2 };
        bytes[*at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
    }
    bytes
}
