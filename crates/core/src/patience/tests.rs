//! Tests of the suspension policy as tables.

use super::*;
use holon_domain::limits::{PROVIDER_PATIENCE_MS, RENEWAL_PATIENCE_MS, SUSPENSION_PAUSE_MAX_MS};

const HOUR_MS: u64 = 3_600_000;

const ANY_TIME: Outlook = Outlook {
    renewal_ms: None,
    may_pass_any_time: true,
};

fn renewal(wait_ms: u64) -> Outlook {
    Outlook {
        renewal_ms: Some(wait_ms),
        may_pass_any_time: false,
    }
}

fn waited(waited_ms: u64, renewal_waited_ms: u64) -> Patience {
    Patience {
        waited_ms,
        renewal_waited_ms,
        ..Patience::default()
    }
}

fn plan(patience: &Patience, outlook: Outlook) -> Option<PlannedPause> {
    plan_pause(patience, PROVIDER_PATIENCE_MS, outlook, 0)
}

#[test]
fn one_model_that_may_answer_later_is_enough_and_a_refusal_outweighs_what_an_operator_can_mend() {
    use ChainVerdict::{MayPass, NeedsOperator, Refused};
    use ModelFailureKind as Kind;
    use SuspensionReason as Reason;
    let table: [(&[Kind], ChainVerdict); 10] = [
        (&[Kind::ServerError], MayPass(Reason::ProviderTrouble)),
        (&[Kind::NotJson], MayPass(Reason::ProviderTrouble)),
        (&[Kind::InvalidResponse], Refused),
        (
            &[Kind::InvalidResponse, Kind::NotJson],
            MayPass(Reason::ProviderTrouble),
        ),
        (&[Kind::Auth, Kind::Quota], MayPass(Reason::Quota)),
        (
            &[Kind::InvalidRequest, Kind::Network],
            MayPass(Reason::Network),
        ),
        (&[Kind::Auth], NeedsOperator(Reason::Auth)),
        (
            &[Kind::ModelUnavailable, Kind::Auth],
            NeedsOperator(Reason::ModelUnavailable),
        ),
        (&[Kind::InvalidRequest], Refused),
        (&[Kind::Auth, Kind::InvalidRequest], Refused),
    ];
    for (kinds, expected) in table {
        assert_eq!(judge_chain(kinds), expected, "{kinds:?}");
    }
}

#[test]
fn pauses_double_up_to_five_minutes_and_end_with_the_patience() {
    let mut patience = Patience::default();
    let mut lengths = Vec::new();
    while let Some(pause) = plan(&patience, ANY_TIME) {
        patience.waited_ms += pause.length_ms;
        lengths.push(pause.length_ms);
    }
    assert_eq!(
        lengths.get(..5),
        Some(&[1_000, 1_000, 2_000, 4_000, 8_000][..])
    );
    assert_eq!(lengths.last(), Some(&SUSPENSION_PAUSE_MAX_MS));
    assert!(patience.waited_ms >= PROVIDER_PATIENCE_MS);
    assert!(patience.waited_ms < PROVIDER_PATIENCE_MS + SUSPENSION_PAUSE_MAX_MS);
}

#[test]
fn a_named_renewal_is_waited_for_within_its_own_bound() {
    let exactly = PlannedPause {
        length_ms: HOUR_MS,
        renewal: true,
    };
    assert_eq!(plan(&Patience::default(), renewal(HOUR_MS)), Some(exactly));
    let used_up = waited(PROVIDER_PATIENCE_MS, 0);
    assert_eq!(plan(&used_up, renewal(HOUR_MS)), Some(exactly));
    let too_far = renewal(RENEWAL_PATIENCE_MS + 1);
    assert_eq!(plan(&Patience::default(), too_far), None);
    let waited_enough = waited(0, RENEWAL_PATIENCE_MS);
    assert_eq!(plan(&waited_enough, renewal(HOUR_MS)), None);
}

#[test]
fn an_allowance_that_is_used_up_at_once_is_asked_for_less_and_less_often() {
    let pause = plan(&waited(0, HOUR_MS), renewal(0)).expect("it waits");
    assert_eq!(pause.length_ms, SUSPENSION_PAUSE_MAX_MS);
}

#[test]
fn the_shorter_of_two_ways_back_is_taken() {
    let both = Outlook {
        renewal_ms: Some(HOUR_MS),
        may_pass_any_time: true,
    };
    let first = plan(&Patience::default(), both).expect("it waits");
    assert!(!first.renewal);
    let later = plan(&waited(PROVIDER_PATIENCE_MS, 0), both).expect("it waits");
    assert!(later.renewal);
}
