//! Ends a turn whose model repeats the same invalid calls. Each of them is refused before it begins, so the rounds bring
//! nothing and would only use up tokens.

use super::call_results::finish_call;
use super::calls::check_call;
use super::end;
use super::ending::Ending;
use crate::draft::Draft;
use crate::input::{CallIntent, CurrentRound};
use holon_domain::limits;
use holon_domain::text;
use holon_domain::tool::ToolEnvelope;
use holon_domain::turn::{InvalidRound, OpenTurn};
use serde_json::json;

/// Counts the round if it repeats the invalid calls of the one before. Returns true if the model repeats them too often.
pub(super) fn count_invalid_round(turn: &mut OpenTurn, round: &CurrentRound) -> bool {
    let mut calls = round.calls().peekable();
    let is_invalid = calls.peek().is_some() && calls.all(|(_, planned)| is_refused(planned));
    if !is_invalid {
        turn.invalid_round = None;
        return false;
    }
    let calls = fingerprint(round);
    let last = turn.invalid_round.take().filter(|last| last.calls == calls);
    let count = last.map_or(1, |last| last.count.saturating_add(1));
    turn.invalid_round = Some(InvalidRound { calls, count });
    count >= limits::INVALID_ROUNDS
}

/// Gives every call of the round its error and ends the turn.
pub(super) fn give_up(draft: &mut Draft<'_>, turn: &OpenTurn, round: &CurrentRound) {
    let mut told = None;
    for (index, (call, planned)) in round.calls().enumerate() {
        if let Err(error) = check_call(index, planned) {
            told.get_or_insert_with(|| format!("{}: {}", call.name, error.message));
            let refused = ToolEnvelope::failure(&call.name, error);
            finish_call(draft, turn, call, refused, 0);
        }
    }
    let ending = Ending::repeated_call(turn, &told.unwrap_or_default());
    end::end(draft, turn, ending);
}

const fn is_refused(planned: Option<&CallIntent>) -> bool {
    match planned {
        Some(Ok(_)) => false,
        Some(Err(_)) | None => true,
    }
}

/// Returns a digest of the calls by which two rounds are compared.
fn fingerprint(round: &CurrentRound) -> String {
    let calls: Vec<_> = round
        .calls()
        .map(|(call, _)| json!([call.name, call.input]))
        .collect();
    text::sha256_hex(json!(calls).to_string())
}
