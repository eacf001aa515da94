//! Words about tries: that another model answered than the one asked for, and what would mend a failure.

use holon_client::view::{Attempt, Timeline};
use holon_config::{ProviderEntry, Providers};
use holon_domain::provider::AuthSource;
use serde::Deserialize as _;
use serde_json::Value;
use std::net::IpAddr;

/// Who answered, when it is not the model that was asked for, and why the others did not.
pub(crate) fn fell_over(timeline: &Timeline) -> Option<String> {
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

/// The same for a round of a transcript.
pub(super) fn fell_over_in(round: &Value) -> Option<String> {
    let timeline = round.get("provider_attempt_timeline")?;
    fell_over(&Timeline::deserialize(timeline).ok()?)
}

/// What would mend the last failure, if that is known.
pub(super) fn remedy(timeline: &Timeline, providers: &Providers) -> Option<String> {
    let last = timeline.attempts.last()?;
    match last.failure_kind.as_deref()? {
        "auth" => renewal(providers.get(&last.provider)?),
        "connection" => {
            let server = refused_here(last)?;
            Some(format!(
                "start the server that should listen on {server}, or choose another model with --model"
            ))
        }
        _ => None,
    }
}

/// How a credential is renewed.
fn renewal(entry: &ProviderEntry) -> Option<String> {
    let id = &entry.spec.id;
    match entry.auth.source {
        AuthSource::None => None,
        AuthSource::Env => {
            let names: Vec<&str> = entry.auth.env.iter().map(|one| one.name.as_str()).collect();
            Some(format!(
                "renew {} (a host that runs is to be restarted with it), or unset it and store the credential: holon \
                 config credentials set {id}",
                names.join(" or ")
            ))
        }
        AuthSource::CredentialProfile => {
            let profile = entry.auth.profile.as_deref().unwrap_or(id);
            Some(format!(
                "renew the credential: holon config credentials set {profile}"
            ))
        }
        AuthSource::ExternalCli => Some("log in again: codex login".to_owned()),
        AuthSource::CredentialProcess => Some(format!(
            "renew what its command prints, and try it: holon config providers doctor {id} --probe"
        )),
    }
}

/// Where on this machine nobody took a connection, if that is how a try failed.
fn refused_here(attempt: &Attempt) -> Option<String> {
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
            fell_over(&timeline(&tries, Some("c/1"))).as_deref(),
            Some("answered by c/1; a/1 failed: server_error; b/1 failed: auth")
        );
        assert_eq!(fell_over(&timeline(&tries, Some("a/1"))), None);
        assert_eq!(fell_over(&timeline(&tries, None)), None);
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
        assert_eq!(said("http://127.0.0.1:1/v1", "server_error"), None);
    }
}
