//! Precedence and judgement, as tables.

use crate::support::env;
use holon_config::{Color, Env, FileSettings, Flags, SECRET_VARIABLES, Settings, Source, resolve};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

fn file(content: &str) -> FileSettings {
    FileSettings::parse(content, Path::new("/u/.holon/config.toml")).expect("parses")
}

fn settled(pairs: &[(&str, &str)], flags: &Flags, content: &str) -> Settings {
    resolve(&env(pairs), flags, Some(&file(content))).expect("resolves")
}

fn refused(pairs: &[(&str, &str)], flags: &Flags, content: &str) -> String {
    let error = resolve(&env(pairs), flags, Some(&file(content)));
    error.expect_err("is refused").to_string()
}

#[test]
fn with_nothing_set_every_value_is_the_builtin_one() {
    let settings = resolve(&env(&[]), &Flags::default(), None).expect("resolves");
    assert_eq!(settings.home.value, PathBuf::from("/nowhere/u/.holon"));
    assert_eq!(settings.home.source, Source::Builtin);
    assert_eq!(settings.default_agent.value.as_str(), "main");
    assert_eq!(settings.http_addr.value.to_string(), "127.0.0.1:7878");
    assert_eq!(settings.model, None);
    assert_eq!(settings.event_budget_bytes.value, 1 << 30);
    assert_eq!(settings.default_tool_output_tokens.value, 8_000);
    assert_eq!(settings.max_tool_output_tokens.value, 64_000);
    assert_eq!(settings.log_filter.value, "info");
    assert_eq!((settings.shell, settings.color), (None, Color::Auto));
    assert_eq!(settings.max_output_tokens.value, 8_192);
    assert!(settings.fallbacks.value.is_empty());
    assert_eq!(settings.http.timeout.value.as_secs(), 300);
    assert_eq!(settings.http.stream_idle.value.as_secs(), 300);
    assert_eq!(settings.providers.iter().count(), 50);
}

#[test]
fn a_flag_wins_over_the_environment_and_that_over_the_file() {
    let content = "model.default = \"file/m\"";
    let variable: &[(&str, &str)] = &[("HOLON_MODEL", "env/m")];
    let flags = Flags {
        model: Some("flag/m".into()),
        ..Flags::default()
    };
    let model = |pairs: &[(&str, &str)], flags: &Flags| {
        let model = settled(pairs, flags, content).model.expect("is set");
        (model.value.to_string(), model.source)
    };
    assert_eq!(model(variable, &flags), ("flag/m".into(), Source::Flag));
    assert_eq!(
        model(variable, &Flags::default()),
        ("env/m".into(), Source::Environment)
    );
    assert_eq!(
        model(&[], &Flags::default()),
        ("file/m".into(), Source::File)
    );
}

#[test]
fn every_setting_of_the_file_takes_effect() {
    let settings = settled(
        &[],
        &Flags::default(),
        r#"
        serve.http_addr = "[::1]:0"
        agent.default_id = "scout"
        retention.event_budget_bytes = 5_000_000
        runtime.default_tool_output_tokens = 100
        runtime.max_tool_output_tokens = 200
        "#,
    );
    assert_eq!(settings.http_addr.value.to_string(), "[::1]:0");
    assert_eq!(settings.default_agent.value.as_str(), "scout");
    assert_eq!(settings.event_budget_bytes.value, 5_000_000);
    assert_eq!(settings.default_tool_output_tokens.value, 100);
    assert_eq!(settings.max_tool_output_tokens.value, 200);
    assert_eq!(settings.max_tool_output_tokens.source, Source::File);
}

