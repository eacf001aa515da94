//! An effect that the simulated process performs, its stage, and the outcome of one step.

use holon_core::Input;
use holon_domain::effect::EffectRecord;
use holon_engine::model_request::RoundRequest;
use holon_engine::tool_outcome::CallCleanup;
use holon_engine::tool_run::ToolRun;
use holon_tools::exec_command_batch::ItemOutcome;

/// Stage of an effect's performance.
#[derive(Debug, Clone)]
pub(crate) enum Stage {
    /// The effect was received and not started.
    Begun,
    /// The model request was built and sent.
    Asked(Box<RoundRequest>),
    /// A call waits for its commands; these items of its batch have ended.
    Waits(Vec<ItemOutcome>),
    /// A command was asked to end and its grace period runs.
    AskedToEnd,
    /// The effect is performed, but its outcome is not committed yet.
    Done(Box<Input>, CallCleanup),
}

/// An effect that the process is performing.
#[derive(Debug, Clone)]
pub(crate) struct Flight {
    pub(crate) record: EffectRecord,
    /// The call that the effect runs, if any.
    pub(crate) run: Option<ToolRun>,
    pub(crate) stage: Stage,
}

/// Outcome of one step of a performance.
#[derive(Debug)]
pub(crate) enum FlightStep {
    /// The performance continues from this stage.
    GoesOn(Stage),
    /// The outcome, and what is removed once it is committed.
    Outcome(Input, CallCleanup),
    /// No state needs an outcome.
    Nothing,
}

impl FlightStep {
    /// Returns an outcome without anything to remove.
    pub(crate) const fn outcome(input: Input) -> Self {
        Self::Outcome(input, CallCleanup::Nothing)
    }
}
