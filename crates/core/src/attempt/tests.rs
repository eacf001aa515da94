//! Tests of the retry policy: every kind of failure in every relevant state.

use super::*;
use holon_domain::provider::LearnedLimits;

const HOUR_MS: u64 = 3_600_000;

const FIRST: AttemptState = AttemptState {
    attempt: 1,
    has_fallback: false,
    attended: false,
    without_network_ms: 0,
    parks: 0,
    may_compact: false,
    next_form: None,
};

fn failure(kind: ModelFailureKind, retry_after_ms: Option<u64>) -> ModelFailure {
    ModelFailure {
        retry_after_ms,
        ..ModelFailure::new(kind, "it failed")
    }
}

#[test]
fn every_kind_is_retried_waited_for_or_given_up_and_only_some_ask_another_model() {
    let rows: Vec<String> = ModelFailureKind::ALL
        .iter()
        .map(|kind| {
            let tries: Vec<&str> = (1..=3)
                .map(|attempt| {
                    let state = AttemptState { attempt, ..FIRST };
                    judge(&failure(*kind, None), state, 0).stored().as_str()
                })
                .collect();
            let after = if allows_fallback(*kind) {
                "next model"
            } else {
                "end of the turn"
            };
            format!("{}: {}, then {after}", kind.as_str(), tries.join(" "))
        })
        .collect();
    insta::assert_snapshot!(rows.join("\n"), @r"
    timeout: retry retry exhausted, then next model
    connection: retry retry exhausted, then next model
    network: exhausted exhausted exhausted, then end of the turn
    rate_limited: retry retry exhausted, then next model
    quota: fail_fast fail_fast fail_fast, then next model
    server_error: retry retry exhausted, then next model
    auth: fail_fast fail_fast fail_fast, then next model
    invalid_request: fail_fast fail_fast fail_fast, then next model
    context_length_exceeded: fail_fast fail_fast fail_fast, then end of the turn
    invalid_response: fail_fast fail_fast fail_fast, then next model
    not_json: fail_fast fail_fast fail_fast, then next model
    unsupported_transport: fail_fast fail_fast fail_fast, then next model
    model_unavailable: fail_fast fail_fast fail_fast, then next model
    ");
}

#[test]
fn a_request_that_is_too_long_is_repeated_at_once_if_it_may_be_compacted() {
    let too_long = failure(ModelFailureKind::ContextLengthExceeded, None);
    let compactable = AttemptState {
        may_compact: true,
        ..FIRST
    };
    assert_eq!(
        judge(&too_long, compactable, 0),
        Disposition::Retry { backoff_ms: 0 }
    );
    assert_eq!(judge(&too_long, FIRST, 0), Disposition::FailFast);
}

#[test]
fn pauses_grow_take_jitter_honour_the_provider_and_stay_in_bounds() {
    let pause_for = |attended, attempt, after, chance| {
        let state = AttemptState {
            attempt,
            attended,
            ..FIRST
        };
        judge(
            &failure(ModelFailureKind::RateLimited, after),
            state,
            chance,
        )
    };
    let pause = |attempt, after, chance| pause_for(true, attempt, after, chance);
    let retry = |backoff_ms| Disposition::Retry { backoff_ms };
    assert_eq!(pause(1, None, 0), retry(1_000));
    assert_eq!(pause(2, None, 0), retry(2_000));
    assert_eq!(pause_for(false, 1, None, 0), retry(1_000));
    assert_eq!(pause_for(false, 2, None, 0), retry(30_000));
    assert_eq!(pause(1, None, 999), retry(1_249));
    assert_eq!(pause(1, Some(7_000), 0), retry(7_000));
    assert_eq!(
        pause(1, Some(limits::BACKOFF_MAX_MS), 999),
        retry(limits::BACKOFF_MAX_MS)
    );
}

#[test]
fn a_provider_that_wants_to_be_left_alone_for_long_is_an_allowance() {
    let hour = 3_600_000;
    for kind in [ModelFailureKind::RateLimited, ModelFailureKind::Quota] {
        let failure = failure(kind, Some(hour));
        let judged = |state| judge(&failure, state, 7);
        assert_eq!(
            judged(FIRST),
            Disposition::FailFast,
            "an unattended turn is suspended instead"
        );
        let other = AttemptState {
            has_fallback: true,
            ..FIRST
        };
        assert_eq!(
            judged(other),
            Disposition::FailFast,
            "another model goes first"
        );
        let attended = AttemptState {
            attended: true,
            ..FIRST
        };
        assert_eq!(
            judged(attended),
            Disposition::FailFast,
            "no caller waits for an hour"
        );
    }
    let soon = limits::ATTENDED_PATIENCE_MS;
    let near = failure(ModelFailureKind::Quota, Some(soon));
    let attended = AttemptState {
        attended: true,
        ..FIRST
    };
    assert_eq!(
        judge(&near, attended, 0),
        Disposition::Park { backoff_ms: soon }
    );
    let often = AttemptState {
        parks: limits::PARKS_PER_ROUND,
        ..attended
    };
    assert_eq!(judge(&near, often, 0), Disposition::FailFast);
}

#[test]
fn without_a_network_pauses_grow_to_a_bound_use_up_no_try_and_end_at_last() {
    let offline = failure(ModelFailureKind::Network, None);
    let after = |without_network_ms, attended| {
        let state = AttemptState {
            attempt: 3,
            has_fallback: true,
            attended,
            without_network_ms,
            parks: 0,
            ..FIRST
        };
        judge(&offline, state, 0)
    };
    let wait = |backoff_ms| Disposition::WaitForNetwork { backoff_ms };
    assert_eq!(after(0, true), wait(1_000));
    assert_eq!(after(8_000, true), wait(8_000));
    assert_eq!(
        after(0, false),
        Disposition::Exhausted,
        "an unattended turn is suspended instead"
    );
    assert_eq!(
        after(limits::ATTENDED_PATIENCE_MS, true),
        Disposition::Exhausted
    );
}

#[test]
fn a_lesson_about_the_output_limit_is_put_to_use_at_once_but_not_for_ever() {
    let taught = ModelFailure {
        learned: Some(LearnedLimits {
            max_output_tokens: Some(4_096),
            ..LearnedLimits::default()
        }),
        ..ModelFailure::new(ModelFailureKind::InvalidRequest, "max_tokens is too large")
    };
    let at = |attempt| judge(&taught, AttemptState { attempt, ..FIRST }, 0);
    assert_eq!(at(1), Disposition::Retry { backoff_ms: 0 });
    assert_eq!(at(3), Disposition::FailFast);
}

#[test]
fn a_pause_of_years_is_no_renewal_and_leaves_the_usual_backoff() {
    let years = Some(31 * 24 * HOUR_MS);
    let day = Some(24 * HOUR_MS);
    for attended in [true, false] {
        let state = AttemptState { attended, ..FIRST };
        let busy = |asked| failure(ModelFailureKind::ServerError, asked);
        assert_eq!(renewal_ms(&busy(years)), None);
        assert_eq!(judge(&busy(years), state, 0), judge(&busy(None), state, 0));
        assert_eq!(renewal_ms(&busy(day)), day);
    }
    let spent = failure(ModelFailureKind::Quota, years);
    assert_eq!(
        renewal_ms(&spent),
        years,
        "an allowance may be a monthly one"
    );
}
