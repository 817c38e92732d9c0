//! Who made a package: Ed25519 signatures (RFC 8032) over what the host takes from it.
//!
//! A signature stands in the package itself, as `signature.toml`, so that it goes wherever the package goes. It is
//! over the contents that are used, each with its name and its length, and not over the zip file: what else is in
//! there has no effect, and how it is packed neither.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{Cursor, Write as _};
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::archive::Archive;

/// The file in a package that has its signature.
pub(crate) const FILE: &str = "signature.toml";
/// What is signed begins with this, so that no signature over anything else can be taken for one.
const CONTEXT: &[u8] = b"whycrash plugin package, version 1\n";
/// The lines around a private key (RFC 7468).
const BEGIN: &str = "-----BEGIN PRIVATE KEY-----";
const END: &str = "-----END PRIVATE KEY-----";
/// What stands before the 32 bytes of an Ed25519 key in PKCS #8 (RFC 8410, section 7), in the version that every OpenSSL
/// reads.
const PKCS8: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];

/// A key that signatures are checked with; in text its 32 bytes as base64.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PublicKey([u8; 32]);

/// Why a key or a package is not taken.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct KeyError(String);

impl FromStr for PublicKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let bytes = STANDARD.decode(text.trim()).ok();
        let key = bytes.and_then(|bytes| bytes.try_into().ok()).map(Self);
        key.ok_or_else(|| KeyError("a public key is 32 bytes as base64, as `whycrash plugin key` prints it".to_owned()))
    }
}

impl TryFrom<String> for PublicKey {
    type Error = KeyError;

    fn try_from(text: String) -> Result<Self, KeyError> {
        text.parse()
    }
}

impl From<PublicKey> for String {
    fn from(key: PublicKey) -> Self {
        key.to_string()
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&STANDARD.encode(self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Whose packages are taken.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    /// Keys by the names of those who have them.
    pub keys: BTreeMap<String, PublicKey>,
    /// Whether plugins that none of these has signed are refused. Built-in ones never are.
    pub required: bool,
}

impl Trust {
    /// Who signed a package, by name; of a key that nobody here has a name for, the key. The error says why the package
    /// is refused.
    pub(crate) fn signer(&self, key: Option<PublicKey>) -> Result<Option<String>, String> {
        let known = key.and_then(|key| self.keys.iter().find(|(_, known)| **known == key));
        match (known, key) {
            (Some((name, _)), _) => Ok(Some(name.clone())),
            (None, Some(key)) if self.required => Err(format!("it is signed by {key}, which is no trusted key")),
            (None, None) if self.required => {
                Err("it is not signed: only packages that a trusted key has signed are taken".to_owned())
            }
            (None, key) => Ok(key.map(|key| format!("unknown key {key}"))),
        }
    }
}

/// A key that signs.
pub struct SigningKey(Ed25519KeyPair);

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.public())
    }
}

impl SigningKey {
    /// A new key, and the text of its file (PKCS #8 in PEM, as OpenSSL writes it).
    pub fn generate() -> Result<(Self, String), KeyError> {
        let mut document = PKCS8.to_vec();
        let mut seed = [0; 32];
        let made = SystemRandom::new().fill(&mut seed).is_ok();
        document.extend(seed);
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&document)
            .ok()
            .filter(|_| made);
        let pair = pair.ok_or_else(|| KeyError("this machine could not make a key".to_owned()))?;
        let text = format!("{BEGIN}\n{}\n{END}\n", STANDARD.encode(document));
        Ok((Self(pair), text))
    }

    /// The key in the text of a file: an Ed25519 key as PKCS #8 in PEM, as [`Self::generate`] and `openssl genpkey
    /// -algorithm ed25519` write it.
    pub fn read(text: &str) -> Result<Self, KeyError> {
        let inner = text.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END));
        let (inner, _) = inner.ok_or_else(|| {
            KeyError("it has no private key: its file begins with -----BEGIN PRIVATE KEY-----".to_owned())
        })?;
        let base64: String = inner.split_whitespace().collect();
        let document = STANDARD.decode(base64).ok();
        let pair = document.and_then(|document| Ed25519KeyPair::from_pkcs8_maybe_unchecked(&document).ok());
        pair.map(Self)
            .ok_or_else(|| KeyError("its private key is damaged, or no Ed25519 key".to_owned()))
    }

    /// What its signatures are checked with.
    pub fn public(&self) -> PublicKey {
        let bytes = self.0.public_key().as_ref().try_into();
        PublicKey(bytes.unwrap_or_default())
    }

    /// The package with this key's signature, in place of one that it had. The same package and key give the same
    /// bytes.
    pub fn sign(&self, package: Vec<u8>) -> Result<Vec<u8>, KeyError> {
        let unreadable = |error: &dyn fmt::Display| KeyError(format!("the package can not be signed: {error}"));
        let from = Archive::open(package).map_err(|error| unreadable(&error))?;
        let contents = crate::package::contents(&from).map_err(|error| unreadable(&error))?;
        let signature = Signature {
            key: self.public(),
            signature: STANDARD.encode(self.0.sign(&signed(&contents))),
        };
        let text = toml::to_string(&signature).map_err(|error| unreadable(&error))?;
        let mut to = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in contents.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())) {
            add(&mut to, name, bytes).map_err(|error| unreadable(&error))?;
        }
        add(&mut to, FILE, text.as_bytes()).map_err(|error| unreadable(&error))?;
        let written = to.finish().map_err(|error| unreadable(&error))?;
        Ok(written.into_inner())
    }
}

