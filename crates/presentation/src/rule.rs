//! The one table of display rules: which kinds of events become rows in which display mode.
//!
//! A kind without a row in the table is shown in raw inspection only, like every unknown kind. A test demands a row for
//! each kind of this build.

use self::Show::{All, Attach, Failures, Never, Outcomes, Steps, Trace};
use crate::mode::DisplayMode;
use crate::present::Importance;
use crate::visibility::{Category, Visibility};
use holon_domain::event::Event;
use {Category as C, Visibility as V};

/// Part of a kind's events that becomes rows in one display mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Show {
    /// Every event of the kind.
    All,
    /// Events that report a step of the agent's work, an outcome or a failure.
    Steps,
    /// Events that report an outcome or a failure.
    Outcomes,
    Failures,
    /// No row of its own: the event completes the row of the call that it belongs to.
    Attach,
    /// No row. Raw inspection shows the event.
    Trace,
    /// Never a row, in no mode: a signal for programs.
    Never,
}

impl Show {
    /// Returns true if an event of this importance becomes a row.
    #[must_use]
    pub fn admits(self, importance: Importance) -> bool {
        let least = match self {
            Self::All => Importance::Detail,
            Self::Steps => Importance::Step,
            Self::Outcomes => Importance::Outcome,
            Self::Failures => Importance::Failure,
            Self::Attach | Self::Trace | Self::Never => return false,
        };
        importance >= least
    }

    /// Returns the word in the table of the documentation.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Steps => "steps",
            Self::Outcomes => "outcomes",
            Self::Failures => "failures",
            Self::Attach => "attach",
            Self::Trace => "trace",
            Self::Never => "never",
        }
    }
}

/// Display rule of one kind of event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    pub kind: &'static str,
    pub category: Category,
    /// Visibility of the kind's events. The payload of a brief may raise it.
    pub visibility: Visibility,
    info: Show,
    verbose: Show,
    debug: Show,
}

impl Rule {
    /// Returns the part of the events that becomes rows in a mode.
    #[must_use]
    pub const fn show(&self, mode: DisplayMode) -> Show {
        match mode {
            DisplayMode::Info => self.info,
            DisplayMode::Verbose => self.verbose,
            DisplayMode::Debug => self.debug,
        }
    }
}

/// Rule of events that this build does not know.
const UNKNOWN: Rule = Rule {
    kind: "",
    category: Category::Trace,
    visibility: Visibility::Trace,
    info: Trace,
    verbose: Trace,
    debug: Trace,
};

/// Returns the rule of an event. A known kind in an unknown version keeps its rule if it is a signal or a brief: a
/// signal is no row in any version, and a brief must reach its operator. All other unknown events are traces.
#[must_use]
pub fn of(event: &Event) -> Rule {
    let known = RULES.iter().find(|rule| rule.kind == event.kind()).copied();
    let survives = |rule: &Rule| {
        !matches!(event, Event::Unknown { .. })
            || matches!(rule.category, Category::StateSync | Category::Brief)
    };
    known.filter(survives).unwrap_or(UNKNOWN)
}

/// Columns of a rule: info, verbose and debug.
type Modes = [Show; 3];

const fn rule(
    kind: &'static str,
    category: Category,
    visibility: Visibility,
    modes: Modes,
) -> Rule {
    let [info, verbose, debug] = modes;
    Rule {
        kind,
        category,
        visibility,
        info,
        verbose,
        debug,
    }
}

