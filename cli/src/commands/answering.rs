//! How a report is answered about: in which form, and with which exit status.

use std::process::ExitCode;

use clap::ValueEnum;
use serde::Serialize;
use whycrash_plugin_host::VerdictKind;

use crate::output::{self, Format};
use crate::render::{self, Answer};

/// How to say what a report comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::Args)]
pub struct Form {
    /// How to answer
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    format: ReportFormat,
    /// All that is known, where a screen of it is not enough
    #[arg(long, conflicts_with_all = ["short", "format"])]
    full: bool,
    /// One line: report, verdict, cause, confidence, line of the program and title, with tabs between
    #[arg(long, conflicts_with = "format")]
    short: bool,
    /// Tell the verdict by the exit status: 0 nothing failed, 10 a cause, 11 a failure that nobody knows, 12 could not
    /// be read
    #[arg(long)]
    exit_code: bool,
}

/// The forms of an answer about a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ReportFormat {
    /// For a person
    #[default]
    Text,
    /// One JSON document on standard output
    Json,
    /// Markdown, for a ticket
    Markdown,
    /// An annotation of a GitHub workflow
    Github,
    /// A report of JUnit's form
    Junit,
}

impl Form {
    /// Prints what the answer says; as JSON this value.
    pub fn print<T: Serialize>(self, value: &T, answer: &Answer<'_>) -> anyhow::Result<()> {
        let width = output::width();
        match self.format {
            ReportFormat::Json => output::answer(Format::Json, value, |_| output::Clean::default()),
            ReportFormat::Markdown => output::print(&render::ticket(answer)),
            ReportFormat::Github => output::print(&render::annotations(answer)),
            ReportFormat::Junit => output::print(&render::junit(answer)),
            ReportFormat::Text if self.full => output::print(&render::document(answer, width)),
            ReportFormat::Text if self.short => output::print(&render::short(answer)),
            ReportFormat::Text => output::print(&render::screen(answer, width)),
        }
    }

    /// The form of a word about a report that is not read yet: JSON where that was asked for.
    pub fn of_a_word(self) -> Format {
        match self.format {
            ReportFormat::Json => Format::Json,
            _ => Format::Text,
        }
    }

    /// The exit status that tells the verdict, where that was asked for.
    pub fn status(self, answer: &Answer<'_>) -> Option<ExitCode> {
        self.exit_code.then(|| {
            ExitCode::from(match answer.kind() {
                Some(VerdictKind::NothingFailed) => 0,
                Some(VerdictKind::Cause) => 10,
                Some(VerdictKind::UnknownFailure) => 11,
                Some(VerdictKind::Unreadable) => 12,
                // A report that is being read has no verdict yet.
                None => 1,
            })
        })
    }

    /// The exit status where there is no verdict yet.
    pub fn status_unread(self) -> ExitCode {
        if self.exit_code {
            ExitCode::FAILURE
        } else {
            ExitCode::SUCCESS
        }
    }
}
