//! The words of packed rows: names of kinds and fields, and frequent values, each with a short code.
//!
//! The code of a word is its position, so the list is only ever added to, at its end. The first words have codes of one
//! character and the others of two. A word that is not in the list is stored as it is.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::OnceLock;

/// Digits of a code.
pub(super) const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

#[rustfmt::skip]
pub(super) const WORDS: &[&str] = &[
    "kind", "turn_index", "run_id", "message_seq", "message_id", "round", "text", "text_preview", "token_usage",
    "input_tokens", "output_tokens", "total_tokens", "duration_ms", "status", "posture", "reason", "tool_name",
    "call_id", "type", "created_at", "model_ref", "started_at", "tries", "stop_reason", "entry", "blocks", "usage",
    "agent_id", "operator", "end_turn", "completed", "tool_use", "cached_input_tokens", "text_char_count",
    "operator_prompt", "operator_instruction", "operator_input", "trusted_operator", "control_authenticated",
    "http_control_prompt", "run_once", "cli_prompt", "local_process", "operator_transport_authenticated",
    "public_unauthenticated", "external_trigger_capability", "runtime_owned", "next", "normal", "background",
    "interject", "local_continuation", "resume_expected_wait", "resume_override", "liveness_only", "StartModelTurn",
    "finished", "result", "failure", "ack", "asleep", "awake_idle", "awake_running", "stopped", "booting", "idle",
    "active_turn", "sleeping", "working", "awake", "continuable", "waiting", "failed", "aborted",
    "runtime_instruction", "integration_signal", "external_evidence", "trusted_system", "trusted_integration",
    "untrusted_external", "system_tick", "task_result", "task_status", "timer_tick", "timer_fire",
    "internal_followup", "external_event", "channel_event", "webhook_event", "callback_event", "control", "runtime",
    "agent", "incoming_message", "frame", "assistant_round", "tool_result", "tool_results", "tool_call", "reasoning",
    "interjection", "recap_segment", "cut", "agent_home", "main", "cause", "body", "trust", "origin",
    "delivery_surface", "admission_context", "trigger_kind", "settles", "workspace_id", "prompt_cache_key",
    "context_fingerprint", "stable", "agent_scoped", "surroundings", "input", "name", "content", "success", "error",
    "summary", "details", "outcome", "call", "calls", "data", "value", "system", "task", "timer", "webhook",
    "callback", "open", "ready", "draft", "needs_input", "running", "queued", "cancelled", "interrupted",
    "command_task", "child_agent_task", "max_output_tokens", "refusal", "ExecCommand", "ExecCommandBatch",
    "ApplyPatch", "TaskOutput", "TaskStatus", "TaskStop", "TaskInput", "TaskList", "Sleep", "WaitFor", "CancelWait",
    "Enqueue", "CreateWorkItem", "UpdateWorkItem", "PickWorkItem", "CompleteWorkItem", "GetWorkItem", "ListWorkItems",
    "CreateTimer", "ListTimers", "CancelTimer", "AgentGet", "UseWorkspace", "exit_status", "stdout", "stderr", "cmd",
    "patch", "generation", "provider", "lineage", "provider_id", "signature", "encrypted", "opaque", "source_refs",
    "correlation_id", "causation_id", "metadata", "exec_command", "json", "agent_created", "agent_put_aside",
    "message_admitted", "message_processing_started", "message_processing_aborted", "operator_interjection_admitted",
    "scheduler_decision", "continuation_resolved", "turn_started", "turn_resumed", "turn_suspended",
    "turn_suspension_ended", "turn_context_built", "provider_round_completed", "terminal_delivery_round_completed",
    "provider_retry_scheduled", "provider_fallback_selected", "model_limit_learned", "agent_model_override_set",
    "agent_model_override_cleared", "assistant_round_recorded", "max_output_tokens_recovery",
    "turn_local_compaction_applied", "process_execution_requested", "tool_executed", "tool_execution_failed",
    "skill_activated", "skill_changed", "skill_installed", "skill_uninstalled", "task_created", "task_status_updated",
    "task_result_received", "turn_terminal", "runtime_error", "brief_created", "closure_decided",
    "agent_state_changed", "session_state_changed", "system_tick_emitted", "system_tick_suppressed",
    "work_item_written", "work_item_picked", "work_item_focus_released", "work_item_plan_artifact_refreshed",
    "work_item_recheck_consumed", "work_item_completion_report_promoted", "work_item_completion_warning",
    "waiting_intent_created", "waiting_intent_ended", "work_item_enqueue_requested", "work_item_turn_end_committed",
    "work_item_turn_end_commit_skipped", "work_item_stale_reminder_injected", "work_item_stale_reminder_skipped",
    "missing_current_work_item_before_wait", "waiting_intent_cancelled", "external_wait_without_recovery",
    "timer_create_requested", "timer_created", "timer_fired", "timer_fire_failed", "timer_cancelled",
    "wake_hint_triggered", "wake_hint_coalesced", "wake_hint_ignored", "wake_requested", "scheduler_posture_decision",
    "scheduler_diagnostic", "control_applied", "current_run_aborted", "workspace_attach_requested",
    "workspace_exit_requested", "workspace_detach_requested", "workspace_entered", "workspace_used",
    "workspace_attached", "workspace_detached", "workspace_exited", "workspace_occupancy_released",
    "worktree_entered", "worktree_exited", "effect_outcome_dropped", "profile_preset", "imported_from",
    "authority_class", "priority", "work_item_id", "task_id", "queue_wait_ms", "message_kind", "boundary",
    "pending_tool_call_count", "decision", "model_reentry", "evidence", "class", "prior_closure_outcome",
    "prior_waiting_reason", "matched_waiting_reason", "model_visible", "requested_model", "after_entry",
    "resumes_without_progress", "unknown_calls", "unstarted_calls", "failure_kind", "until", "waited_ms",
    "context_section_count", "rendered_context_chars", "rendered_system_chars", "shortened_parts", "context_build_ms",
    "provider_attempt_timeline", "attempt", "backoff_ms", "retry_at", "from_model_ref", "to_model_ref", "endpoint",
    "stated_window_tokens", "limits", "override_model", "reasoning_effort", "thinking_tokens", "fallback_models",
    "tool_names", "compacted_rounds", "exact_tail_rounds", "projected_tokens", "effective_tokens", "room_tokens",
    "strict_fallback_applied", "tool_call_id", "surface", "batch_item", "cmd_preview", "workdir", "exec_command_cmd",
    "tool_error", "skill_id", "skill_name", "scope", "path", "entrypoint_path", "load_reason", "activation_state",
    "activation_source", "repeated", "change", "target_agent_id", "fetched_from", "parent_message_id", "previous",
    "terminal_reentry", "rounds", "last_assistant_message", "brief_id", "brief_seq", "acknowledges",
    "action_required", "related_task_id", "waiting_reason", "current_run_id", "subsystem", "planned_at", "action",
    "revision", "objective", "state", "scheduling_state", "plan_status", "blocked_by", "warnings",
    "previous_work_item_id", "current_work_item_id", "previous_readiness", "current_readiness", "reason_missing",
    "hash", "bytes", "recheck_at", "message", "wait_id", "waiting_for", "due_at", "ended_by", "committed_state",
    "work_item_state_changed", "rounds_since_work_item_update", "open_work_items", "source", "timer_id",
    "next_fire_at", "fire_count", "missed", "key", "count", "wait_ids", "keys", "previous_status", "next_status",
    "wakes_at", "severity", "aborted_run_id", "workspace_anchor", "execution_root", "execution_root_id",
    "projection_kind", "cwd", "ownership", "worktree_path", "worktree_branch", "base_commit", "effect_id",
    "current_generation", "provider_auth", "model_unavailable", "provider_unavailable", "work_stalled",
    "agent_command", "restored", "turn_active", "session_active", "signed_integration", "default", "named", "child",
    "retry", "wait_for_network", "park", "exhausted", "fail_fast", "retrying", "retries_exhausted",
    "fail_fast_aborted", "succeeded", "max_attempts", "completed_at", "disposition", "advanced_to_fallback",
    "renews_at", "transport_diagnostics", "attempts", "requested_model_ref", "active_model_ref", "winning_model_ref",
    "aggregated_token_usage", "policy", "delegation", "instructions", "skills", "tool_guidance", "history",
    "operator_words", "work", "current_item", "triggered_items", "due_reminders", "queued_items",
    "items_for_operator", "blocked_items", "waits", "timers", "completed_items", "item_trace", "running_tasks",
    "event_turn", "current_input", "other", "http_public_enqueue", "http_webhook", "http_callback_enqueue",
    "http_callback_wake", "timer_scheduler", "runtime_system", "task_rejoin", "remote_operator_transport",
    "repository", "commit", "directory", "is_timeout", "is_connect", "is_request", "is_body", "is_decode",
    "is_redirect", "exported_at", "before_provider_request", "after_provider_round", "after_tool_results",
    "context_window_tokens", "token_ratio", "runnable", "deleting", "brief_ack", "brief_result", "timeout",
    "connection", "network", "rate_limited", "quota", "server_error", "auth", "invalid_request",
    "context_length_exceeded", "invalid_response", "unsupported_transport", "channel", "unknown", "archived",
    "has_queued_input", "has_runnable_work", "waiting_for_task", "waiting_for_external", "waiting_for_operator",
    "blocked", "public_named", "private_child", "canonical_root", "git_worktree_root", "external", "session_owned",
    "task_owned", "read_skill_md", "run_skill_script", "prompt_injection", "user", "workspace", "builtin", "local",
    "remote", "pause_over", "operator_message", "start", "host_start", "model_change", "credential_renewed",
    "provider_trouble", "sleep_job", "subagent_task", "worktree_subagent_task", "cancelling", "slept", "max_rounds",
    "provider_failed", "output_limit", "poisoned", "operator_aborted", "agent_stopped", "runtime_fault",
    "cache_read_tokens", "cache_write_tokens", "recovery_hint", "retryable", "invalid_tool_input", "unknown_tool",
    "unsupported_agent_profile_capability", "truncated_tool_call", "unknown_task", "unknown_work_item",
    "work_item_completed", "unknown_wait", "unknown_timer", "unsupported_batch_command_field", "command_spawn_failed",
    "command_timed_out", "execution_root_violation", "outcome_unknown", "not_started", "run_aborted",
    "sleep_not_alone", "limit_reached", "execution_policy_denied", "missing_file_header", "invalid_hunk_header",
    "invalid_hunk", "unsupported_git_patch_feature", "path_escape", "rename_path_mismatch", "context_not_found",
    "ambiguous_context", "duplicate_file_patch", "target_exists", "file_missing", "not_a_file", "not_text",
    "too_large", "unsupported_dialect", "empty_patch", "file_changed", "stage", "url", "reqwest", "source_chain",
    "active", "resolved", "expired", "awaiting_operator_input", "awaiting_external_change", "awaiting_task_result",
    "awaiting_timer", "stalled", "waiting_operator", "waiting_task", "waiting_external", "waiting_timer",
    "for a model", "the only queued message, priority next", "the only queued message, priority normal",
    "working_memory_revision", "compression_epoch", "agent_parts", "work_parts", "tools_tokens", "budget_tokens",
    "brief_tools", "operator_seq", "over_tokens", "work_item_delegation_created", "task_child_spawned",
    "child_agent_id", "delegation_id", "supervision_task_id", "visibility", "private", "public", "workspace_mode",
    "control_request_admitted", "child_followup", "SpawnAgent",
    "working_memory_updated", "episode_memory_finalized", "current_working_memory", "active_episode_builder",
    "start_turn_index", "end_turn_index", "start_message_count", "end_message_count", "decisions", "commands",
    "verification", "working_set_files", "recent_decisions", "boundary_reason", "carry_forward", "waiting_on",
    "scope_hints", "work_summary", "last_prompted_working_memory_revision", "pending_working_memory_delta",
    "archived_episode_count", "history_marks", "message_count", "turn_memory_delta", "changed_fields",
    "summary_lines", "created_at_turn", "from_revision", "to_revision", "touched_files", "pending_followups",
    "turns", "terminal_turn_completed", "active_work_changed", "hard_turn_cap", "wait_boundary", "result_checkpoint",
    "task_rejoined", "episode_id", "turn_range", "todo_list",
    "lifecycle_sleep", "message_admission", "rests until any message arrives",
    "the only queued message, priority interject", "the only queued message, priority background", "overlap",
    "same_bytes",
];

