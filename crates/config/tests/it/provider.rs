//! How settings and variables change the providers of this build and add others, and what is refused.

use crate::support::{Home, NOW, env};
use holon_config::{AuthSpec, FileSettings, ProviderSource, credential, resolve};
use holon_domain::provider::{
    AuthKind, AuthSource, PromptCapability, ReasoningEffort, RequestOption, Transport,
};
use std::path::Path;

fn refused(content: &str) -> String {
    refused_with(&[], content)
}

fn refused_with(pairs: &[(&str, &str)], content: &str) -> String {
    let home = Home::new();
    let file = FileSettings::parse(content, Path::new("/c")).expect("parses");
    let error = resolve(&env(pairs), &home.flags(), Some(&file));
    error.expect_err("is refused").to_string()
}

#[test]
fn a_provider_of_this_build_is_as_its_table_says() {
    let home = Home::new();
    let openai = home.provider("openai", "");
    assert_eq!(openai.source, ProviderSource::BuiltIn);
    assert_eq!(openai.spec.transport, Transport::OpenaiResponses);
    assert_eq!(openai.spec.base_url, "https://api.openai.com/v1");
    assert_eq!(
        openai.spec.capabilities(),
        [PromptCapability::PromptCacheKey]
    );
    let anthropic = home.provider("anthropic", "");
    let variables: Vec<(&str, AuthKind)> = anthropic
        .auth
        .env
        .iter()
        .map(|variable| (variable.name.as_str(), variable.kind))
        .collect();
    let expected = [
        ("ANTHROPIC_API_KEY", AuthKind::ApiKey),
        ("ANTHROPIC_AUTH_TOKEN", AuthKind::BearerToken),
    ];
    assert_eq!(variables, expected);
    let codex = home.provider("openai-codex", "");
    assert_eq!(codex.auth.source, AuthSource::ExternalCli);
    assert_eq!(codex.spec.reasoning_effort, Some(ReasoningEffort::Low));
    let ollama = home.provider("ollama", "");
    assert_eq!(ollama.auth, AuthSpec::none());
    assert!(ollama.loopback);
}

#[test]
fn settings_change_a_provider_of_this_build_key_by_key() {
    let home = Home::new();
    let content = r#"
        [providers.openai]
        base_url = "https://proxy.example/v1/"
        store_responses = true
        cache_life_secs = 3600
        reasoning_effort = "high"
        auth = { source = "credential_profile", profile = "work:openai", kind = "bearer_token" }
        [providers.anthropic.context_management]
        enabled = true
        keep_recent_tool_uses = 5
        "#;
    let openai = home.provider("openai", content);
    assert_eq!(openai.source, ProviderSource::Changed);
    assert_eq!(openai.spec.transport, Transport::OpenaiResponses);
    assert_eq!(openai.spec.base_url, "https://proxy.example/v1");
    assert!(openai.spec.can(PromptCapability::IncrementalResponses));
    assert_eq!(openai.spec.reasoning_effort, Some(ReasoningEffort::High));
    assert_eq!(openai.auth.source, AuthSource::CredentialProfile);
    assert_eq!(openai.auth.profile.as_deref(), Some("work:openai"));
    assert_eq!(openai.auth.kind, AuthKind::BearerToken);
    assert_eq!(openai.cache_life_secs, 3_600);
    assert_eq!(home.provider("anthropic", content).cache_life_secs, 300);
    let managed = home.provider("anthropic", content).spec.context_management;
    let managed = managed.expect("is on");
    assert_eq!(managed.trigger_input_tokens, 100_000);
    assert_eq!(managed.keep_recent_tool_uses, 5);
    assert_eq!(managed.clear_at_least_input_tokens, None);
    assert_eq!(openai.spec.context_management, None, "off by default");
    let compacting = home.provider(
        "openai",
        "providers.openai.context_management = { enabled = true, trigger_input_tokens = 90000 }",
    );
    assert!(compacting.spec.can(PromptCapability::ContextManagement));
    let managed = compacting.spec.context_management.expect("is on");
    assert_eq!(managed.trigger_input_tokens, 90_000);
}

