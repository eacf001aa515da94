//! Wake hints: an external source or an operator asks the agent to look. Hints of one source coalesce.

pub(crate) mod pace;

use crate::draft::Draft;
use crate::planted::{Fault, is_planted};
use crate::rejection::Rejection;
use crate::{tick, wait, work};
use holon_domain::decision::Fact;
use holon_domain::event::{Event, WakeHintCoalesced, WakeHintTriggered};
use holon_domain::trigger::{EarlierDelivery, WakeHint};
use holon_domain::wait::WaitRecord;
use holon_domain::{WaitId, WorkItemId, limits, text};

/// Source name that hints share once the agent has pending hints from the maximum number of sources.
const OTHERS: &str = "others";

/// Refuses a hint with an empty reason or with parts over their limits. What is accepted is stored as it is.
pub(crate) fn judge(hint: &WakeHint) -> Result<(), Rejection> {
    if hint
        .reason
        .as_ref()
        .is_some_and(|reason| reason.trim().is_empty())
    {
        return Err(Rejection::InvalidWork {
            reason: "the reason is empty; say why the agent should look".to_owned(),
        });
    }
    let bodies = [("wake reason", &hint.reason), ("wake body", &hint.body)];
    for (what, text) in bodies {
        let bytes = text.as_ref().map_or(0, String::len);
        if bytes > limits::HINT_BODY_BYTES {
            let max = limits::HINT_BODY_BYTES;
            return Err(Rejection::TooLarge { what, bytes, max });
        }
    }
    let key = Some(hint.key.clone());
    let names = [
        ("key", &key, limits::ORIGIN_NAME_CHARACTERS),
        ("source", &hint.source, limits::ORIGIN_NAME_CHARACTERS),
        (
            "content_type",
            &hint.content_type,
            limits::ORIGIN_NAME_CHARACTERS,
        ),
        (
            "correlation_id",
            &hint.correlation_id,
            limits::MESSAGE_LINK_CHARACTERS,
        ),
        (
            "causation_id",
            &hint.causation_id,
            limits::MESSAGE_LINK_CHARACTERS,
        ),
    ];
    for (what, text, max) in names {
        let characters = text.as_ref().map_or(0, |text| text.chars().count());
        if characters > max {
            return Err(Rejection::NameTooLong {
                what,
                characters,
                max,
            });
        }
    }
    Ok(())
}

/// A hint that was stored.
pub(crate) struct AcceptedHint {
    /// True if it joined a pending one.
    pub(crate) coalesced: bool,
    /// Waits that it ended.
    pub(crate) ended: Vec<WaitId>,
    /// Work items of those waits, each once.
    pub(crate) items: Vec<WorkItemId>,
}

/// Stores a hint until the next tick and ends the waits that it names.
pub(crate) fn handle_hint(draft: &mut Draft<'_>, mut hint: WakeHint) -> AcceptedHint {
    let ended = wait::end_by_hint(draft, &hint);
    hint.ended_waits = wait::notes_of_ended(&ended);
    let items = items_of(&ended);
    let ended: Vec<WaitId> = ended.into_iter().map(|wait| wait.id).collect();
    hint.wait_ids.clone_from(&ended);
    work::wake(draft);
    let mut hints = draft.hints();
    // The last slot is shared by all further sources.
    let full = hints.len() + 1 >= limits::WAKE_HINTS as usize;
    if full && !hints.iter().any(|known| known.key == hint.key) {
        OTHERS.clone_into(&mut hint.key);
    }
    hint.last_at = draft.now;
    hint.count = 1;
    hint.from_outside = !hint.is_by_operator();
    if !hint.from_outside {
        // An operator does not wait for the pause that a source outside brought about.
        tick::end_hint_pause(draft);
    }
    match hints.iter_mut().find(|known| known.key == hint.key) {
        Some(known) => {
            merge(&mut hint, known);
            *known = hint.clone();
        }
        None if is_planted(Fault::HintReplaced) => hints = vec![hint.clone()],
        None => hints.push(hint.clone()),
    }
    draft.put_hints(hints);
    draft.event(Event::WakeHintTriggered(WakeHintTriggered {
        key: hint.key.clone(),
        reason: hint.reason.as_deref().map(shown),
        count: hint.count,
        wait_ids: hint.wait_ids.clone(),
        external_trigger_id: hint.external_trigger_id.clone(),
        source: hint.source.as_deref().map(shown),
        correlation_id: hint.correlation_id.as_deref().map(shown),
        causation_id: hint.causation_id.as_deref().map(shown),
        authority_class: Some(tick::authority_of(std::slice::from_ref(&hint))),
    }));
    let coalesced = hint.count > 1;
    draft.fact(Fact::HintWritten(Box::new(hint)));
    AcceptedHint {
        coalesced,
        ended,
        items,
    }
}

