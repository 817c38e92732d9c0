//! Artifacts that cost more than their size, or are not what they seem. Each is a report that must end as done.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::metadata::numbered;
use super::symbols::elf;
use super::{Size, noise, post_json};
use crate::case::{Case, Expect};

/// Cases that aim at the readers.
pub fn cases(size: Size) -> Vec<Case> {
    let all = [
        logs(size),
        texts(size),
        json(size),
        pickles(size),
        binaries(size),
        packed(size),
        archives(size),
        lookalikes(),
    ];
    all.into_iter()
        .flatten()
        .map(|(name, file, bytes)| send(&name, file, &bytes))
        .collect()
}

/// Name of the case, name of the file, its bytes.
type File = (String, &'static str, Vec<u8>);

/// Small artifacts come with the request; larger ones in a form.
fn send(name: &str, file: &str, bytes: &[u8]) -> Case {
    let named = format!("artifact: {name}");
    if bytes.len() < 1 << 20 {
        let body = format!(
            "{{\"artifacts\": [{{\"name\": \"{file}\", \"data\": \"{}\"}}]}}",
            STANDARD.encode(bytes)
        );
        return post_json(named, "/api/v1/reports", body.as_bytes()).expect(Expect::Done);
    }
    let front = format!("--whycrash-x\r\nContent-Disposition: form-data; name=\"f\"; filename=\"{file}\"\r\n\r\n");
    let body = [front.as_bytes(), bytes, b"\r\n--whycrash-x--\r\n"].concat();
    let headers = [("Content-Type", "multipart/form-data; boundary=whycrash-x")];
    Case::request(named, "POST", "/api/v1/reports", &headers, &body).expect(Expect::Done)
}

fn file(name: &str, file: &'static str, bytes: impl Into<Vec<u8>>) -> File {
    (name.to_owned(), file, bytes.into())
}

const CUDA_ERROR: &str = "RuntimeError: CUDA error: an illegal memory access was encountered\n";
const OOM: &str = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.25 GiB is free.\n";

/// Logs of nothing but failures.
fn logs(size: Size) -> Vec<File> {
    let many = size.pick(20_000, 200_000);
    let log = |name: &str, text: String| file(name, "train.log", text);
    let traceback = |n: usize| {
        format!(
            "Traceback (most recent call last):\n  File \"train{n}.py\", line {n}, in step{n}\n    x = y[{n}]\nIndexError: index {n} is out of range\n"
        )
    };
    vec![
        log("one CUDA error again and again", CUDA_ERROR.repeat(many * 4)),
        log("one exhausted GPU again and again", OOM.repeat(many)),
        log(
            "exhausted GPUs of every size",
            numbered(many, |n| OOM.replace("2.00", &format!("{n}.00"))),
        ),
        log("tracebacks that all differ", numbered(many, traceback)),
        log("one traceback again and again", traceback(1).repeat(many)),
        log(
            "a chain of exceptions",
            numbered(many / 4, |n| {
                format!(
                    "{}\nDuring handling of the above exception, another exception occurred:\n\n",
                    traceback(n)
                )
            }),
        ),
        log(
            "one exception from another",
            numbered(many / 4, |n| {
                format!(
                    "{}\nThe above exception was the direct cause of the following exception:\n\n",
                    traceback(n)
                )
            }),
        ),
        log(
            "groups of exceptions in groups",
            numbered(2000, |n| {
                format!(
                    "{}+ Exception Group Traceback (most recent call last):\n",
                    "  ".repeat(n)
                )
            }),
        ),
        log(
            "a traceback without end",
            format!(
                "Traceback (most recent call last):\n{}",
                "  File \"a.py\", line 1, in f\n    f()\n".repeat(many * 2)
            ),
        ),
        log(
            "every rank there is",
            numbered(many, |n| format!("[rank{n}]: {CUDA_ERROR}")),
        ),
        log(
            "ranks beyond all",
            numbered(100, |n| {
                format!("[rank{n}99999999999999999999]: {CUDA_ERROR}[rank4294967295]: {CUDA_ERROR}")
            }),
        ),
        log(
            "Xids of every code",
            numbered(many, |n| {
                format!(
                    "[{n}.0] NVRM: Xid (PCI:0000:{:02x}:00): {}, pid={n}, name=python\n",
                    n % 256,
                    n % 200
                )
            }),
        ),
        log(
            "OOM killer tables",
            format!(
                "[1.0] python invoked oom-killer: gfp_mask=0x0\n{}",
                numbered(many, |n| format!("[1.0] [  {n}]  0 {n} 1 1 1 0 0 python\n"))
            ),
        ),
        log(
            "killed again and again",
            numbered(many, |n| {
                format!("[{n}.0] Out of memory: Killed process {n} (python) total-vm:1kB, anon-rss:1kB\n")
            }),
        ),
        log(
            "NCCL warnings",
            numbered(many, |n| {
                format!("node{n}:1:2 [0] NCCL WARN Call to ibv_modify_qp failed with {n}\n")
            }),
        ),
        log(
            "watchdogs",
            numbered(many, |n| {
                format!(
                    "[rank{}]:[E ProcessGroupNCCL.cpp:616] [Rank {}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={n}, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600000 milliseconds before timing out.\n",
                    n % 64,
                    n % 64
                )
            }),
        ),
        log(
            "device-side asserts",
            numbered(many, |n| {
                format!(
                    "../aten/src/ATen/native/cuda/Indexing.cu:1290: indexSelectLargeIndex: block: [{n},0,0], thread: [{},0,0] Assertion `srcIndex < srcSelectDimSize` failed.\n",
                    n % 1024
                )
            }),
        ),
        log(
            "faulthandler without end",
            format!(
                "Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f0000000000 (most recent call first):\n{}",
                numbered(many, |n| format!("  File \"a.py\", line {n} in f{n}\n"))
            ),
        ),
        log(
            "threads without end",
            format!(
                "Fatal Python error: Segmentation fault\n\n{}",
                numbered(many, |n| format!(
                    "Thread 0x{n:016x} (most recent call first):\n  File \"a.py\", line 1 in f\n\n"
                ))
            ),
        ),
        log(
            "sanitizers",
            numbered(many / 10, |n| {
                format!(
                    "==={n}==ERROR: AddressSanitizer: heap-use-after-free on address 0x{n:012x}\nREAD of size 4 at 0x{n:012x} thread T0\n    #0 0x{n:x} in f{n} a.c:{n}\n\n"
                )
            }),
        ),
        log(
            "compute-sanitizer",
            numbered(many / 4, |n| {
                format!(
                    "========= Invalid __global__ read of size 4 bytes\n=========     at kernel{n}+0x{n:x}\n=========     by thread ({n},0,0) in block (0,0,0)\n"
                )
            }),
        ),
        log(
            "C++ stacks",
            numbered(many, |n| {
                format!("frame #{n}: c10::f{n}() + 0x{n:x} (0x{n:x} in /lib/libc10.so)\n")
            }),
        ),
        log(
            "DataLoader workers",
            numbered(many, |n| {
                format!("RuntimeError: DataLoader worker (pid {n}) is killed by signal: Killed. \n")
            }),
        ),
        log(
            "launcher's tables",
            numbered(many / 10, |n| {
                format!(
                    "============================================================\ntrain.py FAILED\n------------------------------------------------------------\nFailures:\n[0]:\n  time      : 2026-01-01_00:00:00\n  host      : h{n}\n  rank      : {n} (local_rank: 0)\n  exitcode  : -9 (pid: {n})\n"
                )
            }),
        ),
    ]
}

/// Text that is awkward, whatever it says.
fn texts(size: Size) -> Vec<File> {
    let many = size.pick(1 << 20, 16 << 20);
    let log = |name: &str, text: Vec<u8>| file(name, "odd.log", text);
    vec![
        log("no byte", Vec::new()),
        log("one byte", b"a".to_vec()),
        log("one line without end", vec![b'a'; many]),
        log("nothing but line ends", vec![b'\n'; many]),
        log("nothing but carriage returns", vec![b'\r'; many]),
        log("nothing but spaces", vec![b' '; many]),
        log("nothing but NUL", vec![0; many]),
        log("nothing but high bytes", vec![0xff; many]),
        log(
            "progress bars",
            "\rstep 1/100 [====>   ] 1.0s/it".repeat(many / 30).into_bytes(),
        ),
        log("colours", "\u{1b}[31mE\u{1b}[0m".repeat(many / 10).into_bytes()),
        log(
            "escapes of terminals",
            "\u{1b}]0;title\u{7}\u{1b}]8;;http://x\u{7}\u{9b}31m\u{202e}\u{2028}"
                .repeat(many / 40)
                .into_bytes(),
        ),
        log(
            "UTF-16",
            CUDA_ERROR
                .repeat(1000)
                .encode_utf16()
                .flat_map(u16::to_le_bytes)
                .collect(),
        ),
        log(
            "times beyond all",
            numbered(many / 60, |n| {
                format!("99999-13-45T25:61:61.{n}Z ERROR x\n[{n}{n}{n}{n}.9] NVRM: x\n")
            })
            .into_bytes(),
        ),
        log(
            "deep indentation",
            numbered(2000, |n| format!("{}Error: x\n", " ".repeat(n))).into_bytes(),
        ),
        log(
            "quotes without end",
            format!("{}{}", "'".repeat(many / 2), "\"".repeat(many / 2)).into_bytes(),
        ),
        log("dotted names", format!("{}: x\n", "a.".repeat(many / 4)).into_bytes()),
        log(
            "an exception's class without end",
            format!(
                "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n{}Error: x\n",
                "a.".repeat(20_000)
            )
            .into_bytes(),
        ),
        log(
            "C++ names without end",
            format!("frame #0: {} + 0x1 (0x1 in a.so)\n", "std::vector<".repeat(20_000)).into_bytes(),
        ),
        log(
            "mangled names",
            format!("frame #0: _Z{}v + 0x1 (0x1 in a.so)\n", "N1aE".repeat(20_000)).into_bytes(),
        ),
    ]
}

fn json(size: Size) -> Vec<File> {
    let many = size.pick(50_000, 500_000);
    vec![
        file("context without end", "context.json", format!("{{\"whycrash\": 1, {}\"z\": 0}}", numbered(many, |n| format!("\"k{n}\": [],")))),
        file("context in context", "context.json", format!("{}{}", "{\"context\":".repeat(many), "}".repeat(many))),
        file("context of numbers", "context.json", "{\"rank\": -1, \"world_size\": 1e999, \"gpus\": [{\"memory\": 99999999999999999999999999}]}".to_owned()),
        file("context of a dotted host", "context.json", format!("{{\"host\": {{\"name\": \"{}\"}}, \"command\": [\"python\"]}}", "a.".repeat(20_000))),
        file("an elastic error", "error.json", format!("{{\"message\": {{\"message\": \"{}\", \"extraInfo\": {{\"timestamp\": \"{}\"}}}}}}", "x".repeat(many), "9".repeat(5000))),
        file("a recorder of entries", "nccl_trace_rank_0.json", format!("{{\"version\": \"2.9\", \"pg_config\": {{}}, \"entries\": [{}{{}}]}}", numbered(many / 4, |n| format!("{{\"collective_seq_id\": {n}, \"profiling_name\": \"nccl:x\", \"state\": \"scheduled\", \"input_sizes\": [[{n}]]}},")))),
        file("a recorder of ranks", "nccl_trace_rank_4294967295.json", "{\"version\": \"2.9\", \"pg_config\": {\"0\": {\"ranks\": \"[0, 4294967295, 18446744073709551615]\"}}, \"entries\": []}".to_owned()),
        file("a recorder of sizes", "nccl_trace_rank_0.json", format!("{{\"version\": \"2.9\", \"entries\": [{{\"input_sizes\": [[{}1]]}}]}}", "9223372036854775807,".repeat(many / 20))),
        file("JSON that is cut", "error.json", "{\"message\": {\"message\": \"x".to_owned()),
    ]
}

fn pickles(size: Size) -> Vec<File> {
    let many = size.pick(200_000, 2_000_000);
    let pickle = |name: &str, bytes: Vec<u8>| file(name, "snapshot.pickle", bytes);
    let laughs = |levels: usize| {
        // Each list has the one before twice over.
        let mut bytes = b"\x80\x04]\x94".to_vec();
        for level in 0..levels {
            bytes.extend_from_slice(b"](");
            for _ in 0..10 {
                bytes.push(b'h');
                bytes.push(u8::try_from(level).unwrap_or(255));
            }
            bytes.extend_from_slice(b"e\x94");
        }
        bytes.push(b'.');
        bytes
    };
    let with_length = |opcode: u8, length: u64, width: usize| {
        [
            b"\x80\x04",
            [opcode].as_slice(),
            &length.to_le_bytes()[..width],
            b"abc.",
        ]
        .concat()
    };
    vec![
        pickle("a pickle that stops", b"\x80\x04.".to_vec()),
        pickle(
            "a pickle that runs a program",
            b"\x80\x04\x8c\x05posix\x94\x8c\x06system\x94\x93\x94\x8c\x08touch /x\x94\x85\x94R\x94.".to_vec(),
        ),
        pickle("a pickle of a class", b"cos\nsystem\n(S'true'\ntR.".to_vec()),
        pickle("a string beyond all", with_length(0x8d, u64::MAX >> 1, 8)),
        pickle("bytes beyond all", with_length(0x8e, u64::MAX >> 1, 8)),
        pickle("a frame beyond all", with_length(0x95, u64::MAX >> 1, 8)),
        pickle("a number beyond all", with_length(0x8b, 0x7fff_ffff, 4)),
        pickle("a memo beyond all", b"\x80\x04]r\xff\xff\xff\xff.".to_vec()),
        pickle(
            "tuples in tuples",
            [b"\x80\x04)".as_slice(), &b"\x85".repeat(many), b"."].concat(),
        ),
        pickle(
            "marks without end",
            [b"\x80\x04".as_slice(), &b"(".repeat(many), b"."].concat(),
        ),
        pickle("lists that double", laughs(60)),
        pickle("stack underflow", b"\x80\x04\x86\x86\x86.".to_vec()),
        pickle(
            "numbers in lists",
            [b"\x80\x04](".as_slice(), &b"K\x01".repeat(many), b"e."].concat(),
        ),
        pickle(
            "a snapshot of nothing",
            b"\x80\x04}(\x8c\x08segments]\x8c\x0ddevice_traces]u.".to_vec(),
        ),
        pickle(
            "a snapshot of wrong kinds",
            b"\x80\x04}(\x8c\x08segmentsK\x01\x8c\x0ddevice_tracesK\x02u.".to_vec(),
        ),
        pickle(
            "a snapshot of devices",
            [
                b"\x80\x04}(\x8c\x08segments]\x8c\x0ddevice_traces](".as_slice(),
                &b"]".repeat(many / 4),
                b"eu.",
            ]
            .concat(),
        ),
    ]
}

fn binaries(size: Size) -> Vec<File> {
    let mut files = vec![
        file("an ELF head alone", "core", elf(&[])),
        file("segments without end", "core", elf(&[(32, 64), (56, 0xffff)])),
        file(
            "segments beyond the file",
            "core",
            elf(&[(32, u64::MAX - 8), (56, 0xffff)]),
        ),
        file(
            "sections beyond the file",
            "core",
            elf(&[(40, u64::MAX - 8), (60, 0xffff)]),
        ),
        file("a note of zeros", "core", with_segment(4, 0, 1 << 40)),
        file("a note without end", "core", with_segment(4, u64::MAX - 4096, u64::MAX)),
        file("a mapping without end", "core", with_segment(1, 4096, u64::MAX >> 1)),
        file(
            "a core of 32 bits",
            "core",
            b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0\x04\0\x03\0".repeat(50),
        ),
        file(
            "a core of another order",
            "core",
            b"\x7fELF\x02\x02\x01\0\0\0\0\0\0\0\0\0\0\x04\0\x3e".repeat(50),
        ),
        file("a minidump of streams", "a.dmp", minidump(u32::MAX, 32)),
        file("a minidump that points at itself", "a.dmp", minidump(1000, 0)),
        file("a minidump beyond the file", "a.dmp", minidump(8, u32::MAX - 4)),
    ];
    // What a cut at any place leaves must be read as far as it goes.
    for cut in [4, 16, 20, 63, 64, 100] {
        files.push(file(
            &format!("a core cut at {cut}"),
            "core",
            elf(&[(32, 64), (56, 4)])[..cut].to_vec(),
        ));
    }
    files.push(file(
        "a large core of noise",
        "core",
        [elf(&[(32, 64), (56, 9)]), noise(size.pick(2, 32) << 20, 5)].concat(),
    ));
    files
}

fn with_segment(kind: u32, offset: u64, length: u64) -> Vec<u8> {
    let mut bytes = elf(&[(32, 64), (56, 1)]);
    bytes[64..68].copy_from_slice(&kind.to_le_bytes());
    for (at, value) in [(72, offset), (80, 0x1000), (96, length), (104, length)] {
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }
    bytes
}

fn minidump(streams: u32, directory: u32) -> Vec<u8> {
    let mut bytes = b"MDMP\x93\xa7\0\0".to_vec();
    bytes.extend_from_slice(&streams.to_le_bytes());
    bytes.extend_from_slice(&directory.to_le_bytes());
    bytes.resize(4096, 3);
    bytes
}

/// Zeros as gzip.
pub fn gzip_of_zeros(bytes: usize) -> Vec<u8> {
    gzip(b"", bytes)
}

/// This text and then zeros, as gzip.
pub fn gzip(front: &[u8], zeros: usize) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let block = vec![0; 1 << 20];
    let written = encoder
        .write_all(front)
        .and_then(|()| (0..zeros >> 20).try_for_each(|_| encoder.write_all(&block)));
    // Writing to memory does not fail.
    written.and_then(|()| encoder.finish()).unwrap_or_default()
}

