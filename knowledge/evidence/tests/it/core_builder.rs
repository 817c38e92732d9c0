//! Builds ELF cores: notes and memory, of either processor, sound or not.

pub const EM_X86_64: u16 = 62;
pub const EM_AARCH64: u16 = 183;
const PT_LOAD: u32 = 1;
const PT_NOTE: u32 = 4;
const NT_FILE: u32 = 0x4649_4c45;

/// A range of memory with what is dumped of it.
pub struct Load {
    pub address: u64,
    pub flags: u32,
    pub data: Vec<u8>,
    /// What the program header says instead of the data's length.
    pub file_size: Option<u64>,
    pub memory_size: u64,
}

impl Load {
    pub fn new(address: u64, data: Vec<u8>) -> Self {
        let memory_size = data.len() as u64;
        Self {
            address,
            flags: 6,
            data,
            file_size: None,
            memory_size,
        }
    }
}

pub struct Core {
    pub machine: u16,
    pub notes: Vec<u8>,
    pub loads: Vec<Load>,
    /// Writes the number of program headers into section header 0, as the kernel does above 65 534 of them.
    pub extended: bool,
    pub program_header_size: u16,
}

impl Core {
    pub fn new(machine: u16) -> Self {
        Self {
            machine,
            notes: Vec::new(),
            loads: Vec::new(),
            extended: false,
            program_header_size: 56,
        }
    }

    /// One thread that died of SIGSEGV at `pc`, and some stack.
    pub fn small(machine: u16) -> Self {
        let mut core = Self::new(machine);
        core.thread(100, 0x40_0100, 0x7fff_0000);
        core.note("CORE", 0x5349_4749, &signal(11, 1, 0x10));
        core.files(&[(0x40_0000, 0x40_1000, 0, "/bin/trainer")]);
        let mut code = Load::new(0x40_0000, vec![0x90; 256]);
        (code.flags, code.memory_size) = (5, 0x1000);
        core.loads.push(code);
        core.loads
            .push(Load::new(0x7fff_0000, (0..=255).cycle().take(600).collect()));
        core
    }

    pub fn note(&mut self, name: &str, kind: u32, description: &[u8]) {
        for word in [name.len() as u32 + 1, description.len() as u32, kind] {
            self.notes.extend(word.to_le_bytes());
        }
        self.notes.extend(name.bytes().chain([0]));
        self.notes.resize(self.notes.len().next_multiple_of(4), 0);
        self.notes.extend(description);
        self.notes.resize(self.notes.len().next_multiple_of(4), 0);
    }

    /// `NT_PRSTATUS`: 112 bytes of signal, ids and times, the general registers, a flag for floating point.
    pub fn thread(&mut self, id: u32, pc: u64, stack: u64) {
        let mut status = vec![0; 112];
        status[0] = 11;
        status[12] = 11;
        status[32..36].copy_from_slice(&id.to_le_bytes());
        let registers: Vec<u64> = if self.machine == EM_AARCH64 {
            (0..31).chain([stack, pc, 0]).collect()
        } else {
            (0..27)
                .map(|slot| match slot {
                    16 => pc,
                    19 => stack,
                    21 => 0x7000,
                    _ => slot,
                })
                .collect()
        };
        status.extend(registers.iter().flat_map(|word| word.to_le_bytes()));
        status.extend([0; 8]);
        self.note("CORE", 1, &status);
    }

    /// `NT_FILE`, with offsets counted in pages.
    pub fn files(&mut self, files: &[(u64, u64, u64, &str)]) {
        let mut description = words(&[files.len() as u64, 4096]);
        for (start, end, offset, _) in files {
            description.extend(words(&[*start, *end, *offset]));
        }
        for (_, _, _, path) in files {
            description.extend(path.bytes().chain([0]));
        }
        self.note("CORE", NT_FILE, &description);
    }

    pub fn bytes(&self) -> Vec<u8> {
        let count = self.loads.len() + 1;
        let table = 64 + count * 56;
        let mut offset = (table + if self.extended { 64 } else { 0 }) as u64;
        let (said, sections) = if self.extended {
            (0xffff, table as u64)
        } else {
            (count as u16, 0)
        };
        let mut file = b"\x7fELF\x02\x01\x01".to_vec();
        file.resize(16, 0);
        for half in [4, self.machine] {
            file.extend(half.to_le_bytes());
        }
        file.extend(1_u32.to_le_bytes());
        file.extend(words(&[0, 64, sections]));
        file.extend(0_u32.to_le_bytes());
        for half in [64, self.program_header_size, said, 64, u16::from(self.extended), 0] {
            file.extend(half.to_le_bytes());
        }
        let notes = self.notes.len() as u64;
        file.extend(program_header(PT_NOTE, 0, [offset, 0, notes, 0]));
        offset += notes;
        for load in &self.loads {
            let said = load.file_size.unwrap_or(load.data.len() as u64);
            file.extend(program_header(
                PT_LOAD,
                load.flags,
                [offset, load.address, said, load.memory_size],
            ));
            offset += load.data.len() as u64;
        }
        if self.extended {
            let mut section = vec![0; 64];
            section[44..48].copy_from_slice(&(count as u32).to_le_bytes());
            file.extend(section);
        }
        file.extend(&self.notes);
        for load in &self.loads {
            file.extend(&load.data);
        }
        file
    }
}

fn program_header(kind: u32, flags: u32, [offset, address, file, memory]: [u64; 4]) -> Vec<u8> {
    let mut header: Vec<u8> = [kind, flags].iter().flat_map(|word| word.to_le_bytes()).collect();
    header.extend(words(&[offset, address, address, file, memory, 4096]));
    header
}

/// A `siginfo_t`.
pub fn signal(number: i32, code: i32, address: u64) -> Vec<u8> {
    let mut info: Vec<u8> = [number, 0, code, 0]
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    info.extend(address.to_le_bytes());
    info.resize(128, 0);
    info
}

pub fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
