//! Probes the commands behind an agent's open effects at boot, so that `core` can judge a resumption. It decides
//! nothing and reads no output, because reading the output may be what killed the last host.
//!
//! The agents of a boot are probed concurrently; a semaphore of the shell bounds the number of probes.

use super::Shell;
use super::command::task_key;
use super::due::join_all;
use crate::finding::{commands_of_call, judge_call_probes, judge_probes};
use crate::ports::{CommandKey, CommandProbe};
use crate::tool_run::ToolRun;
use holon_core::input::{Finding, ProbeResult};
use holon_domain::AgentId;
use holon_domain::effect::{Effect, EffectRecord};
use holon_domain::task::TaskRecord;
use std::sync::{Mutex, PoisonError};

/// Commands probed at the same time during boot.
pub(super) const PROBES_AT_ONCE: usize = 32;
/// Open effects of an agent that are read at once.
pub(super) const PAGE: usize = 64;

impl Shell {
    /// Probes the commands behind an agent's open effects. An unreadable row yields nothing here; the recovery that
    /// follows meets the same row.
    pub(super) async fn probe_effects(
        &self,
        agent_id: &AgentId,
        run: Option<&ToolRun>,
    ) -> Vec<Finding> {
        let tasks = self.active_tasks(agent_id).await;
        let Some(home) = self.home_of(agent_id).await else {
            return Vec::new();
        };
        let findings = Mutex::new(Vec::new());
        let mut after = 0;
        loop {
            let page = self.store.open_effects(agent_id, after, PAGE);
            let Ok(page) = self.read_or_put_aside(agent_id, page).await else {
                return Vec::new();
            };
            let probes = page.iter().map(|record| async {
                let found = self.probe_effect(record, run, &tasks, &home).await;
                let mut findings = findings.lock().unwrap_or_else(PoisonError::into_inner);
                findings.extend(found.map(|found| Finding {
                    effect: record.effect.clone(),
                    found,
                }));
            });
            join_all(probes.collect::<Vec<_>>()).await;
            match page.last() {
                Some(last) if page.len() == PAGE => after = last.id,
                Some(_) | None => {
                    return findings
                        .into_inner()
                        .unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    /// Probes the commands behind one effect. `None` if it runs no command.
    async fn probe_effect(
        &self,
        record: &EffectRecord,
        run: Option<&ToolRun>,
        tasks: &[TaskRecord],
        home: &str,
    ) -> Option<ProbeResult> {
        match &record.effect {
            Effect::RunTool { .. } => {
                let run = run.filter(|run| run.effect == record.id)?;
                let probes = self.probe_all(commands_of_call(run)).await;
                Some(judge_call_probes(run, &probes))
            }
            Effect::StartTask { task_id }
            | Effect::WatchTask { task_id }
            | Effect::StopTask { task_id, .. } => {
                let task = tasks.iter().find(|task| task.id == *task_id)?;
                let keys = task_key(home, task)?.all_of(task.command()?);
                Some(judge_probes(&self.probe_all(keys).await))
            }
            Effect::PrepareHome
            | Effect::RemoveHome
            | Effect::CallModel { .. }
            | Effect::FinishPatch { .. }
            | Effect::StopBatch { .. }
            | Effect::CleanWorktree { .. }
            | Effect::SubmitDelivery { .. }
            | Effect::Deliver { .. } => None,
        }
    }

    async fn probe_all(&self, keys: Vec<CommandKey>) -> Vec<CommandProbe> {
        let mut probes = Vec::with_capacity(keys.len());
        for key in keys {
            // The semaphore is never closed. Without a permit the probe is made all the same.
            let _permit = self.probes.acquire().await.ok();
            probes.push(self.ports.command.probe(&key).await);
        }
        probes
    }
}