#[test]
fn every_variable_takes_effect() {
    let settings = settled(
        &[
            ("HOLON_HOME", "/elsewhere"),
            ("HOLON_AGENT_ID", "tmp_run_x"),
            ("HOLON_HTTP_ADDR", " 127.0.0.1:1 "),
            ("HOLON_DEFAULT_TOOL_OUTPUT_TOKENS", "10"),
            ("HOLON_MAX_TOOL_OUTPUT_TOKENS", "20"),
            ("RUST_LOG", "debug"),
            ("SHELL", "/bin/zsh"),
            ("NO_COLOR", "1"),
        ],
        &Flags::default(),
        "agent.default_id = \"loses\"",
    );
    assert_eq!(settings.home.value, PathBuf::from("/elsewhere"));
    assert_eq!(settings.home.source, Source::Environment);
    assert_eq!(settings.default_agent.value.as_str(), "tmp_run_x");
    assert_eq!(settings.http_addr.value.to_string(), "127.0.0.1:1");
    assert_eq!(settings.default_tool_output_tokens.value, 10);
    assert_eq!(settings.max_tool_output_tokens.value, 20);
    assert_eq!(settings.log_filter.value, "debug");
    assert_eq!(settings.shell, Some("/bin/zsh".into()));
    assert_eq!(settings.color, Color::Never);
}

#[test]
fn a_value_that_cannot_be_used_is_refused_by_name_and_not_skipped() {
    let none = Flags::default();
    let listen = Flags {
        listen: Some("7878".into()),
        ..Flags::default()
    };
    let agent = Flags {
        agent: Some("../up".into()),
        ..Flags::default()
    };
    for (said, expected) in [
        (
            refused(&[("HOLON_MAX_TOOL_OUTPUT_TOKENS", "lots")], &none, ""),
            "HOLON_MAX_TOOL_OUTPUT_TOKENS: expected a whole number from 1 to 64000, found \"lots\"",
        ),
        (
            refused(&[("HOLON_DEFAULT_TOOL_OUTPUT_TOKENS", "0")], &none, ""),
            "HOLON_DEFAULT_TOOL_OUTPUT_TOKENS: expected a whole number from 1 to 64000, found \"0\"",
        ),
        (
            refused(
                &[("HOLON_MAX_TOOL_OUTPUT_TOKENS", "50")],
                &none,
                "runtime.default_tool_output_tokens = 51",
            ),
            "/u/.holon/config.toml:1: runtime.default_tool_output_tokens: 51 is over runtime.max_tool_output_tokens, which is 50; lower the one or raise the other",
        ),
        (
            refused(&[], &listen, ""),
            "--listen: \"7878\" is not an address; write it as ADDRESS:PORT, for example 127.0.0.1:7878",
        ),
        (
            refused(&[], &agent, ""),
            "--agent: an agent id has only ASCII letters, digits, '.', '-' and '_'; found '/'",
        ),
        (
            refused(&[("HOLON_MODEL", "gpt")], &none, "model.default = \"a/b\""),
            "HOLON_MODEL: \"gpt\" is not a model reference; write it as provider/model, for example scripted/hello.json",
        ),
    ] {
        assert_eq!(said, expected);
    }
}

#[test]
fn a_builtin_default_follows_a_lower_maximum() {
    let settings = settled(
        &[("HOLON_MAX_TOOL_OUTPUT_TOKENS", "500")],
        &Flags::default(),
        "",
    );
    assert_eq!(settings.default_tool_output_tokens.value, 500);
}

#[test]
fn a_relative_home_counts_from_the_current_directory() {
    let flags = Flags {
        home: Some("h".into()),
        ..Flags::default()
    };
    assert_eq!(
        settled(&[], &flags, "").home.value,
        PathBuf::from("/here/h")
    );
    let lost = Env::default();
    let said = resolve(&lost, &flags, None)
        .expect_err("is refused")
        .to_string();
    assert!(said.starts_with("--home: \"h\" is relative"), "{said}");
}

#[test]
fn without_any_home_the_error_says_how_to_name_one() {
    let said = resolve(&Env::default(), &Flags::default(), None).expect_err("is refused");
    assert!(said.to_string().contains("set HOLON_HOME"));
}

