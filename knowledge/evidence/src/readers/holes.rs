//! Copying what can be read only once to a file in which zeros take no room, as cores have them.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::FileExt as _;

/// Bytes that are copied at a time, and bytes that are left out where they are all zero.
const PIECE: usize = 128 << 10;
const BLOCK: usize = 4096;

/// How a copy ended; `F` is why there is no room.
#[derive(Debug)]
pub enum End<F> {
    /// There was no more to copy.
    Whole,
    /// There is no room for more.
    Full(F),
    /// It can not be read on.
    Torn(io::Error),
    /// The file can not be written.
    Unwritten(io::Error),
}

/// The next bytes of what is copied.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// How many there are.
    pub bytes: u64,
    /// Those that take room on the disk, since they are not all zero.
    pub on_disk: u64,
    /// Whether they are of an ELF file, which may be mostly holes.
    pub is_core: bool,
}

/// Takes room for a piece, or says why there is none.
pub type TakeRoom<'a, F> = &'a mut dyn FnMut(Piece) -> Result<(), F>;

/// Copies to a file as far as there is room; how many bytes that are.
pub fn copy<F>(content: &mut dyn Read, file: &File, room: TakeRoom<'_, F>) -> (u64, End<F>) {
    let mut at = 0;
    let end = each_piece(content, room, |piece| {
        for (number, block) in piece.chunks(BLOCK).enumerate() {
            if !is_zero(block) {
                file.write_all_at(block, at + (number * BLOCK) as u64)?;
            }
        }
        at += piece.len() as u64;
        Ok(())
    });
    match file.set_len(at) {
        Ok(()) => (at, end),
        Err(error) => (at, End::Unwritten(error)),
    }
}

/// Reads to the end as far as there is room, and keeps nothing.
pub fn skip<F>(content: &mut dyn Read, room: TakeRoom<'_, F>) -> End<F> {
    each_piece(content, room, |_| Ok(()))
}

/// Hands over each piece after there was room for it.
fn each_piece<F>(
    content: &mut dyn Read,
    room: TakeRoom<'_, F>,
    mut put: impl FnMut(&[u8]) -> io::Result<()>,
) -> End<F> {
    let mut buffer = vec![0; PIECE];
    let mut is_core = None;
    loop {
        let (filled, torn) = fill(content, &mut buffer);
        let piece = buffer.get(..filled).unwrap_or_default();
        let is_core = *is_core.get_or_insert_with(|| piece.starts_with(b"\x7fELF"));
        let on_disk: usize = piece
            .chunks(BLOCK)
            .filter(|block| !is_zero(block))
            .map(<[u8]>::len)
            .sum();
        let taken = Piece {
            bytes: filled as u64,
            on_disk: on_disk as u64,
            is_core,
        };
        if let Err(full) = room(taken) {
            return End::Full(full);
        }
        if let Err(error) = put(piece) {
            return End::Unwritten(error);
        }
        match torn {
            Some(error) => return End::Torn(error),
            None if filled < buffer.len() => return End::Whole,
            None => {}
        }
    }
}

/// Fills the buffer as far as it can; what ended that, if it was no end of the content.
fn fill(content: &mut dyn Read, buffer: &mut [u8]) -> (usize, Option<io::Error>) {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match content.read(rest) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return (filled, Some(error)),
        }
    }
    (filled, None)
}

fn is_zero(block: &[u8]) -> bool {
    static ZEROS: [u8; BLOCK] = [0; BLOCK];
    ZEROS.get(..block.len()) == Some(block)
}
