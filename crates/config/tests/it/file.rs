//! What `config.toml` may hold, and what is said when it holds something else.

use holon_config::{FileSettings, KEYS, Key, Kind, Settings};
use std::path::Path;

fn problem(content: &str) -> String {
    let error = FileSettings::parse(content, Path::new("/h/config.toml"))
        .expect_err("the content is refused");
    error.to_string()
}

/// The key with a name where any may stand, and a value it takes.
fn sample(key: &Key) -> (String, String) {
    let name = key
        .name
        .replace("<id>", "openai")
        .replace("<name>", "mine")
        .replace("<provider/model>", "\"a/b\"");
    let value = match key.kind {
        Kind::Text => "\"x\"".to_owned(),
        Kind::Choice(all) | Kind::OpenChoice(all) => format!("{:?}", all.last().expect("has one")),
        Kind::Number { max, .. } => format!("0x{max:X}"),
        Kind::Flag => "true".to_owned(),
        Kind::List => "[\"x\", \"y\"]".to_owned(),
    };
    (name, value)
}

#[test]
fn every_listed_key_is_read_and_takes_the_kind_it_is_listed_with() {
    for key in KEYS {
        let (name, value) = sample(key);
        let content = format!("{name} = {value}");
        let read = FileSettings::parse(&content, Path::new("/c")).expect(&content);
        assert_eq!(read.entries().count(), 1, "{content}");
        let said = problem(&format!("# first line\n{name} = 1.5"));
        let wanted = key.kind.wanted();
        assert_eq!(
            said,
            format!("/h/config.toml:2: {name}: expected {wanted}, found a float")
        );
    }
}

#[test]
fn a_value_outside_of_its_bounds_or_choice_is_refused() {
    for (content, said) in [
        (
            "runtime.max_output_tokens = 0",
            "runtime.max_output_tokens: expected a whole number from 1 to 100000000, found 0",
        ),
        (
            "runtime.max_tool_output_tokens = -1",
            "runtime.max_tool_output_tokens: expected a whole number from 1 to 64000, found -1",
        ),
        (
            "providers.x.auth.source = \"auth_profile\"",
            "providers.x.auth.source: expected one of env, external_cli, credential_profile, credential_process, none, found \"auth_profile\"",
        ),
        (
            "runtime.disable_provider_fallback = \"yes\"",
            "runtime.disable_provider_fallback: expected true or false, found \"yes\"",
        ),
        (
            "model.fallbacks = [\"a/b\", 7]",
            "model.fallbacks: expected a list of texts, found an array",
        ),
        (
            "model.default = \"\"",
            "model.default: expected a text in quotes, found \"\"",
        ),
        (
            "providers.openai = \"x\"",
            "providers.openai: expected a table, found string; write [providers.openai] and its keys below it",
        ),
    ] {
        assert_eq!(problem(content), format!("/h/config.toml:1: {said}"));
    }
}

#[test]
fn a_table_and_a_dotted_key_mean_the_same() {
    let path = Path::new("/c");
    let table = FileSettings::parse("[model]\ndefault = \"a/b\"", path).expect("parses");
    let dotted = FileSettings::parse("\nmodel.default = \"a/b\"", path).expect("parses");
    assert_eq!(table, dotted);
}

#[test]
fn a_key_nobody_knows_is_refused_with_its_place_and_the_nearest_name() {
    for (content, said) in [
        (
            "[model]\ndefualt = \"a/b\"",
            "/h/config.toml:2: model.defualt is not a setting; did you mean model.default?",
        ),
        (
            "[serve]\n\nhttp-addr = \"x\"",
            "/h/config.toml:3: serve.http-addr is not a setting; did you mean serve.http_addr?",
        ),
        (
            "[model.default]\nx = 1",
            "/h/config.toml:1: model.default: expected a text in quotes, found a table",
        ),
        (
            "[providers.mine]\nbase_urll = \"x\"",
            "/h/config.toml:2: providers.mine.base_urll is not a setting; did you mean providers.mine.base_url?",
        ),
        (
            "providers.mine.api_key = \"sk-1\"",
            "/h/config.toml:1: providers.mine.api_key is not a setting; this file holds no secrets; store it with `holon config credentials set` and name the profile in providers.<id>.auth.profile",
        ),
        (
            "providers.mine.auth_source = \"env\"",
            "/h/config.toml:1: providers.mine.auth_source is not a setting; write providers.<id>.auth.source",
        ),
        (
            "[model.overrides.\"a/b\"]\nx = 1",
            "/h/config.toml:1: model.overrides is not a setting; write the figures under models.catalog.\"provider/model\"",
        ),
    ] {
        assert_eq!(problem(content), said);
    }
    assert_eq!(
        problem("colour = true"),
        "/h/config.toml:1: colour is not a setting; run `holon config schema` to see every setting"
    );
}

#[test]
fn broken_toml_names_the_file_and_the_line() {
    let said = problem("[model]\ndefault = ");
    assert!(
        said.starts_with("/h/config.toml is not valid TOML; correct it or move it aside: "),
        "{said}"
    );
    assert!(said.contains("line 2"), "{said}");
}

#[test]
fn a_home_without_a_file_has_no_file_settings() {
    let home = tempfile::tempdir().expect("a directory");
    assert_eq!(FileSettings::load(home.path()).expect("loads"), None);
    std::fs::write(Settings::file_path(home.path()), "").expect("written");
    assert!(FileSettings::load(home.path()).expect("loads").is_some());
}

#[test]
fn a_file_that_cannot_be_read_is_an_error_and_not_an_absent_one() {
    let home = tempfile::tempdir().expect("a directory");
    std::fs::create_dir(Settings::file_path(home.path())).expect("a directory in its place");
    let said = FileSettings::load(home.path())
        .expect_err("a directory is no file")
        .to_string();
    assert!(said.starts_with("cannot read "), "{said}");
}

#[test]
fn a_file_that_is_too_large_to_be_one_is_refused() {
    let home = tempfile::tempdir().expect("a directory");
    let file = std::fs::File::create(Settings::file_path(home.path())).expect("made");
    file.set_len((1 << 20) + 1).expect("sized");
    let said = FileSettings::load(home.path())
        .expect_err("is refused")
        .to_string();
    assert!(said.contains("move it aside"), "{said}");
}