/// Bounds on the length of a word, in bytes. Longer text need not be looked up.
const SHORTEST: usize = 3;
const LONGEST: usize = 48;

/// Returns the code of a word, if it has one.
pub(super) fn code(word: &str) -> Option<&'static str> {
    static CODES: OnceLock<HashMap<&'static str, String, BuildHasherDefault<WordHasher>>> =
        OnceLock::new();
    if !(SHORTEST..=LONGEST).contains(&word.len()) {
        return None;
    }
    let codes = CODES.get_or_init(|| {
        let numbered = WORDS.iter().enumerate();
        numbered.map(|(at, word)| (*word, spell(at))).collect()
    });
    codes.get(word).map(String::as_str)
}

/// Hashes short words faster than the standard hasher, in the way of FNV-1a. Only the listed words are kept by it, so nobody can
/// choose words that collide.
#[derive(Default)]
struct WordHasher(u64);

impl Hasher for WordHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Returns the word with this code, if there is one.
pub(super) fn word(code: &str) -> Option<&'static str> {
    let digit = |byte: &u8| match byte {
        b'0'..=b'9' => Some(usize::from(byte - b'0')),
        b'a'..=b'z' => Some(usize::from(byte - b'a') + 10),
        _ => None,
    };
    let at = match code.as_bytes() {
        [one] => digit(one)?,
        [high, low] => (digit(high)? + 1) * DIGITS.len() + digit(low)?,
        _ => return None,
    };
    WORDS.get(at).copied()
}

