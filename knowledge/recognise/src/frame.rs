//! Frames of a stack, and what must hold of one.

use crate::Flaw;
use crate::condition::Caught;
use crate::expression::Expression;
use crate::table::FramePattern;

/// A frame, as a report tells it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Framed {
    /// `native`, `python` or `gpu`.
    pub world: String,
    /// `program`, `library` or `machinery`.
    pub whose: String,
    /// Name of the function.
    pub function: Option<String>,
    /// Path of the source file.
    pub file: Option<String>,
    /// Line in it.
    pub line: Option<u32>,
    /// Path of the binary.
    pub module: Option<String>,
}

/// Names that a table which asks for a frame can use in its texts: of the first frame that it asks for.
pub(crate) const NAMES: [&str; 3] = ["frame.function", "frame.file", "frame.line"];

const WORLDS: [&str; 3] = ["native", "python", "gpu"];
const OWNERS: [&str; 3] = ["program", "library", "machinery"];

/// A frame pattern, ready to be held against frames.
#[derive(Clone, Debug)]
pub(crate) struct Sought {
    world: Option<String>,
    whose: Option<String>,
    function: Option<Expression>,
    file: Option<Expression>,
    module: Option<Expression>,
    within: usize,
}

impl Sought {
    pub(crate) fn new(pattern: &FramePattern) -> Result<Self, Flaw> {
        if *pattern == FramePattern::default() {
            return Err(Flaw::new(
                &[],
                "the frame is empty: give `world`, `whose`, `function`, `file`, `module` or `within`",
            ));
        }
        let known = |member: &str, value: &Option<String>, values: &[&str]| match value {
            Some(value) if !values.contains(&value.as_str()) => Err(Flaw::new(
                &[member],
                format!("`{value}` is none of {}", values.join(", ")),
            )),
            _ => Ok(value.clone()),
        };
        let expression = |pattern: &Option<String>| pattern.as_deref().map(Expression::new);
        Ok(Self {
            world: known("world", &pattern.world, &WORLDS)?,
            whose: known("whose", &pattern.whose, &OWNERS)?,
            function: expression(&pattern.function),
            file: expression(&pattern.file),
            module: expression(&pattern.module),
            within: pattern.within.unwrap_or(usize::MAX),
        })
    }

    /// The innermost frame that fits, by its position; what its patterns' named groups caught is added to `caught`.
    pub(crate) fn find(&self, stack: &[Framed], caught: &mut Caught) -> Option<usize> {
        stack
            .iter()
            .take(self.within)
            .position(|frame| self.fits(frame, caught))
    }

    fn fits(&self, frame: &Framed, caught: &mut Caught) -> bool {
        let is = |wanted: &Option<String>, value: &str| wanted.as_deref().is_none_or(|wanted| wanted == value);
        let mut matches = |pattern: &Option<Expression>, value: &Option<String>| match (pattern, value) {
            (None, _) => true,
            (Some(pattern), Some(value)) => pattern.catch(value, caught),
            (Some(_), None) => false,
        };
        is(&self.world, &frame.world)
            && is(&self.whose, &frame.whose)
            && matches(&self.function, &frame.function)
            && matches(&self.file, &frame.file)
            && matches(&self.module, &frame.module)
    }

    /// What it asks for, in words.
    pub(crate) fn in_words(&self) -> String {
        let is = [("world", &self.world), ("whose", &self.whose)];
        let is = is
            .into_iter()
            .filter_map(|(member, value)| Some(format!("{member} {}", value.as_ref()?)));
        let matches = [
            ("function", &self.function),
            ("file", &self.file),
            ("module", &self.module),
        ];
        let matches = matches
            .into_iter()
            .filter_map(|(member, pattern)| Some(format!("{member} '{}'", pattern.as_ref()?.pattern())));
        let within = (self.within < usize::MAX).then(|| format!("among the {} innermost", self.within));
        let said: Vec<String> = is.chain(matches).chain(within).collect();
        format!("a frame: {}", said.join(", "))
    }

    /// Names of its patterns' groups.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &str> {
        let patterns = [&self.function, &self.file, &self.module];
        patterns.into_iter().flatten().flat_map(Expression::groups)
    }
}

/// Gives the names of [`NAMES`] their values.
pub(crate) fn name(frame: &Framed, caught: &mut Caught) {
    let file = frame
        .file
        .as_deref()
        .map(|path| path.rsplit(['/', '\\']).next().unwrap_or(path));
    let values = [
        frame.function.clone(),
        file.map(str::to_owned),
        frame.line.map(|line| line.to_string()),
    ];
    for (name, value) in NAMES.into_iter().zip(values) {
        caught.insert(name.to_owned(), value.unwrap_or_else(|| "?".to_owned()));
    }
}
