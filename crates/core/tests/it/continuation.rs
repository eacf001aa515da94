//! Tests of the classification of each trigger in each closure.

use crate::render::spelled;
use holon_core::continuation::{Trigger, resolve};
use holon_domain::closure::{ClosureDecision, ClosureOutcome, RuntimePosture, WaitingReason};
use holon_domain::continuation::{ContinuationClass, TriggerKind};
use holon_domain::message::ResumeReason;

fn closures() -> Vec<(String, ClosureDecision)> {
    let closure = |outcome, waiting_reason| ClosureDecision {
        outcome,
        waiting_reason,
        work_signal: None,
        runtime_posture: RuntimePosture::Sleeping,
        evidence: Vec::new(),
    };
    let settled = [
        ClosureOutcome::Completed,
        ClosureOutcome::Continuable,
        ClosureOutcome::Failed,
    ];
    let waiting = WaitingReason::ALL.map(|reason| {
        let closure = closure(ClosureOutcome::Waiting, Some(reason));
        (spelled(reason), closure)
    });
    settled
        .map(|outcome| (spelled(outcome), closure(outcome, None)))
        .into_iter()
        .chain(waiting)
        .collect()
}

/// A wait that a message ended when it was admitted.
const ENDED: ResumeReason = ResumeReason::Wait {
    reason: WaitingReason::AwaitingTaskResult,
};

fn triggers() -> Vec<(String, Trigger)> {
    let mut all = Vec::new();
    for kind in TriggerKind::ALL {
        for (words, contentful) in [("with words", true), ("without words", false)] {
            let trigger = Trigger {
                kind,
                contentful,
                resumes: None,
                observational: false,
            };
            all.push((format!("{} {words}", spelled(kind)), trigger));
        }
    }
    let own_rest = Trigger {
        kind: TriggerKind::SystemTick,
        contentful: true,
        resumes: Some(ResumeReason::Rest),
        observational: false,
    };
    all.push(("system_tick that ends its own rest".to_owned(), own_rest));
    for kind in TriggerKind::ALL {
        let ends_wait = Trigger {
            kind,
            contentful: false,
            resumes: Some(ENDED),
            observational: false,
        };
        all.push((format!("{} that ended a wait", spelled(kind)), ends_wait));
    }
    for kind in TriggerKind::ALL {
        let trigger = Trigger {
            kind,
            contentful: true,
            resumes: None,
            observational: true,
        };
        all.push((format!("{}, observational", spelled(kind)), trigger));
    }
    all
}

#[test]
fn every_trigger_is_classified_in_every_closure() {
    let closures = closures();
    let mut table = String::new();
    for (name, trigger) in triggers() {
        table += &format!("{name}\n");
        for class in [
            ContinuationClass::ResumeExpectedWait,
            ContinuationClass::ResumeOverride,
            ContinuationClass::LocalContinuation,
            ContinuationClass::LivenessOnly,
        ] {
            let matching: Vec<&str> = closures
                .iter()
                .filter(|(_, prior)| resolve(prior, trigger).class == class)
                .map(|(name, _)| name.as_str())
                .collect();
            if !matching.is_empty() {
                table += &format!("    {}: {}\n", spelled(class), matching.join(", "));
            }
        }
    }
    insta::assert_snapshot!(table);
}

#[test]
fn only_signs_of_life_are_hidden_from_a_model_and_only_the_expected_is_a_match() {
    for (name, trigger) in triggers() {
        for (closure, prior) in closures() {
            let resolution = resolve(&prior, trigger);
            let class = resolution.class;
            let at = format!("{name} in {closure}");
            assert_eq!(
                resolution.model_visible,
                class != ContinuationClass::LivenessOnly,
                "{at}"
            );
            assert_eq!(
                resolution.matched_waiting_reason,
                class == ContinuationClass::ResumeExpectedWait,
                "{at}"
            );
            let expected = match trigger.resumes {
                Some(ResumeReason::Wait { reason }) => Some(reason),
                Some(ResumeReason::Rest) | None => prior.waiting_reason,
            };
            assert_eq!(resolution.prior_waiting_reason, expected, "{at}");
        }
    }
}

#[test]
fn words_are_never_swallowed_unless_they_only_observe() {
    for (name, trigger) in triggers() {
        for (closure, prior) in closures() {
            let visible = resolve(&prior, trigger).model_visible;
            let has_words = trigger.contentful && !trigger.observational;
            assert!(visible || !has_words, "{name} in {closure}");
        }
    }
}
