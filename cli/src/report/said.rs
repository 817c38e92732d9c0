//! What is said of a crash where it happened.

use whycrash_evidence::Artifact;

use super::handover::Options;
use crate::config::Config;
use crate::output::Clean;

/// A diagnosis as a person reads it.
#[derive(Debug)]
pub struct Said {
    /// The report's id.
    pub id: String,
    /// Its text.
    pub text: Clean,
}

impl Said {
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
                text: render::document(&document, &render::Files::of(artifacts), options.width),
                id: document.report.id,
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
