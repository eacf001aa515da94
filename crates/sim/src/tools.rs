//! The simulated host calls run on: patches, the world of commands, and every result that was ever held out to a call.

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

/// Everything calls did to the world. It outlives every crash, as the real world does.
#[derive(Debug, Default)]
pub(crate) struct Bench {
    pub(crate) commands: Commands,
    patched: BTreeMap<CallId, u32>,
    plans: BTreeMap<WorkItemId, PlanArtifact>,
    offered: BTreeMap<CallId, Vec<ToolEnvelope>>,
}

impl Bench {
    /// Applies the patch of a call.
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

    /// Writes the plan of the item that a call makes. A call may do that several times, with the same text.
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
        }
    }

    /// The plan file of an item; none when there is no such file.
    pub(crate) fn plan(&self, id: &WorkItemId) -> Option<&PlanArtifact> {
        self.plans.get(id)
    }

    /// Somebody is about to report this as the result of a call.
    pub(crate) fn offer(&mut self, call: &CallId, envelope: &ToolEnvelope) {
        let offered = self.offered.entry(call.clone()).or_default();
        if !offered.contains(envelope) {
            offered.push(envelope.clone());
        }
    }

    /// Whether the world ever held this out as the result of a call.
    pub(crate) fn gave(&self, call: &CallId, envelope: &ToolEnvelope) -> bool {
        self.offered
            .get(call)
            .is_some_and(|offered| offered.contains(envelope))
    }

    /// Whether anything was begun for a call.
    pub(crate) fn began(&self, call: &CallId) -> bool {
        let key = CommandKey::of_call("", call);
        self.patched.contains_key(call) || self.commands.started_by(&key) > 0
    }
}
