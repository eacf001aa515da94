//! Renders settings, providers and models.

use super::{learned, pauses};
use crate::addressing::hint;
use crate::report::{Diagnosis, ProbeResult, Setting};
use holon_config::{ModelAvailability, ProviderReport, SchemaEntry, Untried};
use holon_domain::provider::ModelPolicy;
use serde_json::Value;
use std::collections::BTreeMap;

/// State of a model or credential that only a request can prove, where `--probe` is available.
const NOT_TRIED: &str = "not tried, use --probe";
/// The same state where `--probe` is not available.
const UNTRIED: &str = "not tried";

/// Renders a value as it can be typed again.
pub(crate) fn value(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "(not set)".to_owned(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// Renders the settings of the file, one key per line.
pub(crate) fn stored(stored: &BTreeMap<String, Value>) -> String {
    if stored.is_empty() {
        return hint("nothing is set; see what counts with: holon config list --effective");
    }
    let lines: Vec<String> = stored
        .iter()
        .map(|(key, set)| format!("{key} = {}", value(set)))
        .collect();
    lines.join("\n")
}

/// Renders effective settings, one key per line.
pub(crate) fn effective(settings: &[Setting]) -> String {
    let line = |setting: &Setting| {
        let (key, set) = (&setting.key, value(&setting.value));
        format!("{key} = {set}  [{}]", setting.source)
    };
    let lines: Vec<String> = settings.iter().map(line).collect();
    lines.join("\n")
}

/// Renders all known settings.
pub(crate) fn schema(schema: &[SchemaEntry]) -> String {
    let blocks: Vec<String> = schema.iter().map(schema_entry).collect();
    blocks.join("\n")
}

fn schema_entry(entry: &SchemaEntry) -> String {
    let mut facts = vec![match (entry.allowed, entry.min, entry.max) {
        ([], Some(min), Some(max)) => format!("{} from {min} to {max}", entry.kind),
        ([], _, _) => entry.kind.to_owned(),
        (allowed, _, _) => allowed.join(" | "),
    }];
    facts.extend(entry.default.map(|default| format!("default {default}")));
    if !entry.variables.is_empty() {
        facts.push(format!("or {}", entry.variables.join(", ")));
    }
    format!("{}  ({})\n    {}", entry.key, facts.join("; "), entry.doc)
}

/// Renders one provider, one fact per line.
pub(crate) fn provider(provider: &ProviderReport) -> String {
    facts(provider, UNTRIED)
}

fn facts(provider: &ProviderReport, untried: &str) -> String {
    let mut lines = vec![
        format!("provider    {} ({})", provider.provider, provider.source),
        format!("speaks      {}", provider.transport),
        format!("at          {}", provider.base_url),
        format!("prompts     {}", provider.prompt_capabilities.join(", ")),
        format!("credential  {}", credential(provider, untried)),
    ];
    if !provider.omit.is_empty() {
        lines.push(format!("leaves out  {}", provider.omit.join(", ")));
    }
    if let Some(model) = &provider.default_model {
        lines.push(format!("model       {model}"));
    }
    if let Some(problem) = &provider.problem {
        lines.push(format!("problem     {problem}"));
    }
    if let Some(next) = &provider.next_step {
        lines.push(format!("next        {next}"));
    }
    lines.join("\n")
}

/// Renders the state and source of a provider's credential.
fn credential(provider: &ProviderReport, untried: &str) -> String {
    let names = provider.credential_env.join(" or ");
    let from = match &provider.credential_profile {
        Some(profile) => format!("profile {profile}"),
        None if names.is_empty() => provider.credential_source.to_owned(),
        None => names.clone(),
    };
    match (provider.credential, provider.not_tried) {
        (_, Some(Untried::Command)) => format!("a command prints it; {untried}"),
        // The settings name a variable, so its absence may be a mistake.
        ("not_needed", _) if !names.is_empty() && provider.source == "config" => {
            format!("none: {names} is not set, so requests carry no credential")
        }
        ("not_needed", _) => "not needed".to_owned(),
        (state, _) => format!("{state} ({from})"),
    }
}

/// Renders providers, one per line.
pub(crate) fn providers(providers: &[ProviderReport]) -> String {
    if providers.is_empty() {
        return hint("no provider has a credential; run: holon init");
    }
    let width = |of: fn(&ProviderReport) -> &str| {
        let widths = providers.iter().map(|one| of(one).len());
        widths.max().unwrap_or(0)
    };
    let (ids, transports) = (width(|one| &one.provider), width(|one| &one.transport));
    let lines: Vec<String> = providers
        .iter()
        .map(|one| {
            let omit = if one.omit.is_empty() {
                String::new()
            } else {
                format!("  without {}", one.omit.join(", "))
            };
            format!(
                "{:ids$}  {:transports$}  {}  {}{omit}",
                one.provider,
                one.transport,
                one.base_url,
                credential(one, UNTRIED)
            )
        })
        .collect();
    lines.join("\n")
}

/// Renders models, one per line.
pub(crate) fn models(models: &[ModelAvailability]) -> String {
    if models.is_empty() {
        return hint("no model can be asked; run: holon init");
    }
    let width = models.iter().map(|one| one.model.len()).max().unwrap_or(0);
    let lines: Vec<String> = models
        .iter()
        .map(|one| format!("{:width$}  {}", one.model, model(one)))
        .collect();
    lines.join("\n")
}

fn model(model: &ModelAvailability) -> String {
    let window = format!("{} tokens", model.policy.context_window_tokens);
    let price = match &model.price_usd_per_million_tokens {
        Some(price) => format!(
            "${}/${} per million",
            dollars(price.input.micros()),
            dollars(price.output.micros())
        ),
        None => "price not known".to_owned(),
    };
    let thinking = thinking(&model.policy).map_or_else(String::new, |words| format!("  {words}"));
    match &model.unavailable_reason {
        Some(reason) => format!("{window}  {price}{thinking}  not available: {reason}"),
        None => format!("{window}  {price}{thinking}"),
    }
}

/// Renders the thinking of a model, and the output limit if it allows less than the settings; `None` if thinking is off.
fn thinking(policy: &ModelPolicy) -> Option<String> {
    let wanted = policy.reasoning.thinking_tokens?;
    let limit = policy.max_output_tokens;
    Some(match policy.reasoning.thinking_within(limit) {
        Some(tokens) if tokens == wanted => format!("thinks up to {tokens} tokens"),
        Some(tokens) => {
            format!("thinks up to {tokens} tokens, not {wanted}: its answers have at most {limit}")
        }
        None => format!("does not think: its answers have at most {limit} tokens"),
    })
}

/// Renders millionths of a dollar without trailing zeros.
fn dollars(micros: u64) -> String {
    let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Renders the result of one probe, and the context window that the server states.
pub(crate) fn probe_lines(probe: &ProbeResult) -> Vec<String> {
    let window = probe.stated_window_tokens.map(window);
    let longest = probe.longest_window_tokens.map(longest_window);
    std::iter::once(probe_result(probe))
        .chain(window)
        .chain(longest)
        .collect()
}

/// Window below which Holon's own prompt leaves little room for a conversation, in tokens.
const SMALL_WINDOW_TOKENS: u32 = 16_000;

/// Renders the context window that a server states.
fn window(tokens: u32) -> String {
    format!(
        "window      {tokens} tokens, as its server says{}",
        window_advice(tokens)
    )
}

/// Renders the longest window of a model whose server does not state the one that a request gets.
fn longest_window(tokens: u32) -> String {
    format!(
        "window      at most {tokens} tokens; its server does not say what a request gets{}",
        window_advice(tokens)
    )
}

const fn window_advice(tokens: u32) -> &'static str {
    if tokens < SMALL_WINDOW_TOKENS {
        "; that is little for an agent: start the server with a larger context"
    } else {
        ""
    }
}

/// Renders the result of one probe.
fn probe_result(probe: &ProbeResult) -> String {
    let ProbeResult {
        model, latency_ms, ..
    } = probe;
    match (probe.failure_kind, &probe.error) {
        (Some(kind), Some(error)) => {
            format!("asked       {model}: {kind} after {latency_ms} ms: {error}")
        }
        (_, _) => format!("asked       {model}: answered in {latency_ms} ms"),
    }
}

/// Renders the report of `config doctor`.
pub(crate) fn doctor(diagnosis: &Diagnosis) -> String {
    let Diagnosis {
        report,
        waiting_failure_kinds,
        store_findings,
        probes,
        learned_limits,
        running_host,
    } = diagnosis;
    let mut lines = Vec::new();
    for (number, model) in report.model_availability.iter().enumerate() {
        let head = if number == 0 { "models" } else { "" };
        let state = match &model.unavailable_reason {
            Some(reason) => format!("cannot be asked: {reason}"),
            None if is_untried(&report.providers, &model.provider) => NOT_TRIED.to_owned(),
            None => "can be asked".to_owned(),
        };
        let at = number + 1;
        lines.push(format!("{head:10}  {at}. {}: {state}", model.model));
    }
    if report.model_availability.is_empty() {
        lines.push("models      none is chosen".to_owned());
    }
    if let Some(source) = report.default_model_source {
        lines.push(format!("chosen by   {source}"));
    }
    if report.disable_provider_fallback {
        lines.push("fallback    turned off: only the first is asked".to_owned());
    }
    if let Some(host) = running_host {
        lines.extend(learned::host_lines(host));
    }
    lines.extend(probes.iter().flat_map(probe_lines));
    lines.extend(learned_limits.iter().enumerate().map(learned::line));
    lines.extend(pauses::lines(report, waiting_failure_kinds));
    lines.extend(provider_lines(&report.providers));
    lines.extend(
        store_findings
            .iter()
            .map(|found| format!("store       {found}")),
    );
    lines.push(format!("next        {}", report.next_step));
    lines.join("\n")
}

fn is_untried(providers: &[ProviderReport], id: &str) -> bool {
    let mut found = providers.iter().filter(|one| one.provider == id);
    found.any(|one| one.not_tried.is_some())
}

/// Renders one provider with the results of its probes.
pub(crate) fn provider_diagnosis(one: &ProviderReport, probes: &[ProbeResult]) -> String {
    let mut lines = vec![facts(one, NOT_TRIED)];
    if one.not_tried == Some(Untried::Server) {
        lines.push(format!("server      {NOT_TRIED}"));
    }
    lines.extend(probes.iter().flat_map(probe_lines));
    lines.join("\n")
}

/// Renders all providers: usable ones one per line, configured ones without a key by name, the others as a number.
fn provider_lines(providers: &[ProviderReport]) -> Vec<String> {
    let mut lines = Vec::new();
    let (usable, others): (Vec<_>, Vec<_>) =
        providers.iter().partition(|one| one.problem.is_none());
    for (number, one) in usable.into_iter().enumerate() {
        let head = if number == 0 { "providers" } else { "" };
        let capabilities = one.prompt_capabilities.join(", ");
        let untried = match one.not_tried {
            Some(Untried::Server) => ", not tried",
            Some(Untried::Command) | None => "",
        };
        lines.push(format!(
            "{head:10}  {}: {} at {}, credential {}{untried}, {capabilities}",
            one.provider,
            one.transport,
            one.base_url,
            credential(one, NOT_TRIED)
        ));
    }
    let (missing, troubled): (Vec<_>, Vec<_>) = others
        .into_iter()
        .partition(|one| one.credential == "missing");
    for one in troubled {
        let problem = one.problem.as_deref().unwrap_or_default();
        lines.push(format!("problem     {}: {problem}", one.provider));
    }
    let (others, own): (Vec<_>, Vec<_>) = missing
        .into_iter()
        .partition(|one| one.source == "built_in");
    if !own.is_empty() {
        let names: Vec<&str> = own.iter().map(|one| one.provider.as_str()).collect();
        lines.push(format!("no key for  {}", names.join(", ")));
    }
    if !others.is_empty() {
        lines.push(hint(format!(
            "            and {} others without a key: holon config providers list --all",
            others.len()
        )));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_shown_without_trailing_zeros() {
        assert_eq!(dollars(3_000_000), "3");
        assert_eq!(dollars(250_000), "0.25");
        assert_eq!(dollars(1), "0.000001");
    }
}