#[test]
fn variables_win_over_the_file_and_the_specific_one_over_the_common_one() {
    let home = Home::new();
    let content = "providers.openai.base_url = \"https://file.example\"";
    let address = |pairs: &[(&str, &str)], id: &str| {
        let settings = home.settings(&env(pairs), content);
        settings
            .providers
            .get(id)
            .expect("is there")
            .spec
            .base_url
            .clone()
    };
    let common = ("OPENAI_BASE_URL", "https://common.example");
    let own = ("HOLON_OPENAI_BASE_URL", "https://own.example");
    assert_eq!(address(&[], "openai"), "https://file.example");
    assert_eq!(address(&[common], "openai"), "https://common.example");
    assert_eq!(address(&[common, own], "openai"), "https://own.example");
    let anthropic = ("ANTHROPIC_BASE_URL", "http://localhost:9");
    assert_eq!(address(&[anthropic], "anthropic"), "http://localhost:9");
    let blank = ("OPENAI_BASE_URL", " ");
    assert_eq!(address(&[blank], "openai"), "https://file.example");
    let dashed = ("HOLON_BYTEPLUS_CODING_BASE_URL", "https://b.example");
    assert_eq!(address(&[dashed], "byteplus-coding"), "https://b.example");
}

#[test]
fn variables_turn_on_context_management_and_set_the_effort_of_codex() {
    let home = Home::new();
    let settings = home.settings(
        &env(&[
            ("HOLON_ANTHROPIC_CONTEXT_MANAGEMENT", "1"),
            (
                "HOLON_ANTHROPIC_CONTEXT_MANAGEMENT_TRIGGER_INPUT_TOKENS",
                "50000",
            ),
            (
                "HOLON_ANTHROPIC_CONTEXT_MANAGEMENT_KEEP_RECENT_TOOL_USES",
                "0",
            ),
            (
                "HOLON_ANTHROPIC_CONTEXT_MANAGEMENT_CLEAR_AT_LEAST_INPUT_TOKENS",
                "9",
            ),
            ("HOLON_OPENAI_CODEX_REASONING_EFFORT", "xhigh"),
        ]),
        "",
    );
    let entry = |id: &str| settings.providers.get(id).expect("is there");
    let managed = entry("anthropic").spec.context_management.expect("is on");
    assert_eq!(managed.trigger_input_tokens, 50_000);
    assert_eq!(managed.keep_recent_tool_uses, 0);
    assert_eq!(managed.clear_at_least_input_tokens, Some(9));
    assert_eq!(
        entry("deepseek").spec.context_management,
        None,
        "only anthropic"
    );
    assert_eq!(
        entry("openai-codex").spec.reasoning_effort,
        Some(ReasoningEffort::Xhigh)
    );
}

#[test]
fn a_provider_of_the_settings_alone_works_with_a_credential_or_on_this_machine() {
    let home = Home::new();
    let content = r#"
        [providers.mine]
        transport = "openai_chat_completions"
        base_url = "https://models.example/v1"
        auth = { source = "credential_process", command = ["pass", "show", "mine"], kind = "oauth" }
        [providers.near]
        transport = "anthropic_messages"
        base_url = "http://127.0.0.1:9000"
        [providers.open]
        transport = "openai_responses"
        base_url = "https://open.example"
        auth = { source = "none" }
        "#;
    let mine = home.provider("mine", content);
    assert_eq!(mine.source, ProviderSource::Config);
    assert_eq!(mine.auth.command, ["pass", "show", "mine"]);
    assert_eq!(mine.auth.kind, AuthKind::Oauth);
    assert_eq!(home.provider("near", content).auth, AuthSpec::none());
    assert_eq!(home.provider("open", content).auth, AuthSpec::none());
}

