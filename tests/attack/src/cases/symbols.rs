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
    cases.extend(damaged(size).iter().map(|(name, data)| send_as_it_is(name, data)));
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

/// A file as the command line sends it: the body itself.
fn send_as_it_is(name: &str, data: &[u8]) -> Case {
    let headers = [("Content-Type", "application/octet-stream")];
    Case::request(format!("symbols: {name}"), "POST", PATH, &headers, data)
}

/// Files that start like symbols and are damaged in every way.
fn damaged(size: Size) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    // Every number of the head, with the values at which arithmetic goes over.
    for at in [16, 18, 20, 24, 32, 40, 48, 52, 54, 56, 58, 60, 62] {
        for value in [0, 1, 0x7fff, 0xffff, u64::MAX >> 1, u64::MAX] {
            files.push((
                format!("an ELF head with {value:#x} at {at}"),
                elf(&[(32, 64), (56, 1), (at, value)]),
            ));
        }
    }
    for length in [0, 3, 16, 63, 64, 65, 120] {
        files.push((
            format!("an ELF file of {length} bytes"),
            elf(&[(32, 64), (56, 1)])[..length].to_vec(),
        ));
    }
    let module = "MODULE Linux x86_64 5A865AB22664BC5E2A9FB3019E57AB3";
    let many = size.pick(50_000, 1_000_000);
    let lines = [
        "FUNC ffffffffffffffff ffffffffffffffff 0 f\n",
        "FUNC m 10 10\n",
        "PUBLIC zz 0 f\n",
        "STACK CFI INIT 0 ffffffffffffffff .cfa: $rsp 8 + .ra: .cfa -8 + ^\n",
        "STACK WIN 4 0 0 0 0 0 0 0 0 1 $eip\n",
        "FILE 99999999999999999999 a.c\n",
        "INLINE 99999 1 1 1 0 1\nINLINE_ORIGIN 1 f\n",
        "INFO CODE_ID zz\n",
        "1000 10 4294967296 99999999\n",
        "\u{0}\u{ff}\n",
    ];
    for (number, line) in lines.into_iter().enumerate() {
        let text = format!("{module}{number:x}A a{number}.so\n{}", line.repeat(many / line.len()));
        files.push((format!("a symbol file of {:?}", line.trim_end()), text.into_bytes()));
    }
    let starts: [(&str, &[u8]); 8] = [
        ("Mach-O", b"\xcf\xfa\xed\xfe"),
        ("a PE file", b"MZ\x90\0"),
        ("an archive", b"!<arch>\n"),
        ("a PDB", b"Microsoft C/C++ MSF 7.00\r\n"),
        ("gzip", b"\x1f\x8b\x08"),
        ("zstd", b"\x28\xb5\x2f\xfd"),
        ("32 bits", b"\x7fELF\x01\x01\x01"),
        ("another order", b"\x7fELF\x02\x02\x01"),
    ];
    files.extend(starts.map(|(name, start)| (format!("{name} and noise"), [start, &noise(50_000, 17)].concat())));
    files
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
