//! Outages of hours, bursts of prompts, and their rules: an unattended turn is suspended and never ended by its
//! provider, and an operator is told once about each waiting prompt.

use crate::observed_agent::ObservedAgent;
use crate::violation::{Verdict, ensure};
use crate::world::World;
use holon_domain::AgentId;
use holon_domain::brief::BriefRecord;
use holon_domain::failure::FailureCause;
use holon_domain::model::ModelFailureKind;
use holon_domain::turn::{Phase, TerminalReason};

/// Kinds of failure in an outage.
const OUTAGES: [ModelFailureKind; 8] = [
    ModelFailureKind::Connection,
    ModelFailureKind::Timeout,
    ModelFailureKind::ServerError,
    ModelFailureKind::RateLimited,
    ModelFailureKind::Network,
    ModelFailureKind::NotJson,
    ModelFailureKind::Quota,
    ModelFailureKind::Auth,
];
/// Maximum hours of an outage that pass at once.
const HOURS: u64 = 12;

impl World {
    /// Begins or ends an outage of all models, or lets hours of it pass.
    pub(crate) fn change_outage(&mut self) {
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
            self.advance(millis);
        }
    }

    /// Sends many prompts to one agent.
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

    /// Returns true if the turn of an agent waits for an operator.
    pub(crate) fn is_suspended(&self, id: &AgentId) -> bool {
        let known = self.model.agent(id);
        let open = known.and_then(|known| known.record.open_turn.as_ref());
        open.is_some_and(|turn| matches!(turn.phase, Phase::Suspended { .. }))
    }
}

impl ObservedAgent {
    /// Records a notice about an open turn and checks that it is the only one.
    pub(crate) fn record_notice(&mut self, brief: &BriefRecord) -> Verdict<()> {
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

    /// Checks that a suspended turn asks again by itself, or its operator was asked to act.
    pub(crate) fn check_suspension(&self) -> Verdict<()> {
        let Some(turn) = &self.record.open_turn else {
            return Ok(());
        };
        let Phase::Suspended { pause, .. } = &turn.phase else {
            return Ok(());
        };
        ensure(
            !turn.attended,
            "a turn with a waiting caller is not suspended",
            || format!("{turn:?}"),
        )?;
        ensure(
            pause.is_some() || self.action_requested == Some(turn.turn_index),
            "a suspended turn has a way back",
            || format!("{turn:?}"),
        )
    }

    /// Checks that an unattended turn did not end because of its provider.
    pub(crate) fn check_provider_end(&self, reason: TerminalReason) -> Verdict<()> {
        let failure = self.record.last_failure.as_ref();
        let by_trouble = failure.is_some_and(|failure| match failure.cause {
            // An answer of an unknown form is not asked for again.
            FailureCause::Provider(ModelFailureKind::InvalidResponse) => false,
            FailureCause::Provider(kind) => !kind.refuses_request(),
            FailureCause::HomeNotMade | FailureCause::HomeNotRemoved | FailureCause::Runtime => {
                false
            }
        });
        ensure(
            reason != TerminalReason::ProviderFailed || !by_trouble || self.was_attended,
            "an unattended turn outlives an outage of its provider",
            || format!("{failure:?}"),
        )
    }
}
