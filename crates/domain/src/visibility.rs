//! Relevance of events and briefs to an operator. Presentation and operator delivery read the same rules.

use crate::brief::{ActionCode, BriefKind};
use serde::{Deserialize, Serialize};

/// Relevance of an event to an operator, most relevant first. Delivery decides by it; what a conversation shows is
/// decided by the display mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// The agent needs its operator before it can continue, or asks for the operator's attention.
    ActionRequired,
    /// A work item is completed: its report, and the brief of the turn that completed it.
    WorkDone,
    /// Another result or failure of a turn.
    TurnResult,
    /// Progress inside a turn. Never delivered outside.
    Progress,
    /// Tool calls and internal diagnostics. Never delivered outside.
    Trace,
}

impl Visibility {
    /// Returns the visibility of a brief. `completes_work` is true if the turn of the brief completed a work item.
    #[must_use]
    pub const fn of_brief(
        kind: BriefKind,
        action: Option<ActionCode>,
        completes_work: bool,
    ) -> Self {
        match (kind, action) {
            (_, Some(_)) => Self::ActionRequired,
            (BriefKind::Result, None) if completes_work => Self::WorkDone,
            (BriefKind::Result | BriefKind::Failure, None) => Self::TurnResult,
            (BriefKind::Ack, None) => Self::Progress,
        }
    }

    /// Returns the name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ActionRequired => "action_required",
            Self::WorkDone => "work_done",
            Self::TurnResult => "turn_result",
            Self::Progress => "progress",
            Self::Trace => "trace",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_brief_is_as_visible_as_its_kind_its_request_and_its_work_say() {
        let asks = Some(ActionCode::OperatorInput);
        for kind in [BriefKind::Ack, BriefKind::Result, BriefKind::Failure] {
            let visibility = Visibility::of_brief(kind, asks, true);
            assert_eq!(visibility, Visibility::ActionRequired);
        }
        let of = |kind, completes| Visibility::of_brief(kind, None, completes);
        assert_eq!(of(BriefKind::Result, true), Visibility::WorkDone);
        assert_eq!(of(BriefKind::Result, false), Visibility::TurnResult);
        assert_eq!(of(BriefKind::Failure, true), Visibility::TurnResult);
        assert_eq!(of(BriefKind::Ack, true), Visibility::Progress);
    }
}
