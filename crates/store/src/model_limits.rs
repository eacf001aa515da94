//! The model_limits table: limits of models learned from providers' errors. Belongs to the host, not to an agent.

use crate::error::Error;
use crate::row::{first, run};
use holon_domain::limits;
use holon_domain::provider::LearnedLimits;
use rusqlite::{Connection, params};

/// A later lesson replaces only the limits it contains.
pub(crate) const LEARN: &str = "INSERT INTO model_limits (model_ref, context_window_tokens, max_output_tokens) \
     VALUES (?1, ?2, ?3) ON CONFLICT (model_ref) DO UPDATE SET \
     context_window_tokens = coalesce(excluded.context_window_tokens, context_window_tokens), \
     max_output_tokens = coalesce(excluded.max_output_tokens, max_output_tokens)";
pub(crate) const ONE: &str =
    "SELECT context_window_tokens, max_output_tokens FROM model_limits WHERE model_ref = ?1";

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

/// Reads the limits of a model. An implausible number counts as unknown: the row serves every agent with this model and
/// must not stop them.
pub(crate) fn of(conn: &Connection, model_ref: &str) -> Result<LearnedLimits, Error> {
    let row = first(conn, ONE, params![model_ref], |row| {
        Ok(LearnedLimits {
            context_window_tokens: plausible(model_ref, row.get(0)?),
            max_output_tokens: plausible(model_ref, row.get(1)?),
        })
    })?;
    Ok(row.unwrap_or_default())
}

/// Returns a stored limit if it is in the range that can be learned.
fn plausible(model_ref: &str, stored: Option<i64>) -> Option<u32> {
    let stored = stored?;
    let learnable = limits::PROVIDER_LEARNED_MIN_TOKENS..=limits::PROVIDER_LEARNED_MAX_TOKENS;
    let limit = u32::try_from(stored).ok();
    let limit = limit.filter(|limit| learnable.contains(limit));
    if limit.is_none() {
        tracing::warn!(
            model_ref,
            stored,
            "a learned limit is ignored: no model has it"
        );
    }
    limit
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::Db;

    #[test]
    fn a_limit_no_error_can_have_taught_counts_as_unknown() {
        let db = Db::in_memory().expect("opens");
        let known = |window: i64, output: i64| {
            let row = params![window, output];
            let sql = "INSERT OR REPLACE INTO model_limits VALUES ('p/m', ?1, ?2)";
            run(&db.conn, sql, row).expect("writes");
            let limits = of(&db.conn, "p/m").expect("reads");
            (limits.context_window_tokens, limits.max_output_tokens)
        };
        assert_eq!(known(32_000, 4_096), (Some(32_000), Some(4_096)));
        assert_eq!(known(-1, 4_096), (None, Some(4_096)));
        assert_eq!(known(32_000, 0), (Some(32_000), None));
        assert_eq!(known(i64::MIN, i64::MAX), (None, None));
    }
}