#[test]
fn a_variable_that_is_not_text_is_refused_by_name() {
    let lookup = |name: &str| match name {
        "HOME" => Some("/u".into()),
        "HOLON_MODEL" => Some(OsString::from_vec(vec![b'a', 0xff])),
        _ => None,
    };
    let broken = Env::from_lookup(lookup, None);
    let said = resolve(&broken, &Flags::default(), None).expect_err("is refused");
    assert!(said.to_string().starts_with("HOLON_MODEL: "));
}

#[test]
fn commands_get_no_keys_and_each_is_listed_once() {
    let content = r#"
        [providers.mine]
        transport = "openai_chat_completions"
        base_url = "https://models.example/v1"
        auth = { source = "env", env = ["MINE_KEY", "OPENAI_API_KEY"] }
        "#;
    let listed = settled(&[], &Flags::default(), content).child_env_removals();
    for name in SECRET_VARIABLES.iter().chain(&["MINE_KEY"]) {
        assert!(listed.iter().any(|one| one == name), "{name}");
    }
    let distinct: std::collections::BTreeSet<_> = listed.iter().collect();
    assert_eq!(distinct.len(), listed.len());
}

#[test]
fn models_and_deadlines_are_read_from_every_layer() {
    let content = r#"
        model.fallbacks = ["a/b", "c/d"]
        runtime.max_output_tokens = 100
        runtime.disable_provider_fallback = true
        runtime.provider_http_timeout_secs = 10
        runtime.provider_stream_idle_timeout_ms = 2_000
        runtime.provider_patience_secs = 60
        runtime.work_item_stale_reminder_rounds = 0
        runtime.work_item_stale_reminder_max_tokens = 99
        "#;
    let file = settled(&[], &Flags::default(), content);
    assert_eq!(chain(&file), ["a/b", "c/d"]);
    assert_eq!(file.fallbacks.source, Source::File);
    assert_eq!(file.max_output_tokens.value, 100);
    assert!(file.disable_provider_fallback.value);
    assert_eq!(file.http.timeout.value.as_secs(), 10);
    assert_eq!(file.http.stream_idle.value.as_millis(), 2_000);
    assert_eq!(file.provider_patience.value.as_secs(), 60);
    assert_eq!(reminder(&file), (0, 10, 99));
    let variables = [
        ("HOLON_MODEL", "m/n"),
        ("HOLON_MODEL_FALLBACKS", "[\"x/y\", \"m/n\"]"),
        ("HOLON_DISABLE_PROVIDER_FALLBACK", "0"),
        ("HOLON_MAX_OUTPUT_TOKENS", "200"),
        ("HOLON_PROVIDER_HTTP_TIMEOUT_SECS", "20"),
        ("HOLON_PROVIDER_STREAM_IDLE_TIMEOUT_MS", "3000"),
        ("HOLON_PROVIDER_PATIENCE_SECS", "0"),
        ("HOLON_WORK_ITEM_STALE_REMINDER_ROUNDS", "5"),
        ("HOLON_WORK_ITEM_STALE_REMINDER_COOLDOWN_ROUNDS", "7"),
        ("HOLON_WORK_ITEM_STALE_REMINDER_MAX_TOKENS", "64"),
    ];
    let both = settled(&variables, &Flags::default(), content);
    assert_eq!(chain(&both), ["m/n", "x/y"], "each once");
    assert_eq!(both.fallbacks.source, Source::Environment);
    assert_eq!(both.max_output_tokens.value, 200);
    assert_eq!(both.http.timeout.value.as_secs(), 20);
    assert_eq!(both.http.stream_idle.value.as_millis(), 3_000);
    assert_eq!(both.provider_patience.value.as_secs(), 0);
    assert_eq!(reminder(&both), (5, 7, 64));
}

fn reminder(settings: &Settings) -> (u32, u32, u32) {
    let reminder = &settings.stale_reminder;
    let (rounds, tokens) = (&reminder.rounds, &reminder.max_tokens);
    (rounds.value, reminder.cooldown_rounds.value, tokens.value)
}

