//! The stack machine that carries out a pickle's opcodes.

use std::io::Read;

use super::heap::{DictId, Heap, Value};
use super::memo::Memo;
use super::{Opcode, Pickle, Source, Stop};
use crate::Problem;

/// Longest string taken, in bytes. Mangled C++ names reach some tens of KB.
const STRING_BYTES: usize = 16 << 20;

/// Sees each dict when it is complete, before anything else can refer to it.
pub trait Fold {
    /// Decides what becomes of a dict. `parent` is the container the dict is about to go into; `pairs` is key, value,
    /// key, value ….
    fn dict(&mut self, heap: &mut Heap, parent: Option<Value>, pairs: &[Value]) -> Folded;

    /// What the fold holds of what it took, in the units of [`Heap::held`]; asked for after every opcode.
    fn held(&self) -> usize {
        0
    }
}

/// What a fold did with a dict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Folded {
    /// Nothing: it stays a dict.
    Kept,
    /// An index of the fold's own stands for it wherever it is shared.
    Replaced(u32),
    /// Its content was taken; nothing stands for it.
    Consumed,
}

/// Folds nothing.
#[derive(Debug)]
pub struct Keep;

impl Fold for Keep {
    fn dict(&mut self, _: &mut Heap, _: Option<Value>, _: &[Value]) -> Folded {
        Folded::Kept
    }
}

#[derive(Debug)]
pub(super) struct Machine<'f, F> {
    heap: Heap,
    memo: Memo,
    stack: Vec<Value>,
    /// Stack heights at which a `MARK` stands.
    marks: Vec<usize>,
    fold: &'f mut F,
    value_cap: usize,
    text: Vec<u8>,
    wide_integers: usize,
    broken_strings: usize,
}

impl<'f, F: Fold> Machine<'f, F> {
    pub fn new(value_cap: usize, fold: &'f mut F) -> Self {
        Self {
            heap: Heap::default(),
            memo: Memo::default(),
            stack: Vec::new(),
            marks: Vec::new(),
            fold,
            value_cap,
            text: Vec::new(),
            wide_integers: 0,
            broken_strings: 0,
        }
    }

    /// Carries out opcodes up to and including `STOP`.
    pub fn run(&mut self, source: &mut Source<impl Read>) -> Result<(), Stop> {
        loop {
            let byte = source.byte()?;
            let opcode = match Opcode::new(byte) {
                Some(Opcode::Stop) => return Ok(()),
                Some(opcode) => opcode,
                None => return Err(Opcode::refused(byte).map_or(Stop::Unknown(byte), Stop::Refused)),
            };
            self.step(opcode, source)?;
            if self.held() > self.value_cap {
                return Err(Stop::Limit {
                    code: "limit-pickle-values",
                    what: "values",
                    cap: self.value_cap,
                });
            }
        }
    }

    /// All that is held, in the units of [`Heap::held`].
    fn held(&self) -> usize {
        self.stack.len() + self.marks.len() + self.heap.held() + self.memo.held() + self.fold.held()
    }

    /// Closes what is still open and hands everything over.
    pub fn finish(mut self, complete: bool) -> Pickle {
        if !complete {
            self.close_open_containers();
        }
        let root = if complete {
            self.stack.last()
        } else {
            self.stack.first()
        };
        let mut problems = Vec::new();
        if self.wide_integers > 0 {
            let message = format!(
                "{} integers do not fit in 64 bits and are read as none",
                self.wide_integers
            );
            problems.push(Problem::new("pickle-wide-integer", message));
        }
        if self.broken_strings > 0 {
            let message = format!(
                "{} strings are not UTF-8; what is not text in them is replaced",
                self.broken_strings
            );
            problems.push(Problem::new("pickle-bad-string", message));
        }
        Pickle {
            root: root.copied().unwrap_or(Value::None),
            heap: self.heap,
            complete,
            problems,
        }
    }

