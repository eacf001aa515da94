//! Removal of old history by operators, and its preview.

use super::ControlHandle;
use crate::error::Error;
use holon_domain::Timestamp;
use holon_domain::limits::PRUNE_STEPS_PER_REQUEST;
use holon_domain::storage::{HistoryHolder, HistoryPosition, RemovedHistory};

/// What an operator asks to remove.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PruneOrder {
    /// Turns go that ended before this time.
    pub before: Timestamp,
    /// True if nothing is removed, and the report says what would be.
    pub preview: bool,
    /// Agents to pass over, in the order of their names: `next` of the report before.
    pub passed: usize,
}

/// What one request removed, or would remove.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PruneReport {
    pub removed: RemovedHistory,
    /// Agents that are done. Absent if all of them are.
    pub next: Option<usize>,
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
        let (mut report, mut steps, mut failed) = (PruneReport::default(), 0, None);
        for (done, holder) in holders.into_iter().enumerate().skip(order.passed) {
            if holder.oldest_at >= order.before {
                continue;
            }
            if steps >= PRUNE_STEPS_PER_REQUEST {
                report.next = Some(done);
                break;
            }
            if order.preview {
                steps += self
                    .preview_agent(&holder, order.before, &mut report)
                    .await?;
                continue;
            }
            while steps < PRUNE_STEPS_PER_REQUEST {
                let (id, home) = (&holder.agent_id, &holder.agent_home);
                let step = self.shell.try_history_step(id, home, order.before);
                match step.await {
                    Ok(Some((removed, _))) => report.removed += removed,
                    Ok(None) => break,
                    Err(error) => {
                        failed.get_or_insert(error);
                        break;
                    }
                }
                steps += 1;
            }
            if steps >= PRUNE_STEPS_PER_REQUEST {
                report.next = Some(done);
                break;
            }
        }
        failed.map_or(Ok(report), Err)
    }

    /// Adds what would go of one agent. Returns the number of steps.
    async fn preview_agent(
        &self,
        holder: &HistoryHolder,
        before: Timestamp,
        report: &mut PruneReport,
    ) -> Result<u32, Error> {
        let (mut position, mut steps) = (HistoryPosition::default(), 0);
        loop {
            let (id, from) = (holder.agent_id.clone(), position);
            let plan = self.readers.read(move |reader| {
                let step = reader.history_step(&id, &from, before)?;
                Ok((step, from))
            });
            let (step, from) = plan.await?;
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
            position = from;
            position.pass(&step);
            steps += 1;
        }
    }
}
