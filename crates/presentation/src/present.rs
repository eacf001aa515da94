//! One event in words: the presentation that every surface derives its text from.

use crate::describe::{Description, describe};
use crate::item::Presentation;
use crate::rule;
use crate::text::{BODY_BYTES, SUMMARY_BYTES, TITLE_BYTES, cut, cut_line};
use holon_domain::event::Event;
use serde::Serialize;

/// Weight of one event among those of its kind. The table of rules says from which weight on a mode shows a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Importance {
    /// Bookkeeping, or something that another event tells as well.
    Detail,
    /// A step of the agent's work.
    Step,
    /// A result, or a change that the operator plans with.
    Outcome,
    Failure,
}

/// Presents one event by itself. A [`Reducer`](crate::Reducer) also knows the events around it and merges them.
#[must_use]
pub fn present(event: &Event) -> Presentation {
    to_presentation(event, &describe(event))
}

/// Bounds the texts of a description and adds what the table says about the kind.
pub(crate) fn to_presentation(event: &Event, description: &Description) -> Presentation {
    let rule = rule::of(event);
    let title = cut_line(&description.title, TITLE_BYTES);
    let body = description.body.as_deref().map(str::trim_end);
    let body = body.filter(|body| !body.is_empty());
    let line = description.line.as_deref().or(body).unwrap_or_default();
    let summary = if line.trim().is_empty() {
        title.clone()
    } else {
        cut_line(&format!("{title}: {line}"), SUMMARY_BYTES)
    };
    Presentation {
        visibility: description.visibility.unwrap_or(rule.visibility),
        category: rule.category,
        title,
        body: body.map(|body| cut(body, BODY_BYTES)),
        summary,
        source_event_kind: cut_line(event.kind(), TITLE_BYTES),
    }
}
