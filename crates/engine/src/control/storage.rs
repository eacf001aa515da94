//! Removal of old history by operators, and its preview.

use super::ControlHandle;
use crate::error::Error;
use holon_domain::decision::BriefSeq;
use holon_domain::storage::{HistoryHolder, HistoryPosition, HistoryRule, RemovedHistory};
use holon_domain::{AgentId, Timestamp};

/// What an operator asks to remove.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PruneOrder {
    /// Turns go that ended before this time.
    pub before: Timestamp,
    /// True if nothing is removed, and the report says what would be.
    pub preview: bool,
    /// Name of the agent to go on with: `next` of the report before.
    pub next: Option<String>,
    /// Most steps of this request.
    pub steps: u32,
}

/// What one request removed, or would remove.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PruneReport {
    pub removed: RemovedHistory,
    /// Rows that cannot be read, each with its agent. Most faults keep the agent's history as it is; briefs are passed
    /// over.
    pub failures: Vec<(AgentId, String)>,
    /// Agent to go on with. Absent if all are done.
    pub next: Option<AgentId>,
}

impl PruneReport {
    /// Names briefs that were passed over. Two steps may have found the same one.
    fn pass_over(&mut self, agent_id: &AgentId, briefs: &[BriefSeq]) {
        for seq in briefs {
            let reason = format!("briefs {seq}: cannot be read, and was passed over");
            let failure = (agent_id.clone(), reason);
            if !self.failures.contains(&failure) {
                self.failures.push(failure);
            }
        }
    }
}

impl ControlHandle {
    /// Removes the turns of all agents that ended before a time, or says what would go. A request takes a bounded number
    /// of steps; a preview ends at the end of an agent. Agents go in the order of their names, and one whose rows cannot
    /// be read does not keep the others.
    ///
    /// # Errors
    /// When storage fails. What was removed before is gone.
    pub async fn prune(&self, order: PruneOrder) -> Result<PruneReport, Error> {
        let mut holders = self.shell.store.history_holders().await?;
        holders.sort_by(|one, other| one.agent_id.cmp(&other.agent_id));
        let rule = HistoryRule::OlderThan(order.before);
        let begin = order.next.as_deref().unwrap_or_default();
        let is_due = |holder: &HistoryHolder| {
            holder.agent_id.as_str() >= begin && rule.takes(holder.oldest_at)
        };
        let (mut report, mut steps) = (PruneReport::default(), 0);
        for holder in holders.into_iter().filter(is_due) {
            if steps >= order.steps {
                report.next = Some(holder.agent_id);
                break;
            }
            let done = match order.preview {
                true => self.preview_agent(&holder, rule, &mut report).await,
                false => {
                    let left = order.steps - steps;
                    self.prune_agent(&holder, rule, left, &mut report).await
                }
            };
            match done {
                Ok(taken) => steps += taken,
                Err(Error::AgentAside { agent_id, reason }) => {
                    let reason = format!("its history stays: {reason}");
                    report.failures.push((agent_id, reason));
                }
                Err(error) => return Err(error),
            }
            if report.next.is_some() {
                break;
            }
        }
        Ok(report)
    }

    /// Removes at most `left` steps of one agent. Returns their number.
    async fn prune_agent(
        &self,
        holder: &HistoryHolder,
        rule: HistoryRule,
        left: u32,
        report: &mut PruneReport,
    ) -> Result<u32, Error> {
        let (id, home) = (&holder.agent_id, &holder.agent_home);
        for taken in 0..left {
            match self.shell.try_history_step(id, home, rule).await? {
                Some(step) => {
                    report.removed += step.removed;
                    report.pass_over(id, &step.unreadable_briefs);
                }
                None => return Ok(taken),
            }
        }
        report.next = Some(id.clone());
        Ok(left)
    }

    /// Adds what would go of one agent. Returns the number of steps.
    async fn preview_agent(
        &self,
        holder: &HistoryHolder,
        rule: HistoryRule,
        report: &mut PruneReport,
    ) -> Result<u32, Error> {
        let (mut position, mut steps) = (HistoryPosition::default(), 0);
        loop {
            let (id, from) = (holder.agent_id.clone(), position);
            let plan = self.readers.read(move |reader| {
                let step = reader.history_step(&id, &from, rule)?;
                Ok((step, from))
            });
            let plan = plan.await;
            let (step, from) = plan.map_err(|error| Error::of_agent(&holder.agent_id, error))?;
            let Some(step) = step else {
                return Ok(steps);
            };
            let outputs = match step.outputs.is_empty() {
                true => Default::default(),
                false => {
                    let command = &self.shell.ports.command;
                    let named = Some(step.outputs.as_slice());
                    command.output_size(&holder.agent_home, named).await
                }
            };
            let removed = RemovedHistory {
                files: outputs.files,
                file_bytes: outputs.bytes,
                ..step.removed
            };
            report.removed += removed;
            report.pass_over(&holder.agent_id, &step.unreadable_briefs);
            position = from;
            position.pass(&step);
            steps += 1;
        }
    }
}
