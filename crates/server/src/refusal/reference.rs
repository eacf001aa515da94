//! Every refusal a caller of the control plane can meet, as data for `docs/reference/refusals.md`.

use super::{RequestFault, status_of};
use holon_domain::AgentId;
use holon_domain::refusal::RefusalText;
use holon_engine::Error;

/// One row of the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefusalEntry {
    /// HTTP status.
    pub status: u16,
    /// Code, meaning and next step; placeholders of the next step are left as they are.
    pub text: RefusalText,
}

/// Every refusal, sorted by code: those of the core, of the engine and of the server.
#[must_use]
#[allow(
    clippy::expect_used,
    reason = "the name is a constant of this function"
)]
pub fn refusals() -> Vec<RefusalEntry> {
    let agent_id = AgentId::parse("main").expect("it keeps every rule of a name");
    let faults = RequestFault::ALL.into_iter().map(|fault| RefusalEntry {
        status: fault.status.as_u16(),
        text: fault.text,
    });
    let errors = Error::examples(&agent_id)
        .into_iter()
        .map(|error| RefusalEntry {
            status: status_of(&error).as_u16(),
            text: error.text(),
        });
    let mut entries: Vec<RefusalEntry> = faults.chain(errors).collect();
    entries.sort_by_key(|entry| entry.text.code);
    entries
}
