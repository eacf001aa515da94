//! The simulated host of tool calls: patches, plans, commands, and every result that was offered for a call.

use crate::commands::Commands;
use crate::violation::{Verdict, ensure};
use holon_domain::block::ToolCall;
use holon_domain::consequence::Consequence;
use holon_domain::file_change::PatchResult;
use holon_domain::tool::{ToolEnvelope, ToolError, ToolErrorKind};
use holon_domain::work_item::PlanArtifact;
use holon_domain::{CallId, Timestamp, WorkItemId};
use holon_engine::ports::CommandKey;
use holon_engine::tool_outcome::{CallCleanup, ToolRunOutcome};
use holon_tools::create_work_item;
use std::collections::BTreeMap;

/// Everything that calls did to the world. It survives every crash, as the real world does.
#[derive(Debug, Default)]
pub(crate) struct ToolWorld {
    pub(crate) commands: Commands,
    patched: BTreeMap<CallId, u32>,
    plans: BTreeMap<WorkItemId, PlanArtifact>,
    offered: BTreeMap<CallId, Vec<ToolEnvelope>>,
}

impl ToolWorld {
    /// Applies the patch of a call, at most once.
    pub(crate) fn patch(&mut self, call: &CallId, fails: bool) -> Verdict<ToolRunOutcome> {
        let times = self.patched.entry(call.clone()).or_default();
        *times += 1;
        ensure(*times == 1, "a tool call runs at most once", || {
            call.to_string()
        })?;
        Ok(ToolRunOutcome::of_patch(if fails {
            let message = "it was changed meanwhile";
            Err(ToolError::new(ToolErrorKind::FileChanged, message))
        } else {
            Ok(PatchResult::default())
        }))
    }

    /// Writes the plan file of a new work item. A call may do so several times, with the same text.
    pub(crate) fn write_plan(
        &mut self,
        call: &ToolCall,
        now: Timestamp,
        fails: bool,
    ) -> ToolRunOutcome {
        if fails {
            return ToolRunOutcome::result(create_work_item::not_written("no space is left"));
        }
        let plan = PlanArtifact::of_content(create_work_item::plan_of(call).as_bytes(), now);
        self.plans
            .insert(WorkItemId::of_call(&call.id), plan.clone());
        ToolRunOutcome {
            consequence: Consequence::PlanWritten(plan),
            forget: CallCleanup::Nothing,
            referring: Vec::new(),
        }
    }

    /// Returns the plan file of an item, if it exists.
    pub(crate) fn plan(&self, id: &WorkItemId) -> Option<&PlanArtifact> {
        self.plans.get(id)
    }

    /// Notes an envelope that a performer is about to report as the result of a call.
    pub(crate) fn offer(&mut self, call: &CallId, envelope: &ToolEnvelope) {
        let offered = self.offered.entry(call.clone()).or_default();
        if !offered.contains(envelope) {
            offered.push(envelope.clone());
        }
    }

    /// Returns true if a performer ever offered this as the result of a call.
    pub(crate) fn was_offered(&self, call: &CallId, envelope: &ToolEnvelope) -> bool {
        self.offered
            .get(call)
            .is_some_and(|offered| offered.contains(envelope))
    }

    /// Returns true if anything was started for a call.
    pub(crate) fn began(&self, call: &CallId) -> bool {
        let key = CommandKey::of_call("", call);
        self.patched.contains_key(call) || self.commands.started_by(&key) > 0
    }
}
