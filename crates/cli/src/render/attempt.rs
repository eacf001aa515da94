//! Renders provider attempts: a note about a fallback, and the remedy for a failure.

use holon_client::view::{Attempt, Timeline};
use holon_config::Providers;
use serde::Deserialize as _;
use serde_json::Value;
use std::net::IpAddr;

/// Names the fallback model that answered, and the failures of the others; `None` if the requested model answered.
pub(crate) fn fallback_note(timeline: &Timeline) -> Option<String> {
    let winner = timeline.winning_model_ref.as_deref()?;
    if winner == timeline.requested_model_ref {
        return None;
    }
    let mut failed: Vec<(&str, &str)> = Vec::new();
    for attempt in &timeline.attempts {
        let Some(kind) = attempt.failure_kind.as_deref() else {
            continue;
        };
        let model = attempt.model_ref.as_str();
        if model == winner {
            continue;
        }
        match failed.iter_mut().find(|(known, _)| *known == model) {
            Some(known) => known.1 = kind,
            None => failed.push((model, kind)),
        }
    }
    let reasons = failed
        .iter()
        .map(|(model, kind)| format!("; {model} failed: {kind}"));
    Some(format!(
        "answered by {winner}{}",
        reasons.collect::<String>()
    ))
}

/// Returns the same note for a round of a transcript.
pub(super) fn round_fallback_note(round: &Value) -> Option<String> {
    let timeline = round.get("provider_attempt_timeline")?;
    fallback_note(&Timeline::deserialize(timeline).ok()?)
}

/// Returns the remedy for the last failure of the model that was asked for, if one is known. If that model was never
/// asked, the last failure counts.
pub(super) fn remedy(timeline: &Timeline, providers: &Providers) -> Option<String> {
    let of_chosen = |attempt: &&Attempt| attempt.model_ref == timeline.requested_model_ref;
    let mut newest_first = timeline.attempts.iter().rev();
    let last = newest_first
        .find(of_chosen)
        .or_else(|| timeline.attempts.last())?;
    match last.failure_kind.as_deref()? {
        "auth" => Some(holon_config::renewal(providers.get(&last.provider)?).step),
        "connection" => {
            let server = refused_local_address(last)?;
            Some(format!(
                "start the server that should listen on {server}, or choose another model with --model"
            ))
        }
        _ => None,
    }
}

/// Returns what an operator can do about a failure of this kind when nothing more is known about it.
pub(super) const fn next_step(kind: &str) -> &'static str {
    match kind.as_bytes() {
        b"auth" => "see what is wrong with the credential: holon config doctor",
        b"unsupported_transport" => {
            "check the address and the protocol of the provider: holon config providers list"
        }
        b"model_unavailable" => {
            "choose another model with --model PROVIDER/MODEL; holon config models list shows those known here"
        }
        b"timeout" | b"connection" | b"network" | b"rate_limited" | b"server_error" | b"quota" => {
            "run it again later, or choose another model with --model PROVIDER/MODEL"
        }
        b"context_length_exceeded" | b"output_limit" => {
            "ask for less at once, or choose a larger model with --model PROVIDER/MODEL"
        }
        b"budget_reached" => {
            "raise the limit: holon budget show lists them, holon budget set changes one"
        }
        b"invalid_response" | b"not_json" => {
            "test the provider with: holon config doctor --probe; or choose another model with --model PROVIDER/MODEL"
        }
        b"run_aborted" => {
            "it was called off; if the agent is stopped, start it: holon agent start ID; then send it again"
        }
        b"poisoned_message" => {
            "see why the host died: holon daemon logs; mend that, then send it again"
        }
        b"repeated_invalid_call" => {
            "choose a model that calls tools reliably with --model PROVIDER/MODEL; holon transcript shows the calls"
        }
        b"empty_answer" => "run it again, or choose another model with --model PROVIDER/MODEL",
        b"invalid_request" => {
            "test the provider with: holon config doctor --probe; or choose another model with --model PROVIDER/MODEL"
        }
        _ => "run it again in other words, or choose another model with --model PROVIDER/MODEL",
    }
}