    fn step(&mut self, opcode: Opcode, source: &mut Source<impl Read>) -> Result<(), Stop> {
        match opcode {
            Opcode::Proto => match source.byte()? {
                2..=5 => {}
                version => return Err(Stop::Protocol(version)),
            },
            // Frames only help a reader to prefetch; their lengths are not needed, nor trusted.
            Opcode::Frame => {
                source.array::<8>()?;
            }
            Opcode::Stop => {}
            Opcode::Mark => self.marks.push(self.stack.len()),
            Opcode::Pop => self.pop_value_or_mark()?,
            Opcode::PopMark => {
                let height = self.pop_mark()?;
                self.stack.truncate(height);
            }
            Opcode::None => self.stack.push(Value::None),
            Opcode::True => self.stack.push(Value::Bool(true)),
            Opcode::False => self.stack.push(Value::Bool(false)),
            Opcode::BinInt | Opcode::BinInt1 | Opcode::BinInt2 | Opcode::Long1 | Opcode::BinFloat => {
                let number = self.number(opcode, source)?;
                self.stack.push(number);
            }
            Opcode::ShortBinUnicode => {
                let length = source.byte()?;
                self.string(length.into(), source)?;
            }
            Opcode::BinUnicode => {
                let length = u32::from_le_bytes(source.array()?);
                self.string(length.into(), source)?;
            }
            Opcode::BinUnicode8 => {
                let length = u64::from_le_bytes(source.array()?);
                self.string(length, source)?;
            }
            Opcode::EmptyDict => {
                let id = self.heap.new_dict().ok_or(FULL)?;
                self.stack.push(Value::Dict(id));
            }
            Opcode::EmptyList => {
                let id = self.heap.new_list(Vec::new()).ok_or(FULL)?;
                self.stack.push(Value::List(id));
            }
            Opcode::EmptyTuple => self.tuple(self.stack.len())?,
            Opcode::Tuple => {
                let height = self.pop_mark()?;
                self.tuple(height)?;
            }
            Opcode::Tuple1 => self.tuple(self.height_below(1)?)?,
            Opcode::Tuple2 => self.tuple(self.height_below(2)?)?,
            Opcode::Tuple3 => self.tuple(self.height_below(3)?)?,
            Opcode::Append => self.append(self.height_below(1)?)?,
            Opcode::Appends => {
                let height = self.pop_mark()?;
                self.append(height)?;
            }
            Opcode::SetItem => self.set_items(self.height_below(2)?)?,
            Opcode::SetItems => {
                let height = self.pop_mark()?;
                self.set_items(height)?;
            }
            Opcode::Memoize => {
                let top = self.top()?;
                let number = self.memo.push(top).ok_or(MEMO)?;
                self.remember(top, number);
            }
            Opcode::BinPut => {
                let number = source.byte()?;
                self.put(number.into())?;
            }
            Opcode::LongBinPut => {
                let number = u32::from_le_bytes(source.array()?);
                self.put(number)?;
            }
            Opcode::BinGet => {
                let number = source.byte()?;
                self.get(number.into())?;
            }
            Opcode::LongBinGet => {
                let number = u32::from_le_bytes(source.array()?);
                self.get(number)?;
            }
        }
        Ok(())
    }

    fn number(&mut self, opcode: Opcode, source: &mut Source<impl Read>) -> Result<Value, Stop> {
        Ok(match opcode {
            Opcode::BinInt1 => Value::Int(source.byte()?.into()),
            Opcode::BinInt2 => Value::Int(u16::from_le_bytes(source.array()?).into()),
            Opcode::BinInt => Value::Int(i32::from_le_bytes(source.array()?).into()),
            Opcode::BinFloat => Value::Float(f64::from_be_bytes(source.array()?)),
            _ => {
                let length = source.byte()?;
                source.bytes(length.into(), &mut self.text)?;
                let value = integer(&self.text);
                self.wide_integers += usize::from(value.is_none());
                value.unwrap_or(Value::None)
            }
        })
    }

    fn top(&self) -> Result<Value, Stop> {
        self.stack.last().copied().ok_or(Stop::Malformed("the stack is empty"))
    }

