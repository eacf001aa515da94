//! Planted faults: small deliberate mistakes, which show whether the simulation would notice them.
//!
//! Each place that can go wrong asks [`is_planted`] in one line. Without the feature `planted`, which no build of the
//! product enables, the answer is the constant false and the mistake is compiled away. With the feature, a thread
//! plants at most one fault at a time.

macro_rules! planted_faults {
    ($($name:ident = $words:literal,)*) => {
        /// A deliberate mistake in one decision.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Fault {
            $(#[doc = $words] $name,)*
        }

        /// Every fault with its description, in the order of the table that the simulation prints.
        #[cfg(feature = "planted")]
        const ALL: &[(Fault, &str)] = &[$((Fault::$name, $words),)*];
    };
}

planted_faults! {
    HintForgotten = "a pending wake hint is not looked at before a rest",
    HintReplaced = "a hint of a second source replaces the first",
    HintsUnspaced = "each wake hint from outside has a tick of its own",
    HintEndsNoWait = "a hint does not end the wait that names its source",
    QueuedEventEndsNoWait = "an event that was queued when a wait began does not end it",
    PendingHintEndsNoWait = "a hint that was pending when a wait began does not end it",
    RecheckConsumedUnshown = "a recheck is consumed when its tick is queued",
    RecheckForgotten = "a recheck that came due is never told",
    RecheckRepeated = "a told recheck counts as untold",
    NoisyFirst = "due entries are handed over by their time alone, also those of one agent with many",
    SlotFiredTwice = "the newest slot that passed in a downtime fires again",
    SlotLost = "a late fire leaves out the next slot",
    RepeatedHourFiresTwice = "a slot in a repeated hour fires in both",
    CronInUtc = "a cron expression is read in UTC",
    SkipPolicyIgnored = "a timer that skips missed slots makes up for them",
    StoppedTimerFires = "the timer of a stopped agent fires",
    ParkedForgotten = "a start does not make up for what came before it",
    CancelledTimerArmed = "a cancelled timer keeps its due entry",
    TimerAuthority = "the tick of a timer has the authority of the runtime",
    WorkTickAuthority = "the tick of a work item has the authority of the runtime",
    WaitTickAuthority = "the tick of an ended wait has the authority of the runtime",
    IdleNotCounted = "turns without progress are not counted",
    IdleForgottenAtBoot = "a restart forgets the turns without progress",
    PaceForgottenAtBoot = "a restart forgets the turns that the agent caused itself",
    IdleNotReset = "a change of an item leaves its count of idle turns",
    BackoffSkipped = "work without progress is ticked for without a pause",
    StallOutlivesOperator = "an operator's message leaves work stalled",
    FocusMoved = "a tick moves the focus",
    TaskEndsNoWait = "the end of a task does not end the wait for it",
    QuestionPassedOver = "work goes on past a question that the operator did not answer",
    OperatorEndsNoWait = "an operator's message does not end the wait for it",
    OtherSourceEndsWait = "an event of another source ends a wait",
    ExpiryUntold = "the due time of a wait passes without a tick",
    WaitPauseStretched = "a clock set back makes a wait longer",
    SummaryForgotten = "a completion report has no delivery summary",
    ReportSettles = "a completion report settles prompts that the turn settles again",
    EventSkipped = "a queued event from outside is settled without a turn",
    StaleOutcomeAccepted = "an outcome of an older generation is accepted",
    HeldResultDropped = "a result that is to be held is settled",
    OldGenerationAccepted = "a token of an older generation is accepted",
    RetriesUncounted = "tries of a model are not counted",
    FailureCallsAccepted = "a delivery whose attempt failed counts as accepted",
    DeliveryOvertakes = "after a failed attempt the next delivery of the route goes first",
    DeliveryPauseEndless = "the end of a pause of a route begins no attempt",
    ChildEndUntold = "a child ends without a word to its parent",
    ChildOutlivesTask = "the stop of a child's task leaves the child at work",
    LiveChildrenUnlimited = "a spawn does not look at the live children of its tree",
    DepthUnlimited = "a spawn does not look at the depth of its tree",
    ReservationsIgnored = "a call does not count what other calls have reserved",
    DeliveryReplyForgotten = "the reply to a delivery from outside is not kept",
}

/// Returns false: this build has no planted faults.
#[cfg(not(feature = "planted"))]
pub(crate) const fn is_planted(_fault: Fault) -> bool {
    false
}

/// Returns true if the engine is to forget the reply to a delivery from outside.
#[must_use]
#[allow(
    clippy::missing_const_for_fn,
    reason = "it reads the thread's fault where faults can be planted"
)]
pub fn reply_is_forgotten() -> bool {
    is_planted(Fault::DeliveryReplyForgotten)
}

#[cfg(feature = "planted")]
pub(crate) use armed::is_planted;
#[cfg(feature = "planted")]
pub use armed::{PlantedFault, plant};

#[cfg(feature = "planted")]
mod armed {
    use super::{ALL, Fault};
    use std::cell::Cell;

    thread_local! {
        /// The fault of this thread. Decisions run on the thread of their simulation.
        static PLANTED: Cell<Option<Fault>> = const { Cell::new(None) };
    }

    /// A fault that can be planted.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct PlantedFault(Fault, &'static str);

    impl PlantedFault {
        /// Lists every fault, in the order of the table.
        pub fn all() -> impl Iterator<Item = Self> {
            ALL.iter().map(|(fault, words)| Self(*fault, words))
        }

        /// Describes the mistake in a few words.
        #[must_use]
        pub const fn as_str(self) -> &'static str {
            self.1
        }
    }

    /// Plants a fault in the decisions of this thread in place of the last one; `None` plants none.
    pub fn plant(fault: Option<PlantedFault>) {
        PLANTED.set(fault.map(|planted| planted.0));
    }

    pub(crate) fn is_planted(fault: Fault) -> bool {
        PLANTED.get() == Some(fault)
    }
}