/// Returns the loopback address that refused a connection, if the attempt failed that way.
fn refused_local_address(attempt: &Attempt) -> Option<String> {
    let facts = attempt.transport_diagnostics.as_ref()?;
    facts.reqwest.filter(|facts| facts.is_connect)?;
    let (_, rest) = facts.url.as_deref()?.split_once("://")?;
    let authority = rest.split('/').next()?;
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next()?,
        None => authority.split(':').next()?,
    };
    let here = host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|addr| addr.is_loopback());
    here.then(|| authority.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn timeline(attempts: &Value, winner: Option<&str>) -> Timeline {
        let value = json!({
            "attempts": attempts,
            "requested_model_ref": "a/1",
            "winning_model_ref": winner,
        });
        serde_json::from_value(value).expect("a timeline")
    }

    fn failed(model: &str, kind: &str, url: &str) -> Value {
        let facts = json!({
            "is_timeout": false, "is_connect": true, "is_request": false,
            "is_body": false, "is_decode": false, "is_redirect": false,
        });
        json!({
            "provider": model.split('/').next(), "model_ref": model, "attempt": 1, "max_attempts": 3,
            "failure_kind": kind, "outcome": "fail_fast_aborted", "advanced_to_fallback": true,
            "transport_diagnostics": { "stage": "connect", "url": url, "reqwest": facts },
        })
    }

    #[test]
    fn every_model_that_failed_is_named_with_its_last_reason() {
        let tries = json!([
            failed("a/1", "timeout", "https://a"),
            failed("a/1", "server_error", "https://a"),
            failed("b/1", "auth", "https://b"),
        ]);
        assert_eq!(
            fallback_note(&timeline(&tries, Some("c/1"))).as_deref(),
            Some("answered by c/1; a/1 failed: server_error; b/1 failed: auth")
        );
        assert_eq!(fallback_note(&timeline(&tries, Some("a/1"))), None);
        assert_eq!(fallback_note(&timeline(&tries, None)), None);
    }

    #[test]
    fn a_server_of_this_machine_that_does_not_run_is_to_be_started() {
        let said = |url: &str, kind: &str| {
            let tries = json!([failed("a/1", kind, url)]);
            remedy(&timeline(&tries, None), &Providers::default())
        };
        for (url, at) in [
            (
                "http://127.0.0.1:11434/v1/chat/completions",
                "127.0.0.1:11434",
            ),
            ("http://localhost:4000/x", "localhost:4000"),
            ("http://[::1]:8080/v1", "[::1]:8080"),
        ] {
            let next = format!(
                "start the server that should listen on {at}, or choose another model with --model"
            );
            assert_eq!(said(url, "connection"), Some(next));
        }
        assert_eq!(said("http://10.0.0.1:1/v1", "connection"), None);
        let tries = json!([
            failed("a/1", "connection", "http://127.0.0.1:9/v1"),
            failed("b/1", "server_error", "https://b"),
        ]);
        let of_chosen = remedy(&timeline(&tries, None), &Providers::default());
        assert!(of_chosen.is_some_and(|next| next.contains("127.0.0.1:9")));
        assert_eq!(said("http://127.0.0.1:1/v1", "server_error"), None);
    }

    #[test]
    fn a_run_that_was_called_off_or_set_aside_is_sent_again_after_the_cause_is_gone() {
        for (kind, before) in [
            ("run_aborted", "holon agent start"),
            ("poisoned_message", "holon daemon logs"),
        ] {
            let next = next_step(kind);
            let steps = next.find(before).zip(next.find("send it again"));
            let is_in_order = steps.is_some_and(|(before, again)| before < again);
            assert!(is_in_order, "{kind}: {next}");
        }
    }

    #[test]
    fn every_kind_of_failure_has_a_next_step_that_names_an_action() {
        let kinds = holon_domain::model::ModelFailureKind::ALL.map(|kind| kind.as_str());
        for kind in kinds
            .into_iter()
            .chain(["content_filter", "empty_answer", "x"])
        {
            let next = next_step(kind);
            let is_action = ["holon config", "--model PROVIDER/MODEL"]
                .iter()
                .any(|action| next.contains(action));
            assert!(is_action && !next.contains("--json"), "{kind}: {next}");
        }
    }
}
