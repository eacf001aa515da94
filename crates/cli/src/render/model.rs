//! Renders the model of an agent with the source of that choice.

use crate::addressing::hint;
use holon_client::view::{Model, ModelChange, ModelLimits};
use holon_domain::provider::ReasoningPolicy;

/// LiveOutput for an agent without a model.
const NONE: &str = "none; run: holon init";

/// Renders the model in use, one fact per line.
pub(crate) fn state(model: &Model) -> String {
    lines(model).join("\n")
}

/// Returns the lines of [`state`], for a larger block.
pub(super) fn lines(model: &Model) -> Vec<String> {
    let mut lines = vec![format!("model      {}", effective_model(model))];
    if let Some(effort) = &model.override_reasoning_effort {
        lines.push(format!("effort     {effort}"));
    }
    if let Some(tokens) = model.override_thinking_tokens {
        lines.push(match tokens {
            0 => "thinking   off".to_owned(),
            tokens => format!(
                "thinking   {}",
                thinking(tokens, model.resolved_policy.as_ref())
            ),
        });
    }
    if let ("agent_override", Some(default)) = (model.source.as_str(), &model.runtime_default_model)
    {
        lines.push(format!("default    {default}"));
    }
    lines.extend(fallbacks(model));
    if let (true, Some(active)) = (model.fallback_active, &model.active_model) {
        let first = model.requested_model.as_deref().unwrap_or("the first");
        lines.push(format!("asks now   {active}, because {first} failed"));
    }
    if let Some(policy) = &model.resolved_policy {
        lines.push(format!("figures    {}", limits(policy)));
    }
    lines
}

/// Renders the thinking that an agent chose, and the output limit if it allows less.
fn thinking(wanted: u32, policy: Option<&ModelLimits>) -> String {
    let chosen = ReasoningPolicy::NONE.with_thinking(Some(wanted));
    let limit = policy.map_or(u32::MAX, |policy| policy.max_output_tokens);
    match chosen.thinking_within(limit) {
        Some(tokens) if tokens == wanted => format!("up to {tokens} tokens"),
        Some(tokens) => {
            format!("up to {tokens} tokens, not {wanted}: an answer has at most {limit}")
        }
        None => format!("off: an answer has at most {limit} tokens"),
    }
}

/// Renders the models that are asked after the first; `None` if there are none by the settings of the host.
fn fallbacks(model: &Model) -> Option<String> {
    let then = model.effective_fallback_models.join(", ");
    match (&model.override_fallback_models, then.is_empty()) {
        (Some(_), true) => Some("fallbacks  none (agent_override)".to_owned()),
        (Some(_), false) => Some(format!("fallbacks  {then} (agent_override)")),
        (None, false) => Some(format!("fallbacks  {then}")),
        (None, true) => None,
    }
}

fn effective_model(model: &Model) -> String {
    match &model.effective_model {
        Some(asked) => format!("{asked} ({})", model.source),
        None => hint(NONE),
    }
}

/// Renders the token limits of a model.
pub(crate) fn limits(policy: &ModelLimits) -> String {
    let share = u64::from(policy.context_window_tokens)
        * u64::from(policy.effective_context_window_percent)
        / 100;
    let (window, answer) = (&policy.source, &policy.output_source);
    // One source for both figures is named once.
    let window_words = match answer.is_empty() || answer == window {
        true => String::new(),
        false => format!(" ({})", source_words(window)),
    };
    let last = if answer.is_empty() { window } else { answer };
    format!(
        "window {} tokens{window_words}, prompt up to {share}, answer up to {} ({})",
        policy.context_window_tokens,
        policy.max_output_tokens,
        source_words(last)
    )
}

/// Spells the source of a model's limits. A source that this program does not know stays as the host spelled it.
fn source_words(source: &str) -> &str {
    match source {
        "built_in_catalog" => "from the table of models",
        "config_override" => "from the settings",
        "unknown_fallback" => "assumed: the model is not in the table",
        "learned" => "learned from the provider",
        other => other,
    }
}

/// Renders a change of an agent's model.
pub(crate) fn model_change(answer: &ModelChange) -> String {
    let ModelChange { agent_id, model } = answer;
    let asked = effective_model(model);
    format!("agent {agent_id} asks from its next turn on: {asked}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinking_above_the_output_limit_is_told_as_what_is_asked_for() {
        let policy = ModelLimits {
            context_window_tokens: 200_000,
            effective_context_window_percent: 90,
            max_output_tokens: 8_192,
            source: "built_in_catalog".to_owned(),
            output_source: "built_in_catalog".to_owned(),
        };
        assert_eq!(thinking(4_000, Some(&policy)), "up to 4000 tokens");
        assert_eq!(
            thinking(20_000, Some(&policy)),
            "up to 7168 tokens, not 20000: an answer has at most 8192"
        );
        assert_eq!(thinking(20_000, None), "up to 20000 tokens");
    }

    #[test]
    fn the_window_and_the_answer_each_name_their_source() {
        let shown = |source: &str, output_source: &str| {
            limits(&ModelLimits {
                context_window_tokens: 30_000,
                effective_context_window_percent: 90,
                max_output_tokens: 10_000,
                source: source.to_owned(),
                output_source: output_source.to_owned(),
            })
        };
        let learned = "window 30000 tokens (learned from the provider), prompt up to 27000, answer up to 10000 \
                       (assumed: the model is not in the table)";
        assert_eq!(shown("learned", "unknown_fallback"), learned);
        let set = "window 30000 tokens, prompt up to 27000, answer up to 10000 (from the settings)";
        assert_eq!(shown("config_override", "config_override"), set);
        assert_eq!(
            shown("config_override", ""),
            set,
            "an older host names one source"
        );
    }
}