/// Returns the work items of waits, each once.
pub(crate) fn items_of(waits: &[WaitRecord]) -> Vec<WorkItemId> {
    let mut items: Vec<WorkItemId> = Vec::new();
    for item in waits.iter().filter_map(|wait| wait.work_item_id.as_ref()) {
        if !items.contains(item) {
            items.push(item.clone());
        }
    }
    items
}

/// Describes a hint that joined a pending one.
pub(crate) fn coalesced(key: &str, hint: &WakeHint) -> Event {
    Event::WakeHintCoalesced(WakeHintCoalesced {
        key: shown(key),
        external_trigger_id: hint.external_trigger_id.clone(),
        source: hint.source.as_deref().map(shown),
        correlation_id: hint.correlation_id.as_deref().map(shown),
        causation_id: hint.causation_id.as_deref().map(shown),
        authority_class: Some(tick::authority_of(std::slice::from_ref(hint))),
    })
}

/// Adds a pending hint to a newer one of the same key. The newest body stays the hint's own; bodies before it are kept
/// up to a limit, the oldest go first.
fn merge(hint: &mut WakeHint, known: &mut WakeHint) {
    hint.count += known.count;
    hint.from_outside |= !known.is_by_operator();
    hint.reason = join_reasons(known.reason.take(), hint.reason.take());
    hint.wait_ids.extend(std::mem::take(&mut known.wait_ids));
    hint.ended_waits
        .extend(std::mem::take(&mut known.ended_waits));
    hint.ended_waits.truncate(limits::WAIT_NOTES);
    hint.earlier = std::mem::take(&mut known.earlier);
    if known.body.is_some() || known.source != hint.source {
        hint.earlier.push(EarlierDelivery {
            external_trigger_id: known.external_trigger_id.take(),
            source: known.source.take(),
            body: known.body.take(),
        });
    }
    let bytes = |earlier: &[EarlierDelivery]| -> usize {
        let bodies = earlier.iter().filter_map(|one| one.body.as_ref());
        bodies.map(String::len).sum()
    };
    while hint.earlier.len() > limits::HINT_EARLIER
        || bytes(&hint.earlier) > limits::HINT_EARLIER_BYTES
    {
        hint.earlier.remove(0);
    }
}

/// Joins the reasons of hints that coalesce, so that the agent reads each of them once. At the limit the newest ones
/// are kept.
fn join_reasons(earlier: Option<String>, newest: Option<String>) -> Option<String> {
    let (earlier, newest) = match (earlier, newest) {
        (Some(earlier), Some(newest)) => (earlier, newest),
        (earlier, newest) => return newest.or(earlier),
    };
    if earlier.lines().any(|line| line == newest) {
        return Some(earlier);
    }
    let joined = format!("{earlier}\n{newest}");
    if joined.len() <= limits::HINT_BODY_BYTES {
        return Some(joined);
    }
    let lines: Vec<&str> = joined.lines().collect();
    let kept = lines.iter().rev().scan(0, |bytes, line| {
        *bytes += line.len() + 1;
        (*bytes <= limits::HINT_BODY_BYTES).then_some(*line)
    });
    let mut kept: Vec<&str> = kept.collect();
    kept.reverse();
    Some(kept.join("\n"))
        .filter(|words| !words.is_empty())
        .or(Some(newest))
}

fn shown(words: &str) -> String {
    text::preview(words, limits::EVENT_PREVIEW_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use holon_domain::Timestamp;
    use holon_domain::trigger::DeliveryMode;

    fn hint(reason: &str) -> WakeHint {
        WakeHint {
            key: "operator".to_owned(),
            external_trigger_id: None,
            delivery_mode: DeliveryMode::WakeHint,
            source: None,
            reason: Some(reason.to_owned()),
            content_type: None,
            body: None,
            correlation_id: None,
            causation_id: None,
            wait_ids: Vec::new(),
            ended_waits: Vec::new(),
            count: 1,
            last_at: Timestamp::default(),
            earlier: Vec::new(),
            from_outside: false,
        }
    }

    #[test]
    fn a_hint_without_a_word_or_with_too_many_is_refused() {
        let long = "x".repeat(limits::HINT_BODY_BYTES + 1);
        assert_eq!(judge(&hint("look")), Ok(()));
        for (refused, code) in [
            (hint(" \n"), "invalid_work"),
            (hint(&long), "too_large"),
            (
                WakeHint {
                    body: Some(long.clone()),
                    ..hint("look")
                },
                "too_large",
            ),
            (
                WakeHint {
                    source: Some(long.clone()),
                    ..hint("look")
                },
                "name_too_long",
            ),
            (
                WakeHint {
                    correlation_id: Some(long.clone()),
                    ..hint("look")
                },
                "name_too_long",
            ),
            (
                WakeHint {
                    content_type: Some(long.clone()),
                    ..hint("look")
                },
                "name_too_long",
            ),
            (
                WakeHint {
                    key: long.clone(),
                    ..hint("look")
                },
                "name_too_long",
            ),
        ] {
            let rejection = judge(&refused).expect_err("refused");
            assert_eq!(rejection.code(), code);
        }
    }
}
