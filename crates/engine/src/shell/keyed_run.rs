//! Admits the message of a run with a temporary agent together with the mark that it has begun.

use super::Shell;
use super::submit::TouchedAgents;
use crate::error::Error;
use holon_core::{Input, Reply};
use holon_domain::AgentId;
use holon_domain::request_key::RequestKey;
use holon_store::WriteOrder;
use std::sync::Arc;

impl Shell {
    /// Hands the message of a run to the writer. Its commit also keeps `begun` under the key of the request, unless the
    /// message is refused.
    pub(crate) async fn submit_run(
        &self,
        agent_id: &AgentId,
        key: &Arc<RequestKey>,
        begun: String,
        input: Input,
    ) -> Result<Reply, Error> {
        let (shell, id, key) = (self.clone(), agent_id.clone(), Arc::clone(key));
        let touched = TouchedAgents::default();
        let bytes = super::submit::input_bytes(&input);
        let decided = self.decide(
            agent_id,
            WriteOrder::client(bytes),
            &touched,
            move |ledger, now, entropy| {
                let handled = shell.kernel.handle(ledger, &id, &input, now, entropy)?;
                if handled.is_ok() {
                    ledger.keep_reply(&key, None, &begun, now)?;
                }
                Ok(handled)
            },
        );
        let outcome = decided.await;
        if outcome == Err(Error::CommitUnknown) {
            for agent_id in touched.all(agent_id) {
                self.spawn_clear_up(agent_id);
            }
        }
        outcome
    }
}
