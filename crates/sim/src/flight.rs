//! An effect that the simulated process is performing: how far it got, and how far one step took it.

use holon_core::Input;
use holon_domain::block::ToolCall;
use holon_domain::effect::EffectRecord;
use holon_domain::intent::HostAction;
use holon_domain::queue::QueueEntry;
use holon_domain::workspace::WorkspaceEntry;
use holon_engine::ports::CommandKey;
use holon_tools::exec_command_batch::ItemOutcome;

/// A tool call that is being run, as the log holds it.
#[derive(Debug, Clone)]
pub(crate) struct ToolRun {
    pub(crate) call: ToolCall,
    pub(crate) action: HostAction,
    pub(crate) workspace: WorkspaceEntry,
    /// By what its command is found.
    pub(crate) key: CommandKey,
}

/// How far an effect got.
#[derive(Debug, Clone)]
pub(crate) enum Stage {
    /// Nothing happened yet.
    Begun,
    /// The request is out; it holds these queued messages.
    Asked(Vec<QueueEntry>),
    /// A call waits for what it began; these of its several commands are over.
    Waits(Vec<ItemOutcome>),
    /// A command was asked to end and has its time to.
    AskedToEnd,
    /// It is done; nobody knows yet.
    Done(Box<Input>),
}

/// An effect in the hands of the process.
#[derive(Debug, Clone)]
pub(crate) struct Flight {
    pub(crate) record: EffectRecord,
    /// The call it runs, if it runs one.
    pub(crate) run: Option<ToolRun>,
    pub(crate) stage: Stage,
}

/// How far an effect came in one step.
#[derive(Debug)]
pub(crate) enum Step {
    /// It goes on from here.
    GoesOn(Stage),
    /// This is its outcome.
    Outcome(Input),
    /// Nobody needs one.
    Nothing,
}
