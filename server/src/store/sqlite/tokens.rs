//! Access tokens.

use async_trait::async_trait;
use rusqlite::{OptionalExtension, Row, params};

use super::{Sqlite, millis, parse, timestamp};
use crate::store::{Digest, Result, TokenRecord, Tokens};

#[async_trait]
impl Tokens for Sqlite {
    async fn add_token(&self, hash: &Digest, token: &TokenRecord) -> Result<bool> {
        let (hash, token) = (hash.clone(), token.clone());
        self.write(move |tx| {
            let scopes = parse("scopes", serde_json::to_string(&token.scopes))?;
            let added = tx.execute(
                "INSERT INTO tokens (hash, name, scopes, created) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
                params![hash.as_str(), token.name, scopes, millis(token.created)],
            )?;
            tx.execute(
                "INSERT INTO first_token (made) SELECT ?1 WHERE NOT EXISTS (SELECT 1 FROM first_token)",
                [millis(token.created)],
            )?;
            Ok(added == 1)
        })
        .await
    }

    async fn token(&self, hash: &Digest) -> Result<Option<TokenRecord>> {
        let hash = hash.clone();
        self.read(move |connection| {
            connection
                .prepare_cached("SELECT name, scopes, created FROM tokens WHERE hash = ?1")?
                .query_row([hash.as_str()], columns)
                .optional()?
                .map(token_record)
                .transpose()
        })
        .await
    }

    async fn tokens(&self) -> Result<Vec<TokenRecord>> {
        self.read(|connection| {
            let mut statement = connection.prepare("SELECT name, scopes, created FROM tokens ORDER BY name")?;
            let rows = statement
                .query_map([], columns)?
                .collect::<rusqlite::Result<Vec<_>>>()?;
            rows.into_iter().map(token_record).collect()
        })
        .await
    }

    async fn had_any(&self) -> Result<bool> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached("SELECT EXISTS (SELECT 1 FROM first_token)")?;
            Ok(statement.query_row([], |row| row.get(0))?)
        })
        .await
    }

    async fn revoke_token(&self, name: &str) -> Result<bool> {
        let name = name.to_owned();
        self.write(move |tx| Ok(tx.execute("DELETE FROM tokens WHERE name = ?1", [name])? == 1))
            .await
    }
}

type Columns = (String, String, i64);

fn columns(row: &Row<'_>) -> rusqlite::Result<Columns> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
}

fn token_record((name, scopes, created): Columns) -> Result<TokenRecord> {
    Ok(TokenRecord {
        name,
        scopes: parse("scopes", serde_json::from_str(&scopes))?,
        created: timestamp(created)?,
    })
}