    /// The stack height with the topmost `count` values taken away; a mark stands in the way of none of them.
    fn height_below(&self, count: usize) -> Result<usize, Stop> {
        let floor = self.marks.last().copied().unwrap_or(0);
        let height = self.stack.len().checked_sub(count).filter(|height| *height >= floor);
        height.ok_or(Stop::Malformed("fewer values on the stack than the opcode takes"))
    }

    fn pop_mark(&mut self) -> Result<usize, Stop> {
        let height = self.marks.pop().ok_or(Stop::Malformed("no mark on the stack"))?;
        Ok(height.min(self.stack.len()))
    }

    fn pop_value_or_mark(&mut self) -> Result<(), Stop> {
        if self.marks.last() == Some(&self.stack.len()) {
            self.marks.pop();
            return Ok(());
        }
        self.stack.pop().map(drop).ok_or(Stop::Malformed("the stack is empty"))
    }

    fn string(&mut self, length: u64, source: &mut Source<impl Read>) -> Result<(), Stop> {
        let length = usize::try_from(length).ok().filter(|length| *length <= STRING_BYTES);
        let length = length.ok_or(Stop::Limit {
            code: "limit-pickle-string",
            what: "bytes in a string",
            cap: STRING_BYTES,
        })?;
        source.bytes(length, &mut self.text)?;
        // Python writes lone surrogates, which are no UTF-8, as such: those become replacement characters.
        let text = String::from_utf8_lossy(&self.text);
        self.broken_strings += usize::from(matches!(text, std::borrow::Cow::Owned(_)));
        let id = self.heap.intern(&text).ok_or(FULL)?;
        self.stack.push(Value::String(id));
        Ok(())
    }

    fn tuple(&mut self, height: usize) -> Result<(), Stop> {
        let items = self.stack.get(height..).unwrap_or_default();
        let id = self.heap.new_tuple(items).ok_or(FULL)?;
        self.stack.truncate(height);
        self.stack.push(Value::Tuple(id));
        Ok(())
    }

    fn append(&mut self, height: usize) -> Result<(), Stop> {
        let (below, items) = self.stack.split_at_checked(height).ok_or(NO_LIST)?;
        let Some(Value::List(id)) = below.last() else {
            return Err(NO_LIST);
        };
        self.heap.append(*id, items);
        self.stack.truncate(height);
        Ok(())
    }

    fn set_items(&mut self, height: usize) -> Result<(), Stop> {
        let (below, pairs) = self.stack.split_at_checked(height).ok_or(NO_DICT)?;
        let Some((Value::Dict(id), below)) = below.split_last() else {
            return Err(NO_DICT);
        };
        let id = *id;
        if pairs.len() % 2 != 0 {
            return Err(Stop::Malformed("a dict key without a value"));
        }
        let dict = self.heap.dict_mut(id).ok_or(NO_DICT)?;
        let foldable = dict.pairs.is_empty() && !dict.shared;
        let memo = dict.memo;
        let folded = if foldable {
            let parent = parent(below, self.marks.last().copied());
            self.fold.dict(&mut self.heap, parent, pairs)
        } else {
            Folded::Kept
        };
        match folded {
            Folded::Kept => {
                self.heap.set_items(id, pairs);
                self.stack.truncate(height);
            }
            Folded::Replaced(index) => {
                self.stack.truncate(height - 1);
                self.stack.push(Value::Folded(index));
                if let Some(number) = memo {
                    self.memo.replace(number, Value::Folded(index));
                }
                self.heap.recycle(id);
            }
            Folded::Consumed => {
                self.stack.truncate(height - 1);
                // The C++ writer appends a whole trace at once: a run of consumed entries takes one place.
                if self.stack.last() != Some(&Value::Gone) {
                    self.stack.push(Value::Gone);
                }
                if let Some(number) = memo {
                    self.memo.forget(number);
                }
                self.heap.recycle(id);
            }
        }
        Ok(())
    }

