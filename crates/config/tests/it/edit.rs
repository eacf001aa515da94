//! Changes of the settings file: comments and order stay, and nothing that would not work is written.

use crate::support::Home;
use holon_config::edit::{self, ProviderChange};
use holon_config::{Error, KEYS, Kind, Settings};
use holon_domain::model::ModelRef;
use proptest::prelude::*;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

fn content(home: &Home) -> String {
    fs::read_to_string(Settings::file_path(home.path())).expect("is there")
}

fn listed(home: &Home) -> Vec<String> {
    let list = edit::list(home.path()).expect("lists");
    list.iter()
        .map(|(key, value)| format!("{key} = {value}"))
        .collect()
}

const COMMENTED: &str = r#"# mine
[model]
# the good one
default = "a/b" # since May

[runtime] # figures
max_output_tokens = 100
"#;

#[test]
fn a_change_keeps_comments_and_order() {
    let home = Home::new();
    home.put("config.toml", COMMENTED, 0o640);
    edit::set(home.path(), "model.default", "ollama/d").expect("sets");
    edit::set(home.path(), "model.fallbacks", "ollama/y, vllm/w").expect("sets");
    edit::set(home.path(), "runtime.disable_provider_fallback", "yes").expect("sets");
    edit::set(home.path(), "serve.http_addr", "127.0.0.1:1").expect("sets");
    let expected = r#"# mine
[model]
# the good one
default = "ollama/d" # since May
fallbacks = ["ollama/y", "vllm/w"]

[runtime] # figures
max_output_tokens = 100
disable_provider_fallback = true

[serve]
http_addr = "127.0.0.1:1"
"#;
    assert_eq!(content(&home), expected);
    let mode = fs::metadata(Settings::file_path(home.path()))
        .expect("is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o7777, 0o640, "the mode stays");
}

#[test]
fn a_key_that_is_removed_leaves_the_comments_above_it() {
    let home = Home::new();
    let unset = |key: &str| {
        home.put("config.toml", COMMENTED, 0o600);
        assert!(edit::unset(home.path(), key).expect(key));
        content(&home)
    };
    assert_eq!(
        unset("model.default"),
        "# mine\n[model]\n# the good one\n\n[runtime] # figures\nmax_output_tokens = 100\n"
    );
    assert_eq!(
        unset("runtime.max_output_tokens"),
        "# mine\n[model]\n# the good one\ndefault = \"a/b\" # since May\n"
    );
    let dotted =
        "# first\nmodel.default = \"a/b\"\n\n# last\nserve.http_addr = \"127.0.0.1:1\" # here\n";
    home.put("config.toml", dotted, 0o600);
    assert!(edit::unset(home.path(), "serve.http_addr").expect("removes"));
    assert_eq!(
        content(&home),
        "# first\nmodel.default = \"a/b\"\n\n# last\n"
    );
    assert!(edit::unset(home.path(), "model.default").expect("removes"));
    assert_eq!(content(&home), "# first\n\n# last\n");
}

#[test]
fn a_refused_change_names_what_was_given_and_no_line_that_is_not_there() {
    let home = Home::new();
    let set = |key: &str, value: &str| edit::set(home.path(), key, value).expect_err(key);
    for (key, value, said) in [
        (
            "model.default",
            "gpt",
            "model.default: \"gpt\" is not a model reference",
        ),
        (
            "model.default",
            "opena/x",
            "model.default: there is no provider \"opena\"; did you mean openai?",
        ),
        (
            "model.fallbacks",
            "ollama/a, zzzzzz/x",
            "model.fallbacks: there is no provider \"zzzzzz\"; run `holon config providers list --all`",
        ),
        (
            "serve.http_addr",
            "banana",
            "serve.http_addr: \"banana\" is not an address",
        ),
        (
            "serve.http_addr",
            "0.0.0.0:80",
            "serve.http_addr: 0.0.0.0:80 can be reached from other machines; write a loopback address, for example 127.0.0.1:80",
        ),
    ] {
        let error = set(key, value);
        assert!(error.is_of_what_was_given(), "{error}");
        let said =
            format!("nothing was changed, because the settings would no longer work: {said}");
        assert!(error.to_string().starts_with(&said), "{error}");
    }
    let change = ProviderChange {
        transport: Some("openai_chat_completions".to_owned()),
        base_url: Some("nowhere".to_owned()),
        ..ProviderChange::default()
    };
    let error = edit::set_provider(home.path(), "mine", &change).expect_err("no address");
    assert!(error.is_of_what_was_given(), "{error}");
    assert!(
        error
            .to_string()
            .contains("would no longer work: --base-url: "),
        "{error}"
    );
    let error = edit::set_provider(home.path(), "Mine", &change).expect_err("no id");
    assert!(error.is_of_what_was_given(), "{error}");
    assert!(
        error
            .to_string()
            .contains("would no longer work: providers.Mine: "),
        "{error}"
    );
}

#[test]
fn a_refused_change_names_the_line_of_what_was_wrong_before_it() {
    let home = Home::new();
    home.put("config.toml", "\n\ncolour = 1\n", 0o600);
    let error = edit::set(home.path(), "model.default", "ollama/a").expect_err("is broken");
    assert!(!error.is_of_what_was_given(), "{error}");
    assert!(
        error.to_string().contains("config.toml:3: colour is not"),
        "{error}"
    );
    home.put(
        "config.toml",
        "[runtime]\nmax_tool_output_tokens = 2000\ndefault_tool_output_tokens = 1500\n",
        0o600,
    );
    let key = "runtime.max_tool_output_tokens";
    let error = edit::set(home.path(), key, "1000").expect_err("too low");
    assert!(!error.to_string().contains("config.toml:"), "{error}");
    assert!(
        error
            .to_string()
            .contains(": runtime.default_tool_output_tokens: 1500 is over"),
        "{error}"
    );
}

#[test]
fn a_new_file_is_for_its_user_only() {
    let home = Home::new();
    edit::set(home.path(), "model.default", "ollama/b").expect("sets");
    assert_eq!(content(&home), "[model]\ndefault = \"ollama/b\"\n");
    let mode = fs::metadata(Settings::file_path(home.path()))
        .expect("is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o7777, 0o600);
    assert_eq!(home.names(), [".settings.lock", "config.toml"]);
}

#[test]
fn a_linked_file_is_changed_where_it_points() {
    let home = Home::new();
    let kept = home.put("kept.toml", "", 0o600);
    symlink("kept.toml", Settings::file_path(home.path())).expect("linked");
    edit::set(home.path(), "model.default", "ollama/b").expect("sets");
    assert_eq!(
        fs::read_to_string(kept).expect("is there"),
        "[model]\ndefault = \"ollama/b\"\n"
    );
    let facts = fs::symlink_metadata(Settings::file_path(home.path())).expect("is there");
    assert!(facts.is_symlink());
    let home = Home::new();
    symlink("nowhere.toml", Settings::file_path(home.path())).expect("linked");
    let error = edit::set(home.path(), "model.default", "ollama/b").expect_err("points nowhere");
    assert!(matches!(error, Error::Unwritable { .. }), "{error}");
}

/// A value the key takes, and a name where any may stand.
fn sample(kind: Kind) -> String {
    match kind {
        Kind::Text => "x".to_owned(),
        Kind::Choice(all) | Kind::OpenChoice(all) => (*all.first().expect("has one")).to_owned(),
        Kind::Number { min, .. } => min.to_string(),
        Kind::Flag => "false".to_owned(),
        Kind::List => "[\"ollama/b\"]".to_owned(),
    }
}

#[test]
fn every_key_of_the_schema_can_be_set_read_and_unset() {
    for key in KEYS {
        let home = Home::new();
        let name = key
            .name
            .replace("<id>", "anthropic")
            .replace("<name>", "mine")
            .replace("<provider/model>", "\"a/b\"");
        let value = match key.name {
            "model.default" => "ollama/b".to_owned(),
            "providers.<id>.omit" => "[\"streaming\"]".to_owned(),
            "web.fetch.allowed_hosts" | "web.fetch.denied_hosts" | "web.fetch.private_hosts" => {
                "[\"x.example\"]".to_owned()
            }
            "web.search.providers" => "[\"x\"]".to_owned(),
            "web.providers.<name>.base_url" => "https://x.example".to_owned(),
            "serve.http_addr" => "127.0.0.1:9".to_owned(),
            "budgets.time_zone" | "operator.time_zone" => "Europe/Berlin".to_owned(),
            name if name.starts_with("models.catalog.<provider/model>.price_") => "2.50".to_owned(),
            "github.base_url" | "providers.<id>.base_url" => "https://x.example".to_owned(),
            _ => sample(key.kind),
        };
        // What belongs to a source needs that source; a key alone would not make sense and is refused.
        let needed = match key.name.strip_prefix("providers.<id>.auth.") {
            Some("env") => Some(("env", "KEY_OF_MINE")),
            Some("profile") => Some(("credential_profile", "p")),
            Some("external") => Some(("external_cli", "codex_cli")),
            Some("command") => Some(("credential_process", "pass")),
            Some("source" | "kind") => Some(("none", "")),
            Some(_) | None => None,
        };
        let path = home.path();
        // A search names a provider that there is.
        if key.name.starts_with("web.search.provider") {
            let kind = [("kind", "command"), ("command.argv", "[\"find\"]")];
            for (key, value) in kind {
                edit::set(path, &format!("web.providers.x.{key}"), value).expect("a provider");
            }
        }
        let before = fs::read_to_string(Settings::file_path(path)).unwrap_or_default();
        match needed {
            None => edit::set(path, &name, &value).expect(&name),
            Some((source, detail)) => {
                let mut change = ProviderChange {
                    auth_source: Some(source.to_owned()),
                    ..ProviderChange::default()
                };
                match source {
                    "env" => change.auth_env = Some(detail.to_owned()),
                    "credential_profile" => change.auth_profile = Some(detail.to_owned()),
                    "external_cli" => change.auth_external = Some(detail.to_owned()),
                    "credential_process" => change.auth_command = Some(vec![detail.to_owned()]),
                    _ => change.auth_kind = Some("none".to_owned()),
                }
                edit::set_provider(path, "anthropic", &change).expect(&name);
            }
        }
        let got = edit::get(path, &name).expect(&name);
        assert_eq!(got.len(), 1, "{name}");
        if needed.is_none() {
            let (found, shown) = got
                .first()
                .map(|(key, value)| (key.to_string(), value.to_string()))
                .expect("one");
            assert_eq!((found, shown), (name.clone(), value), "{name}");
            assert!(edit::unset(path, &name).expect(&name), "{name}");
            assert_eq!(content(&home), before, "{name}");
            assert!(!edit::unset(path, &name).expect(&name), "{name}");
        }
    }
}

#[test]
fn what_cannot_be_set_leaves_the_file_as_it_was() {
    let home = Home::new();
    home.put("config.toml", COMMENTED, 0o600);
    for (key, value, said) in [
        (
            "model.defualt",
            "a/b",
            "model.defualt is not a setting; did you mean model.default?",
        ),
        ("model", "x", "model: is a table; set one of its keys"),
        ("a b", "x", "the key: \"a b\" is not the name of a setting"),
        (
            "runtime.max_output_tokens",
            "lots",
            "runtime.max_output_tokens: expected a whole number from 1 to 100000000, found \"lots\"",
        ),
        (
            "model.default",
            "gpt",
            "nothing was changed, because the settings would no longer work: ",
        ),
        ("runtime.default_tool_output_tokens", "64000", ""),
        (
            "providers.mine.base_url",
            "https://m.example",
            "nothing was changed, because the settings would no longer work: ",
        ),
        (
            "providers.openai.base_url",
            "http://m.example",
            "nothing was changed, because the settings would no longer work: ",
        ),
    ] {
        let result = edit::set(home.path(), key, value);
        if said.is_empty() {
            result.expect("sets");
            edit::unset(home.path(), key).expect("unsets");
            continue;
        }
        let error = result.expect_err(key).to_string();
        assert!(error.starts_with(said), "{error}");
        assert_eq!(content(&home), COMMENTED, "{key}");
    }
}

#[test]
fn asking_for_a_table_answers_with_everything_in_it() {
    let home = Home::new();
    home.put("config.toml", COMMENTED, 0o600);
    let got = edit::get(home.path(), "runtime").expect("reads");
    assert_eq!(got.len(), 1);
    assert!(
        edit::get(home.path(), "providers.openai")
            .expect("reads")
            .is_empty()
    );
    let said = edit::get(home.path(), "providrs.openai")
        .expect_err("is none")
        .to_string();
    assert!(
        said.starts_with("providrs.openai is not a setting"),
        "{said}"
    );
}

#[test]
fn a_broken_file_is_put_right_by_removing_what_is_wrong() {
    let home = Home::new();
    home.put(
        "config.toml",
        "# keep\nmodel.default = \"a/b\"\ncolour = 1\n",
        0o600,
    );
    let said = edit::set(home.path(), "model.default", "ollama/d")
        .expect_err("still broken")
        .to_string();
    assert!(said.contains("colour is not a setting"), "{said}");
    assert!(edit::unset(home.path(), "colour").expect("removes"));
    assert_eq!(content(&home), "# keep\nmodel.default = \"a/b\"\n");
    let said = edit::unset(home.path(), "colour")
        .expect_err("is none")
        .to_string();
    assert!(said.starts_with("colour is not a setting"), "{said}");
    home.put("config.toml", "[", 0o600);
    let error = edit::unset(home.path(), "model.default").expect_err("is no TOML");
    assert!(matches!(error, Error::Syntax { .. }), "{error}");
}

#[test]
fn a_provider_is_added_changed_and_removed() {
    let home = Home::new();
    let mut change = ProviderChange {
        transport: Some("openai_chat_completions".to_owned()),
        base_url: Some("https://m.example/v1".to_owned()),
        ..ProviderChange::default()
    };
    let said = edit::set_provider(home.path(), "mine", &change)
        .expect_err("no credential")
        .to_string();
    assert!(said.contains("holon config credentials set mine"), "{said}");
    assert!(!Settings::file_path(home.path()).exists());
    change.auth_source = Some("env".to_owned());
    change.auth_env = Some("MINE_KEY,OTHER_KEY".to_owned());
    edit::set_provider(home.path(), "mine", &change).expect("adds");
    let expected = [
        "providers.mine.auth.env = [\"MINE_KEY\", \"OTHER_KEY\"]",
        "providers.mine.auth.source = env",
        "providers.mine.base_url = https://m.example/v1",
        "providers.mine.transport = openai_chat_completions",
    ];
    assert_eq!(listed(&home), expected);
    let other = ProviderChange {
        auth_source: Some("credential_profile".to_owned()),
        auth_profile: Some("mine".to_owned()),
        ..ProviderChange::default()
    };
    edit::set_provider(home.path(), "mine", &other).expect("changes");
    assert!(
        !content(&home).contains("MINE_KEY"),
        "what belonged to the old source is gone"
    );
    edit::remove_provider(home.path(), "mine").expect("removes");
    assert_eq!(content(&home), "");
    for (id, said) in [
        ("mine", "there is no provider \"mine\" in the settings"),
        ("openai", "openai is built in and not changed"),
    ] {
        let error = edit::remove_provider(home.path(), id)
            .expect_err("is none")
            .to_string();
        assert!(error.starts_with(said), "{error}");
    }
}

#[test]
fn removing_a_provider_keeps_the_comments_above_it() {
    let home = Home::new();
    let text = "# of the house\n[providers.mine]\n# of the table\ntransport = \"openai_chat_completions\"\nbase_url = \"http://127.0.0.1:9/v1\"\n";
    fs::write(home.path().join("config.toml"), text).expect("writes");
    edit::remove_provider(home.path(), "mine").expect("removes");
    assert!(
        content(&home).contains("# of the house"),
        "{}",
        content(&home)
    );
}

#[test]
fn parts_to_leave_out_are_written_and_judged() {
    let home = Home::new();
    let change = |words: &[&str]| ProviderChange {
        omit: Some(words.iter().map(|&word| word.to_owned()).collect()),
        ..ProviderChange::default()
    };
    edit::set_provider(home.path(), "openai", &change(&["streaming", "reasoning"])).expect("sets");
    assert!(content(&home).contains("omit = [\"streaming\", \"reasoning\"]"));
    let refused = edit::set_provider(home.path(), "openai", &change(&["store"]));
    let said = refused.expect_err("is refused").to_string();
    assert!(said.contains("--omit: \"store\" is no part"), "{said}");
    assert!(content(&home).contains("omit = [\"streaming\", \"reasoning\"]"));
}

#[test]
fn many_changes_at_once_lose_nothing() {
    let home = Home::new();
    std::thread::scope(|scope| {
        for index in 0..8 {
            let home = &home;
            scope.spawn(move || {
                let key = format!("models.catalog.\"a/m{index}\".display_name");
                edit::set(home.path(), &key, "x").expect("sets");
            });
        }
    });
    assert_eq!(listed(&home).len(), 8);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_text_set_is_the_text_read_back_and_removed_without_a_trace(
        model in "[a-z]{1,8}/[ -~é\u{1F600}]{1,20}",
        text in "[ -~äß\n\t\"'#\\\\]{1,40}",
    ) {
        prop_assume!(!text.trim().is_empty() && ModelRef::parse(&model).is_ok());
        let home = Home::new();
        home.put("config.toml", COMMENTED, 0o600);
        let segment = serde_json::Value::from(model.as_str()).to_string();
        let key = format!("models.catalog.{segment}.description");
        edit::set(home.path(), &key, &text).expect("sets");
        let got = edit::get(home.path(), &key).expect("reads");
        prop_assert_eq!(got.len(), 1);
        prop_assert_eq!(got[0].1.to_string(), text.trim());
        prop_assert!(edit::unset(home.path(), &key).expect("removes"));
        prop_assert_eq!(content(&home), COMMENTED);
    }
}
