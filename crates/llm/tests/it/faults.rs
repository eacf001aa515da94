//! Every provider fault in every protocol has one classified outcome, within its limits and without the key.

use crate::wire::{KEY, ask, impatient, patient, router, spec};
use holon_domain::limits::FAILURE_SUMMARY_BYTES;
use holon_domain::model::{ModelFailure, ModelFailureKind as Kind};
use holon_domain::provider::RequestOption;
use holon_llm::HttpLimits;
use holon_testkit::provider::{Fault, Protocol, Provider, Round, Script};
use std::time::Duration;

/// The form of the answer that the settings ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Streamed,
    Whole,
}

/// Returns the expected class of a fault; `None` if the answer is good all the same.
fn expected(fault: &Fault, protocol: Protocol, form: Form) -> Option<Kind> {
    match fault {
        Fault::Status { code: 418, .. } => Some(Kind::UnsupportedTransport),
        Fault::Status { .. } | Fault::OutputTooLong { .. } | Fault::UnknownPrevious => {
            Some(Kind::InvalidRequest)
        }
        Fault::RateLimited { .. } => Some(Kind::RateLimited),
        Fault::Quota { .. } => Some(Kind::Quota),
        Fault::ServerError | Fault::FailedInAnswer | Fault::ErrorInAnswer => {
            Some(Kind::ServerError)
        }
        Fault::Unauthorized => Some(Kind::Auth),
        Fault::ModelNotFound => Some(Kind::ModelUnavailable),
        Fault::ContextTooLong { .. } => Some(Kind::ContextLengthExceeded),
        Fault::HtmlOk | Fault::Redirect { .. } | Fault::TruncatedJson => Some(Kind::NotJson),
        Fault::EndlessAnswer | Fault::HugeBody { .. } | Fault::GzipBomb => {
            Some(Kind::InvalidResponse)
        }
        Fault::ResetBeforeAnswer
        | Fault::CloseBeforeAnswer
        | Fault::ResetInBody
        | Fault::ShortBody => Some(Kind::Connection),
        Fault::NoAnswer | Fault::StallAfterHeaders | Fault::StallInBody | Fault::Drip { .. } => {
            Some(Kind::Timeout)
        }
        Fault::MissingTerminal => match (protocol, form) {
            (_, Form::Streamed) | (Protocol::Codex, Form::Whole) => Some(Kind::Connection),
            // The document itself says that it is incomplete.
            (Protocol::Responses, Form::Whole) => Some(Kind::InvalidResponse),
            // A document that arrived whole is complete, even without a stop reason.
            (Protocol::Messages | Protocol::Chat, Form::Whole) => None,
        },
        Fault::TwoAnswers => match form {
            // The first terminal event ends the answer.
            Form::Streamed => None,
            Form::Whole => Some(Kind::NotJson),
        },
        Fault::ReversedEvents => match (protocol, form) {
            // A piece of a block that was not begun.
            (Protocol::Messages, Form::Streamed) => Some(Kind::InvalidResponse),
            // The terminal event repeats the answer, or the pieces have no place of their own.
            (_, _) => None,
        },
        Fault::DuplicateCallIds
        | Fault::MissingCallIds
        | Fault::InvalidArguments
        | Fault::UnknownTool
        | Fault::OpenArguments
        | Fault::HugeEvent { .. } => None,
    }
}

/// Limits under which this fault shows soon and no other does.
fn limits(fault: &Fault) -> HttpLimits {
    let soon = Duration::from_millis(150);
    match fault {
        Fault::NoAnswer => impatient(),
        Fault::StallAfterHeaders | Fault::StallInBody => HttpLimits {
            idle: soon,
            ..patient()
        },
        Fault::Drip { .. } => HttpLimits {
            content: 3 * soon,
            ..patient()
        },
        Fault::HugeEvent { .. } => HttpLimits {
            answer_bytes: HttpLimits::default().answer_bytes,
            ..patient()
        },
        _ => patient(),
    }
}

async fn outcome(fault: Fault, protocol: Protocol, form: Form) -> Result<(), ModelFailure> {
    let limits = limits(&fault);
    let provider = Provider::start(Script::of([Round::fault(fault)]));
    let mut spec = spec(protocol, &provider.base_url());
    if form == Form::Whole {
        spec.omit.insert(RequestOption::Streaming);
    }
    let router = router(spec, limits);
    let answer = ask(&router).await;
    assert_eq!(provider.violations(), Vec::<String>::new(), "{protocol:?}");
    assert_eq!(provider.requests().len(), 1, "one attempt is one request");
    answer.map(drop)
}

