//! `whycrash plugin key` and `sign`: who made a package.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use whycrash_plugin_host::SigningKey;

use crate::output::{self, Clean};

/// Make a private key that packages are signed with, and print its public half, for a server's `plugin_trust`; of a
/// file that is there, only that
#[derive(Debug, clap::Args)]
pub struct KeyArgs {
    /// The file of the private key: an Ed25519 key in PEM, as `openssl genpkey -algorithm ed25519` also writes it
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Sign a package with a private key
#[derive(Debug, clap::Args)]
pub struct SignArgs {
    /// The package (*.zip), which is written anew with the signature in it
    #[arg(value_name = "PACKAGE")]
    package: PathBuf,
    /// The file of the private key
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
}

/// Makes a key, or looks one up.
pub fn make(args: &KeyArgs) -> anyhow::Result<ExitCode> {
    let file = &args.file;
    let key = if file.exists() {
        read(file)?
    } else {
        let (key, text) = SigningKey::generate()?;
        let created = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
        let written = created.and_then(|mut created| created.write_all(text.as_bytes()));
        written.with_context(|| format!("can not write {}", file.display()))?;
        output::tell(&Clean::from(format!("made {}; keep it secret", file.display())));
        key
    };
    let mut text = Clean::from(key.public().to_string());
    text.end_line();
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Signs a package.
pub fn sign(args: &SignArgs) -> anyhow::Result<ExitCode> {
    let package = fs::read(&args.package).with_context(|| format!("can not read {}", args.package.display()))?;
    let signed = signed(package, &args.key)?;
    let written = tempfile::NamedTempFile::new_in(
        args.package
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
            .unwrap_or(Path::new(".")),
    )
    .and_then(|mut file| file.write_all(&signed).map(|()| file))
    .and_then(|file| file.persist(&args.package).map_err(std::io::Error::from));
    written.with_context(|| format!("can not write {}", args.package.display()))?;
    output::tell(&Clean::from(format!("signed {}", args.package.display())));
    Ok(ExitCode::SUCCESS)
}

/// A package with the signature of the key in a file.
pub fn signed(package: Vec<u8>, key: &Path) -> anyhow::Result<Vec<u8>> {
    Ok(read(key)?.sign(package)?)
}

fn read(file: &Path) -> anyhow::Result<SigningKey> {
    let text = fs::read_to_string(file).with_context(|| format!("can not read {}", file.display()))?;
    SigningKey::read(&text).with_context(|| file.display().to_string())
}