fn packed(size: Size) -> Vec<File> {
    let zeros = size.pick(128, 2048) << 20;
    let zstd = |bytes: &[u8]| zstd::encode_all(bytes, 1).unwrap_or_default();
    let errors = zstd(CUDA_ERROR.repeat(size.pick(100_000, 1_500_000)).as_bytes());
    let bomb = gzip_of_zeros(zeros);
    vec![
        file("gzip of zeros", "train.log.gz", bomb.clone()),
        file("gzip of gzip of zeros", "train.log.gz", gzip(&bomb, 0)),
        file(
            "gzip of a core's head and zeros",
            "core.gz",
            gzip(&elf(&[(32, 64), (56, 2)]), zeros),
        ),
        file("gzip that is cut", "train.log.gz", bomb[..bomb.len() / 2].to_vec()),
        file("zstd of zeros", "core.zst", zstd(&vec![0; zeros.min(512 << 20)])),
        file("zstd of failures", "train.log.zst", errors.clone()),
        file("zstd that is cut", "train.log.zst", errors[..errors.len() / 2].to_vec()),
        file(
            "zstd of a huge window",
            "core.zst",
            b"\x28\xb5\x2f\xfd\x00\xff\x00\x00\x00".to_vec(),
        ),
        file(
            "lz4 that is none",
            "core.lz4",
            [b"\x04\x22\x4d\x18\x64\x40\xa7".as_slice(), &noise(1000, 9)].concat(),
        ),
        file(
            "xz that is none",
            "core.xz",
            [b"\xfd7zXZ\0\0\x04".as_slice(), &noise(1000, 9)].concat(),
        ),
    ]
}

