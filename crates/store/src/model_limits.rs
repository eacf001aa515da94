//! The model_limits table: limits and token ratios of models that their providers revealed. Belongs to the host, not to
//! an agent.
//!
//! What a row holds can be learned again, and every agent with the model reads it. So a row that cannot be read counts as
//! none, and the next lesson replaces it.

use crate::error::Error;
use crate::row::{Unreadable, all_readable, run};
use holon_domain::provider::{AskedServer, LearnedLimits, LimitSource, StoredLimits};
use holon_domain::token_ratio::TokenRatio;
use holon_domain::{Timestamp, limits};
use rusqlite::{Connection, Row, params};

/// A later lesson replaces only the limits it contains. One of another endpoint replaces the row.
pub(crate) const LEARN: &str = "INSERT INTO model_limits (model_ref, endpoint, context_window_tokens, window_source, \
     window_learned_at, max_output_tokens, output_learned_at, stated_window_tokens, token_ratio) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (model_ref) DO UPDATE SET \
     endpoint = excluded.endpoint, \
     context_window_tokens = coalesce(excluded.context_window_tokens, \
         CASE WHEN endpoint IS excluded.endpoint THEN context_window_tokens END), \
     window_source = coalesce(excluded.window_source, \
         CASE WHEN endpoint IS excluded.endpoint THEN window_source END), \
     window_learned_at = coalesce(excluded.window_learned_at, \
         CASE WHEN endpoint IS excluded.endpoint THEN window_learned_at END), \
     max_output_tokens = coalesce(excluded.max_output_tokens, \
         CASE WHEN endpoint IS excluded.endpoint THEN max_output_tokens END), \
     output_learned_at = coalesce(excluded.output_learned_at, \
         CASE WHEN endpoint IS excluded.endpoint THEN output_learned_at END), \
     stated_window_tokens = coalesce(excluded.stated_window_tokens, \
         CASE WHEN endpoint IS excluded.endpoint THEN stated_window_tokens END), \
     token_ratio = coalesce(excluded.token_ratio, \
         CASE WHEN endpoint IS excluded.endpoint THEN token_ratio END)";
pub(crate) const ONE: &str = "SELECT context_window_tokens, max_output_tokens, window_source, \
     stated_window_tokens, endpoint, token_ratio FROM model_limits WHERE model_ref = ?1";
const FORGET: &str = "DELETE FROM model_limits WHERE model_ref = ?1";
const ALL: &str = "SELECT context_window_tokens, max_output_tokens, window_source, stated_window_tokens, endpoint, \
     token_ratio, model_ref, window_learned_at, output_learned_at FROM model_limits ORDER BY model_ref";

/// The learned limits of one model, for the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LearnedModel {
    /// Name of the model with its provider, as `provider/model`.
    pub model_ref: String,
    pub stored: StoredLimits,
    /// Absent without a window, and if an earlier build learned it.
    pub window_learned_at: Option<Timestamp>,
    /// Absent without an output limit, and if an earlier build learned it.
    pub output_learned_at: Option<Timestamp>,
}

pub(crate) fn learn(
    conn: &Connection,
    model_ref: &str,
    server: &AskedServer,
    limits: LearnedLimits,
    at: Timestamp,
) -> Result<(), Error> {
    let LearnedLimits {
        context_window_tokens: window,
        max_output_tokens: output,
        source,
        token_ratio,
    } = limits;
    let at = at.as_millis();
    // What a lesson does not contain stays, so it would leave the unreadable part of a row.
    match read(conn, model_ref, Unreadable::Fails) {
        Err(fault) if fault.concerns_one_agent() => run(conn, FORGET, [model_ref])?,
        readable => readable.map(|_| 0)?,
    };
    run(
        conn,
        LEARN,
        params![
            model_ref,
            server.endpoint,
            window,
            window.map(|_| source.as_str()),
            window.map(|_| at),
            output,
            output.map(|_| at),
            server.stated_window_tokens,
            token_ratio.map(i64::from)
        ],
    )?;
    Ok(())
}

/// Reads the limits of a model. An implausible number and a row that cannot be read count as unknown: the row serves
/// every agent with this model and must not stop them.
pub(crate) fn of(conn: &Connection, model_ref: &str) -> Result<StoredLimits, Error> {
    read(conn, model_ref, Unreadable::IsPassedOver)
}

fn read(conn: &Connection, model_ref: &str, unreadable: Unreadable) -> Result<StoredLimits, Error> {
    let row = unreadable.first(conn, ONE, params![model_ref], |row| {
        Ok(to_limits(model_ref, row)?)
    })?;
    Ok(row.unwrap_or_default())
}

