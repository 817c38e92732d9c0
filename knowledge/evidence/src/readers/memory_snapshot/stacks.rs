//! Frames and stacks of a snapshot, each stored once.

use indexmap::IndexSet;

use crate::readers::pickle::{Heap, StringId, Value};

/// Functions of the allocator's own stack capture and of the interpreter: on every stack, and telling nothing.
/// `PyTorch`'s own viewer leaves out the same.
const DULL_FUNCTIONS: [&str; 8] = [
    "unwind::unwind",
    "CapturedTraceback::gather",
    "gather_with_cpp",
    "_start",
    "__libc_start_main",
    "PyEval_",
    "PyObject_",
    "PyFunction_",
];
/// Files of the dispatcher and the interpreter, likewise.
const DULL_FILES: [&str; 10] = [
    "core/boxing",
    "/Register",
    "/Redispatch",
    "pythonrun.c",
    "Modules/main.c",
    "Objects/call.c",
    "Objects/methodobject.c",
    "pycore_ceval.h",
    "ceval.c",
    "cpython/abstract.h",
];

/// Bytes shown of a function's or file's name.
const NAME_BYTES: usize = 1024;

/// What a frame is worth to someone who asks who allocated memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Worth {
    /// Never shown.
    Dull,
    /// Shown on stacks that have nothing better, such as those of the autograd engine's threads.
    Native,
    /// Always shown: the program's own lines, and the operators they called.
    Telling,
}

impl Worth {
    fn new(function: &str, file: &str) -> Self {
        let dull_function = DULL_FUNCTIONS.iter().any(|dull| function.contains(dull));
        if dull_function || DULL_FILES.iter().any(|dull| file.contains(dull)) {
            return Self::Dull;
        }
        let operator = function.starts_with("at::_ops::") && function.contains("::call(");
        if operator || is_python(file) {
            Self::Telling
        } else {
            Self::Native
        }
    }
}

/// Python's file names are paths of sources, or stand-ins such as `<string>` and `<eval_with_key>.3`.
fn is_python(file: &str) -> bool {
    std::path::Path::new(file)
        .extension()
        .is_some_and(|extension| extension == "py")
        || file.starts_with('<')
}

/// Names a stack. Stacks that differ only in frames that are not shown have the same name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct StackId(pub u32);

impl StackId {
    /// No frames were recorded.
    pub const NONE: Self = Self(0);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Frame {
    function: StringId,
    file: StringId,
    line: u32,
}

/// Every distinct frame and stack.
#[derive(Debug)]
pub(super) struct Stacks {
    frames: IndexSet<Frame>,
    /// Per frame.
    worth: Vec<Worth>,
    distinct: IndexSet<Box<[u32]>>,
    /// Frames of all distinct stacks together.
    stacked: usize,
    /// The stack that is looked up.
    shown: Vec<u32>,
}

impl Default for Stacks {
    fn default() -> Self {
        let distinct = IndexSet::from([Box::default()]);
        Self {
            frames: IndexSet::new(),
            worth: Vec::new(),
            distinct,
            stacked: 0,
            shown: Vec::new(),
        }
    }
}

impl Stacks {
    /// What is held now, in the units of [`Heap::held`].
    pub fn held(&self) -> usize {
        2 * self.frames.len() + 3 * self.distinct.len() + (self.stacked + self.shown.capacity()) / 8
    }

    /// Interns one frame and gives its index.
    pub fn frame(&mut self, heap: &Heap, function: StringId, file: StringId, line: u64) -> Option<u32> {
        let line = u32::try_from(line).unwrap_or(0);
        let (index, new) = self.frames.insert_full(Frame { function, file, line });
        if new {
            self.worth.push(Worth::new(heap.string(function), heap.string(file)));
        }
        u32::try_from(index).ok()
    }

    /// The stack that a `frames` member holds. The list's own memory is given back: from here on its name stands for
    /// it.
    pub fn stack(&mut self, heap: &mut Heap, frames: Option<Value>) -> StackId {
        let Some(Value::List(list)) = frames else {
            return StackId::NONE;
        };
        if let Some(id) = heap.folded_list(list) {
            return StackId(id);
        }
        self.find_shown(heap.items(Value::List(list)).unwrap_or_default());
        let index = self.distinct.get_index_of(self.shown.as_slice());
        let index = index.unwrap_or_else(|| {
            self.stacked += self.shown.len();
            self.distinct.insert_full(self.shown.as_slice().into()).0
        });
        let id = u32::try_from(index).map_or(StackId::NONE, StackId);
        heap.fold_list(list, id.0);
        id
    }

    /// Puts the frames of a list that are worth showing into `shown`.
    fn find_shown(&mut self, items: &[Value]) {
        let worth = |frame: u32| self.worth.get(frame as usize).copied().unwrap_or(Worth::Dull);
        let mut telling = false;
        self.shown.clear();
        for item in items {
            let Value::Folded(frame) = *item else { continue };
            let worth = worth(frame);
            telling |= worth == Worth::Telling;
            if worth != Worth::Dull {
                self.shown.push(frame);
            }
        }
        if telling {
            self.shown.retain(|frame| worth(*frame) == Worth::Telling);
        }
    }

    /// The innermost `cap` frames of a stack, innermost first, as `function (file:line)`.
    pub fn render(&self, heap: &Heap, id: StackId, cap: usize) -> Vec<String> {
        let frames = self.distinct.get_index(id.0 as usize).map_or(&[][..], |frames| frames);
        let frames = frames
            .iter()
            .take(cap)
            .filter_map(|frame| self.frames.get_index(*frame as usize));
        frames.map(|frame| frame.render(heap)).collect()
    }
}

impl Frame {
    fn render(self, heap: &Heap) -> String {
        let (function, file) = (name(heap, self.function), name(heap, self.file));
        match (file, self.line) {
            // libtorch writes these where it has no line table.
            ("" | "??", _) => function.to_owned(),
            (_, 0) => format!("{function} ({file})"),
            (_, line) => format!("{function} ({file}:{line})"),
        }
    }
}

/// A name as far as it is shown.
fn name(heap: &Heap, id: StringId) -> &str {
    let text = heap.string(id);
    text.get(..text.floor_char_boundary(NAME_BYTES)).unwrap_or_default()
}
