//! Hostile plugins against the host: each alone and in crowds, on the command line and in a live server.

mod alone;
mod command_line;
mod crowd;
mod earlier;
mod odd_packages;
mod packages;
mod server;
mod support;
mod two_faced;
