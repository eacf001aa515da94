//! Rules for an agent that another agent created for a task, and the summaries of children for their parent.

use crate::candidate::{Candidate, Priority};
use crate::visible;
use holon_domain::agent::{AgentKind, AgentRecord};
use holon_domain::closure::WaitingReason;
use holon_domain::delegation::{ActiveChild, ChildObservability, ChildPhase, PUT_ASIDE};
use holon_domain::prompt_plan::BlockSource;

pub(crate) const RULES: &str = "# Delegated work\n\n\
    Another agent created you for one assignment, and its first message to you defines it. Stay inside it: start no other \
    work, and do not widen it. Your last text goes to that agent; write it so that it can be used without your \
    conversation, and put into it what you would tell an operator.";

/// Returns the rules; `None` for an agent that works for an operator, such as the temporary one of a run.
pub(crate) fn candidate(agent: &AgentRecord) -> Option<Candidate<'static>> {
    let is_delegate = agent.identity.kind == AgentKind::Child && !agent.is_one_run();
    is_delegate.then(|| Candidate::pin(BlockSource::Delegation, RULES))
}

/// Bytes of a text in a line about a child.
const LINE_BYTES: usize = 200;

/// Lists what each child does; `None` if there are none.
pub(crate) fn children<'a>(children: &[ActiveChild]) -> Option<Candidate<'a>> {
    if children.is_empty() {
        return None;
    }
    let lines: Vec<String> = children.iter().map(line).collect();
    Some(Candidate::optional(
        BlockSource::Children,
        Priority::Children,
        format!(
            "Children that work for you (their reports come as results of their tasks):\n{}",
            lines.join("\n")
        ),
    ))
}

fn is_aside(seen: &ChildObservability) -> bool {
    let reason = seen.blocked_reason.as_deref();
    reason.is_some_and(|reason| reason.starts_with(PUT_ASIDE))
}

fn line(child: &ActiveChild) -> String {
    let seen = &child.observability;
    // A child may repeat what an outsider wrote.
    let quote = |words: &str| visible::excerpt(words, LINE_BYTES);
    let state = match seen.phase {
        ChildPhase::Running => "works",
        ChildPhase::Blocked if is_aside(seen) => {
            "was put aside, because its stored data cannot be read: it does nothing until an operator mends and starts \
             it (TaskStop ends its task)"
        }
        ChildPhase::Blocked => "waits for a command of its own",
        ChildPhase::Waiting => match seen.waiting_reason {
            Some(WaitingReason::AwaitingOperatorInput) => {
                "waits for an answer of yours (TaskInput)"
            }
            Some(WaitingReason::AwaitingExternalChange) => "waits for an event",
            Some(WaitingReason::AwaitingTaskResult) => "waits for a task of its own",
            Some(WaitingReason::AwaitingTimer) => "waits for a time",
            None => "waits",
        },
        ChildPhase::Terminal => "has ended",
    };
    let told = [
        ("task", child.summary.as_deref()),
        ("working on", seen.work_summary.as_deref()),
        ("last progress", seen.last_progress_brief.as_deref()),
        ("last result", seen.last_result_brief.as_deref()),
    ];
    let told: String = told
        .into_iter()
        .filter_map(|(name, words)| Some(format!("; {name}: {}", quote(words?))))
        .collect();
    format!(
        "- {} (task {}) {state}{told}",
        child.identity.agent_id, child.supervision_task_id
    )
}