/// The table. Columns: kind, category, visibility, then what `info`, `verbose` and `debug` show.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule("agent_created", C::Configuration, V::Progress, [Outcomes, All, All]),
    rule("agent_put_aside", C::Runtime, V::ActionRequired, [All, All, All]),
    rule("message_admitted", C::Message, V::Trace, [Trace, Trace, Trace]),
    rule("message_processing_started", C::Message, V::Trace, [Trace, Trace, Trace]),
    rule("message_processing_aborted", C::Message, V::Trace, [Trace, Trace, Trace]),
    rule("operator_interjection_admitted", C::Message, V::Progress, [All, All, All]),
    rule("scheduler_decision", C::Control, V::Trace, [Trace, Trace, Trace]),
    rule("continuation_resolved", C::Control, V::Trace, [Trace, Trace, All]),
    rule("turn_started", C::Message, V::Trace, [Trace, Trace, Trace]),
    rule("turn_resumed", C::Runtime, V::Progress, [Failures, All, All]),
    rule("turn_suspended", C::Runtime, V::Progress, [Outcomes, All, All]),
    rule("turn_suspension_ended", C::Runtime, V::Progress, [Outcomes, Steps, All]),
    rule("turn_context_built", C::Context, V::Trace, [Failures, Failures, All]),
    rule("provider_round_completed", C::AssistantProgress, V::Trace, [Trace, Trace, All]),
    rule("terminal_delivery_round_completed", C::AssistantProgress, V::Trace, [Trace, Trace, Trace]),
    rule("provider_retry_scheduled", C::Runtime, V::Progress, [Trace, All, All]),
    rule("provider_fallback_selected", C::Runtime, V::Progress, [Trace, All, All]),
    rule("model_limit_learned", C::Configuration, V::Trace, [Trace, Trace, All]),
    rule("agent_model_override_set", C::Configuration, V::Progress, [All, All, All]),
    rule("agent_model_override_cleared", C::Configuration, V::Progress, [All, All, All]),
    rule("assistant_round_recorded", C::AssistantProgress, V::Progress, [Trace, Steps, All]),
    rule("max_output_tokens_recovery", C::Context, V::Trace, [Trace, All, All]),
    rule("turn_local_compaction_applied", C::Context, V::Trace, [Trace, All, All]),
    rule("thread_folded", C::Context, V::Trace, [Trace, All, All]),
    rule("thread_change_requested", C::Context, V::Progress, [Outcomes, Steps, All]),
    rule("process_execution_requested", C::Tool, V::Trace, [Attach, Attach, Attach]),
    rule("command_batch_stopped", C::Tool, V::Trace, [Outcomes, All, All]),
    rule("tool_executed", C::Tool, V::Trace, [Failures, Steps, All]),
    rule("tool_execution_failed", C::Tool, V::Trace, [Failures, All, All]),
    rule("skill_activated", C::Skill, V::Trace, [Trace, Steps, All]),
    rule("skill_changed", C::Skill, V::Progress, [All, All, All]),
    rule("skill_installed", C::Skill, V::Progress, [All, All, All]),
    rule("skill_uninstalled", C::Skill, V::Progress, [All, All, All]),
    rule("task_created", C::Task, V::Trace, [Outcomes, Steps, All]),
    rule("task_status_updated", C::Task, V::Trace, [Outcomes, Steps, All]),
    rule("task_result_received", C::Task, V::Trace, [Outcomes, Steps, All]),
    rule("task_child_spawned", C::Task, V::Trace, [Outcomes, Steps, All]),
    rule("supervised_child_task_monitor_reattached", C::Task, V::Trace, [Trace, Trace, All]),
    rule("task_input_delivered", C::Task, V::Trace, [Trace, Steps, All]),
    rule("work_item_delegation_created", C::WorkItem, V::Trace, [Trace, Trace, All]),
    rule("work_item_delegation_completed", C::WorkItem, V::Trace, [Trace, Trace, All]),
    rule("turn_terminal", C::Runtime, V::Trace, [Failures, Failures, All]),
    rule("runtime_error", C::Runtime, V::TurnResult, [All, All, All]),
    rule("brief_created", C::Brief, V::TurnResult, [All, All, All]),
    rule("operator_notification_requested", C::OperatorNotification, V::ActionRequired, [All, All, All]),
    rule("operator_delivery_submitted", C::Delivery, V::Trace, [Trace, Trace, All]),
    rule("operator_notification_mirror_failed", C::Delivery, V::Progress, [Failures, Failures, All]),
    rule("operator_delivery_completed", C::Delivery, V::Trace, [Failures, Failures, All]),
    rule("operator_transport_binding_upserted", C::Delivery, V::Progress, [Outcomes, All, All]),
    rule("working_memory_updated", C::Context, V::Trace, [Trace, Trace, All]),
    rule("episode_memory_finalized", C::Context, V::Trace, [Trace, Steps, All]),
    rule("closure_decided", C::Control, V::Trace, [Trace, Steps, All]),
    rule("agent_state_changed", C::StateSync, V::Trace, [Never, Never, Never]),
    rule("session_state_changed", C::StateSync, V::Trace, [Never, Never, Never]),
    rule("system_tick_emitted", C::Control, V::Trace, [Trace, Trace, All]),
    rule("system_tick_suppressed", C::Control, V::Trace, [Trace, All, All]),
    rule("work_item_written", C::WorkItem, V::Progress, [Outcomes, Steps, All]),
    rule("work_item_picked", C::WorkItem, V::Progress, [Outcomes, Steps, All]),
    rule("work_item_focus_released", C::WorkItem, V::Trace, [Trace, Trace, All]),
    rule("work_item_plan_artifact_refreshed", C::WorkItem, V::Trace, [Trace, Steps, All]),
    rule("work_item_recheck_consumed", C::WorkItem, V::Trace, [Trace, Trace, All]),
    rule("work_item_completion_report_promoted", C::WorkItem, V::WorkDone, [All, All, All]),
    rule("work_item_completion_warning", C::WorkItem, V::Progress, [Outcomes, Steps, All]),
    rule("waiting_intent_created", C::Waiting, V::Progress, [Outcomes, All, All]),
    rule("waiting_intent_ended", C::Waiting, V::Progress, [Outcomes, All, All]),
    rule("work_item_enqueue_requested", C::WorkItem, V::Trace, [Trace, Trace, All]),
    rule("work_item_turn_end_committed", C::WorkItem, V::Trace, [Trace, Trace, All]),
    rule("work_item_turn_end_commit_skipped", C::WorkItem, V::Trace, [Trace, Trace, All]),
    rule("work_item_stale_reminder_injected", C::WorkItem, V::Trace, [Trace, Trace, All]),
    rule("work_item_stale_reminder_skipped", C::WorkItem, V::Trace, [Trace, Trace, All]),
    rule("missing_current_work_item_before_wait", C::WorkItem, V::Trace, [Trace, Steps, All]),
    rule("waiting_intent_cancelled", C::Waiting, V::Trace, [Trace, Trace, Trace]),
    rule("external_wait_without_recovery", C::Waiting, V::Progress, [Outcomes, All, All]),
    rule("timer_create_requested", C::Waiting, V::Trace, [Trace, Trace, Trace]),
    rule("timer_created", C::Waiting, V::Progress, [Outcomes, Steps, All]),
    rule("timer_fired", C::Waiting, V::Progress, [Outcomes, Steps, All]),
    rule("timer_fire_failed", C::Waiting, V::Progress, [Failures, All, All]),
    rule("timer_cancelled", C::Waiting, V::Progress, [Outcomes, Steps, All]),
    rule("wake_hint_triggered", C::Waiting, V::Progress, [Outcomes, Steps, All]),
    rule("wake_hint_coalesced", C::Waiting, V::Trace, [Trace, Trace, Trace]),
    rule("wake_hint_ignored", C::Waiting, V::Trace, [Trace, Trace, All]),
    rule("external_trigger_created", C::Waiting, V::Progress, [Outcomes, Steps, All]),
    rule("external_trigger_rotated", C::Waiting, V::Progress, [Outcomes, Steps, All]),
    rule("external_trigger_revoked", C::Waiting, V::Progress, [Outcomes, Steps, All]),
    rule("callback_delivered", C::Waiting, V::Progress, [Trace, Steps, All]),
    rule("webhook_configured", C::Control, V::Progress, [Outcomes, Steps, All]),
    rule("wake_requested", C::Control, V::Trace, [Trace, Trace, All]),
    rule("scheduler_posture_decision", C::Control, V::Trace, [Trace, Trace, All]),
    rule("scheduler_diagnostic", C::Control, V::Trace, [Trace, Steps, All]),
    rule("control_request_admitted", C::Control, V::Trace, [Trace, Trace, All]),
    rule("control_applied", C::Control, V::Progress, [All, All, All]),
    rule("current_run_aborted", C::Control, V::Progress, [All, All, All]),
    rule("workspace_attach_requested", C::Workspace, V::Trace, [Trace, Trace, Trace]),
    rule("workspace_exit_requested", C::Workspace, V::Trace, [Trace, Trace, Trace]),
    rule("workspace_detach_requested", C::Workspace, V::Trace, [Trace, Trace, Trace]),
    rule("workspace_entered", C::Workspace, V::Trace, [Trace, Trace, Trace]),
    rule("workspace_used", C::Workspace, V::Progress, [Outcomes, Steps, All]),
    rule("workspace_attached", C::Workspace, V::Progress, [Outcomes, Steps, All]),
    rule("workspace_detached", C::Workspace, V::Progress, [Outcomes, Steps, All]),
    rule("workspace_exited", C::Workspace, V::Progress, [Outcomes, Steps, All]),
    rule("workspace_occupancy_released", C::Workspace, V::Trace, [Trace, Trace, All]),
    rule("worktree_entered", C::Workspace, V::Progress, [Outcomes, Steps, All]),
    rule("worktree_exited", C::Workspace, V::Progress, [Outcomes, Steps, All]),
    rule("worktree_auto_cleaned_up", C::Workspace, V::Progress, [Outcomes, Steps, All]),
    rule("worktree_retained_for_review", C::Workspace, V::Progress, [Outcomes, Steps, All]),
    rule("effect_outcome_dropped", C::Runtime, V::Trace, [Trace, Trace, All]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_kind_of_event_has_one_row_in_the_table() {
        let kinds: Vec<&str> = Event::KINDS.iter().map(|(kind, _)| *kind).collect();
        let rows: Vec<&str> = RULES.iter().map(|rule| rule.kind).collect();
        let missing: Vec<_> = kinds.iter().filter(|kind| !rows.contains(kind)).collect();
        assert!(
            missing.is_empty(),
            "give these kinds a display rule in RULES: {missing:?}"
        );
        let retired: Vec<_> = rows.iter().filter(|kind| !kinds.contains(kind)).collect();
        assert!(retired.is_empty(), "no event has these kinds: {retired:?}");
        let distinct: BTreeSet<&&str> = rows.iter().collect();
        assert_eq!(distinct.len(), rows.len(), "a kind has two rules");
    }

    #[test]
    fn a_more_detailed_mode_shows_what_a_less_detailed_one_shows() {
        let importances = [
            Importance::Detail,
            Importance::Step,
            Importance::Outcome,
            Importance::Failure,
        ];
        for rule in RULES {
            for importance in importances {
                let shown = DisplayMode::ALL.map(|mode| rule.show(mode).admits(importance));
                assert!(shown.is_sorted(), "{}: {shown:?}", rule.kind);
            }
        }
    }

    #[test]
    fn state_signals_are_never_rows_and_unknown_kinds_are_traces() {
        let unknown = |kind: &str| Event::Unknown {
            kind: kind.to_owned(),
            version: 9,
            data: serde_json::json!({}),
        };
        for kind in ["agent_state_changed", "session_state_changed"] {
            assert_eq!(of(&unknown(kind)).show(DisplayMode::Debug), Never);
        }
        for kind in ["agent_dreamed", "turn_started"] {
            let rule = of(&unknown(kind));
            assert_eq!((rule.category, rule.visibility), (C::Trace, V::Trace));
            assert_eq!(rule.show(DisplayMode::Debug), Trace);
        }
        assert_eq!(of(&unknown("brief_created")).category, C::Brief);
    }
}
