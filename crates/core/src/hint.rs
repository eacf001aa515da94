//! Wake hints: something outside, or an operator by hand, asks the agent to look. Hints of one source coalesce.

use crate::draft::Draft;
use crate::input::Reply;
use crate::{wait, work};
use holon_domain::decision::Fact;
use holon_domain::event::{Event, WakeHintTriggered};
use holon_domain::trigger::WakeHint;
use holon_domain::wait::Wake;
use holon_domain::{limits, text};

/// The place that hints share when the agent has pending ones from as many sources as it may.
const OTHERS: &str = "others";

/// Keeps a hint until the agent can take a tick. Waits that it names are over.
pub(crate) fn arrive(draft: &mut Draft<'_>, mut hint: WakeHint) -> Reply {
    shorten(&mut hint);
    let wake = Wake::Outside {
        source: hint.source.as_deref(),
        external_trigger_id: hint.external_trigger_id.as_ref(),
    };
    let by = format!(
        "a wake hint from {}",
        hint.source.as_deref().unwrap_or(&hint.key)
    );
    let ended = wait::wake_matching(draft, wake, &by);
    hint.wait_ids = ended.into_iter().map(|wait| wait.id).collect();
    work::wake(draft);
    let mut hints = draft.hints();
    // The last place is the one that further sources share.
    let full = hints.len() + 1 >= limits::WAKE_HINTS as usize;
    if full && !hints.iter().any(|known| known.key == hint.key) {
        OTHERS.clone_into(&mut hint.key);
    }
    hint.last_at = draft.now;
    hint.count = 1;
    match hints.iter_mut().find(|known| known.key == hint.key) {
        Some(known) => {
            hint.count += known.count;
            hint.wait_ids.extend(std::mem::take(&mut known.wait_ids));
            *known = hint.clone();
        }
        None => hints.push(hint.clone()),
    }
    draft.put_hints(hints);
    draft.event(Event::WakeHintTriggered(WakeHintTriggered {
        key: hint.key.clone(),
        reason: hint.reason.as_deref().map(shown),
        count: hint.count,
        wait_ids: hint.wait_ids.clone(),
    }));
    let coalesced = hint.count > 1;
    draft.fact(Fact::HintWritten(Box::new(hint)));
    Reply::Woken { coalesced }
}

/// Bounds what a hint may carry: its names go into rows and events, its words into a prompt.
fn shorten(hint: &mut WakeHint) {
    let name = |words: &str| text::preview(words, limits::ORIGIN_NAME_BYTES);
    let words = |words: &str| text::preview(words, limits::HINT_BODY_BYTES);
    hint.key = name(&hint.key);
    hint.source = hint.source.as_deref().map(name);
    hint.content_type = hint.content_type.as_deref().map(name);
    hint.correlation_id = hint.correlation_id.as_deref().map(name);
    hint.causation_id = hint.causation_id.as_deref().map(name);
    hint.reason = hint.reason.as_deref().map(words);
    hint.body = hint.body.as_deref().map(words);
}

fn shown(words: &str) -> String {
    text::preview(words, limits::EVENT_PREVIEW_BYTES)
}
