//! Where each provider's credential is looked for, and what is said when there is none.

use crate::support::{Home, NOW, env};
use holon_config::{
    CredentialState, Env, Found, ProviderEntry, Source, credential, renewal, state,
};
use holon_config::{credentials, keyring};
use holon_domain::provider::AuthKind;
use secrecy::{ExposeSecret as _, SecretString};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

fn found(home: &Home, entry: &ProviderEntry, env: &Env) -> (AuthKind, String) {
    match credential(entry, env, home.path(), NOW).expect("is found") {
        Found::Secret {
            kind,
            secret,
            account_id,
        } => {
            assert_eq!(account_id, None);
            (kind, secret.expose_secret().to_owned())
        }
        other => panic!("{other:?}"),
    }
}

fn stored(home: &Home, id: &str, kind: AuthKind) {
    let material = SecretString::from(format!("stored-{id}"));
    credentials::set(home.path(), id, kind, &material).expect("stores");
}

#[test]
fn the_first_variable_that_is_set_counts_then_the_profile_of_the_providers_name() {
    let home = Home::new();
    let anthropic = home.provider("anthropic", "");
    stored(&home, "anthropic", AuthKind::Oauth);
    let key = ("ANTHROPIC_API_KEY", " key ");
    let token = ("ANTHROPIC_AUTH_TOKEN", "token");
    let with = |pairs: &[(&str, &str)]| found(&home, &anthropic, &env(pairs));
    assert_eq!(with(&[token, key]), (AuthKind::ApiKey, "key".into()));
    assert_eq!(with(&[token]), (AuthKind::BearerToken, "token".into()));
    assert_eq!(
        with(&[("ANTHROPIC_API_KEY", ""), token]),
        (AuthKind::BearerToken, "token".into())
    );
    assert_eq!(with(&[]), (AuthKind::Oauth, "stored-anthropic".into()));
}

#[test]
fn a_stored_key_is_sent_the_way_its_provider_wants_keys() {
    let home = Home::new();
    for (id, kind) in [
        ("anthropic", AuthKind::ApiKey),
        ("zai", AuthKind::BearerToken),
        ("mistral", AuthKind::ApiKey),
    ] {
        stored(&home, id, AuthKind::ApiKey);
        let entry = home.provider(id, "");
        assert_eq!(
            found(&home, &entry, &env(&[])),
            (kind, format!("stored-{id}"))
        );
    }
}

#[test]
fn without_any_the_next_step_names_the_variables_and_the_command() {
    let home = Home::new();
    let CredentialState::Missing { problem, next_step } =
        state(&home.provider("anthropic", ""), &env(&[]), home.path(), NOW)
    else {
        panic!("is missing");
    };
    let expected = "set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN, or store a key: holon config credentials set anthropic";
    assert_eq!(next_step, expected);
    assert_eq!(problem, "anthropic has no credential");
}

#[test]
fn a_provider_on_this_machine_goes_without_and_uses_a_key_if_there_is_one() {
    let home = Home::new();
    let litellm = home.provider("litellm", "");
    assert_eq!(
        state(&litellm, &env(&[]), home.path(), NOW),
        CredentialState::NotNeeded
    );
    let keyed = env(&[("LITELLM_API_KEY", "k")]);
    assert_eq!(
        found(&home, &litellm, &keyed),
        (AuthKind::ApiKey, "k".into())
    );
    let moved = home.provider(
        "openai",
        "providers.openai.base_url = \"http://localhost:1\"",
    );
    assert_eq!(
        state(&moved, &env(&[]), home.path(), NOW),
        CredentialState::NotNeeded
    );
}

#[test]
fn a_variable_that_is_no_key_is_refused_without_repeating_it() {
    let home = Home::new();
    let openai = home.provider("openai", "");
    let spaced = env(&[("OPENAI_API_KEY", "hush hush")]);
    let broken = Env::from_lookup(|_| Some(OsString::from_vec(b"hush\xff".to_vec())), None);
    for env in [spaced, broken] {
        let error = credential(&openai, &env, home.path(), NOW).expect_err("is refused");
        assert!(error.to_string().contains("OPENAI_API_KEY"), "{error}");
        assert!(!format!("{error} {error:?}").contains("hush"), "{error}");
        assert_eq!(error.next_step(), "set OPENAI_API_KEY again, or unset it");
    }
}

const PROFILE: &str =
    "[providers.openai.auth]\nsource = \"credential_profile\"\nprofile = \"work\"";

#[test]
fn a_named_profile_is_used_if_it_is_there_and_of_the_right_kind() {
    let home = Home::new();
    let openai = home.provider("openai", PROFILE);
    let nothing = env(&[("OPENAI_API_KEY", "ignored")]);
    let missing = credential(&openai, &nothing, home.path(), NOW).expect_err("is missing");
    assert_eq!(
        missing.to_string(),
        "openai has no credential; store it: holon config credentials set work --kind api_key"
    );
    stored(&home, "work", AuthKind::ApiKey);
    assert_eq!(
        found(&home, &openai, &nothing),
        (AuthKind::ApiKey, "stored-work".into())
    );
    stored(&home, "work", AuthKind::BearerToken);
    let other = credential(&openai, &nothing, home.path(), NOW).expect_err("is of another kind");
    assert_eq!(
        other.next_step(),
        "run: holon config set providers.openai.auth.kind bearer_token"
    );
}

#[test]
fn a_command_is_named_and_not_run() {
    let home = Home::new();
    let content =
        "[providers.openai.auth]\nsource = \"credential_process\"\ncommand = [\"pass\", \"show\"]";
    let openai = home.provider("openai", content);
    let Found::Command { argv, kind } =
        credential(&openai, &env(&[]), home.path(), NOW).expect("is found")
    else {
        panic!("is a command");
    };
    assert_eq!(
        (argv.join(" ").as_str(), kind),
        ("pass show", AuthKind::ApiKey)
    );
    assert_eq!(
        state(&openai, &env(&[]), home.path(), NOW),
        CredentialState::Printed
    );
}