fn spell(at: usize) -> String {
    let digit = |value: usize| DIGITS.get(value).map_or('~', |byte| char::from(*byte));
    match (at / DIGITS.len()).checked_sub(1) {
        None => digit(at).to_string(),
        Some(high) => [digit(high), digit(at % DIGITS.len())].iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::sha256_hex;
    use std::collections::BTreeSet;

    /// Words that builds have written, and their digest. Later words are added behind them; then both may grow.
    const WRITTEN: (usize, &str) = (
        600,
        "3aada9b5c5f9ea9e64ee4586921a0d9dccac640e39389cc1eed118b3ccc7979e",
    );

    #[test]
    fn words_that_were_written_keep_their_codes() {
        let written = WORDS.get(..WRITTEN.0).expect("no word is removed");
        assert_eq!(sha256_hex(written.join("\n")), WRITTEN.1);
    }

    #[test]
    fn every_word_has_a_code_of_its_own_that_leads_back_and_is_shorter() {
        let mut codes = BTreeSet::new();
        for known in WORDS {
            let code = code(known).expect("a code");
            assert_eq!(word(code), Some(*known), "{known} is listed once");
            assert!(code.len() < known.len(), "{known}");
            assert!((SHORTEST..=LONGEST).contains(&known.len()), "{known}");
            assert!(codes.insert(code), "{known}");
        }
        assert_eq!(
            (word(""), word("zz"), word("A"), word("000")),
            (None, None, None, None)
        );
    }
}
