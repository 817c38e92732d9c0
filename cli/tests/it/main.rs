//! The command line, tested through the real binary.
