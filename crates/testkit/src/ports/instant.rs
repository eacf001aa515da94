//! Commands and files that complete at once and leave nothing behind.

use async_trait::async_trait;
use holon_domain::CallId;
use holon_domain::command::{
    CapturedStream, CommandEnd, CommandFailure, CommandOutput, TaskStreams,
};
use holon_domain::file_change::PatchResult;
use holon_domain::intent::{TaskInput, TaskOutput};
use holon_domain::task::TaskReport;
use holon_domain::tool::ToolError;
use holon_engine::ports::{
    CommandContext, CommandHost, CommandKey, CommandOrder, CommandProbe, CommandRun, FileHost,
    InputRefusal, OutputRetention,
};
use tokio_util::sync::CancellationToken;

/// A command and file port: every command exits with status 0 without output, every patch applies and changes nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct InstantPorts;

fn silent_success() -> CommandOutput {
    CommandOutput {
        end: CommandEnd::Exited { status: 0 },
        stdout: CapturedStream::default(),
        stderr: CapturedStream::default(),
        duration_ms: 0,
        leftovers: 0,
        survivors: 0,
        stopped: false,
    }
}

#[async_trait]
impl CommandHost for InstantPorts {
    async fn was_begun(&self, _: &CommandKey) -> bool {
        false
    }
    async fn run(
        &self,
        _: CommandOrder,
        _: CancellationToken,
    ) -> Result<CommandRun, CommandFailure> {
        Ok(CommandRun::Ended(silent_success()))
    }
    async fn probe(&self, _: &CommandKey) -> CommandProbe {
        CommandProbe::NeverStarted
    }
    async fn watch(&self, _: &CommandKey) -> TaskReport {
        TaskReport::Ended(silent_success())
    }
    async fn stop(&self, _: &CommandKey, _: u64) -> TaskReport {
        TaskReport::Ended(CommandOutput {
            stopped: true,
            ..silent_success()
        })
    }
    async fn input(&self, _: &CommandKey, input: &TaskInput) -> Result<u64, InputRefusal> {
        Ok(input.input.len() as u64)
    }
    async fn printed(
        &self,
        _: &CommandKey,
        _: &TaskOutput,
        _: usize,
    ) -> Result<TaskStreams, String> {
        Ok(TaskStreams::default())
    }
    async fn forget(&self, _: &CommandKey, _: OutputRetention) {}
    async fn sweep(&self, _: &str, _: &[String]) {}
}

#[async_trait]
impl FileHost for InstantPorts {
    async fn apply_patch(
        &self,
        _: CommandContext,
        _: CallId,
        _: String,
    ) -> Result<PatchResult, ToolError> {
        Ok(PatchResult::default())
    }
    async fn settle_patch(
        &self,
        _: &str,
        _: &CallId,
        _: &str,
    ) -> Option<Result<PatchResult, ToolError>> {
        None
    }
    async fn forget_patch(&self, _: &str, _: &CallId) {}
    async fn finish_patch(&self, _: &str, _: &CallId) -> Result<(), String> {
        Ok(())
    }
}
