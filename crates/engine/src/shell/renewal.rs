//! Makes suspended turns ask again after the host's models or a refused credential have changed.
//!
//! The model port compares credentials. Whether a turn is affected is a decision of the core.

use super::Shell;
use holon_core::Input;
use holon_domain::agent::AgentRecord;
use holon_domain::model::ModelFailureKind;
use holon_domain::turn::Phase;
use holon_store::Readers;

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
            let renewed = Input::CredentialRenewed { provider };
            self.resume_suspended(&readers, &renewed).await;
        }
    }

    /// Sends an input that may end a suspension to every agent with a suspended turn.
    pub(crate) async fn resume_suspended(&self, readers: &Readers, input: &Input) {
        let listed = match readers.read(|reader| reader.agents()).await {
            Ok(listed) => listed,
            Err(error) => {
                tracing::warn!(%error, "suspended turns could not be looked for; each asks again at its own time");
                return;
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
    }

    /// Starts to watch the credential that the provider of a failed request has refused. Called after the failure is
    /// committed, so that no renewal is reported before the turn is suspended.
    pub(super) fn watch_refused(&self, provider: Option<String>) {
        if let Some(provider) = provider {
            self.ports.model.watch_credential(&provider);
        }
    }
}

/// Returns the provider that refused its credential, if the input is the outcome of such a request.
pub(super) fn refused_provider(input: &Input) -> Option<String> {
    match input {
        Input::AttemptFailed { failure, .. } if failure.kind == ModelFailureKind::Auth => {
            failure.diagnostics.as_ref()?.provider.clone()
        }
        _ => None,
    }
}
