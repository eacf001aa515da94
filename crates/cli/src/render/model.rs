//! Words about models: which one an agent asks, and why that one.

use holon_client::view::{Chosen, Figures, Model};

/// What is said of an agent that has no model to ask.
const NONE: &str = "none; run: holon init";

/// Which model is asked and why, one fact a line.
pub(crate) fn state(model: &Model) -> String {
    lines(model).join("\n")
}

/// The lines of [`state`], for a larger block.
pub(super) fn lines(model: &Model) -> Vec<String> {
    let mut lines = vec![format!("model      {}", asked(model))];
    if let Some(effort) = &model.override_reasoning_effort {
        lines.push(format!("effort     {effort}"));
    }
    if let ("agent_override", Some(default)) = (model.source.as_str(), &model.runtime_default_model)
    {
        lines.push(format!("default    {default}"));
    }
    if !model.effective_fallback_models.is_empty() {
        let then = model.effective_fallback_models.join(", ");
        lines.push(format!("fallbacks  {then}"));
    }
    if let (true, Some(active)) = (model.fallback_active, &model.active_model) {
        let first = model.requested_model.as_deref().unwrap_or("the first");
        lines.push(format!("asks now   {active}, because {first} failed"));
    }
    if let Some(policy) = &model.resolved_policy {
        lines.push(format!("figures    {}", figures(policy)));
    }
    lines
}

fn asked(model: &Model) -> String {
    match &model.effective_model {
        Some(asked) => format!("{asked} ({})", model.source),
        None => NONE.to_owned(),
    }
}

/// The figures a model is asked by.
pub(crate) fn figures(policy: &Figures) -> String {
    let share = u64::from(policy.context_window_tokens)
        * u64::from(policy.effective_context_window_percent)
        / 100;
    format!(
        "window {} tokens, prompt up to {share}, answer up to {} ({})",
        policy.context_window_tokens, policy.max_output_tokens, policy.source
    )
}

/// What a change of model means.
pub(crate) fn chosen(answer: &Chosen) -> String {
    let Chosen { agent_id, model } = answer;
    let asked = asked(model);
    format!("agent {agent_id} asks from its next turn on: {asked}")
}
