//! The one contract, and what is made of it.
//!
//! The Rust model is the contract. From it comes the description of the API (`/api/v1/openapi.json`), whose schemas are
//! JSON Schema; and from those come the types of the web UI ([`typescript()`]) and of the plugins' SDK ([`facts()`]).
//! Each is a folder of files, one a room (`rooms.rs`). What is made lies in git, because both are built without this program; a test says when it is out of date, and
//! `make contract` makes it anew. [`Contract::faults`] holds real answers against the schemas.

mod check;
mod definition;
mod facts;
mod reference;
mod rooms;
mod typescript;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

pub use definition::{Definition, Field, Shape, Type, Variant};
pub use facts::facts;
pub use reference::reference;
pub use typescript::typescript;

/// The files that are made, by name.
pub type Files = BTreeMap<String, String>;

/// The schemas of an API, by name.
#[derive(Clone, Debug)]
pub struct Contract {
    schemas: Map<String, Value>,
}

impl Contract {
    /// The schemas in a description of an API (OpenAPI 3.1).
    ///
    /// # Errors
    /// When there are none.
    pub fn of(description: &Value) -> anyhow::Result<Self> {
        let schemas = description.pointer("/components/schemas").and_then(Value::as_object);
        let schemas = schemas.ok_or_else(|| anyhow::anyhow!("the description of the API has no schemas"))?;
        Ok(Self {
            schemas: schemas.clone(),
        })
    }

    /// All types, by name.
    ///
    /// # Errors
    /// When a schema has a form that nothing is made of yet.
    pub fn definitions(&self) -> anyhow::Result<Vec<Definition>> {
        let schemas = self.schemas.iter();
        schemas.map(|(name, schema)| Definition::read(name, schema)).collect()
    }
}