#[test]
fn what_cannot_be_used_is_refused_with_what_to_do() {
    let mine = |rest: &str| {
        format!(
            "[providers.mine]\ntransport = \"openai_chat_completions\"\nbase_url = \"https://m.example\"\n{rest}"
        )
    };
    for (content, said) in [
        (
            mine(""),
            "/c:2: providers.mine: a provider that is not on this machine needs a credential; store one with `holon config credentials set mine`",
        ),
        (
            "providers.mine.base_url = \"https://m.example\"".to_owned(),
            "/c:1: providers.mine: a provider of your own needs a transport; add providers.mine.transport, one of openai_responses, ",
        ),
        (
            "providers.mine.transport = \"openai_responses\"".to_owned(),
            "/c:1: providers.mine: a provider of your own needs an address; add providers.mine.base_url",
        ),
        (
            mine("auth.env = \"K\""),
            "/c:4: providers.mine.auth.env: says nothing without providers.mine.auth.source; add it",
        ),
        (
            mine("auth = { source = \"env\" }"),
            "/c:4: providers.mine.auth.source: env needs providers.mine.auth.env; add it",
        ),
        (
            mine("auth = { source = \"env\", env = \"K\", profile = \"p\" }"),
            "/c:4: providers.mine.auth.profile: belongs to source credential_profile, and the source is env; remove one of the two",
        ),
        (
            mine("auth = { source = \"env\", env = \"K\", kind = \"session_token\" }"),
            "/c:4: providers.mine.auth.kind: source env gives api_key, bearer_token, not session_token; change one of the two",
        ),
        (
            mine("auth = { source = \"none\", kind = \"api_key\" }"),
            "/c:4: providers.mine.auth.kind: source none gives none, not api_key; change one of the two",
        ),
        (
            mine("auth = { source = \"env\", env = \"PATH\" }"),
            "/c:4: providers.mine.auth.env: PATH has another meaning; keep the key in a variable of its own",
        ),
        (
            mine("auth = { source = \"env\", env = \"my key\" }"),
            "/c:4: providers.mine.auth.env: \"my key\" is not the name of a variable for keys",
        ),
        (
            mine("auth = { source = \"env\", env = [] }"),
            "/c:4: providers.mine.auth.env: names no variable",
        ),
        (
            mine("auth = { source = \"credential_profile\", profile = \"a b\" }"),
            "/c:4: providers.mine.auth.profile: a profile's id has 1 to 64 letters",
        ),
        (
            mine("auth = { source = \"credential_process\", command = [] }"),
            "/c:4: providers.mine.auth.command: names no program",
        ),
        (
            mine("store_responses = true\nauth.source = \"none\""),
            "/c:4: providers.mine.store_responses: only openai_responses can go on from a stored response, and mine speaks openai_chat_completions; remove the key",
        ),
        (
            "providers.openai-codex.context_management.enabled = true".to_owned(),
            "/c:1: providers.openai-codex.context_management.enabled: only anthropic_messages and openai_responses can reduce old context",
        ),
        (
            "providers.openai.context_management = { enabled = true, keep_recent_tool_uses = 2 }"
                .to_owned(),
            "/c:1: providers.openai.context_management.keep_recent_tool_uses: only anthropic_messages clears tool results",
        ),
        (
            "providers.openai.base_url = \"https://u:p@api.example\"".to_owned(),
            "/c:1: providers.openai.base_url: an address holds no user name or password",
        ),
        (
            "providers.scripted.transport = \"openai_responses\"".to_owned(),
            "/c:1: providers.scripted: \"scripted\" is taken by this program; choose another id",
        ),
        (
            "providers.\"My Own\".transport = \"openai_responses\"".to_owned(),
            "/c:1: providers.\"My Own\": a provider's id has 1 to 64 lower-case letters, digits and '-'",
        ),
        (
            "models.catalog.gpt.display_name = \"x\"".to_owned(),
            "/c:1: models.catalog.gpt: \"gpt\" is not a model reference",
        ),
    ] {
        let found = refused(&content);
        assert!(found.starts_with(said), "{found}\n{said}");
    }
}