fn chain(settings: &Settings) -> Vec<String> {
    let chain = settings.model_chain();
    chain.iter().map(ToString::to_string).collect()
}

#[test]
fn with_fallback_off_only_the_chosen_model_is_asked() {
    let content = "model.default = \"a/b\"\nmodel.fallbacks = \"c/d\"\nruntime.disable_provider_fallback = true";
    let settings = settled(&[], &Flags::default(), content);
    assert_eq!(chain(&settings), ["a/b"]);
}

#[test]
fn colour_needs_a_terminal_that_shows_it_and_a_user_who_wants_it() {
    let color = |variables: &'static [(&str, &str)]| {
        let lookup = move |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.into())
        };
        Color::of_terminal(&Env::from_lookup(lookup, None))
    };
    assert_eq!(color(&[("TERM", "xterm-256color")]), Color::Auto);
    for variables in [
        &[] as &[_],
        &[("TERM", "dumb")],
        &[("TERM", "xterm"), ("NO_COLOR", "1")],
    ] {
        assert_eq!(color(variables), Color::Never, "{variables:?}");
    }
}

#[test]
fn the_first_locale_that_is_set_says_if_a_terminal_shows_utf_8() {
    let is_utf8 = |variables: &'static [(&str, &str)]| {
        let lookup = move |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.into())
        };
        holon_config::has_utf8_locale(&Env::from_lookup(lookup, None))
    };
    assert!(is_utf8(&[("LANG", "de_DE.UTF-8")]));
    assert!(is_utf8(&[
        ("LC_ALL", ""),
        ("LC_CTYPE", "C.utf8"),
        ("LANG", "C")
    ]));
    for variables in [
        &[] as &[_],
        &[("LANG", "C")],
        &[("LC_ALL", "POSIX"), ("LANG", "en_GB.UTF-8")],
    ] {
        assert!(!is_utf8(variables), "{variables:?}");
    }
}

#[test]
fn a_list_of_models_with_one_that_is_none_is_refused() {
    let said = refused(
        &[("HOLON_MODEL_FALLBACKS", "a/b,gpt")],
        &Flags::default(),
        "",
    );
    assert!(
        said.starts_with("HOLON_MODEL_FALLBACKS: \"gpt\" is not a model reference"),
        "{said}"
    );
    let many = vec!["a/b"; 17].join(",");
    let said = refused(&[("HOLON_MODEL_FALLBACKS", &many)], &Flags::default(), "");
    assert!(said.contains("17 models are more than the 16"), "{said}");
    let said = refused(
        &[("HOLON_DISABLE_PROVIDER_FALLBACK", "maybe")],
        &Flags::default(),
        "",
    );
    assert_eq!(
        said,
        "HOLON_DISABLE_PROVIDER_FALLBACK: expected true or false, found \"maybe\""
    );
}

#[test]
fn the_console_has_its_own_screen_as_variable_file_and_terminal_say() {
    let is_used = |pairs: &[(&str, &str)], content: &str| {
        let settings = settled(pairs, &Flags::default(), content);
        settings.alternate_screen.value.is_used(&env(pairs))
    };
    let zellij = ("ZELLIJ", "0");
    let variable = |value| ("HOLON_TUI_ALTERNATE_SCREEN", value);
    assert!(is_used(&[], ""));
    assert!(!is_used(&[zellij], ""));
    assert!(is_used(&[zellij], r#"tui.alternate_screen = "always""#));
    assert!(!is_used(&[], r#"tui.alternate_screen = "never""#));
    assert!(is_used(
        &[variable("auto")],
        r#"tui.alternate_screen = "never""#
    ));
    let refused = refused(&[variable("maybe")], &Flags::default(), "");
    assert!(refused.contains("HOLON_TUI_ALTERNATE_SCREEN"), "{refused}");
}
