//! `whycrash plugin`: write, try and publish diagnosis plugins (`docs/plugins.md`).

mod build;
mod case;
mod faults;
mod inspect;
mod installed;
mod junit;
mod key;
mod names;
mod native;
mod new;
mod preview;
mod project;
mod publish;
mod reference;
mod scaffold;
mod sources;
mod test;
mod watch;

use std::process::ExitCode;

use crate::config::Config;

/// Write, try and publish diagnosis plugins
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    New(new::Args),
    Build(build::Args),
    Test(test::Args),
    Case(case::Args),
    Inspect(inspect::Args),
    Reference(reference::Args),
    Preview(preview::PreviewArgs),
    /// Publish what a preview tried, and make what it would change true, of all its reports at once
    Apply(preview::ActArgs),
    /// Undo a preview that was applied: the plugin before it and what was concluded before are back
    Undo(preview::ActArgs),
    /// End a preview that is running or ready; nothing has changed
    Cancel(preview::ActArgs),
    Key(key::KeyArgs),
    Sign(key::SignArgs),
    Publish(publish::PublishArgs),
    List(publish::ListArgs),
    /// Put the version of a plugin that was published before the present one in its place; needs a token with the scope
    /// `admin`
    Rollback(publish::NamedArgs),
    /// Keep a published plugin from taking part, until it is enabled; needs a token with the scope `admin`
    Disable(publish::NamedArgs),
    /// Let a plugin take part again that was disabled, or set aside because it kept failing; needs a token with the scope `admin`
    Enable(publish::NamedArgs),
    /// Remove a plugin that was published to a server; needs a token with the scope `admin`
    Remove(publish::NamedArgs),
}

/// Does what was asked.
pub fn execute(args: &Args, config: &Config) -> anyhow::Result<ExitCode> {
    match &args.command {
        Command::New(args) => new::execute(args),
        Command::Build(args) => build::execute(args),
        Command::Test(args) => test::execute(args),
        Command::Case(args) => case::execute(args),
        Command::Inspect(args) => inspect::execute(args, config),
        Command::Reference(args) => reference::execute(args),
        Command::Preview(args) => preview::preview(args, config),
        Command::Apply(args) => preview::act("apply", args, config),
        Command::Undo(args) => preview::act("undo", args, config),
        Command::Cancel(args) => preview::act("cancel", args, config),
        Command::Key(args) => key::make(args),
        Command::Sign(args) => key::sign(args),
        Command::Publish(args) => publish::publish(args, config),
        Command::List(args) => publish::list(args, config),
        Command::Rollback(args) => publish::roll_back(args, config),
        Command::Disable(args) => publish::switch("disable", args, config),
        Command::Enable(args) => publish::switch("enable", args, config),
        Command::Remove(args) => publish::remove(args, config),
    }
}