#[test]
fn an_address_that_would_show_a_credential_on_its_way_is_refused() {
    for (content, said) in [
        (
            "providers.openai.base_url = \"http://api.example/v1\"",
            "/c:1: providers.openai.base_url: http:// would send the credential to api.example unencrypted; write https://, or say providers.openai.auth.source = \"none\" if it asks for none",
        ),
        (
            "providers.litellm.base_url = \"http://gateway:4000\"",
            "/c:1: providers.litellm.base_url: http:// would send the credential to gateway unencrypted",
        ),
        (
            "[providers.mine]\ntransport = \"openai_responses\"\nbase_url = \"http://10.0.0.5/v1\"",
            "/c:3: providers.mine.base_url: http:// would send the credential to 10.0.0.5 unencrypted",
        ),
        (
            "[providers.mine]\ntransport = \"openai_responses\"\nbase_url = \"http://10.0.0.5/v1\"\nauth = { source = \"credential_profile\", profile = \"mine\" }",
            "/c:3: providers.mine.base_url: http:// would send the credential to 10.0.0.5 unencrypted",
        ),
        (
            "[providers.ollama]\nbase_url = \"http://10.0.0.5/v1\"\nauth = { source = \"env\", env = \"LAN_KEY\" }",
            "/c:2: providers.ollama.base_url: http:// would send the credential to 10.0.0.5 unencrypted",
        ),
    ] {
        let found = refused(content);
        assert!(found.starts_with(said), "{found}\n{said}");
    }
}

#[test]
fn a_variable_that_cannot_be_used_is_refused_by_name() {
    for (name, value, said) in [
        (
            "HOLON_OPENAI_CODEX_REASONING_EFFORT",
            "max",
            "HOLON_OPENAI_CODEX_REASONING_EFFORT: expected one of low, medium, high, xhigh, default, found \"max\"",
        ),
        (
            "HOLON_ANTHROPIC_CONTEXT_MANAGEMENT_TRIGGER_INPUT_TOKENS",
            "many",
            "HOLON_ANTHROPIC_CONTEXT_MANAGEMENT_TRIGGER_INPUT_TOKENS: expected a whole number",
        ),
    ] {
        let found = refused_with(&[(name, value)], "");
        assert!(found.starts_with(said), "{found}\n{said}");
    }
}

#[test]
fn an_address_of_a_variable_is_judged_when_its_provider_is_asked_and_stops_nothing_else() {
    let home = Home::new();
    for (name, value, id, said) in [
        (
            "OPENAI_BASE_URL",
            "http://api.example?key=1",
            "openai",
            "OPENAI_BASE_URL: an address ends with its path",
        ),
        (
            "OPENAI_BASE_URL",
            "http://proxy.example/v1",
            "openai",
            "OPENAI_BASE_URL: http:// would send the credential to proxy.example unencrypted",
        ),
        (
            "HOLON_OLLAMA_BASE_URL",
            "here",
            "ollama",
            "HOLON_OLLAMA_BASE_URL: an address begins with https://",
        ),
    ] {
        let env = env(&[(name, value), ("OPENAI_API_KEY", "sk-canary")]);
        let settings = home.settings(&env, "model.default = \"ollama/x\"");
        let entry = settings.providers.get(id).expect("is there");
        let refused = credential(entry, &env, home.path(), NOW).expect_err(value);
        assert!(refused.to_string().contains(said), "{refused}");
        assert!(!refused.to_string().contains("sk-canary"));
        let other = settings.providers.get("vllm").expect("is there");
        assert!(credential(other, &env, home.path(), NOW).is_ok());
    }
}

