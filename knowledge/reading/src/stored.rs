//! Evidence as it is stored: a few parts, each compressed by itself.
//!
//! `evidence` holds what a page about the report begins with. A list that is long has a part of its own, in full, and
//! `evidence` only its first entries; each text has a part. So what is bulky is read only by who asks for it. Parts are
//! JSON, texts as they are, all of them Zstandard (RFC 8878) with a checksum: a part that was torn is found out, and
//! made anew from the artifacts.
//!
//! Most reports are a few kilobytes, which pack badly by themselves. So `evidence` is packed with [`SPECIMEN`] as its
//! dictionary, and a text with `evidence`, which quotes it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tempfile::{SpooledData, SpooledTempFile};
use utoipa::ToSchema;
use whycrash_evidence::model::{Communicator, Recorder};
use whycrash_evidence::readers::Lines;
use whycrash_evidence::{Evidence, Limits};
use zstd::dict::{DecoderDictionary, EncoderDictionary};

use crate::{Report, ReportHead, Text};

/// Grows whenever readers find more, or other things, in the same artifacts: evidence of an earlier one is made anew
/// where the artifacts are still there.
pub const READER_VERSION: u32 = 5;
/// Version of the form in which evidence is stored.
const SCHEMA: u32 = 1;
/// Name of the part that every stored report has.
pub const HEAD: &str = "evidence";
/// Name of the part that has the flight recorders.
pub const RECORDERS: &str = "recorders";
/// Name of the part that has what was known of communicators, where that is much.
pub const COMMUNICATORS: &str = "communicators";
/// Evidence of some reports, for the member names and words that all have. What is stored can be unpacked with this
/// very text alone: it is never edited, and another one needs another name of the head part.
const SPECIMEN: &[u8] = include_bytes!("specimen.jsonl");
/// The same, made ready once: that takes longer than to pack a small report.
static PACK: LazyLock<EncoderDictionary<'static>> = LazyLock::new(|| EncoderDictionary::copy(SPECIMEN, LEVEL));
static UNPACK: LazyLock<DecoderDictionary<'static>> = LazyLock::new(|| DecoderDictionary::copy(SPECIMEN));
/// Bytes of the head that a text is packed with.
const DICTIONARY_BYTES: usize = 64 << 10;
/// Bytes, as JSON, up to which a list stays in the head as a whole.
const WHOLE_BYTES: usize = 32 << 10;
/// Bytes of a longer list's first entries that stay there.
const SHOWN_BYTES: usize = 16 << 10;
/// Bytes that a part other than a text may unpack to. What is written has been bounded before; a damaged disk has not.
const JSON_BYTES: u64 = 1 << 30;
/// Bytes up to which a part stays in memory, and those of all that do.
const SHORT_BYTES: usize = 64 << 10;
const MEMORY_BYTES: usize = 1 << 20;
/// Zstandard's own default: a log becomes a tenth of its size at some 300 MB/s.
const LEVEL: i32 = 3;

/// Why stored evidence could not be used: it is to be made anew from the artifacts.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A part is not there.
    #[error("the part {0:?} of the evidence is not there")]
    Missing(String),
    /// A part was torn, or another version wrote it.
    #[error("the part {part:?} of the evidence can not be read: {reason}")]
    Damaged {
        /// Which.
        part: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// The bytes of a part as they are stored.
#[derive(Clone, Debug)]
pub enum Body {
    /// Small ones.
    Memory(Vec<u8>),
    /// Others. Whoever loads a report keeps the file until it is done with it.
    File(PathBuf),
}

/// The parts of one report by their names.
#[derive(Clone, Debug, Default)]
pub struct Parts(pub BTreeMap<String, Body>);

/// The part that every stored report has.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Head {
    schema: u32,
    /// [`READER_VERSION`] of who read the artifacts.
    pub reader: u32,
    /// What crashed, and what it left.
    pub report: ReportHead,
    /// The artifacts that are text.
    pub texts: Vec<StoredText>,
    /// Lists of the evidence that are parts of their own, by name.
    pub parts: BTreeMap<String, ListPart>,
    /// What the readers found; of the lists in `parts` the first entries only.
    pub evidence: Evidence,
}

/// A text among the parts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoredText {
    /// Name of the artifact.
    pub artifact: String,
    /// How many lines it has.
    pub lines: u64,
}

/// A list that is a part of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct ListPart {
    /// How many entries it has.
    pub entries: usize,
    /// How many of them are in the head.
    pub shown: usize,
}

