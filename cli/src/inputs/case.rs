//! The folder of a case: what a crash left, beside what is said of it.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::Deserialize;

/// What says that a folder is a case.
const CASE: &str = "case.toml";
/// Files of a case that no crash left: what must be found, what is known of other reports, and what a plugin is told.
pub const NOT_LEFT: [&str; 4] = [CASE, "evidence.json", "expected.json", "history.json"];

/// What a case says of its files; all else is for tests.
#[derive(Deserialize)]
struct Case {
    /// Names of what the crash left, where not all of the folder is.
    artifacts: Option<Vec<String>>,
}

/// What of a folder a crash left.
pub enum Left {
    /// All of it: it is no case.
    Everything,
    /// All but [`NOT_LEFT`].
    AllButCase,
    /// These files, which the case names.
    Named(Vec<PathBuf>),
}

impl Left {
    /// What the case in a folder says, if there is one.
    ///
    /// # Errors
    /// When `case.toml` can not be read, or names a file that is not there.
    pub fn of(folder: &Path) -> anyhow::Result<Self> {
        let path = folder.join(CASE);
        if !path.is_file() {
            return Ok(Self::Everything);
        }
        let text = std::fs::read_to_string(&path).with_context(|| format!("can not read {}", path.display()))?;
        let case: Case = toml::from_str(&text).with_context(|| format!("{} does not parse", path.display()))?;
        let Some(names) = case.artifacts else {
            return Ok(Self::AllButCase);
        };
        let named = |name: String| {
            let file = folder.join(&name);
            match std::fs::metadata(&file) {
                Ok(_) => Ok(file),
                Err(error) => {
                    Err(super::missing::explain(&file, &error).context(format!("{} names {name}", path.display())))
                }
            }
        };
        names
            .into_iter()
            .map(named)
            .collect::<anyhow::Result<_>>()
            .map(Self::Named)
    }
}
