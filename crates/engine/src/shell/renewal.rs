//! Makes suspended turns ask again after the host's models or a refused credential have changed.
//!
//! The model port compares credentials. Whether a turn is affected is a decision of the core.

use super::Shell;
use holon_core::Input;
use holon_domain::AgentId;
use holon_domain::agent::AgentRecord;
use holon_domain::model::{ModelFailureKind, ModelRef};
use holon_domain::turn::{Phase, SuspensionReason};
use holon_store::Readers;
use std::collections::BTreeSet;

impl Shell {
    /// Tells suspended turns about each renewed credential until the host goes down.
    pub(crate) async fn run_renewal_loop(self, readers: Readers) {
        loop {
            let provider = tokio::select! {
                provider = self.ports.model.credential_renewed() => provider,
                () = self.draining.cancelled() => return,
                () = self.halted.cancelled() => return,
            };
            tracing::info!(provider, "the credential of a provider was renewed");
            let renewed = Input::CredentialRenewed {
                provider: provider.clone(),
            };
            if !self.resume_suspended(&readers, &renewed).await {
                // A turn that waits for its credential has no time of its own, so the renewal is reported again.
                self.ports.model.watch_credential(&provider);
            }
        }
    }

    /// Sends an input that may end a suspension to every agent with a suspended turn. Returns false if the agents could
    /// not be read.
    pub(crate) async fn resume_suspended(&self, readers: &Readers, input: &Input) -> bool {
        let listed = match readers.read(|reader| reader.agents()).await {
            Ok(listed) => listed,
            Err(error) => {
                tracing::warn!(%error, "suspended turns could not be looked for; each asks again at its own time");
                return false;
            }
        };
        let is_suspended = |agent: &AgentRecord| {
            let turn = agent.open_turn.as_ref();
            turn.is_some_and(|turn| matches!(turn.phase, Phase::Suspended { .. }))
        };
        for agent in listed.into_iter().filter_map(|listed| listed.record.ok()) {
            if is_suspended(&agent) {
                let agent_id = &agent.identity.agent_id;
                drop(self.submit_until_committed(agent_id, input.clone()).await);
            }
        }
        true
    }

    /// Starts to watch the credential that the provider of a failed request has refused. Called after the failure is
    /// committed, so that no renewal is reported before the turn is suspended. A model that refused earlier in the chain
    /// is watched again when its turn is suspended: its credential may have been renewed while a fallback was asked.
    pub(super) async fn watch_refused(&self, agent_id: &AgentId, failed: FailedRequest) {
        let FailedRequest { refused_by } = failed;
        let agent = self.read_agent(agent_id).await;
        let turn = agent.and_then(|agent| agent.open_turn);
        let suspended_for = turn.and_then(|turn| match turn.phase {
            Phase::Suspended {
                reason: SuspensionReason::Auth,
                model_ref,
                ..
            } => ModelRef::parse(&model_ref).ok(),
            _ => None,
        });
        let earlier = suspended_for.map(|model| model.provider().to_owned());
        let providers: BTreeSet<String> = refused_by.into_iter().chain(earlier).collect();
        for provider in providers {
            self.ports.model.watch_credential(&provider);
        }
    }
}

/// A failed request to a model, as far as credentials are concerned.
pub(super) struct FailedRequest {
    /// Provider that refused its credential, if it did.
    refused_by: Option<String>,
}

impl FailedRequest {
    /// Returns the failed request of which the input is the outcome, if it is one.
    pub(super) fn of(input: &Input) -> Option<Self> {
        let Input::AttemptFailed { attempt, .. } = input else {
            return None;
        };
        let failure = &attempt.failure;
        let diagnostics = failure.diagnostics.as_ref();
        let provider = diagnostics.and_then(|diagnostics| diagnostics.provider.clone());
        let refused_by = provider.filter(|_| failure.kind == ModelFailureKind::Auth);
        Some(Self { refused_by })
    }
}
