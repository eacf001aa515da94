//! An effect that the simulated process is performing: how far it got, and how far one step took it.

use holon_core::Input;
use holon_domain::effect::EffectRecord;
use holon_engine::model_request::RoundRequest;
use holon_engine::tool_outcome::CallCleanup;
use holon_engine::tool_run::ToolRun;
use holon_tools::exec_command_batch::ItemOutcome;

/// How far an effect got.
#[derive(Debug, Clone)]
pub(crate) enum Stage {
    /// Nothing happened yet.
    Begun,
    /// The request is out.
    Asked(Box<RoundRequest>),
    /// A call waits for what it began; these of its several commands are over.
    Waits(Vec<ItemOutcome>),
    /// A command was asked to end and has its time to.
    AskedToEnd,
    /// It is done; nobody knows yet.
    Done(Box<Input>, CallCleanup),
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
    /// This is its outcome, and what is forgotten once that is on record.
    Outcome(Input, CallCleanup),
    /// Nobody needs one.
    Nothing,
}

impl Step {
    /// An outcome that leaves nothing to forget.
    pub(crate) const fn outcome(input: Input) -> Self {
        Self::Outcome(input, CallCleanup::Nothing)
    }
}
