//! Rules for an agent that another agent created for a task.

use crate::candidate::Candidate;
use holon_domain::agent::{AgentKind, AgentRecord};
use holon_domain::prompt_plan::BlockSource;

pub(crate) const RULES: &str = "# Delegated work\n\n\
    Another agent created you for one task, and its message defines the task. Stay inside it: start no other work, and do \
    not widen it. Your last message goes to that agent; write it so that it can be used without your conversation.";

/// Returns the rules; `None` for an agent that works for an operator, such as the temporary one of a run.
pub(crate) fn candidate(agent: &AgentRecord) -> Option<Candidate<'static>> {
    let is_delegate = agent.identity.kind == AgentKind::Child && !agent.is_one_run();
    is_delegate.then(|| Candidate::pin(BlockSource::Delegation, RULES))
}