impl Report {
    /// Stores the report. Short parts stay in memory, up to a MiB of them; the others become files in the folder, which
    /// is made for the first of them.
    ///
    /// # Errors
    /// When a file can not be written, or a text not be read any more.
    pub fn store(mut self, folder: &Path) -> io::Result<Parts> {
        let mut store = Store::in_folder(folder);
        let mut lists = BTreeMap::new();
        let evidence = &mut self.evidence;
        store.split(&mut lists, "threads", &mut evidence.threads)?;
        store.split(&mut lists, "modules", &mut evidence.modules)?;
        store.split(&mut lists, "memory_snapshots", &mut evidence.memory_snapshots)?;
        store.split(&mut lists, "memory_curves", &mut evidence.memory_curves)?;
        store.split(&mut lists, "memory_details", &mut evidence.memory_details)?;
        store.split(&mut lists, "gpu_cores", &mut evidence.gpu_cores)?;
        store.split(&mut lists, "timeline", &mut evidence.timeline)?;
        store.split(&mut lists, "communicators", &mut evidence.communicators)?;
        if !evidence.recorders.is_empty() {
            store.write(RECORDERS, Dictionary::None, |to| {
                Ok(serde_json::to_writer(to, &evidence.recorders)?)
            })?;
        }
        let texts = self.texts.iter().map(|text| StoredText {
            artifact: text.artifact().to_owned(),
            lines: text.count(),
        });
        let head = Head {
            schema: SCHEMA,
            reader: READER_VERSION,
            texts: texts.collect(),
            report: self.head,
            parts: lists,
            evidence: self.evidence,
        };
        let head = serde_json::to_vec(&head)?;
        store.write(HEAD, Dictionary::Specimen, |to| to.write_all(&head))?;
        for (number, text) in self.texts.iter().enumerate() {
            let mut from = text.lines()?.reader();
            store.write(&text_part(number), Dictionary::Head(dictionary(&head)), |to| {
                io::copy(&mut from, to).map(drop)
            })?;
        }
        Ok(store.parts)
    }

    /// The report that was stored, but for its flight recorders ([`Parts::recorders`]).
    ///
    /// # Errors
    /// When a part is missing or damaged; texts are looked at only when somebody reads them.
    pub fn load(parts: &Parts) -> Result<Self, LoadError> {
        let head = parts.bytes(HEAD)?;
        let Head {
            report,
            texts,
            parts: lists,
            mut evidence,
            ..
        } = serde_json::from_slice(&head).map_err(damaged(HEAD))?;
        let dictionary: Arc<[u8]> = dictionary(&head).into();
        let is_split = |name: &str| lists.contains_key(name);
        parts.fill(is_split("threads"), "threads", &mut evidence.threads)?;
        parts.fill(is_split("modules"), "modules", &mut evidence.modules)?;
        let snapshots = &mut evidence.memory_snapshots;
        parts.fill(is_split("memory_snapshots"), "memory_snapshots", snapshots)?;
        parts.fill(is_split("memory_curves"), "memory_curves", &mut evidence.memory_curves)?;
        let details = &mut evidence.memory_details;
        parts.fill(is_split("memory_details"), "memory_details", details)?;
        parts.fill(is_split("gpu_cores"), "gpu_cores", &mut evidence.gpu_cores)?;
        parts.fill(is_split("timeline"), "timeline", &mut evidence.timeline)?;
        parts.fill(is_split("communicators"), "communicators", &mut evidence.communicators)?;
        let texts = texts.into_iter().enumerate();
        Ok(Self {
            head: report,
            evidence,
            texts: texts
                .filter_map(|(number, text)| parts.text(number, text, &dictionary))
                .collect(),
            judged_with: Vec::new(),
            history: None,
        })
    }
}

impl Parts {
    /// What a page about the report begins with.
    ///
    /// # Errors
    /// When the part is missing or damaged.
    pub fn head(&self) -> Result<Head, LoadError> {
        self.json(HEAD)
    }

    /// What crashed, whatever version wrote the rest.
    ///
    /// # Errors
    /// When the part is missing or damaged.
    pub fn report_head(&self) -> Result<ReportHead, LoadError> {
        #[derive(Deserialize)]
        struct Only {
            report: ReportHead,
        }
        self.json(HEAD).map(|Only { report }| report)
    }

