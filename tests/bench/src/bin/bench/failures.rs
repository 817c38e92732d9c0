//! Logs of nothing but failures: what repeats must cost next to nothing, and what differs no more than its size.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::inputs::once;

/// Size of each log, in bytes.
const BYTES: usize = 64 << 20;

/// A log of nothing but failures, by what it is called.
#[derive(Clone, Copy)]
pub struct Flood {
    /// Its row's name.
    pub row: &'static str,
    file: &'static str,
    /// Writes the next failure: the how manyth it is tells it from the others.
    write: fn(&mut String, u32),
}

/// All of them.
pub const FLOODS: [Flood; 8] = [
    Flood {
        row: "log of one CUDA error, ripgrep",
        file: "one-cuda-error",
        write: |log, _| *log += "RuntimeError: CUDA error: an illegal memory access was encountered\n",
    },
    Flood {
        row: "log of one traceback, ripgrep",
        file: "one-traceback",
        write: |log, n| traceback(log, "fetch", &format!("item {n} can not be decoded")),
    },
    Flood {
        row: "log of tracebacks that differ, ripgrep",
        file: "tracebacks",
        write: |log, n| traceback(log, &word(n), &format!("{} can not be decoded", word(n / 3))),
    },
    Flood {
        row: "log of failures that differ, ripgrep",
        file: "failures",
        write: |log, n| {
            let _ = writeln!(
                log,
                "RuntimeError: CUDA error: {} failed while {} was copied",
                word(n),
                word(n / 7)
            );
        },
    },
    Flood {
        row: "log of full GPUs, ripgrep",
        file: "full-gpus",
        write: |log, n| {
            let _ = writeln!(
                log,
                "[rank{}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {}.00 MiB. GPU {} has a total \
                 capacity of 79.11 GiB of which {}.12 MiB is free. Of the allocated memory 70.01 GiB is allocated by \
                 PyTorch, in {}",
                n % 64,
                20 + n,
                n % 8,
                n % 700,
                word(n)
            );
        },
    },
    Flood {
        row: "log of Xids, ripgrep",
        file: "xids",
        write: |log, n| {
            let (gpu, code) = (n % 8, [13, 31, 43, 45, 48, 63, 74, 79][n as usize / 8 % 8]);
            let _ = writeln!(
                log,
                "[{n:>6}.000001] NVRM: Xid (PCI:0000:{gpu:02x}:00): {code}, pid={}, name=python, Ch {:08x}",
                4000 + n % 64,
                n % 4096
            );
        },
    },
    Flood {
        row: "log of watchdogs' lines, ripgrep",
        file: "watchdogs",
        write: |log, n| {
            let (rank, sequence) = (n % 8, 4000 + n / 8);
            let _ = writeln!(
                log,
                "[rank{rank}]:[E1121 09:53:46.{n:09} ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught collective \
                 operation timeout: WorkNCCL(SeqNum={sequence}, OpType=ALLREDUCE, NumelIn=1024, NumelOut=1024, \
                 Timeout(ms)=600000) ran for 600083 milliseconds before timing out."
            );
        },
    },
    Flood {
        row: "log of interleaved ranks, ripgrep",
        file: "ranks",
        write: |log, n| {
            let mut told = String::new();
            traceback(&mut told, "fetch", &format!("item {n} can not be decoded"));
            for line in told.lines() {
                for rank in 0..8 {
                    let _ = writeln!(log, "[rank{rank}]: {line}");
                }
            }
        },
    },
];

impl Flood {
    /// The log, made once.
    pub fn make(&self, data: &Path) -> Result<PathBuf> {
        once(data.join(format!("{}-{}.log", self.file, BYTES >> 20)), |partial| {
            let mut log = String::with_capacity(BYTES + 4096);
            for n in 0.. {
                if log.len() >= BYTES {
                    break;
                }
                (self.write)(&mut log, n);
            }
            Ok(std::fs::write(partial, log)?)
        })
    }
}

fn traceback(log: &mut String, function: &str, said: &str) {
    let _ = write!(
        log,
        "Traceback (most recent call last):\n  File \"/job/train.py\", line 212, in train\n    batch = next(batches)\n  \
         File \"/job/data/loader.py\", line 88, in {function}\n    sample = decode(raw)\nValueError: {said}\n"
    );
}

/// A word for a number, in letters: what differs in words differs, while numbers alone may not matter.
fn word(mut number: u32) -> String {
    let mut word = String::from("tensor");
    while number > 0 {
        word.push(char::from(b'g' + (number % 20) as u8));
        number /= 20;
    }
    word
}
