//! Addresses of what is elsewhere: what is given instead of them.

use std::path::Path;

/// Kinds of addresses, and the command that writes what is there to its standard output; `{}` stands for the address.
const READERS: [(&str, &str); 12] = [
    ("s3", "aws s3 cp '{}' -"),
    ("gs", "gcloud storage cat '{}'"),
    ("az", "azcopy cp '{}' --from-to BlobPipe"),
    ("abfs", "hdfs dfs -cat '{}'"),
    ("abfss", "hdfs dfs -cat '{}'"),
    ("hdfs", "hdfs dfs -cat '{}'"),
    ("oss", "ossutil cat '{}'"),
    ("http", "curl -fsSL '{}'"),
    ("https", "curl -fsSL '{}'"),
    ("ftp", "curl -fsSL '{}'"),
    ("sftp", "curl -fsSL '{}'"),
    ("scp", "curl -fsSL '{}'"),
];

/// Letters of the longest kind of address.
const KIND_LETTERS: usize = 20;

/// What to do with something that is an address and no path; none for a path.
pub fn advice(path: &Path, command: &str) -> Option<String> {
    if path.exists() {
        return None;
    }
    let address = path.to_str()?;
    let (kind, rest) = address.split_once("://")?;
    let is_kind = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '+' | '-' | '.');
    if kind.is_empty() || kind.len() > KIND_LETTERS || !kind.chars().all(is_kind) {
        return None;
    }
    if kind.eq_ignore_ascii_case("file") {
        let path = rest.strip_prefix("localhost").unwrap_or(rest);
        return Some(format!("{address} is an address: give the path itself, {path}"));
    }
    let mut readers = READERS.iter();
    let reader = readers.find(|(other, _)| kind.eq_ignore_ascii_case(other));
    Some(match reader {
        _ if rest.ends_with('/') => format!(
            "{address} is an address, and nothing is fetched from elsewhere: copy what is there to a folder, and give that \
             folder"
        ),
        Some((_, reader)) => format!(
            "{address} is an address, and nothing is fetched from elsewhere: pipe it in, with {} | {command} -",
            reader.replace("{}", address)
        ),
        None => {
            format!("{address} is an address, and nothing is fetched from elsewhere: get the file, and give its path")
        }
    })
}