fn add(zip: &mut ZipWriter<Cursor<Vec<u8>>>, name: &str, bytes: &[u8]) -> anyhow::Result<()> {
    zip.start_file(name, SimpleFileOptions::default())?;
    zip.write_all(bytes)?;
    Ok(())
}

/// What `signature.toml` says.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Signature {
    /// The key that it is checked with. Whether that is to be trusted is another question.
    key: PublicKey,
    signature: String,
}

/// Which key signed these contents, by the text of `signature.toml`. The error says that none did.
pub(crate) fn signed_by(text: &str, contents: &BTreeMap<String, Vec<u8>>) -> Result<PublicKey, String> {
    let Signature { key, signature } =
        toml::from_str(text).map_err(|error| format!("its {FILE} does not parse: {error}"))?;
    let signature = STANDARD.decode(signature).unwrap_or_default();
    UnparsedPublicKey::new(&ED25519, key.0)
        .verify(&signed(contents), &signature)
        .map_err(|_| {
            "its signature is not over what is in it: the package was changed after it was signed".to_owned()
        })?;
    Ok(key)
}

/// The bytes that are signed: the digest of each content, with its name.
fn signed(contents: &BTreeMap<String, Vec<u8>>) -> Vec<u8> {
    let mut bytes = CONTEXT.to_vec();
    for (name, content) in contents {
        bytes.extend((name.len() as u64).to_le_bytes());
        bytes.extend(name.as_bytes());
        bytes.extend(Sha256::digest(content));
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key of RFC 8410, section 10.3, as OpenSSL writes it, and its public half.
    const FILE_OF_OPENSSL: &str = "-----BEGIN PRIVATE KEY-----\n\
        MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n-----END PRIVATE KEY-----\n";
    const PUBLIC: &str = "Gb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=";

    fn contents(component: &[u8]) -> BTreeMap<String, Vec<u8>> {
        BTreeMap::from([("plugin.wasm".to_owned(), component.to_vec())])
    }

    #[test]
    fn a_key_is_what_its_file_says() {
        let key = SigningKey::read(FILE_OF_OPENSSL).expect("it is a key");
        assert_eq!(key.public().to_string(), PUBLIC);
        let (made, text) = SigningKey::generate().expect("a key");
        assert_eq!(SigningKey::read(&text).expect("it is one").public(), made.public());
        for text in ["", "-----BEGIN PRIVATE KEY-----", &text.replace('M', "N"), PUBLIC] {
            assert!(SigningKey::read(text).is_err(), "{text}");
        }
        for text in [
            "",
            "AAAA",
            &format!("{PUBLIC}AAAA"),
            "not base64 at all, but as long as a key is",
        ] {
            assert!(text.parse::<PublicKey>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_signature_holds_for_what_was_signed_and_nothing_else() {
        let key = SigningKey::read(FILE_OF_OPENSSL).expect("it is a key");
        let sign = |contents: &BTreeMap<String, Vec<u8>>| Signature {
            key: key.public(),
            signature: STANDARD.encode(key.0.sign(&signed(contents))),
        };
        let text = toml::to_string(&sign(&contents(b"good"))).expect("TOML");
        assert_eq!(signed_by(&text, &contents(b"good")), Ok(key.public()));
        assert!(signed_by(&text, &contents(b"bad")).is_err());
        let mut more = contents(b"good");
        more.insert("causes/x.md".to_owned(), Vec::new());
        assert!(signed_by(&text, &more).is_err());
        let (other, _) = SigningKey::generate().expect("a key");
        let theirs = text.replace(PUBLIC, &other.public().to_string());
        assert!(signed_by(&theirs, &contents(b"good")).is_err());
        for text in ["", "key = 1", "key = \"AAAA\"\nsignature = \"\""] {
            assert!(signed_by(text, &contents(b"good")).is_err(), "{text}");
        }
    }

    #[test]
    fn who_signed_is_told_by_name() {
        let (ours, theirs) = (PUBLIC.parse().expect("a key"), PublicKey([7; 32]));
        let mut trust = Trust {
            keys: BTreeMap::from([("team".to_owned(), ours)]),
            required: false,
        };
        assert_eq!(trust.signer(Some(ours)), Ok(Some("team".to_owned())));
        assert_eq!(trust.signer(None), Ok(None));
        assert_eq!(trust.signer(Some(theirs)), Ok(Some(format!("unknown key {theirs}"))));
        trust.required = true;
        assert_eq!(trust.signer(Some(ours)), Ok(Some("team".to_owned())));
        assert!(trust.signer(None).is_err() && trust.signer(Some(theirs)).is_err());
    }
}
