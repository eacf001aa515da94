//! Wake hints: something outside, or an operator by hand, asks the agent to look. Hints of one source coalesce.

use crate::draft::Draft;
use crate::input::Reply;
use crate::{wait, work};
use holon_domain::decision::Fact;
use holon_domain::event::{Event, WakeHintTriggered};
use holon_domain::limits;
use holon_domain::trigger::WakeHint;
use holon_domain::wait::Wake;

/// The place that hints share when the agent has pending ones from as many sources as it may.
const OTHERS: &str = "others";

/// Keeps a hint until the agent can take a tick. Waits that it names are over.
pub(crate) fn arrive(draft: &mut Draft<'_>, mut hint: WakeHint) -> Reply {
    let wake = Wake::Outside {
        source: hint.source.as_deref(),
        external_trigger_id: hint.external_trigger_id.as_ref(),
    };
    let by = format!("a wake hint from {}", hint.source.as_deref().unwrap_or(&hint.key));
    hint.wait_ids = wait::wake_matching(draft, wake, &by);
    work::wake(draft);
    let mut hints = draft.hints();
    let full = hints.len() >= limits::WAKE_HINTS as usize;
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
        reason: hint.reason.clone(),
        count: hint.count,
        wait_ids: hint.wait_ids.clone(),
    }));
    let coalesced = hint.count > 1;
    draft.fact(Fact::HintWritten(Box::new(hint)));
    Reply::Woken { coalesced }
}
