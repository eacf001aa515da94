//! Renders what only a store or a running host knows: learned limits, and the models that are asked.

use crate::report::{LearnedLimit, RunningHost};
use holon_domain::Timestamp;
use holon_domain::provider::LimitSource;

/// Renders the models that a running host asks.
pub(super) fn host_lines(host: &RunningHost) -> Vec<String> {
    let default = host.default_model.as_deref().unwrap_or("no model");
    let mut lines = vec![format!(
        "host        runs and asks {}",
        chain(default, &host.fallback_models)
    )];
    lines.extend(host.agents.iter().map(|agent| {
        let asked = chain(&agent.model, &agent.fallback_models);
        format!("            agent {} asks {asked}", agent.agent_id)
    }));
    lines
}

fn chain(first: &str, fallbacks: &[String]) -> String {
    match fallbacks {
        [] => first.to_owned(),
        fallbacks => format!("{first}, then {}", fallbacks.join(", then ")),
    }
}

/// Renders the learned limits of one model, with source and time.
pub(super) fn line((number, limit): (usize, &LearnedLimit)) -> String {
    let head = if number == 0 { "learned" } else { "" };
    let at = |time: Option<Timestamp>| time.map(|time| format!(" at {time}")).unwrap_or_default();
    let window = limit.context_window_tokens.map(|tokens| {
        let source = match limit.window_source.unwrap_or_default() {
            LimitSource::Server => "its server says so",
            LimitSource::Refusal => "a refused request said so",
            LimitSource::Answer => "an answer took so much",
        };
        format!(
            "window {tokens} tokens, {source}{}",
            at(limit.window_learned_at)
        )
    });
    let output = limit.max_output_tokens.map(|tokens| {
        let time = at(limit.output_learned_at);
        format!("answer up to {tokens} tokens, a refused request said so{time}")
    });
    let ratio = limit.token_ratio_per_mille.map(|per_mille| {
        let percent = f64::from(per_mille) / 10.0;
        format!("its tokens are {percent:.1} % of the estimate")
    });
    let facts: Vec<String> = window.into_iter().chain(output).chain(ratio).collect();
    let unused = match (limit.is_used, &limit.endpoint) {
        (true, _) => String::new(),
        (false, Some(url)) => format!("; not used, because it was learned at {url}"),
        (false, None) => "; not used, because the server it was learned at is not known".to_owned(),
    };
    format!("{head:10}  {}: {}{unused}", limit.model, facts.join("; "))
}
