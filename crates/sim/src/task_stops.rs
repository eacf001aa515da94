//! Operators who start tasks, and stop single ones, once or twice.

use crate::violation::{Verdict, ensure};
use crate::world::{InputResult, World};
use holon_core::input::TaskCommand;
use holon_core::{Input, Rejection, Reply};
use holon_domain::TaskId;
use holon_domain::authority::TrustLevel;
use holon_domain::intent::{DuplicatePolicy, ExecCommand};
use holon_domain::task::{NewCommandTask, TaskStatus};
use holon_engine::kernel::Refusal;

impl World {
    /// Starts a command as a task of some agent.
    pub(crate) fn start_any_task(&mut self) -> Verdict<()> {
        let Some(id) = self.any_agent() else {
            return Ok(());
        };
        let input = Input::Task(TaskCommand::Start(Box::new(NewCommandTask {
            command: ExecCommand {
                cmd: format!("make {}", self.steps),
                workdir: None,
                shell: None,
                login: false,
                tty: false,
                accepts_input: self.dice.percent(50),
                duplicate_policy: DuplicatePolicy::StartNew,
                yield_time_ms: 0,
                max_output_tokens: None,
            },
            summary: None,
            trust: TrustLevel::TrustedOperator,
        })));
        self.trace.note(|| format!("{id} {input:?}"));
        match self.send(&id, &input)? {
            InputResult::Unknown(touched) => self.recover_doubtful_agents(touched),
            InputResult::Handled(reply) => ensure(
                matches!(&reply, Reply::Task(task) if task.status == TaskStatus::Queued),
                "a start of a task is answered by a queued task",
                || format!("{reply:?}"),
            ),
            InputResult::Refused(refusal) => ensure(
                matches!(
                    refusal,
                    Refusal::NotFound
                        | Refusal::Rejected(
                            Rejection::Stopped { .. }
                                | Rejection::NoHome { .. }
                                | Rejection::Archived { .. }
                                | Rejection::Deleting { .. }
                                | Rejection::TooManyTasks { .. }
                        )
                ),
                "a start of a task is refused for a reason that holds",
                || format!("{refusal:?}"),
            ),
            InputResult::Panicked
            | InputResult::Failed
            | InputResult::Aside
            | InputResult::Died => Ok(()),
        }
    }

    /// Asks some task of some agent to end. Sometimes the task is over, or belongs to no agent.
    pub(crate) fn stop_any_task(&mut self) -> Verdict<()> {
        let Some(id) = self.any_agent() else {
            return Ok(());
        };
        let known = self.model.agent(&id);
        let tasks: Vec<TaskId> = known.map_or_else(Vec::new, |known| {
            known.tasks.ids().take(3).cloned().collect()
        });
        let task_id = tasks.get(self.dice.index(tasks.len())).cloned();
        let task_id = task_id.unwrap_or_else(|| TaskId::from_stored("task_nowhere"));
        let input = Input::Task(TaskCommand::Stop {
            task_id: task_id.clone(),
        });
        self.trace.note(|| format!("{id} {input:?}"));
        match self.send(&id, &input)? {
            InputResult::Unknown(touched) => self.recover_doubtful_agents(touched),
            InputResult::Handled(Reply::TaskStop { stop_requested, .. }) => {
                if stop_requested {
                    self.model.coverage.count("task:stopped_by_operator");
                }
                Ok(())
            }
            InputResult::Handled(reply) => {
                ensure(false, "a stop of a task is answered as one", || {
                    format!("{reply:?}")
                })
            }
            InputResult::Refused(refusal) => ensure(
                is_known(&refusal, tasks.contains(&task_id)),
                "a stop of a task is refused for a reason that holds",
                || format!("{task_id}: {refusal:?}"),
            ),
            InputResult::Panicked
            | InputResult::Failed
            | InputResult::Aside
            | InputResult::Died => Ok(()),
        }
    }
}

fn is_known(refusal: &Refusal, has_task: bool) -> bool {
    match refusal {
        Refusal::Rejected(Rejection::NoSuchTask) => !has_task,
        Refusal::Rejected(Rejection::Archived { .. } | Rejection::Deleting { .. })
        | Refusal::NotFound => true,
        Refusal::Rejected(_)
        | Refusal::KeyReused
        | Refusal::ReplyRemoved
        | Refusal::ReplyUnreadable => false,
    }
}