#[test]
fn parts_of_a_request_are_left_out_as_the_settings_say() {
    let home = Home::new();
    let content = "providers.openai.omit = [\"streaming\", \"prompt_cache_key\"]";
    let openai = home.provider("openai", content);
    let omitted: Vec<RequestOption> = openai.spec.omit.into_iter().collect();
    assert_eq!(omitted.len(), 2);
    assert!(omitted.contains(&RequestOption::Streaming));
    assert!(omitted.contains(&RequestOption::PromptCacheKey));
    assert!(home.provider("openai", "").spec.omit.is_empty());
    let found = refused("providers.openai.omit = [\"store\"]");
    let said = "/c:1: providers.openai.omit: \"store\" is no part of a request that can be left out; write any of ";
    assert!(found.starts_with(said), "{found}");
    assert!(found.contains("stream_usage") && found.contains("cache_marks"));
}

#[test]
fn a_server_in_the_same_network_is_spoken_to_plainly_when_it_asks_for_no_credential() {
    let home = Home::new();
    let own = home.provider(
        "lan",
        "[providers.lan]\ntransport = \"openai_chat_completions\"\nbase_url = \"http://llm-service:8000/v1\"\nauth.source = \"none\"",
    );
    assert_eq!(own.spec.base_url, "http://llm-service:8000/v1");
    assert_eq!((own.auth, own.loopback), (AuthSpec::none(), false));
    let variable = ("HOLON_OLLAMA_BASE_URL", "http://192.168.1.10:11434/v1");
    let settings = home.settings(&env(&[variable]), "");
    let ollama = settings.providers.get("ollama").expect("is there");
    assert_eq!(ollama.spec.base_url, variable.1);
    assert_eq!(ollama.auth.source, AuthSource::None);
}

#[test]
fn how_hard_models_think_can_be_left_to_the_provider() {
    let home = Home::new();
    let content = "providers.openai-codex.reasoning_effort = \"default\"";
    let codex = home.provider("openai-codex", content);
    assert_eq!(codex.spec.reasoning_effort, None);
    let env = env(&[("HOLON_OPENAI_CODEX_REASONING_EFFORT", "default")]);
    let settings = home.settings(&env, "");
    let codex = settings.providers.get("openai-codex").expect("is there");
    assert_eq!(codex.spec.reasoning_effort, None);
}

#[test]
fn an_unknown_provider_is_answered_with_the_nearest_one() {
    let home = Home::new();
    let providers = home.settings(&env(&[]), "").providers;
    assert_eq!(
        providers.unknown("antropic"),
        "there is no provider \"antropic\"; did you mean anthropic?"
    );
    assert!(
        providers
            .unknown("zzzzzzzz")
            .contains("holon config providers list")
    );
}

#[test]
fn a_transport_that_cannot_be_used_costs_its_provider_alone() {
    let home = Home::new();
    let content = r#"
        model.default = "mine/one"
        model.fallbacks = ["openai-codex/two", "near/three"]
        [providers.mine]
        transport = "carrier_pigeon"
        base_url = "https://m.example"
        store_responses = true
        [providers.openai-codex]
        transport = "openai_chat_completions"
        [providers.near]
        transport = "openai_chat_completions"
        base_url = "http://127.0.0.1:9/v1"
        "#;
    for (id, transport, problem, next) in [
        (
            "mine",
            "carrier_pigeon",
            "mine has the transport \"carrier_pigeon\", which this build does not support",
            "run: holon config set providers.mine.transport with one of openai_responses, ",
        ),
        (
            "openai-codex",
            "openai_chat_completions",
            "openai-codex is served over openai_codex_responses only, and not over openai_chat_completions",
            "run: holon config unset providers.openai-codex.transport",
        ),
    ] {
        let entry = home.provider(id, content);
        assert_eq!(entry.transport(), transport);
        let found = entry.unsupported_transport.expect("it cannot be used");
        assert_eq!(found.problem, problem);
        assert!(found.next_step.starts_with(next), "{}", found.next_step);
    }
    let near = home.provider("near", content);
    assert_eq!(near.unsupported_transport, None);
}
