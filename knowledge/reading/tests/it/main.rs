//! Evidence as it is read, stored and loaded again.

mod budget;
mod stored;