    /// The flight recorders of the report. What they say is in its evidence: they are loaded to be judged anew,
    /// together with those of other reports.
    ///
    /// # Errors
    /// When the part is damaged.
    pub fn recorders(&self) -> Result<Vec<Recorder>, LoadError> {
        let mut recorders = Vec::new();
        self.fill(self.0.contains_key(RECORDERS), RECORDERS, &mut recorders)?;
        Ok(recorders)
    }

    /// What was known of communicators.
    ///
    /// # Errors
    /// When a part is missing or damaged.
    pub fn communicators(&self) -> Result<Vec<Communicator>, LoadError> {
        let mut communicators = self.head()?.evidence.communicators;
        self.fill(self.0.contains_key(COMMUNICATORS), COMMUNICATORS, &mut communicators)?;
        Ok(communicators)
    }

    /// The text of an artifact, if there is one among these parts. Beside it the head must be here.
    ///
    /// # Errors
    /// When the head is missing or damaged; the text is looked at only when somebody reads it.
    pub fn text_of(&self, artifact: &str) -> Result<Option<Text>, LoadError> {
        let head = self.bytes(HEAD)?;
        let Head { texts, .. } = serde_json::from_slice(&head).map_err(damaged(HEAD))?;
        let mut texts = texts.into_iter().enumerate();
        let found = texts.find(|(_, text)| text.artifact == artifact);
        let dictionary: Arc<[u8]> = dictionary(&head).into();
        Ok(found.and_then(|(number, text)| self.text(number, text, &dictionary)))
    }

    /// A part as the JSON it is.
    ///
    /// # Errors
    /// When the part is missing or damaged.
    pub fn bytes(&self, name: &str) -> Result<Vec<u8>, LoadError> {
        let mut bytes = Vec::new();
        let read = self.open(name)?.take(JSON_BYTES).read_to_end(&mut bytes);
        read.map_err(damaged(name))?;
        Ok(bytes)
    }

    fn json<T: DeserializeOwned>(&self, name: &str) -> Result<T, LoadError> {
        serde_json::from_slice(&self.bytes(name)?).map_err(damaged(name))
    }

    fn fill<T: DeserializeOwned>(&self, is_split: bool, name: &str, list: &mut Vec<T>) -> Result<(), LoadError> {
        if is_split {
            *list = self.json(name)?;
        }
        Ok(())
    }

    fn open(&self, name: &str) -> Result<Box<dyn Read + '_>, LoadError> {
        let dictionary = if name == HEAD {
            Dictionary::Specimen
        } else {
            Dictionary::None
        };
        match self.body(name)? {
            // What was stored before there were parts is JSON as it is.
            Body::Memory(bytes) if bytes.starts_with(b"{") => Ok(Box::new(bytes.as_slice())),
            body => unpack(body, dictionary).map_err(damaged(name)),
        }
    }

    fn body(&self, name: &str) -> Result<&Body, LoadError> {
        self.0.get(name).ok_or_else(|| LoadError::Missing(name.to_owned()))
    }

    /// A text; none for an artifact whose time was over.
    fn text(&self, number: usize, text: StoredText, dictionary: &Arc<[u8]>) -> Option<Text> {
        let body = self.0.get(&text_part(number))?.clone();
        let dictionary = Arc::clone(dictionary);
        let open = move || {
            // A small one stays in memory, any other goes to a file that nobody else sees.
            let mut unpacked = SpooledTempFile::new(WHOLE_BYTES);
            io::copy(&mut unpack(&body, Dictionary::Head(&dictionary))?, &mut unpacked)?;
            match unpacked.into_inner() {
                SpooledData::InMemory(text) => Lines::of_text(text.into_inner(), &unbounded()),
                SpooledData::OnDisk(file) => Lines::of_file(file, &unbounded()),
            }
        };
        Some(Text::stored(text.artifact, text.lines, Box::new(open)))
    }
}

/// What a part is packed with.
#[derive(Clone, Copy)]
enum Dictionary<'a> {
    None,
    /// [`SPECIMEN`].
    Specimen,
    /// The start of the head, which quotes the texts.
    Head(&'a [u8]),
}

