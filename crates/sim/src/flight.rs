//! An effect that the simulated process is performing: how far it got, and how far one step took it.

use holon_core::Input;
use holon_domain::effect::EffectRecord;
use holon_domain::queue::QueueEntry;
use holon_tools::exec_command_batch::ItemOutcome;

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
    pub(crate) stage: Stage,
}

/// How far an effect came in one step.
#[derive(Debug)]
pub(crate) enum Step {
    /// It goes on.
    GoesOn(Flight),
    /// This is its outcome.
    Outcome(Input),
    /// Nobody needs one.
    Nothing,
}

impl Step {
    /// An effect that got this far.
    pub(crate) fn on(record: &EffectRecord, stage: Stage) -> Self {
        Self::GoesOn(Flight {
            record: record.clone(),
            stage,
        })
    }
}
