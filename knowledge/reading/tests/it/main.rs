//! Evidence as it is read, stored and loaded again.

mod archives;
mod budget;
mod golden;
mod heap;
mod stored;
