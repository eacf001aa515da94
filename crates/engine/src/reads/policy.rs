//! The limits of a model with the sizes that the runtime derives from them.

use super::ReadHandle;
use crate::model_request::prompt_budget;
use holon_domain::model::ModelRef;
use holon_domain::provider::ModelPolicy;
use holon_domain::summary::ResolvedPolicy;
use holon_prompt::conversation::{fold_target, soft_limit};

impl ReadHandle {
    /// Describes the limits of the model that an agent asks next.
    pub(super) fn resolve(&self, model: &ModelRef, policy: ModelPolicy) -> ResolvedPolicy {
        let name = self.model.name(model);
        let budget = prompt_budget(policy);
        let share = |of: fn(usize) -> usize| {
            let room = usize::try_from(budget).unwrap_or(usize::MAX);
            u32::try_from(of(room)).unwrap_or(u32::MAX)
        };
        ResolvedPolicy {
            model_ref: model.to_string(),
            display_name: name.display_name,
            description: name.description.unwrap_or_default(),
            prompt_budget_estimated_tokens: budget,
            compaction_trigger_estimated_tokens: share(soft_limit),
            compaction_keep_recent_estimated_tokens: share(fold_target),
            runtime_max_output_tokens: policy.max_output_tokens,
            tool_output_truncation_estimated_tokens: self.tool_output.allow(None),
            policy,
        }
    }
}
