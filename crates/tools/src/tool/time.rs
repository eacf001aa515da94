//! Points in time and durations as a model writes them.

use crate::input::{Subject, shown};
use holon_domain::Timestamp;
use holon_domain::limits::TIMER_MAX_MS;
use holon_domain::tool::ToolError;
use serde_json::{Value, json};

/// Parses a point in time in RFC 3339.
pub(crate) fn moment(
    subject: Subject<'_>,
    field: &str,
    asked: &str,
) -> Result<Timestamp, ToolError> {
    let asked = asked.trim();
    serde_json::from_value(json!(asked)).map_err(|_| {
        let problem = format!("{:?} is not a time in RFC 3339", shown(asked));
        subject.invalid(Some(field), &problem).hint(
            "for example 2026-03-01T09:00:00Z or 2026-03-01T10:00:00+01:00; the offset is needed",
        )
    })
}

/// Checks a duration in milliseconds.
pub(crate) fn span(subject: Subject<'_>, field: &str, millis: u64) -> Result<u64, ToolError> {
    if (1..=TIMER_MAX_MS).contains(&millis) {
        return Ok(millis);
    }
    let problem = format!("{millis} is not between 1 and {TIMER_MAX_MS}");
    Err(subject
        .invalid(Some(field), &problem)
        .hint("give a length of time in milliseconds: 60000 is one minute"))
}

/// Parses a duration from a JSON value of any type.
pub(crate) fn span_of(subject: Subject<'_>, field: &str, value: &Value) -> Result<u64, ToolError> {
    match value.as_u64() {
        Some(millis) => span(subject, field, millis),
        None => Err(subject
            .invalid(
                Some(field),
                &format!(
                    "{} is not a number of milliseconds",
                    shown(&value.to_string())
                ),
            )
            .hint("give a length of time in milliseconds: 60000 is one minute")),
    }
}
