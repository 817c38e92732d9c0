//! The command line, tested through the real binary.

mod context;
mod crash;
mod hostile;
mod output;
mod paths;
mod remote;
mod signals;
mod status;
mod support;
mod terminal;
mod texts;
