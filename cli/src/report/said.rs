//! What is said of a crash where it happened.

use std::path::Path;

use whycrash_evidence::Artifact;

use super::handover::Options;
use crate::config::Config;
use crate::output::Clean;

/// A diagnosis that is to be said.
#[derive(Debug)]
pub struct Said {
    /// The report's id.
    pub id: String,
    #[cfg(feature = "diagnosis")]
    document: whycrash_plugin_host::Document,
    #[cfg(feature = "diagnosis")]
    width: usize,
}

impl Said {
    /// A screen of it, with the command that shows the rest of what is kept in a folder; of a job that still runs also
    /// what its threads do.
    #[cfg(feature = "diagnosis")]
    pub fn text(&self, artifacts: &[Artifact], kept: Option<&Path>) -> Clean {
        use std::panic::{AssertUnwindSafe, catch_unwind};

        use crate::render::{Answer, Files, not_run, screen, threads};

        let whole = kept.map(|folder| format!("whycrash diagnose --full {}", folder.display()));
        let files = Files::of(artifacts);
        let answer = Answer::new(&self.document, &files, self.id.clone(), whole.unwrap_or_default());
        // Whatever goes wrong with words, what is kept is sent.
        let text = || {
            let mut text = screen(&answer, self.width);
            if self.is_of_running_job() {
                text.push(threads(&self.document.evidence, self.width));
            }
            if let Some(not_run) = not_run(&self.document) {
                text.end_line();
                text.push(not_run);
                text.end_line();
            }
            text
        };
        catch_unwind(AssertUnwindSafe(text)).unwrap_or_default()
    }

    #[cfg(feature = "diagnosis")]
    fn is_of_running_job(&self) -> bool {
        self.document
            .evidence
            .context
            .get("kind")
            .and_then(|kind| kind.as_str())
            == Some("hang")
    }

    /// The title of its first finding.
    #[cfg(feature = "diagnosis")]
    pub fn finding(&self) -> Option<&str> {
        self.document.findings.first().map(|finding| finding.title.as_str())
    }

    /// None: there is no diagnosis to say.
    #[cfg(not(feature = "diagnosis"))]
    #[expect(clippy::unused_self, reason = "the whole program has findings")]
    pub fn finding(&self) -> Option<&str> {
        None
    }

    /// Nothing: there is no diagnosis to say.
    #[cfg(not(feature = "diagnosis"))]
    #[expect(clippy::unused_self, reason = "the whole program has something to say")]
    pub fn text(&self, _: &[Artifact], _: Option<&Path>) -> Clean {
        Clean::default()
    }

    /// Of these artifacts; none where that is not wanted, or not possible.
    #[cfg(feature = "diagnosis")]
    pub fn of(artifacts: &[Artifact], options: &Options, config: &Config) -> Option<Self> {
        use std::panic::{AssertUnwindSafe, catch_unwind};

        use crate::{diagnoser, output, render};

        if !options.diagnose {
            return None;
        }
        let input = diagnoser::input(artifacts.to_vec());
        let diagnose = || anyhow::Ok(diagnoser::with(&options.knowledge, config)?.diagnose(&input));
        match catch_unwind(AssertUnwindSafe(diagnose)) {
            Ok(Ok(document)) => Some(Self {
                id: document.report.id.clone(),
                document,
                width: options.width,
            }),
            Ok(Err(error)) => {
                output::tell(&render::error(&error.context("whycrash can not say why")));
                None
            }
            Err(_) => None,
        }
    }

    /// Nothing: the collector alone does not diagnose. A server does, and so does the whole program.
    #[cfg(not(feature = "diagnosis"))]
    pub fn of(_: &[Artifact], _: &Options, _: &Config) -> Option<Self> {
        None
    }
}
