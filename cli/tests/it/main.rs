//! The command line, tested through the real binary.

mod armed;
mod context;
mod core_handlers;
mod cores;
mod crash;
mod gpus;
mod habits;
mod hangs;
mod hostile;
mod installed;
mod interface;
mod knowledge;
mod output;
mod paths;
mod remote;
mod schedulers;
mod scrubbed;
mod signals;
mod spool;
mod status;
mod support;
mod terminal;
mod texts;
mod tree;
mod ways;
