//! What the doctor says: whether agents can work, why not, and the one thing to do next.

use crate::support::{Home, NOW, env};
use holon_config::{DoctorReport, RetryPolicy, credentials, doctor, model_availability};
use holon_domain::provider::AuthKind;
use secrecy::SecretString;

fn retry() -> RetryPolicy {
    RetryPolicy {
        max_retries_per_provider: 2,
        max_attempts_per_provider: 3,
        base_backoff_ms: 1_000,
        backoff_growth: 30,
        attended_backoff_growth: 2,
        max_suspension_pause_ms: 300_000,
        max_backoff_ms: 60_000,
        retryable_failure_kinds: vec!["timeout".to_owned()],
        fail_fast_failure_kinds: vec!["auth".to_owned()],
        attended_patience_ms: 30_000,
        renewals_per_round: 3,
        renewal_patience_ms: 691_200_000,
        passing_failure_kinds: vec!["timeout".to_owned()],
        operator_failure_kinds: vec!["auth".to_owned()],
        refused_failure_kinds: Vec::new(),
        last_failure_kinds: Vec::new(),
    }
}

fn look(home: &Home, pairs: &[(&str, &str)], content: &str) -> DoctorReport {
    let env = env(pairs);
    let settings = home.settings(&env, content).with_derived_model(&env, NOW);
    doctor(&settings, &env, NOW, retry())
}

#[test]
fn each_situation_has_its_next_step() {
    let key = ("OPENAI_API_KEY", "k");
    for (pairs, content, can_work, said) in [
        (
            &[][..],
            "",
            false,
            "give it a model in one of three ways: log in with `codex login`; set a key such as OPENAI_API_KEY or ANTHROPIC_API_KEY; or start a local server such as Ollama. Then run: holon init. Without any of these, holon demo shows the runtime with a scripted model",
        ),
        (
            &[key][..],
            "",
            true,
            "nothing; try: holon run \"say hello\" (it asks openai/gpt-5.4)",
        ),
        (
            &[("ARCEE_API_KEY", "k")][..],
            "",
            false,
            "arcee has a credential; choose a model: holon config set model.default arcee/MODEL",
        ),
        (
            &[][..],
            "model.default = \"openai/gpt-5.4\"",
            false,
            "openai/gpt-5.4 cannot be asked (openai has no credential); set OPENAI_API_KEY, or store a key: holon config credentials set openai",
        ),
        (
            &[][..],
            "model.default = \"opnai/x\"",
            false,
            "opnai/x cannot be asked (there is no provider \"opnai\"; did you mean openai?); choose a model of a provider there is: holon config set model.default PROVIDER/MODEL",
        ),
        (
            &[key][..],
            "model.default = \"openai-codex/x\"\nmodel.fallbacks = \"openai/gpt-5.4\"\nproviders.openai-codex.transport = \"openai_responses\"",
            true,
            "agents work with openai/gpt-5.4, because openai-codex/x cannot be asked (openai-codex is served over openai_codex_responses only, and not over openai_responses); run: holon config unset providers.openai-codex.transport",
        ),
        (
            &[key][..],
            "model.default = \"xai/grok-4.5\"\nmodel.fallbacks = \"openai/gpt-5.4\"",
            true,
            "agents work with openai/gpt-5.4, because xai/grok-4.5 cannot be asked (xai has no credential); set XAI_API_KEY, or store a key: holon config credentials set xai",
        ),
        (
            &[][..],
            "model.default = \"ollama/qwen3\"",
            true,
            "nothing; try: holon run \"say hello\" (it asks ollama/qwen3)",
        ),
        (
            &[][..],
            "model.default = \"scripted/hello.json\"",
            true,
            "nothing; try: holon run \"say hello\" (it asks scripted/hello.json)",
        ),
    ] {
        let report = look(&Home::new(), pairs, content);
        assert_eq!(report.next_step, said);
        assert_eq!(report.can_work, can_work, "{said}");
    }
}

#[test]
fn the_report_shows_the_chain_its_figures_and_every_provider_and_nothing_secret() {
    let home = Home::new();
    let material = SecretString::from("sk-hidden");
    credentials::set(home.path(), "anthropic", AuthKind::ApiKey, &material).expect("stores");
    let content =
        "model.fallbacks = \"ollama/unheard-of\"\nproviders.openai.store_responses = true";
    let report = look(&home, &[("OPENAI_API_KEY", "sk-hidden")], content);
    assert_eq!(
        report.effective_chain,
        ["openai/gpt-5.4", "ollama/unheard-of"]
    );
    assert_eq!(report.default_model_source, Some("credentials"));
    assert_eq!(report.providers.len(), 50);
    let value = serde_json::to_value(&report).expect("serialises");
    assert!(!value.to_string().contains("hidden"));
    let first = &value["model_availability"][0];
    assert_eq!(first["metadata_source"], "built_in_catalog");
    assert_eq!(first["policy"]["context_window_tokens"], 272_000);
    assert_eq!(first["price_usd_per_million_tokens"]["input"], 2.5);
    let second = &value["model_availability"][1];
    assert_eq!(second["metadata_source"], "unknown_fallback");
    assert_eq!(second.get("price_usd_per_million_tokens"), None);
    let provider = |id: &str| {
        report
            .providers
            .iter()
            .find(|one| one.provider == id)
            .expect("is there")
    };
    assert_eq!(
        provider("openai").prompt_capabilities,
        ["prompt_cache_key", "incremental_responses"]
    );
    assert_eq!(provider("openai").source, "built_in_changed");
    assert_eq!(provider("anthropic").credential, "configured");
    assert_eq!(provider("mistral").credential, "missing");
    assert_eq!(provider("vllm").credential, "not_needed");
    assert_eq!(provider("vllm").next_step, None);
}

#[test]
fn every_known_model_is_listed_once_and_only_those_with_a_credential_are_available() {
    let home = Home::new();
    let env = env(&[("MISTRAL_API_KEY", "k")]);
    let settings = home.settings(&env, "models.catalog.\"mine/m\".display_name = \"M\"");
    let models = model_availability(&settings.with_derived_model(&env, NOW), &env, NOW);
    let names: std::collections::BTreeSet<&str> =
        models.iter().map(|one| one.model.as_str()).collect();
    assert_eq!(names.len(), models.len());
    assert!(names.contains("mine/m"));
    for model in &models {
        assert_eq!(
            model.available,
            model.provider == "mistral",
            "{}",
            model.model
        );
        assert_eq!(model.available, model.unavailable_reason.is_none());
    }
    assert_eq!(
        models[0].model, "mistral/mistral-medium-latest",
        "the chain comes first"
    );
}

#[test]
fn a_stored_profile_is_named_instead_of_the_variable_that_is_not_set() {
    let home = Home::new();
    let key = SecretString::from("k");
    credentials::set(home.path(), "openai", AuthKind::ApiKey, &key).expect("stored");
    let named = |pairs: &[(&str, &str)]| {
        let report = look(&home, pairs, "");
        let mut providers = report.providers.into_iter();
        let openai = providers.find(|one| one.provider == "openai");
        openai.expect("is built in").credential_profile
    };
    assert_eq!(named(&[]).as_deref(), Some("openai"));
    assert_eq!(named(&[("OPENAI_API_KEY", "k")]), None);
}