impl<'a> Dictionary<'a> {
    fn encoder<W: Write>(self, to: W) -> io::Result<zstd::Encoder<'a, W>> {
        match self {
            Self::None => zstd::Encoder::new(to, LEVEL),
            Self::Specimen => zstd::Encoder::with_prepared_dictionary(to, &PACK),
            Self::Head(head) => zstd::Encoder::with_dictionary(to, LEVEL, head),
        }
    }

    fn decoder<R: BufRead>(self, from: R) -> io::Result<zstd::Decoder<'a, R>> {
        match self {
            Self::None => zstd::Decoder::with_buffer(from),
            Self::Specimen => zstd::Decoder::with_prepared_dictionary(from, &UNPACK),
            Self::Head(head) => zstd::Decoder::with_dictionary(from, head),
        }
    }
}

/// The bytes of a part as they were before they were packed.
fn unpack<'a>(body: &'a Body, dictionary: Dictionary<'a>) -> io::Result<Box<dyn Read + 'a>> {
    Ok(match body {
        Body::Memory(bytes) => Box::new(dictionary.decoder(bytes.as_slice())?),
        Body::File(path) => Box::new(dictionary.decoder(BufReader::new(File::open(path)?))?),
    })
}

/// The part of a head that texts are packed with.
fn dictionary(head: &[u8]) -> &[u8] {
    head.get(..DICTIONARY_BYTES).unwrap_or(head)
}

/// A text was cut to the readers' limits before it was stored.
fn unbounded() -> Limits {
    Limits {
        text_bytes: u64::MAX,
        ..Limits::default()
    }
}

/// Name of the part that has this text.
pub fn text_part(number: usize) -> String {
    format!("text-{number}")
}

/// Where the parts of a report go.
struct Store<'a> {
    folder: &'a Path,
    /// Bytes that may still be kept in memory.
    room: usize,
    parts: Parts,
}

impl<'a> Store<'a> {
    fn in_folder(folder: &'a Path) -> Self {
        Self {
            folder,
            room: MEMORY_BYTES,
            parts: Parts::default(),
        }
    }

    /// Writes a list that is long as a part of its own, and leaves its first entries.
    fn split<T: Serialize>(
        &mut self,
        lists: &mut BTreeMap<String, ListPart>,
        name: &str,
        list: &mut Vec<T>,
    ) -> io::Result<()> {
        let mut size = 0;
        let mut shown = 0;
        for entry in list.iter() {
            size += serde_json::to_vec(entry)?.len();
            shown += usize::from(size <= SHOWN_BYTES);
            if size > WHOLE_BYTES {
                break;
            }
        }
        if size > WHOLE_BYTES {
            self.write(name, Dictionary::None, |to| Ok(serde_json::to_writer(to, &list)?))?;
            let entries = list.len();
            lists.insert(name.to_owned(), ListPart { entries, shown });
            list.truncate(shown);
        }
        Ok(())
    }

    fn write(
        &mut self,
        name: &str,
        dictionary: Dictionary<'_>,
        content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let packed = Packed {
            path: self.folder.join(name),
            room: self.room.min(SHORT_BYTES),
            memory: Vec::new(),
            file: None,
        };
        let mut encoder = dictionary.encoder(packed)?;
        encoder.include_checksum(true)?;
        let mut buffered = io::BufWriter::with_capacity(64 << 10, encoder);
        content(&mut buffered)?;
        let packed = buffered.into_inner()?.finish()?;
        self.room -= packed.memory.len();
        self.parts.0.insert(name.to_owned(), packed.body());
        Ok(())
    }
}

/// The bytes of a part as they are stored: in memory while there is room, else in a file.
struct Packed {
    path: PathBuf,
    room: usize,
    memory: Vec<u8>,
    file: Option<File>,
}

impl Packed {
    fn body(self) -> Body {
        match self.file {
            None => Body::Memory(self.memory),
            Some(_) => Body::File(self.path),
        }
    }

    /// The file, with what came before it was there.
    fn file(&mut self) -> io::Result<&mut File> {
        let file = match self.file.take() {
            Some(file) => file,
            None => {
                if let Some(folder) = self.path.parent() {
                    std::fs::create_dir_all(folder)?;
                }
                let mut file = File::create_new(&self.path)?;
                file.write_all(&std::mem::take(&mut self.memory))?;
                file
            }
        };
        Ok(self.file.insert(file))
    }
}

impl Write for Packed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.file.is_none() && self.memory.len() + bytes.len() <= self.room {
            return self.memory.write(bytes);
        }
        self.file()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn damaged<E: ToString>(part: &str) -> impl FnOnce(E) -> LoadError + use<'_, E> {
    move |reason| LoadError::Damaged {
        part: part.to_owned(),
        reason: reason.to_string(),
    }
}
