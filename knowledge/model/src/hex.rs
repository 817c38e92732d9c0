//! Addresses and 64-bit identifiers, which are hex strings in JSON because a JavaScript number holds 53 bits.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::ToSchema;

/// An address, offset or 64-bit identifier. In JSON: `"0x7f0aab1c1740"`.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, ToSchema)]
#[schema(value_type = String)]
pub struct Hex(pub u64);

impl fmt::Display for Hex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::Debug for Hex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<u64> for Hex {
    fn from(value: u64) -> Self {
        Self(value)
    }
}

impl FromStr for Hex {
    type Err = ParseIntError;

    /// Reads hexadecimal digits, behind `0x` or bare.
    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        let digits = text.strip_prefix("0x").unwrap_or(text);
        u64::from_str_radix(digits, 16).map(Self)
    }
}

impl Serialize for Hex {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse()
            .map_err(|_| serde::de::Error::custom(format_args!("not a hexadecimal number: {text}")))
    }
}
