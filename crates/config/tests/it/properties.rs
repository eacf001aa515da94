//! What holds for any input: nothing panics, nothing unusable gets through, and no secret is repeated.

use crate::support::{Home, NOW, env};
use holon_config::{CredentialError, FileSettings, KeyPath, ModelAvailability, Settings};
use holon_config::{Source, Sourced, credential, model_availability, resolve};
use holon_domain::model::ModelRef;
use proptest::prelude::*;
use std::path::Path;

/// Text that looks like settings often enough to get past the parser.
fn settings_text() -> impl Strategy<Value = String> {
    let key = prop_oneof![
        Just("model.default".to_owned()),
        Just("model.fallbacks".to_owned()),
        Just("providers.mine.base_url".to_owned()),
        Just("providers.mine.transport".to_owned()),
        Just("providers.openai.auth".to_owned()),
        Just("models.catalog.\"a/b\".context_window_tokens".to_owned()),
        "[a-z.\"]{1,20}",
    ];
    let value = prop_oneof![
        Just("\"a/b\"".to_owned()),
        Just("\"openai_responses\"".to_owned()),
        Just("{ source = \"none\" }".to_owned()),
        Just("[\"a/b\"]".to_owned()),
        any::<i64>().prop_map(|number| number.to_string()),
        "\\PC{0,20}",
    ];
    prop::collection::vec((key, value), 0..5).prop_map(|lines| {
        let line = |(key, value): &(String, String)| format!("{key} = {value}\n");
        lines.iter().map(line).collect()
    })
}

fn resolved(content: &str) -> Option<Settings> {
    let home = Home::new();
    let file = FileSettings::parse(content, Path::new("/c")).ok()?;
    resolve(&env(&[]), &home.flags(), Some(&file)).ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_file_is_read_or_refused(content in settings_text()) {
        if let Some(settings) = resolved(&content) {
            prop_assert!(settings.providers.iter().count() >= 50);
            prop_assert!(!settings.effective().is_empty());
        }
    }

    #[test]
    fn an_address_that_is_taken_is_encrypted_or_on_this_machine(rest in "[a-z0-9.:/@?#\\[\\]-]{0,24}", tls: bool) {
        let scheme = if tls { "https" } else { "http" };
        let content = format!("providers.openai.base_url = \"{scheme}://{rest}\"");
        if let Some(settings) = resolved(&content) {
            let entry = settings.providers.get("openai").expect("is there");
            prop_assert!(tls || entry.loopback, "{content}");
            prop_assert!(!entry.spec.base_url.contains(['@', '?', '#']), "{content}");
            prop_assert!(!entry.spec.base_url.ends_with('/'), "{content}");
        }
    }

    #[test]
    fn a_path_of_any_segments_is_read_back(segments in prop::collection::vec("\\PC{0,8}", 1..4)) {
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let path = KeyPath::of(&segments);
        prop_assert_eq!(KeyPath::parse(&path.to_string()), Ok(path));
    }

    #[test]
    fn any_model_is_asked_by_figures_that_fit_together(
        model in "[a-z]{1,9}/[!-~]([ -~]{0,18}[!-~])?",
        max_output in 1_u32..2_000_000,
        window in 1_000_u32..2_000_000,
        known: bool,
    ) {
        let model = ModelRef::parse(&model).expect("is a model");
        let content = match known {
            true => format!("models.catalog.{}.context_window_tokens = {window}", serde_json::Value::from(model.to_string())),
            false => format!("model.unknown_fallback.context_window_tokens = {window}"),
        };
        let settings = resolved(&content).expect("resolves");
        let policy = settings.catalog.policy(&model, &Sourced { value: max_output, source: Source::File });
        let policy = policy.within_window();
        prop_assert!((1..=max_output).contains(&policy.max_output_tokens));
        prop_assert!(policy.max_output_tokens <= policy.context_window_tokens / 2);
        prop_assert!((1..=100).contains(&policy.effective_context_window_percent));
    }

    #[test]
    fn no_credential_is_repeated_in_an_error_or_a_list(secret in "[ -~]{12,40}") {
        prop_assume!(secret.trim().len() >= 12);
        let home = Home::new();
        let env = env(&[("OPENAI_API_KEY", &secret)]);
        let settings = home.settings(&env, "").with_derived_model(&env, NOW);
        let openai = settings.providers.get("openai").expect("is there");
        let told: Option<CredentialError> = credential(openai, &env, home.path(), NOW).err();
        let listed: Vec<ModelAvailability> = model_availability(&settings, &env, NOW);
        let shown = format!("{told:?} {listed:?} {settings:?}");
        prop_assert!(!shown.contains(secret.trim()));
    }
}
