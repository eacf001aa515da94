//! The models that agents of a running host ask. A host may have been started with other settings than this command
//! reads, and an agent may have a model of its own.

use crate::host;
use crate::report::{AgentChain, RunningHost};
use holon_client::view::Model;
use holon_domain::AgentId;
use std::path::Path;

/// Most agents whose models are looked at; a doctor's report names no more.
const AGENTS: usize = 50;

/// Asks the host of a home. `None` if none is running or it does not answer.
pub(super) async fn host_chains(home: &Path) -> Option<RunningHost> {
    let client = host::client(home);
    let default_agent = client.root().await.ok()?.default_agent;
    let default = client.status(Some(&default_agent)).await.ok()?;
    let mut running = RunningHost {
        default_model: default.model.runtime_default_model.clone(),
        fallback_models: default.model.effective_fallback_models.clone(),
        agents: Vec::new(),
    };
    for entry in client.agents().await.ok()?.iter().take(AGENTS) {
        let Ok(agent_id) = AgentId::parse(&entry.identity.agent_id) else {
            continue;
        };
        if let Ok(agent) = client.status(Some(&agent_id)).await {
            running.agents.extend(own_chain(&agent_id, &agent.model));
        }
    }
    Some(running)
}

/// Returns the chain of an agent with a model of its own.
fn own_chain(agent_id: &AgentId, model: &Model) -> Option<AgentChain> {
    let own = model.effective_model.clone()?;
    (model.source == "agent_override").then(|| AgentChain {
        agent_id: agent_id.to_string(),
        model: own,
        fallback_models: model.effective_fallback_models.clone(),
    })
}
