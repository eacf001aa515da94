//! Probes the commands behind an agent's open effects at a boot, as the shell does.

use crate::command::State;
use crate::keys::{home_of, key_of, keys_of};
use crate::violation::Verdict;
use crate::world::World;
use holon_core::input::{Finding, ProbeResult};
use holon_domain::AgentId;
use holon_domain::command::{CommandFailure, UnknownCause};
use holon_domain::consequence::Consequence;
use holon_domain::effect::Effect;
use holon_engine::finding::{commands_of_call, judge_call_probes, judge_probes};
use holon_engine::ports::{AliveCommand, CommandKey, CommandProbe};

impl World {
    /// Probes the commands behind an agent's open effects.
    pub(crate) fn probe_effects(&mut self, id: &AgentId) -> Verdict<Vec<Finding>> {
        let run = self.call_in_hand(id)?;
        let mut findings = Vec::new();
        for record in self.read_effects(id)? {
            let found = match &record.effect {
                Effect::RunTool { .. } => {
                    let Some(run) = run.as_ref().filter(|run| run.effect == record.id) else {
                        continue;
                    };
                    let found = judge_call_probes(run, &self.probe_all(&commands_of_call(run)));
                    if let ProbeResult::Alive {
                        as_task: Some(task),
                    } = &found
                    {
                        match task.as_ref() {
                            Consequence::Result(result)
                            | Consequence::SkillUsed { result, .. }
                            | Consequence::Task { result, .. }
                            | Consequence::Workspace { result, .. } => {
                                self.tool_world.offer(&run.call.id, result);
                            }
                            // The kernel writes that result itself.
                            Consequence::PlanWritten(_)
                            | Consequence::ChildPrepared { .. }
                            | Consequence::FilesSeen { .. } => {}
                        }
                    }
                    found
                }
                Effect::StartTask { task_id }
                | Effect::WatchTask { task_id }
                | Effect::StopTask { task_id, .. } => {
                    let Some(task) = self.task(id, task_id)? else {
                        continue;
                    };
                    let keys = keys_of(&task, &key_of(&home_of(id), &task));
                    judge_probes(&self.probe_all(&keys))
                }
                Effect::PrepareHome
                | Effect::RemoveHome
                | Effect::CallModel { .. }
                | Effect::FinishPatch { .. }
                | Effect::StopBatch { .. }
                | Effect::CleanWorktree { .. }
                | Effect::SubmitDelivery { .. }
                | Effect::Deliver { .. } => continue,
            };
            findings.push(Finding {
                effect: record.effect,
                found,
            });
        }
        Ok(findings)
    }

    fn probe_all(&self, keys: &[CommandKey]) -> Vec<CommandProbe> {
        let probe = |key: &CommandKey| match self.tool_world.commands.get(key).map(|one| one.state)
        {
            Some(State::Runs) => CommandProbe::Running(AliveCommand {
                started_at: self.now,
                output_path: None,
                stderr_path: None,
            }),
            Some(State::Over { .. }) => CommandProbe::Ended(()),
            Some(State::NotStarted) => CommandProbe::StartFailed(CommandFailure::Spawn {
                reason: "it could not be started".to_owned(),
            }),
            Some(State::Lost) => CommandProbe::Unknown(UnknownCause::SupervisorDied),
            Some(State::Barred) | None => CommandProbe::NeverStarted,
        };
        keys.iter().map(probe).collect()
    }
}
