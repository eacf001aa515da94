//! Every refusal of the control plane, as data for `docs/reference/refusals.md`.

use super::{RequestFault, status_of};
use holon_domain::AgentId;
use holon_domain::refusal::RefusalText;
use holon_engine::Error;

/// One row of the reference page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefusalEntry {
    pub status: u16,
    /// Code, meaning and next step; placeholders in the next step stay unfilled.
    pub text: RefusalText,
}

/// Returns every refusal of core, engine and server, sorted by code.
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