/// Reads the limits of all models, by model.
pub(crate) fn all(conn: &Connection) -> Result<Vec<LearnedModel>, Error> {
    all_readable(conn, ALL, [], |row| {
        let model_ref: String = row.get(6)?;
        let time = |stored: Option<i64>| stored.map(Timestamp::from_millis);
        Ok(LearnedModel {
            stored: to_limits(&model_ref, row)?,
            window_learned_at: time(row.get(7)?),
            output_learned_at: time(row.get(8)?),
            model_ref,
        })
    })
}

/// A source that this build does not know counts as an error's.
fn to_limits(model_ref: &str, row: &Row<'_>) -> rusqlite::Result<StoredLimits> {
    let source: Option<String> = row.get(2)?;
    let limits = LearnedLimits {
        context_window_tokens: plausible(model_ref, row.get(0)?),
        max_output_tokens: plausible(model_ref, row.get(1)?),
        source: source
            .and_then(|text| LimitSource::parse(&text))
            .unwrap_or_default(),
        token_ratio: plausible_ratio(model_ref, row.get(5)?),
    };
    Ok(StoredLimits {
        limits,
        endpoint: row.get(4)?,
        stated_window_tokens: plausible(model_ref, row.get(3)?),
    })
}

/// Returns a stored ratio if it is in the range that can be learned.
fn plausible_ratio(model_ref: &str, stored: Option<i64>) -> Option<TokenRatio> {
    let ratio = TokenRatio::try_from(stored?);
    if let Err(error) = &ratio {
        tracing::warn!(model_ref, %error, "a learned token ratio is ignored");
    }
    ratio.ok()
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
            let sql = "INSERT OR REPLACE INTO model_limits (model_ref, context_window_tokens, max_output_tokens) \
                 VALUES ('p/m', ?1, ?2)";
            run(&db.conn, sql, row).expect("writes");
            let limits = of(&db.conn, "p/m").expect("reads").limits;
            assert_eq!(limits.source, LimitSource::Refusal);
            (limits.context_window_tokens, limits.max_output_tokens)
        };
        assert_eq!(known(32_000, 4_096), (Some(32_000), Some(4_096)));
        assert_eq!(known(-1, 4_096), (None, Some(4_096)));
        assert_eq!(known(32_000, 0), (Some(32_000), None));
        assert_eq!(known(i64::MIN, i64::MAX), (None, None));
    }

    #[test]
    fn a_row_that_cannot_be_read_counts_as_none_and_the_next_lesson_replaces_it() {
        let ratio = TokenRatio::try_from(1_250).expect("a ratio");
        let window = LearnedLimits {
            context_window_tokens: Some(32_000),
            ..LearnedLimits::default()
        };
        let lesson = LearnedLimits {
            token_ratio: Some(ratio),
            ..LearnedLimits::default()
        };
        for column in ["window_source", "endpoint"] {
            let db = Db::in_memory().expect("opens");
            let (server, at) = (AskedServer::default(), Timestamp::from_millis(1));
            for model in ["p/m", "p/other"] {
                learn(&db.conn, model, &server, window, at).expect("is learned");
            }
            let damage = format!(
                "UPDATE model_limits SET {column} = CAST(x'ff' AS TEXT) WHERE model_ref = 'p/m'"
            );
            db.conn.execute(&damage, []).expect("changes");
            assert_eq!(of(&db.conn, "p/m"), Ok(StoredLimits::default()), "{column}");
            let models = all(&db.conn).expect("reads");
            assert_eq!(models.len(), 1, "{column}");
            learn(&db.conn, "p/m", &server, lesson, at).expect("is learned");
            let known = of(&db.conn, "p/m").expect("reads").limits;
            assert_eq!(
                (known.token_ratio, known.context_window_tokens),
                (Some(ratio), None),
                "{column}"
            );
            assert_eq!(all(&db.conn).expect("reads").len(), 2, "{column}");
        }
    }

    #[test]
    fn a_ratio_no_answer_can_have_taught_counts_as_unknown() {
        let db = Db::in_memory().expect("opens");
        let known = |ratio: i64| {
            let sql =
                "INSERT OR REPLACE INTO model_limits (model_ref, token_ratio) VALUES ('p/m', ?1)";
            run(&db.conn, sql, params![ratio]).expect("writes");
            of(&db.conn, "p/m").expect("reads").limits.token_ratio
        };
        assert_eq!(known(1_250).map(i64::from), Some(1_250));
        assert_eq!(known(0), None);
        assert_eq!(known(i64::MAX), None);
    }
}
