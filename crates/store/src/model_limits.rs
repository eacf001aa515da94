//! The model_limits table: what providers' errors taught about models. Belongs to the host, not to an agent.

use crate::error::Error;
use crate::row::{first, run};
use holon_domain::provider::LearnedLimits;
use rusqlite::{Connection, params};

/// A later lesson replaces only what it speaks of.
pub(crate) const LEARN: &str = "INSERT INTO model_limits (model_ref, context_window_tokens, max_output_tokens) \
     VALUES (?1, ?2, ?3) ON CONFLICT (model_ref) DO UPDATE SET \
     context_window_tokens = coalesce(excluded.context_window_tokens, context_window_tokens), \
     max_output_tokens = coalesce(excluded.max_output_tokens, max_output_tokens)";
pub(crate) const ONE: &str =
    "SELECT context_window_tokens, max_output_tokens FROM model_limits WHERE model_ref = ?1";

/// Keeps what was learned.
pub(crate) fn learn(
    conn: &Connection,
    model_ref: &str,
    limits: LearnedLimits,
) -> Result<(), Error> {
    let LearnedLimits {
        context_window_tokens,
        max_output_tokens,
    } = limits;
    run(
        conn,
        LEARN,
        params![model_ref, context_window_tokens, max_output_tokens],
    )?;
    Ok(())
}

/// What is known about a model.
pub(crate) fn of(conn: &Connection, model_ref: &str) -> Result<LearnedLimits, Error> {
    let row = first(conn, ONE, params![model_ref], |row| {
        Ok(LearnedLimits {
            context_window_tokens: row.get(0)?,
            max_output_tokens: row.get(1)?,
        })
    })?;
    Ok(row.unwrap_or_default())
}