#[test]
fn an_exposed_store_is_told_and_not_passed_over() {
    let home = Home::new();
    home.put("credentials.json", "{}", 0o644);
    let CredentialState::Unusable { next_step, .. } =
        state(&home.provider("openai", ""), &env(&[]), home.path(), NOW)
    else {
        panic!("is unusable");
    };
    assert!(next_step.starts_with("run: chmod 600 "), "{next_step}");
    let local = home.provider("litellm", "");
    assert_eq!(
        state(&local, &env(&[]), home.path(), NOW),
        CredentialState::NotNeeded
    );
}

#[test]
fn nothing_secret_shows_in_debug_output() {
    let home = Home::new();
    let keyed = env(&[("OPENAI_API_KEY", "sk-hidden")]);
    let openai = home.provider("openai", "");
    let shown = format!("{:?}", credential(&openai, &keyed, home.path(), NOW));
    assert!(
        shown.contains("Secret") && !shown.contains("hidden"),
        "{shown}"
    );
    let settings = format!("{:?}", home.settings(&keyed, ""));
    assert!(!settings.contains("hidden"));
}

/// The model that is derived, and who chose it.
fn derived(home: &Home, pairs: &[(&str, &str)], content: &str) -> Option<(String, Source)> {
    let env = env(pairs);
    let settings = home.settings(&env, content).with_derived_model(&env, NOW);
    settings
        .model
        .map(|model| (model.value.to_string(), model.source))
}

#[test]
fn the_model_is_derived_from_the_first_provider_that_has_a_credential() {
    let home = Home::new();
    let chosen = |pairs: &[(&str, &str)]| {
        derived(&home, pairs, "").map(|(model, source)| {
            assert_eq!(source, Source::Credentials);
            model
        })
    };
    let (openai, anthropic) = (("OPENAI_API_KEY", "k"), ("ANTHROPIC_AUTH_TOKEN", "k"));
    let (deepseek, zai) = (("DEEPSEEK_API_KEY", "k"), ("ZAI_API_KEY", "k"));
    assert_eq!(chosen(&[]), None, "servers on this machine do not count");
    assert_eq!(
        chosen(&[zai, deepseek]).as_deref(),
        Some("deepseek/deepseek-v4-flash")
    );
    assert_eq!(
        chosen(&[deepseek, anthropic]).as_deref(),
        Some("anthropic/claude-sonnet-4-6")
    );
    assert_eq!(
        chosen(&[anthropic, openai]).as_deref(),
        Some("openai/gpt-5.4")
    );
    assert_eq!(
        chosen(&[("OPENAI_API_KEY", "no key"), deepseek]).as_deref(),
        Some("deepseek/deepseek-v4-flash")
    );
    assert_eq!(
        chosen(&[("ARCEE_API_KEY", "k")]),
        None,
        "no model of it is known"
    );
}

#[test]
fn a_stored_profile_counts_and_a_model_somebody_chose_stays() {
    let home = Home::new();
    stored(&home, "anthropic", AuthKind::ApiKey);
    let (model, _) = derived(&home, &[], "").expect("is derived");
    assert_eq!(model, "anthropic/claude-sonnet-4-6");
    let chosen = derived(&home, &[], "model.default = \"a/b\"").expect("is set");
    assert_eq!(chosen, ("a/b".to_owned(), Source::File));
}

#[test]
fn a_profile_the_keyring_holds_is_printed_by_its_program_and_is_not_in_the_file() {
    let home = Home::new();
    credentials::set_in_keyring(home.path(), "openai", AuthKind::ApiKey).expect("notes");
    let openai = home.provider("openai", "");
    match credential(&openai, &env(&[]), home.path(), NOW).expect("is found") {
        Found::Command { argv, kind } => {
            assert_eq!(argv, keyring::lookup(home.path(), "openai"));
            assert_eq!(kind, AuthKind::ApiKey);
        }
        other => panic!("{other:?}"),
    }
    let listed = credentials::list(home.path()).expect("lists");
    assert_eq!(listed[0].place, credentials::Place::Keyring);
    // Storing it in the file later takes its place.
    stored(&home, "openai", AuthKind::ApiKey);
    let (_, secret) = found(&home, &openai, &env(&[]));
    assert_eq!(secret, "stored-openai");
}

#[test]
fn the_step_that_renews_a_credential_follows_from_its_source() {
    let home = Home::new();
    let added = |auth: &str| {
        let content = format!(
            "[providers.work]\ntransport = \"openai_responses\"\nbase_url = \"https://llm.example/v1\"\n{auth}\n"
        );
        renewal(&home.provider("work", &content))
    };
    let profile =
        "auth = { source = \"credential_profile\", kind = \"api_key\", profile = \"mine\" }";
    let command =
        "auth = { source = \"credential_process\", kind = \"api_key\", command = [\"pass\"] }";
    for (found, words, is_noticed) in [
        (
            renewal(&home.provider("openai-codex", "")),
            "codex login",
            true,
        ),
        (added(profile), "holon config credentials set mine", true),
        (
            renewal(&home.provider("anthropic", "")),
            "ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN",
            true,
        ),
        (added(command), "what its command prints", false),
        (
            renewal(&home.provider("ollama", "")),
            "holon config credentials set ollama",
            true,
        ),
    ] {
        assert!(found.step.contains(words), "{words}: {}", found.step);
        assert_eq!(found.is_noticed, is_noticed, "{words}");
    }
}
