//! The tokens table: named tokens of callers. Belongs to the host, not to an agent.

use crate::error::Error;
use crate::row::{all_readable, first, limit, run};
use holon_domain::Timestamp;
use holon_domain::limits::NAMED_TOKENS;
use holon_domain::request_key::{TokenRecord, TokenScope};
use rusqlite::{Connection, params};

pub(crate) const ALL: &str =
    "SELECT name, hash, scope, created_at FROM tokens ORDER BY name LIMIT ?1";
pub(crate) const COUNT: &str = "SELECT count(*) FROM tokens";
pub(crate) const ADD: &str = "INSERT INTO tokens (name, hash, scope, created_at) \
     VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING";
pub(crate) const REMOVE: &str = "DELETE FROM tokens WHERE name = ?1";

/// The result of adding a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenAddition {
    Added,
    /// A token of this name exists.
    NameTaken,
    /// The host has as many tokens as it may.
    TooMany,
}

/// Lists the tokens by name. A token that cannot be read, or has a scope that this build does not know, admits nothing,
/// so it is left out.
pub(crate) fn list(conn: &Connection) -> Result<Vec<TokenRecord>, Error> {
    let rows = all_readable(conn, ALL, [limit(NAMED_TOKENS)], |row| {
        let scope: String = row.get(2)?;
        let Some(scope) = TokenScope::parse(&scope) else {
            return Ok(None);
        };
        Ok(Some(TokenRecord {
            name: row.get(0)?,
            hash: row.get(1)?,
            scope,
            created_at: Timestamp::from_millis(row.get(3)?),
        }))
    })?;
    Ok(rows.into_iter().flatten().collect())
}

pub(crate) fn add(conn: &Connection, token: &TokenRecord) -> Result<TokenAddition, Error> {
    let count: Option<u64> = first(conn, COUNT, [], |row| Ok(row.get(0)?))?;
    if count.unwrap_or(0) >= NAMED_TOKENS as u64 {
        return Ok(TokenAddition::TooMany);
    }
    let row = params![
        token.name,
        token.hash,
        token.scope.as_str(),
        token.created_at.as_millis()
    ];
    match run(conn, ADD, row)? {
        0 => Ok(TokenAddition::NameTaken),
        _ => Ok(TokenAddition::Added),
    }
}

/// Removes a token. Returns false if there is none of this name.
pub(crate) fn remove(conn: &Connection, name: &str) -> Result<bool, Error> {
    Ok(run(conn, REMOVE, [name])? > 0)
}
