//! Access tokens. Only their hashes are stored: who reads the database can not use them.

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Digest, Result, ids::hex};

/// What a token allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Sending reports.
    Ingest,
    /// Reading reports, searching.
    Read,
    /// Changing what people wrote.
    Write,
    /// Everything.
    Admin,
}

impl Scope {
    /// The name used on the command line and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ingest => "ingest",
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }

    /// Whether a token with this scope may do what needs `needed`. `write` includes `read`.
    pub fn allows(self, needed: Self) -> bool {
        self == needed || self == Self::Admin || (self == Self::Write && needed == Self::Read)
    }
}

/// A new token: the only time that its secret is seen.
#[derive(Clone)]
pub struct Token {
    secret: String,
}

impl Token {
    /// A token of 32 random bytes.
    pub fn generate() -> std::io::Result<Self> {
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
        Ok(Self {
            secret: format!("whycrash_{}", hex(&bytes)),
        })
    }

    /// What the client sends as `Authorization: Bearer …`.
    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// What is stored of a secret. A plain hash is enough: the secret has 256 random bits, so nobody can guess it.
    pub fn hash(secret: &str) -> Digest {
        Digest::of(secret.as_bytes())
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

/// A token as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRecord {
    /// Names it to people.
    pub name: String,
    /// What it allows.
    pub scopes: Vec<Scope>,
    /// When it was made.
    pub created: Timestamp,
}

impl TokenRecord {
    /// Whether it allows what needs this scope.
    pub fn allows(&self, needed: Scope) -> bool {
        self.scopes.iter().any(|scope| scope.allows(needed))
    }
}

/// Access tokens by the hash of their secret.
#[async_trait]
pub trait Tokens: Send + Sync + std::fmt::Debug {
    /// Adds a token; false if the name is taken.
    async fn add_token(&self, hash: &Digest, token: &TokenRecord) -> Result<bool>;

    /// The token with this hash, or none.
    async fn token(&self, hash: &Digest) -> Result<Option<TokenRecord>>;

    /// All tokens by name.
    async fn tokens(&self) -> Result<Vec<TokenRecord>>;

    /// Whether there ever was a token, one that was revoked included.
    async fn had_any(&self) -> Result<bool>;

    /// Removes the token of this name; false if there is none.
    async fn revoke_token(&self, name: &str) -> Result<bool>;
}
