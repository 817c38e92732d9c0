//! The command line, tested through the real binary.

mod armed;
mod context;
mod cores;
mod crash;
mod hangs;
mod hostile;
mod interface;
mod knowledge;
mod output;
mod paths;
mod remote;
mod scrubbed;
mod signals;
mod spool;
mod status;
mod support;
mod terminal;
mod texts;
mod tree;
mod ways;