async fn each(faults: Vec<Fault>) {
    for fault in faults {
        let forms = [Form::Streamed, Form::Whole];
        for (protocol, form) in Protocol::ALL
            .into_iter()
            .flat_map(|p| forms.map(|f| (p, f)))
        {
            // The Codex backend has no other form.
            if (protocol, form) == (Protocol::Codex, Form::Whole) {
                continue;
            }
            let answer = outcome(fault.clone(), protocol, form).await;
            let kind = answer.as_ref().err().map(|failure| failure.kind);
            assert_eq!(
                kind,
                expected(&fault, protocol, form),
                "{protocol:?} {form:?} {fault:?}: {answer:?}"
            );
            if let Err(failure) = answer {
                sound(&failure, &format!("{protocol:?} {fault:?}"));
            }
        }
    }
}

/// Asserts that a failure has a bounded message and diagnostics, and does not contain the key.
fn sound(failure: &ModelFailure, what: &str) {
    assert!(failure.message.len() <= FAILURE_SUMMARY_BYTES, "{what}");
    assert!(
        failure.message.starts_with("acme ") || failure.message.contains(" acme"),
        "{what}: {}",
        failure.message
    );
    let facts = failure.diagnostics.as_deref().unwrap();
    assert_eq!(facts.provider.as_deref(), Some("acme"), "{what}");
    assert_eq!(
        facts.model_ref.as_deref(),
        Some("acme/fake-model"),
        "{what}"
    );
    assert!(
        facts
            .url
            .as_deref()
            .unwrap()
            .starts_with("http://127.0.0.1:"),
        "{what}"
    );
    assert!(!facts.stage.is_empty(), "{what}");
    let stored = serde_json::to_string(failure).unwrap();
    for told in [format!("{failure:?}"), failure.to_string(), stored] {
        assert!(!told.contains(KEY), "{what}: {told}");
    }
}

#[tokio::test]
async fn every_refusal_is_classified_in_every_protocol() {
    each(Fault::every_status()).await;
}

#[tokio::test]
async fn every_transfer_fault_is_classified_in_every_protocol() {
    each(Fault::every_transfer()).await;
}

#[tokio::test]
async fn every_fault_of_content_is_classified_or_carried_on_in_every_protocol() {
    each(Fault::every_content()).await;
}

#[tokio::test]
async fn waits_and_limits_come_with_the_failure() {
    for protocol in Protocol::ALL {
        let pause = Duration::from_millis(1_500);
        let limited = Fault::RateLimited {
            retry_after: Some(pause),
        };
        let limited = outcome(limited, protocol, Form::Streamed)
            .await
            .unwrap_err();
        assert_eq!(limited.retry_after_ms, Some(1_500), "{protocol:?}");
        let quota = Fault::Quota {
            resets_in: Some(Duration::from_secs(7_200)),
        };
        let quota = outcome(quota, protocol, Form::Streamed).await.unwrap_err();
        assert_eq!(quota.retry_after_ms, Some(7_200_000), "{protocol:?}");
        assert!(
            quota.message.contains("renewed in 2 h"),
            "{}",
            quota.message
        );
        let long = outcome(
            Fault::ContextTooLong { window: 9_000 },
            protocol,
            Form::Streamed,
        )
        .await;
        let learned = long.unwrap_err().learned.unwrap();
        assert_eq!(learned.context_window_tokens, Some(9_000), "{protocol:?}");
        let long = outcome(
            Fault::OutputTooLong { limit: 700 },
            protocol,
            Form::Streamed,
        )
        .await;
        let learned = long.unwrap_err().learned.unwrap();
        assert_eq!(learned.max_output_tokens, Some(700), "{protocol:?}");
    }
}

#[tokio::test]
async fn a_key_that_a_server_repeats_is_redacted() {
    for protocol in Protocol::ALL {
        let failure = outcome(Fault::Unauthorized, protocol, Form::Streamed)
            .await
            .unwrap_err();
        assert!(failure.message.contains("[secret]"), "{}", failure.message);
        let next = match protocol {
            Protocol::Codex => "codex login",
            Protocol::Responses | Protocol::Messages | Protocol::Chat => "holon config doctor",
        };
        assert!(failure.message.contains(next), "{}", failure.message);
    }
}
