//! Formats that people have beside a crash, and that tell nothing of it: known by name, so that who hands one over learns
//! what it is.

/// Beginnings of files, and what such a file is.
const BEGINNINGS: [(&[u8], &str); 22] = [
    (b"\x89PNG\r\n\x1a\n", "a picture (PNG)"),
    (b"\xff\xd8\xff", "a picture (JPEG)"),
    (b"GIF8", "a picture (GIF)"),
    (b"%PDF-", "a document (PDF)"),
    (b"\x93NUMPY", "an array of NumPy"),
    (b"\x89HDF\r\n\x1a\n", "a file of HDF5, such as weights of Keras"),
    (b"PAR1", "a table (Parquet)"),
    (b"ARROW1", "a table (Arrow)"),
    (b"SQLite format 3\0", "a database (SQLite)"),
    (b"GGUF", "weights of a model (GGUF)"),
    (b"\0asm", "a program (WebAssembly)"),
    (b"MZ", "a program of Windows"),
    (b"\xcf\xfa\xed\xfe", "a program of macOS"),
    (b"\xca\xfe\xba\xbe", "a program of Java or macOS"),
    (b"PK\x03\x04", "an archive (ZIP), such as a checkpoint of PyTorch"),
    (b"\x80\x02", "a pickle, such as a checkpoint of PyTorch"),
    (b"\x80\x03", "a pickle, such as a checkpoint of PyTorch"),
    (b"\x80\x04", "a pickle, such as a checkpoint of PyTorch"),
    (b"\x80\x05", "a pickle, such as a checkpoint of PyTorch"),
    (b"RIFF", "sound or a film (RIFF)"),
    (b"OggS", "sound (Ogg)"),
    (b"ID3", "sound (MP3)"),
];

/// Bytes of which a file of zeros has so many at its beginning.
const ZEROS: usize = 64;

/// What a file is that starts so, where that is known.
pub fn name_of(head: &[u8]) -> Option<&'static str> {
    let known = BEGINNINGS.iter().find(|(beginning, _)| head.starts_with(beginning));
    if let Some((_, name)) = known {
        return Some(name);
    }
    // safetensors: the length of a header, and the header, which is JSON.
    let is_safetensors = head.get(8..10) == Some(b"{\"") && head.get(5..8) == Some(&[0; 3]);
    let is_blank = head
        .get(..ZEROS)
        .is_some_and(|start| start.iter().all(|byte| *byte == 0));
    match (is_safetensors, is_blank) {
        (true, _) => Some("weights of a model (safetensors)"),
        (_, true) => {
            Some("nothing but zeros, as a file is that was made and never written, or lost to a full or failing disk")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::name_of;

    #[test]
    fn files_are_known_by_how_they_begin() {
        let safetensors = [b"\x10\x01\0\0\0\0\0\0{\"w\":{}}".as_slice(), &[7; 80]].concat();
        for (head, words) in [
            (b"\x89PNG\r\n\x1a\n\0\0".as_slice(), "PNG"),
            (b"\x80\x02}q\0", "checkpoint"),
            (&safetensors, "safetensors"),
            (&[0; 4096], "zeros"),
        ] {
            assert!(name_of(head).is_some_and(|name| name.contains(words)), "{words}");
        }
        assert_eq!(name_of(b"\x01\x02\x03 something else"), None);
    }
}
