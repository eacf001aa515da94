//! Stored credentials: written whole and for one user only, refused when they are no secret, never shown.

use crate::support::Home;
use holon_config::CredentialError;
use holon_config::credentials::{self, Place, Profile, Stored};
use holon_domain::provider::AuthKind;
use secrecy::SecretString;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

fn secret(text: &str) -> SecretString {
    SecretString::from(text)
}

fn store(home: &Home, id: &str) -> Result<Stored, CredentialError> {
    credentials::set(home.path(), id, AuthKind::ApiKey, &secret("sk-1"))
}

#[test]
fn a_profile_is_stored_listed_replaced_and_removed() {
    let home = Home::new();
    assert!(credentials::list(home.path()).expect("lists").is_empty());
    assert_eq!(store(&home, "openai").expect("stores"), Stored::Created);
    assert_eq!(store(&home, "openai").expect("stores"), Stored::Replaced);
    let token = secret("  token\n");
    credentials::set(home.path(), "work:1", AuthKind::BearerToken, &token).expect("stores");
    let profile = |id: &str, kind| Profile {
        id: id.to_owned(),
        kind,
        place: Place::File,
    };
    let expected = [
        profile("openai", AuthKind::ApiKey),
        profile("work:1", AuthKind::BearerToken),
    ];
    assert_eq!(credentials::list(home.path()).expect("lists"), expected);
    let content = fs::read_to_string(credentials::path(home.path())).expect("is there");
    let value: serde_json::Value = serde_json::from_str(&content).expect("is JSON");
    assert_eq!(value["profiles"]["work:1"]["material"], "token");
    assert!(credentials::remove(home.path(), "openai").expect("removes"));
    assert!(!credentials::remove(home.path(), "openai").expect("removes"));
    assert_eq!(credentials::list(home.path()).expect("lists").len(), 1);
}

#[test]
fn the_file_is_for_its_user_only_and_nothing_is_left_beside_it() {
    let home = Home::new();
    store(&home, "a").expect("stores");
    let mode = fs::metadata(credentials::path(home.path()))
        .expect("is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o7777, 0o600);
    assert_eq!(home.names(), [".settings.lock", "credentials.json"]);
}

#[test]
fn a_home_that_is_not_there_yet_is_made_for_its_user_only() {
    let home = Home::new();
    let inner = home.path().join("new");
    credentials::set(&inner, "a", AuthKind::ApiKey, &secret("k")).expect("stores");
    let mode = fs::metadata(&inner).expect("is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn what_is_no_id_or_no_key_is_refused_without_repeating_it() {
    let home = Home::new();
    let long = "x".repeat(65);
    for id in ["", "a b", "a/b", "é", long.as_str()] {
        let said = store(&home, id).expect_err("is refused").to_string();
        assert_eq!(
            said,
            "a profile's id has 1 to 64 letters, digits, '.', '_', ':' and '-'"
        );
    }
    let large = "k".repeat(20_000);
    for (material, said) in [
        ("", "the credential is empty"),
        (" \n", "the credential is empty"),
        ("topsecret one", "holds spaces"),
        ("topsecret\u{7}", "holds spaces"),
        (large.as_str(), "more than 16384 bytes"),
    ] {
        let error = credentials::set(home.path(), "a", AuthKind::ApiKey, &secret(material));
        let found = error.expect_err("is refused").to_string();
        assert!(
            found.contains(said) && !found.contains("topsecret"),
            "{found}"
        );
    }
    let none = credentials::set(home.path(), "a", AuthKind::None, &secret("k"));
    assert!(none.is_err());
    assert!(home.names().is_empty(), "nothing was written");
}

#[test]
fn a_file_others_may_have_read_is_refused_and_kept() {
    for mode in [0o640, 0o604, 0o666] {
        let home = Home::new();
        let path = home.put("credentials.json", r#"{"profiles":{}}"#, mode);
        for error in [
            credentials::list(home.path()).map(drop),
            store(&home, "a").map(drop),
            credentials::remove(home.path(), "a").map(drop),
        ] {
            let error = error.expect_err("is refused");
            assert!(
                error.to_string().contains(&format!("mode {mode:04o}")),
                "{error}"
            );
            assert_eq!(
                error.next_step(),
                format!("run: chmod 600 {}", path.display())
            );
        }
        assert_eq!(
            fs::read_to_string(path).expect("is there"),
            r#"{"profiles":{}}"#
        );
    }
}

#[test]
fn a_link_or_a_directory_in_its_place_is_refused() {
    let home = Home::new();
    home.put("elsewhere", "{}", 0o600);
    symlink("elsewhere", credentials::path(home.path())).expect("linked");
    let error = store(&home, "a").expect_err("is refused");
    assert!(matches!(error, CredentialError::Foreign { .. }), "{error}");
    let home = Home::new();
    fs::create_dir(credentials::path(home.path())).expect("made");
    let error = store(&home, "a").expect_err("is refused");
    assert!(matches!(error, CredentialError::Foreign { .. }), "{error}");
}

#[test]
fn broken_content_is_kept_and_its_words_are_not_repeated() {
    for content in [
        "{",
        "not json",
        r#"{"profiles":"sk-secret"}"#,
        r#"{"profiles":{"a":{"kind":"sk-secret","material":"x"}}}"#,
        r#"{"profiles":{"a":{"kind":"api_key","material":"x","sk-secret":1}}}"#,
        r#"{"other":1}"#,
    ] {
        let home = Home::new();
        let path = home.put("credentials.json", content, 0o600);
        let said = store(&home, "b").expect_err("is refused").to_string();
        assert!(said.contains("it was left as it is"), "{said}");
        assert!(!said.contains("sk-secret"), "{said}");
        assert_eq!(fs::read_to_string(path).expect("is there"), content);
    }
}

#[test]
fn many_writers_at_once_lose_nothing() {
    let home = Home::new();
    std::thread::scope(|scope| {
        for index in 0..8 {
            let home = &home;
            scope.spawn(move || store(home, &format!("p{index}")).expect("stores"));
        }
    });
    assert_eq!(credentials::list(home.path()).expect("lists").len(), 8);
}

#[test]
fn more_profiles_than_there_is_room_for_are_refused() {
    let home = Home::new();
    let profiles: Vec<String> = (0..256)
        .map(|index| format!(r#""p{index}":{{"kind":"api_key","material":"x"}}"#))
        .collect();
    let content = format!(r#"{{"profiles":{{{}}}}}"#, profiles.join(","));
    home.put("credentials.json", &content, 0o600);
    let said = store(&home, "one-more")
        .expect_err("is refused")
        .to_string();
    assert!(said.contains("holon config credentials remove"), "{said}");
    assert_eq!(store(&home, "p0").expect("stores"), Stored::Replaced);
}