    fn put(&mut self, number: u32) -> Result<(), Stop> {
        let top = self.top()?;
        if !self.memo.put(number, top) {
            return Err(MEMO);
        }
        self.remember(top, number);
        Ok(())
    }

    /// Notes in a dict where it is memoized, so that folding it can mend the memo.
    fn remember(&mut self, value: Value, number: u32) {
        if let Value::Dict(id) = value
            && let Some(dict) = self.heap.dict_mut(id)
        {
            dict.shared |= dict.memo.is_some();
            dict.memo = Some(number);
        }
    }

    fn get(&mut self, number: u32) -> Result<(), Stop> {
        let value = self
            .memo
            .get(number)
            .ok_or(Stop::Malformed("the memo has nothing under that number"))?;
        if let Value::Dict(id) = value {
            self.share(id);
        }
        self.stack.push(value);
        Ok(())
    }

    fn share(&mut self, id: DictId) {
        if let Some(dict) = self.heap.dict_mut(id) {
            dict.shared = true;
        }
    }

    /// Puts what stands above each mark into the container below it, as the missing opcodes would have.
    fn close_open_containers(&mut self) {
        while let Some(mark) = self.marks.pop() {
            let height = mark.min(self.stack.len());
            // What does not fit is let go: this is salvage, and the problem is already named.
            let _ = match height.checked_sub(1).and_then(|top| self.stack.get(top)) {
                Some(Value::List(_)) => self.append(height),
                Some(Value::Dict(_)) => {
                    self.close_single_appends(height);
                    self.set_items(height)
                }
                _ => Ok(()),
            };
            self.stack.truncate(height);
        }
    }

    /// Between a mark and the top of a dict under construction stand keys and values; after a value that is a list
    /// there may stand a single item that an `APPEND` would have put into it, and so on inwards.
    fn close_single_appends(&mut self, height: usize) {
        let open = self.stack.split_off(height);
        let mut rest = open.as_slice();
        while let [key @ Value::String(_), value, tail @ ..] = rest {
            let length = tail
                .iter()
                .take_while(|value| !matches!(value, Value::String(_)))
                .count();
            let (inner, tail) = tail.split_at(length);
            let chain: Vec<Value> = std::iter::once(*value).chain(inner.iter().copied()).collect();
            for pair in chain.windows(2).rev() {
                if let [Value::List(list), item] = pair {
                    self.heap.append(*list, std::slice::from_ref(item));
                }
            }
            self.stack.extend([*key, *value]);
            rest = tail;
        }
    }
}

const FULL: Stop = Stop::Limit {
    code: "limit-pickle-values",
    what: "containers",
    cap: u32::MAX as usize,
};
const MEMO: Stop = Stop::Malformed("the memo number runs ahead of what was stored");
const NO_LIST: Stop = Stop::Malformed("something is appended to what is no list");
const NO_DICT: Stop = Stop::Malformed("something is set in what is no dict");

/// The container that the value on top of `below` is about to go into. A single item has its list right below it;
/// one of many has it below the mark.
fn parent(below: &[Value], mark: Option<usize>) -> Option<Value> {
    match below.last() {
        Some(list @ Value::List(_)) => Some(*list),
        _ => below.get(mark?.checked_sub(1)?).copied(),
    }
}

/// A little-endian two's complement integer of any width; `None` when its value needs more than 64 bits.
fn integer(bytes: &[u8]) -> Option<Value> {
    let negative = bytes.last().is_some_and(|last| last & 0x80 != 0);
    let fill = if negative { 0xff } else { 0 };
    let (low, high) = bytes.split_at(bytes.len().min(8));
    if high.iter().any(|byte| *byte != fill) {
        return None;
    }
    let mut wide = [fill; 8];
    wide[..low.len()].copy_from_slice(low);
    let number = u64::from_le_bytes(wide);
    match (number as i64, negative) {
        (number, true) => (number < 0).then_some(Value::Int(number)),
        (signed, false) if signed >= 0 => Some(Value::Int(signed)),
        _ => Some(Value::Unsigned(number)),
    }
}
