//! Shortens the results that a conversation shows.
//!
//! A result is rendered anew from its log entry, with shorter texts inside its fences. Cutting the rendered text would
//! leave parts of fences behind, and a program could write the missing ones. The last forms are one line of the runtime:
//! whether the call succeeded, what it was about, and the handles that later calls need.

use super::recap::{collect_handles, quote};
use super::{ConversationInput, Span, guidance, tokens_of};
use holon_domain::CallId;
use holon_domain::log::LogEntry;
use holon_domain::model::ConversationItem;
use holon_domain::tool::{ToolEnvelope, ToolOutcome};

/// A form of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResultForm {
    /// At most about so many bytes of text.
    Bytes(usize),
    /// One line with the handles.
    Line,
    /// One line without them. `TaskList` and the transcript still name them.
    Stub,
}

/// Forms of the results in the newest rounds, longest first. The first that makes the conversation fit is taken.
pub(super) const FORMS: [ResultForm; 8] = [
    ResultForm::Bytes(16_000),
    ResultForm::Bytes(8_000),
    ResultForm::Bytes(4_000),
    ResultForm::Bytes(2_000),
    ResultForm::Bytes(1_000),
    ResultForm::Bytes(500),
    ResultForm::Line,
    ResultForm::Stub,
];

/// Bytes of a result's summary or error in a line, and in a stub.
const LINE_BYTES: usize = 120;
const STUB_BYTES: usize = 24;
/// Handles of each kind in a line.
const LINE_HANDLES: usize = 2;

/// Bytes of a result with the guidance of a workspace that one token of it stands for.
const GUIDANCE_TOKEN_BYTES: usize = 4;
/// Shortest forms of the guidance in a result, in estimated tokens: of a result that is shown in part, and of one that is
/// a line.
const LEAST_GUIDANCE_TOKENS: [usize; 2] = [500, 256];

/// Stands on the last result of a round whose results are lines, so that the next round asks for less.
const HINT: &str = "\n[The outputs of this round are left out by the runtime, because the context is nearly full. \
    Call for fewer or smaller results at a time.]";

/// Shortens every result of a span to a form.
pub(super) fn shorten_all(span: &mut Span<'_>, form: ResultForm, input: &ConversationInput<'_>) {
    let mut shortened = None;
    for (place, item) in span.items.iter_mut().enumerate() {
        let ConversationItem::ToolResult {
            call_id, content, ..
        } = item
        else {
            continue;
        };
        let Some(envelope) = find(&span.entries, call_id) else {
            continue;
        };
        let Some(short) = render(envelope, form, content.len(), input) else {
            continue;
        };
        if short.len() < content.len() {
            *content = short;
            shortened = Some(place);
            span.shortened.insert(place);
        }
    }
    let last = shortened.and_then(|place| span.items.get_mut(place));
    if let Some(ConversationItem::ToolResult { content, .. }) = last
        && takes_hint(form, input)
    {
        content.push_str(HINT);
    }
    if shortened.is_some() {
        span.loose_tokens = tokens_of(&span.items).saturating_sub(span.pinned_tokens);
    }
}

/// Returns true if the hint stands below results of this form. A refused request has no room for it.
const fn takes_hint(form: ResultForm, input: &ConversationInput<'_>) -> bool {
    match form {
        ResultForm::Bytes(_) => false,
        ResultForm::Line | ResultForm::Stub => !input.is_refused,
    }
}

/// Renders a result in a form; `None` if its present length is near the form's anyway.
fn render(
    envelope: &ToolEnvelope,
    form: ResultForm,
    length: usize,
    input: &ConversationInput<'_>,
) -> Option<String> {
    if (input.entered_guidance)(envelope).is_some() {
        let [in_part, as_line] = LEAST_GUIDANCE_TOKENS;
        let tokens = match form {
            ResultForm::Bytes(bytes) => (bytes / GUIDANCE_TOKEN_BYTES).max(in_part),
            ResultForm::Line | ResultForm::Stub => as_line,
        };
        let short = guidance::shorten_in(envelope, input, tokens)?;
        return Some((input.receipt)(&short));
    }
    match form {
        // A result barely above the bound is left as it is: the notes about what is left out take room too.
        ResultForm::Bytes(bytes) => {
            (length > bytes + bytes / 4).then(|| (input.short_receipt)(envelope, bytes))
        }
        ResultForm::Line => {
            let handles = collect_handles(envelope, input.agent).render(LINE_HANDLES);
            Some(format!("{}{handles}", outcome(envelope, LINE_BYTES)))
        }
        ResultForm::Stub => Some(outcome(envelope, STUB_BYTES)),
    }
}

fn outcome(envelope: &ToolEnvelope, bytes: usize) -> String {
    match &envelope.outcome {
        ToolOutcome::Success { .. } => format!("done: {}", quote(&envelope.summary_text, bytes)),
        ToolOutcome::Error { error } => {
            format!("failed ({}): {}", error.kind, quote(&error.message, bytes))
        }
    }
}

fn find<'a>(entries: &[&'a LogEntry], id: &CallId) -> Option<&'a ToolEnvelope> {
    entries.iter().find_map(|entry| match entry {
        LogEntry::ToolResult {
            call_id, envelope, ..
        } if call_id == id => Some(envelope),
        LogEntry::ToolResult { .. }
        | LogEntry::IncomingMessage { .. }
        | LogEntry::Frame(_)
        | LogEntry::Interjection { .. }
        | LogEntry::AssistantRound { .. }
        | LogEntry::ContinuationPrompt { .. }
        | LogEntry::Recap(_)
        | LogEntry::ThreadFold(_)
        | LogEntry::Shortened(_)
        | LogEntry::RuntimeFailure { .. } => None,
    })
}
