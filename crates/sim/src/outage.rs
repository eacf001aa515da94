//! Outages of hours, bursts of prompts, and the rules for them: a turn that nobody waits for on the line is suspended
//! with a way back and never ended by its provider, and an operator is told once of what waits.

use crate::known::Known;
use crate::violation::{Verdict, ensure};
use crate::world::World;
use holon_domain::AgentId;
use holon_domain::brief::BriefRecord;
use holon_domain::failure::FailureCause;
use holon_domain::model::ModelFailureKind;
use holon_domain::turn::{Phase, TerminalReason};

/// How models fail in an outage.
const OUTAGES: [ModelFailureKind; 8] = [
    ModelFailureKind::Connection,
    ModelFailureKind::Timeout,
    ModelFailureKind::ServerError,
    ModelFailureKind::RateLimited,
    ModelFailureKind::Network,
    ModelFailureKind::InvalidResponse,
    ModelFailureKind::Quota,
    ModelFailureKind::Auth,
];
/// The longest an outage lasts without anything else happening.
const HOURS: u64 = 12;

impl World {
    /// Every model fails from now on, or answers again; or hours pass in which nothing gets better.
    pub(crate) fn outage_begins_or_ends(&mut self) {
        if self.outage.is_none() {
            self.outage = self.dice.pick(&OUTAGES);
            let kind = self.outage;
            self.trace.note(|| format!("every model fails: {kind:?}"));
            self.model.coverage.count("outage");
        } else if self.dice.percent(30) {
            self.outage = None;
            self.trace.note(|| "models answer again".to_owned());
        } else {
            let millis = self.dice.below(HOURS * 3_600_000);
            self.pass(millis);
        }
    }

    /// Operators write to one agent again and again.
    pub(crate) fn burst(&mut self) -> Verdict<()> {
        let Some(id) = self.any_agent() else {
            return Ok(());
        };
        self.model.coverage.count("burst");
        let crashes = self.crashes;
        for _ in 0..10 + self.dice.below(40) {
            if self.crashes > crashes || self.model.agent(&id).is_none() {
                break;
            }
            self.speak_to(&id)?;
        }
        Ok(())
    }

    /// Whether the turn of an agent waits for an operator.
    pub(crate) fn is_suspended(&self, id: &AgentId) -> bool {
        let known = self.model.agent(id);
        let open = known.and_then(|known| known.record.open_turn.as_ref());
        open.is_some_and(|turn| matches!(turn.phase, Phase::Suspended { .. }))
    }
}

impl Known {
    /// Takes in a brief about a turn that has not ended.
    pub(crate) fn hear_notice(&mut self, brief: &BriefRecord) -> Verdict<()> {
        ensure(
            brief.settles.is_empty(),
            "a notice about a turn that goes on settles nothing",
            || format!("{brief:?}"),
        )?;
        for id in &brief.acknowledges {
            ensure(
                self.acknowledged.insert(id.clone()),
                "an operator is told once that a prompt waits",
                || format!("{id} again by {}", brief.id),
            )?;
        }
        if brief.action_required.is_some() {
            self.action_requested = Some(brief.turn_index);
        }
        Ok(())
    }

    /// A suspended turn asks again by itself, or its operator was told to act.
    pub(crate) fn check_suspension(&self) -> Verdict<()> {
        let Some(turn) = &self.record.open_turn else {
            return Ok(());
        };
        let Phase::Suspended { pause, .. } = &turn.phase else {
            return Ok(());
        };
        ensure(
            !turn.attended,
            "a turn somebody waits for on the line is not suspended",
            || format!("{turn:?}"),
        )?;
        ensure(
            pause.is_some() || self.action_requested == Some(turn.turn_index),
            "a suspended turn has a way back",
            || format!("{turn:?}"),
        )
    }

    /// A turn that nobody waits for on the line does not end because a provider had trouble.
    pub(crate) fn check_provider_end(&self, reason: TerminalReason) -> Verdict<()> {
        let failure = self.record.last_failure.as_ref();
        let by_trouble = failure.is_some_and(|failure| match failure.cause {
            FailureCause::Provider(kind) => !kind.refuses_request(),
            FailureCause::HomeNotMade | FailureCause::HomeNotRemoved | FailureCause::Runtime => {
                false
            }
        });
        ensure(
            reason != TerminalReason::ProviderFailed || !by_trouble || self.was_attended,
            "a turn that nobody waits for on the line outlives its provider's trouble",
            || format!("{failure:?}"),
        )
    }
}