/// The first bytes of each format, then noise.
fn lookalikes() -> Vec<File> {
    let starts: [(&str, &[u8]); 12] = [
        ("an ELF file", b"\x7fELF\x02\x01\x01"),
        ("a minidump", b"MDMP\x93\xa7"),
        ("a pickle", b"\x80\x05\x95"),
        ("an old pickle", b"(dp0\nS'segments'\n"),
        ("gzip", b"\x1f\x8b\x08"),
        ("zstd", b"\x28\xb5\x2f\xfd"),
        ("lz4", b"\x04\x22\x4d\x18"),
        ("xz", b"\xfd7zXZ\0"),
        ("a page", b"<!DOCTYPE html><script>"),
        ("JSON", b"{\"segments\": ["),
        ("a zip", b"PK\x03\x04"),
        ("a microdump", b"-----BEGIN BREAKPAD MICRODUMP-----\n"),
    ];
    let seeds = [21, 22, 23];
    let like = |(name, start): &(&str, &[u8])| {
        seeds.map(|seed| {
            file(
                &format!("what starts as {name} ({seed})"),
                "unknown.bin",
                [start, noise(65_536, seed).as_slice()].concat(),
            )
        })
    };
    starts.iter().flat_map(like).collect()
}

/// The header of a file in a tar file: its name, its type, and how many bytes it says that it has.
fn tar_header(name: &str, kind: u8, size: &[u8; 12]) -> [u8; 512] {
    let mut header = [0; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[124..136].copy_from_slice(size);
    header[148..156].fill(b' ');
    header[156] = kind;
    header[157..168].copy_from_slice(b"/etc/passwd");
    header[257..265].copy_from_slice(b"ustar  \0");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}

fn tar(entries: impl IntoIterator<Item = (String, u8, Vec<u8>)>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, kind, content) in entries {
        let size = format!("{:011o}\0", content.len());
        bytes.extend(tar_header(
            &name,
            kind,
            size.as_bytes().first_chunk().unwrap_or(&[b'0'; 12]),
        ));
        bytes.extend(content);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
    }
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

/// Archives that lead out, link elsewhere, or hold more than anybody has room for.
fn archives(size: Size) -> Vec<File> {
    let names = [
        "../../../etc/passwd",
        "/etc/passwd",
        "C:\\boot.ini",
        "a/../../b",
        "\u{1b}[2J",
        "good.log",
        "good.log",
    ];
    let out = names.map(|name| (name.to_owned(), b'0', CUDA_ERROR.into()));
    let kinds = (b'1'..=b'6').map(|kind| (format!("special-{kind}"), kind, Vec::new()));
    let lines = "x\n".repeat(size.pick(32 << 20, 512 << 20)).into_bytes();
    let many = size.pick(5_000, 100_000);
    let huge = {
        // 8 EiB, in base 256.
        let size: [u8; 12] = [0x80, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
        [tar_header("huge.log", b'0', &size).as_slice(), CUDA_ERROR.as_bytes()].concat()
    };
    let deep = (0..12).fold(CUDA_ERROR.as_bytes().to_vec(), |inner, depth| {
        gzip(&tar([(format!("{depth}.tgz"), b'0', inner)]), 0)
    });
    let many_claimed = {
        let end = b"PK\x05\x06\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0";
        let larger = [
            b"PK\x06\x06\x2c\0\0\0\0\0\0\0".as_slice(),
            &[0; 12],
            &[0xff; 16],
            &0_u64.to_le_bytes(),
            &4_u64.to_le_bytes(),
        ];
        let locator = [b"PK\x06\x07\0\0\0\0".as_slice(), &4_u64.to_le_bytes(), &[1, 0, 0, 0]].concat();
        [b"PK\x03\x04".as_slice(), &larger.concat(), &locator, end].concat()
    };
    let local = b"PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0a";
    vec![
        file(
            "names that lead out of an archive",
            "x.tar",
            tar(out.into_iter().chain(kinds)),
        ),
        file(
            "a bomb in an archive",
            "x.tgz",
            gzip(&tar([("bomb.log".to_owned(), b'0', lines)]), 0),
        ),
        file(
            "an archive of very many files",
            "x.tgz",
            gzip(&tar((0..many).map(|n| (format!("{n}.log"), b'0', Vec::new()))), 0),
        ),
        file("a file larger than any in an archive", "x.tar", huge),
        file("archives in archives", "x.tgz", deep),
        file(
            "an archive that claims more files than there are",
            "x.zip",
            many_claimed,
        ),
        file("an archive of nothing but headers", "x.zip", local.repeat(many)),
    ]
}
