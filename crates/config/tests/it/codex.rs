//! The login of the Codex program: what is taken from it, when it has ended, and what is refused.

use crate::support::{Home, NOW, env};
use holon_config::{CredentialError, CredentialState, Env, Found, credential, state};
use holon_domain::provider::AuthKind;
use secrecy::ExposeSecret as _;
use std::os::unix::fs::symlink;

/// `{"exp":1800000001}` and `{"exp":1800000000}` as the middle of a token; one second after and at the tests' time.
const LATER: &str = "eyJleHAiOjE4MDAwMDAwMDF9";
const ENDED: &str = "eyJleHAiOjE4MDAwMDAwMDB9";
const ACCOUNT: &str =
    "eyJodHRwczovL2FwaS5vcGVuYWkuY29tL2F1dGgiOnsiY2hhdGdwdF9hY2NvdW50X2lkIjoiYWNjLTkifX0";

fn at(home: &Home) -> Env {
    let dir = home.path().to_str().expect("is text").to_owned();
    env(&[("CODEX_HOME", &dir)])
}

fn look(content: &str) -> Result<Found, CredentialError> {
    let home = Home::new();
    home.put("auth.json", content, 0o600);
    credential(
        &home.provider("openai-codex", ""),
        &at(&home),
        home.path(),
        NOW,
    )
}

fn tokens(token: &str, account: &str) -> String {
    format!(
        r#"{{"OPENAI_API_KEY":null,"tokens":{{"id_token":"x","access_token":"{token}","refresh_token":"r"{account}}},"last_refresh":"y"}}"#
    )
}

fn taken(content: &str) -> (AuthKind, String, Option<String>) {
    match look(content).expect("is found") {
        Found::Secret {
            kind,
            secret,
            account_id,
        } => (kind, secret.expose_secret().to_owned(), account_id),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_token_and_the_account_are_taken_from_a_login() {
    let token = format!("h.{LATER}.s");
    let account = r#","account_id":"acc-1""#;
    let expected = (
        AuthKind::SessionToken,
        token.clone(),
        Some("acc-1".to_owned()),
    );
    assert_eq!(taken(&tokens(&token, account)), expected);
    let token = format!("h.{ACCOUNT}.s");
    assert_eq!(taken(&tokens(&token, "")).2.as_deref(), Some("acc-9"));
    let opaque = taken(&tokens("opaque", ""));
    assert_eq!(opaque, (AuthKind::SessionToken, "opaque".to_owned(), None));
}

#[test]
fn a_login_that_has_ended_says_how_to_renew_it() {
    let error = look(&tokens(&format!("h.{ENDED}.s"), "")).expect_err("has ended");
    assert_eq!(
        error.to_string(),
        "the login openai-codex uses has expired; run: codex login"
    );
}

#[test]
fn nobody_logged_in_is_not_an_error_of_the_file() {
    let home = Home::new();
    let entry = home.provider("openai-codex", "");
    let CredentialState::Missing { next_step, .. } = state(&entry, &at(&home), home.path(), NOW)
    else {
        panic!("is missing");
    };
    assert_eq!(next_step, "install the Codex program and run: codex login");
    let nowhere = state(&entry, &Env::default(), home.path(), NOW);
    assert!(
        matches!(nowhere, CredentialState::Missing { .. }),
        "{nowhere:?}"
    );
}

#[test]
fn what_is_no_login_is_refused_without_repeating_it() {
    for content in [
        "",
        "{}",
        r#"{"tokens":"hush"}"#,
        r#"{"tokens":{"access_token":["hush"]}}"#,
        r#"{"OPENAI_API_KEY":"","tokens":null}"#,
        r#"{"tokens":{"access_token":"hush hush"}}"#,
    ] {
        let error = look(content).expect_err(content);
        assert!(!format!("{error} {error:?}").contains("hush"), "{error}");
        assert_eq!(error.next_step(), "run: codex login", "{content}");
    }
}

#[test]
fn a_key_works_only_where_keys_are_taken() {
    let content = r#"{"OPENAI_API_KEY":"sk-1"}"#;
    let error = look(content).expect_err("chatgpt takes no key");
    assert!(error.next_step().contains("set OPENAI_API_KEY"), "{error}");
    let home = Home::new();
    home.put("auth.json", content, 0o600);
    let moved = "providers.openai-codex.base_url = \"https://api.openai.com/v1\"";
    let entry = home.provider("openai-codex", moved);
    let found = credential(&entry, &at(&home), home.path(), NOW).expect("is found");
    assert!(
        matches!(
            found,
            Found::Secret {
                kind: AuthKind::ApiKey,
                ..
            }
        ),
        "{found:?}"
    );
}

#[test]
fn a_file_others_can_read_is_refused_and_a_link_is_followed() {
    let home = Home::new();
    let content = tokens("opaque", "");
    let path = home.put("auth.json", &content, 0o644);
    let entry = home.provider("openai-codex", "");
    let error = credential(&entry, &at(&home), home.path(), NOW).expect_err("is refused");
    assert_eq!(
        error.next_step(),
        format!("run: chmod 600 {}", path.display())
    );
    std::fs::remove_file(&path).expect("removed");
    home.put("kept.json", &content, 0o600);
    symlink("kept.json", &path).expect("linked");
    assert!(credential(&entry, &at(&home), home.path(), NOW).is_ok());
}

#[test]
fn a_file_too_large_for_a_login_is_refused() {
    let error = look(&" ".repeat((1 << 20) + 1)).expect_err("is refused");
    assert!(error.to_string().contains("too large"), "{error}");
}

#[test]
fn a_login_that_is_replaced_meanwhile_is_one_of_the_two_and_half_a_file_is_told_as_such() {
    let home = Home::new();
    let entry = home.provider("openai-codex", "");
    let logins = [tokens("first", ""), tokens("second", "")];
    let path = home.put("auth.json", &logins[0], 0o600);
    let secret = || match credential(&entry, &at(&home), home.path(), NOW) {
        Ok(Found::Secret { secret, .. }) => Ok(secret.expose_secret().to_owned()),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error.to_string()),
    };
    let is_login = |secret: &str| ["first", "second"].contains(&secret);
    let replace = |number: usize| {
        let fresh = home.put("auth.fresh", &logins[number % 2], 0o600);
        std::fs::rename(fresh, &path).expect("renamed");
    };
    let write_in_place =
        |number: usize| std::fs::write(&path, &logins[number % 2]).expect("written");
    std::thread::scope(|scope| {
        let replacing = scope.spawn(|| (0..2_000).for_each(replace));
        while !replacing.is_finished() {
            let found = secret().expect("a rename never shows half a login");
            assert!(is_login(&found), "{found}");
        }
    });
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| (0..2_000).for_each(write_in_place));
        while !writing.is_finished() {
            match secret() {
                Ok(found) => assert!(is_login(&found), "{found}"),
                Err(error) => assert!(error.ends_with("; run: codex login"), "{error}"),
            }
        }
    });
    assert!(is_login(&secret().expect("is whole")));
}
