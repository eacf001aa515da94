//! What `config.toml` may hold, and what is said when it holds something else.

use holon_config::{FileSettings, KEYS, Kind, Settings};
use std::path::Path;

fn problem(content: &str) -> String {
    let error = FileSettings::parse(content, Path::new("/h/config.toml"))
        .expect_err("the content is refused");
    error.to_string()
}

#[test]
fn every_listed_key_is_read_and_takes_the_type_it_is_listed_with() {
    for key in KEYS {
        let (right, wrong) = match key.kind {
            Kind::Text => ("\"x\"", "7"),
            Kind::Number => ("0x1F", "\"x\""),
        };
        let content = format!("{} = {right}", key.name);
        assert!(
            FileSettings::parse(&content, Path::new("/c")).is_ok(),
            "{content}"
        );
        let said = problem(&format!("# first line\n{} = {wrong}", key.name));
        let expected = format!(
            "/h/config.toml:2: {}: expected {}",
            key.name,
            key.kind.wanted()
        );
        assert!(said.starts_with(&expected), "{said}");
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
            "/h/config.toml:1: model.default: expected a text in quotes, found table",
        ),
        (
            "runtime.max_tool_output_tokens = -1",
            "/h/config.toml:1: runtime.max_tool_output_tokens: expected a whole number from 0, found -1",
        ),
    ] {
        assert_eq!(problem(content), said);
    }
    assert!(problem("colour = true").contains("the settings are model.default, serve.http_addr"));
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
