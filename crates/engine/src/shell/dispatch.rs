//! Starts the work that a commit asks for, or declines it during a shutdown.

use super::Shell;
use crate::kernel::PostCommitWork;
use holon_core::{Input, Stamp};
use holon_domain::consequence::Consequence;
use holon_domain::effect::{Effect, EffectRecord};
use holon_domain::intent::RestartPolicy;
use holon_domain::tool::{ToolEnvelope, ToolError, ToolErrorKind};
use holon_store::Ledger;
use tokio_util::sync::CancellationToken;

impl Shell {
    /// Starts this work once the commit of `ledger` holds.
    pub(super) fn dispatch_after(&self, ledger: &mut dyn Ledger, work: PostCommitWork) {
        let shell = self.clone();
        ledger.after_commit(Box::new(move || shell.dispatch(work)));
    }

    /// Starts the work that a commit asks for. Runs on the writer's thread, so it only spawns tasks.
    fn dispatch(&self, work: PostCommitWork) {
        self.note_children(&work);
        self.ended_turns.count(&work.ended_turns);
        for key in work.closed {
            if let Some(token) = self.lock_running().remove(&key) {
                token.cancel();
            }
        }
        if work.due.is_some() {
            self.due_set.notify_one();
        }
        for (agent_id, reason) in work.faulty {
            let (shell, seen) = (self.clone(), self.take_backs.of(&agent_id));
            self.spawn(async move { shell.put_aside(&agent_id, reason, seen).await });
        }
        // Effects that are not started now stay open in the store; the next boot starts them.
        if self.draining.is_cancelled() {
            return self.decline(work.effects.into_values());
        }
        for effect in work.effects.into_values() {
            self.begin(effect);
        }
        for agent_id in work.unfinished {
            let shell = self.clone();
            self.spawn(async move {
                drop(
                    shell
                        .submit_until_committed(&agent_id, Input::Continue)
                        .await,
                )
            });
        }
    }

    /// Declines tool calls during shutdown. The refusal is recorded, because the next boot could not tell such a call
    /// from one that was interrupted. Calls that the next boot resumes anyway are left to it.
    fn decline(&self, effects: impl Iterator<Item = EffectRecord>) {
        for record in effects {
            if let Effect::RunTool { .. } = record.effect {
                let shell = self.clone();
                self.spawn(async move { shell.decline_call(record).await });
            }
        }
    }

    async fn decline_call(&self, record: EffectRecord) {
        let Some(run) = self.find_tool_run(&record).await else {
            return;
        };
        match run.action.restart_policy() {
            RestartPolicy::Repeat => return,
            RestartPolicy::ProveOutcome => {}
        }
        let error = ToolError::new(
            ToolErrorKind::NotStarted,
            "the host was going down before this call began; it had no effect",
        )
        .hint("make the call again if it is still wanted")
        .retryable();
        let finished = Input::ToolFinished {
            stamp: Stamp::of(&record),
            consequence: Consequence::Result(ToolEnvelope::failure(run.call.name, error)),
            duration_ms: 0,
        };
        self.submit_until_committed(&record.agent_id, finished)
            .await;
    }

    fn begin(&self, effect: EffectRecord) {
        let token = CancellationToken::new();
        self.lock_running()
            .insert((effect.agent_id.clone(), effect.id), token.clone());
        let shell = self.clone();
        self.spawn(async move { shell.perform(effect, token).await });
    }
}
