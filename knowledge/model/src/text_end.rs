//! How the text of a program ends.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Place;

/// How a text ends: what there is to believe that its run ended well, or that it is of a run at all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct TextEnd {
    /// The artifact.
    pub artifact: String,
    /// How many lines it has, as far as it was read.
    pub lines: u64,
    /// What its last lines show.
    pub sign: EndSign,
    /// The line that shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Place>,
    /// That line, shortened.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
}

/// What the last lines of a text show of its run, the best first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EndSign {
    /// Somebody asked for the exit status, and it was 0.
    ExitZero,
    /// Tests were counted, and none of them failed.
    TestsPassed,
    /// The program says that it came to its end.
    Finished,
    /// Work goes on: steps of training, requests that were answered.
    Progress,
    /// Lines as programs log them: with a time, a level, a rank.
    LogLines,
    /// Nothing that programs print while they run: the text may be of no run at all.
    #[default]
    #[serde(other)]
    None,
}

impl EndSign {
    /// True where the run is known to have ended well.
    pub fn is_good_end(self) -> bool {
        matches!(self, Self::ExitZero | Self::TestsPassed | Self::Finished)
    }
}
