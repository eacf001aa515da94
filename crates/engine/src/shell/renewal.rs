//! Makes suspended turns ask again after the host's models or a refused credential have changed.
//!
//! The model port compares credentials. Whether a turn is affected is a decision of the core.

use super::Shell;
use super::due::join_all;
use holon_core::Input;
use holon_domain::AgentId;
use holon_domain::model::{ModelFailureKind, ModelRef};
use holon_domain::turn::{Phase, SuspensionReason};
use holon_store::{Reader, Readers, RecoveryCursor};
use std::collections::BTreeSet;

/// Number of agents that are looked at in one read.
const PAGE: usize = 256;

/// Returns the agents with a suspended turn among those of one page, private children included, and where the next page
/// begins; `None` behind the last page.
fn suspended(
    reader: &Reader<'_>,
    from: Option<RecoveryCursor>,
) -> Result<(Vec<AgentId>, Option<RecoveryCursor>), holon_store::Error> {
    let page = reader.agents_to_recover(from, PAGE)?;
    let mut found = Vec::new();
    for agent_id in &page.agents {
        // A row that cannot be read is put aside when its agent is decided about.
        let agent = reader.agent(agent_id).ok().flatten();
        let turn = agent.and_then(|(_, agent)| agent.open_turn);
        if turn.is_some_and(|turn| matches!(turn.phase, Phase::Suspended { .. })) {
            found.push(agent_id.clone());
        }
    }
    Ok((found, page.next))
}

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
        let mut from = None;
        loop {
            let page = readers.read(move |reader| suspended(reader, from));
            let (found, next) = match page.await {
                Ok(page) => page,
                Err(error) => {
                    tracing::warn!(%error, "suspended turns could not be looked for; each asks again at its own time");
                    return false;
                }
            };
            // Together, so that their inputs share commits.
            let resumed = found.iter().map(|agent_id| async move {
                drop(self.submit_until_committed(agent_id, input.clone()).await);
            });
            join_all(resumed).await;
            if next.is_none() {
                return true;
            }
            from = next;
        }
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
