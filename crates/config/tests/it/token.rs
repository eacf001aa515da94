//! The control token's file: made once, whole, secret; refused when it is no secret.

use holon_config::{Token, TokenError};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        Self { dir }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("control.token")
    }

    fn holding(content: &[u8], mode: u32) -> Self {
        let place = Self::new();
        fs::write(place.path(), content).expect("written");
        fs::set_permissions(place.path(), fs::Permissions::from_mode(mode)).expect("set");
        place
    }
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("lists");
    entries
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect()
}

#[test]
fn the_first_call_makes_a_token_only_its_user_can_read_and_later_calls_find_it() {
    let place = Place::new();
    let made = Token::load_or_create(&place.path()).expect("is made");
    assert_eq!(made.expose().len(), 64);
    let mode = fs::metadata(place.path())
        .expect("is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o7777, 0o600);
    for found in [
        Token::load(&place.path()),
        Token::load_or_create(&place.path()),
    ] {
        assert_eq!(found.expect("is found").expose(), made.expose());
    }
    assert_eq!(
        names(place.dir.path()),
        ["control.token"],
        "nothing is left beside it"
    );
}

#[test]
fn two_homes_have_different_tokens() {
    let (one, other) = (Place::new(), Place::new());
    let token = |place: &Place| Token::load_or_create(&place.path()).expect("is made");
    assert_ne!(token(&one).expose(), token(&other).expose());
}

#[test]
fn reading_never_makes_one() {
    let place = Place::new();
    let error = Token::load(&place.path()).expect_err("there is none");
    assert!(matches!(error, TokenError::Missing { .. }), "{error}");
    assert!(names(place.dir.path()).is_empty());
}

#[test]
fn a_token_others_may_have_read_is_refused_and_kept() {
    for mode in [0o640, 0o604, 0o666, 0o610] {
        let place = Place::holding(&[b'a'; 40], mode);
        let error = Token::load_or_create(&place.path()).expect_err("is refused");
        assert!(
            matches!(error, TokenError::Exposed { mode: found, .. } if found == mode),
            "{error}"
        );
        assert!(error.to_string().contains("delete it"), "{error}");
        assert_eq!(fs::read(place.path()).expect("still there"), [b'a'; 40]);
    }
}

#[test]
fn a_link_or_a_directory_in_its_place_is_refused() {
    let place = Place::new();
    fs::write(place.dir.path().join("elsewhere"), [b'a'; 40]).expect("written");
    symlink("elsewhere", place.path()).expect("linked");
    let linked = Token::load_or_create(&place.path()).expect_err("is refused");
    assert!(matches!(linked, TokenError::Foreign { .. }), "{linked}");

    let place = Place::new();
    fs::create_dir(place.path()).expect("made");
    let directory = Token::load_or_create(&place.path()).expect_err("is refused");
    assert!(
        matches!(directory, TokenError::Foreign { .. }),
        "{directory}"
    );
}

#[test]
fn what_is_no_token_is_refused() {
    let long = vec![b'a'; 257];
    let cases: [&[u8]; 5] = [b"", b"short", &[b' '; 40], &[0xff; 40], &long];
    for content in cases {
        let place = Place::holding(content, 0o600);
        let error = Token::load(&place.path()).expect_err("is refused");
        assert!(matches!(error, TokenError::Malformed { .. }), "{error}");
    }
}

#[test]
fn a_token_of_another_namespace_or_one_that_is_easily_guessed_is_no_control_token() {
    let mixed = "0123456789abcdef0123456789abcdef";
    let given = |text: &str| Token::given(text, "--token").expect("is taken");
    assert!(given(mixed).as_control("--token").is_ok());
    for refused in [
        format!("hct_{mixed}"),
        format!("hlt_{mixed}"),
        "a".repeat(40),
        // Nine different characters.
        "012345678".repeat(4),
    ] {
        let given = given(&refused).as_control("--token");
        let given = given.expect_err("is refused").to_string();
        assert!(given.starts_with("--token does not hold"), "{given}");
        assert!(!given.contains(&refused), "{given}");
        let place = Place::holding(refused.as_bytes(), 0o600);
        for found in [
            Token::load(&place.path()),
            Token::load_or_create(&place.path()),
        ] {
            let found = found.expect_err("is refused");
            assert!(matches!(found, TokenError::NotControl { .. }), "{found}");
        }
        assert!(
            Token::load_given(&place.path()).is_ok(),
            "a client may hold it"
        );
    }
}

#[test]
fn an_operators_own_token_is_taken_with_or_without_a_line_end() {
    let chosen = "an-operators-own_token-of-40-characters-";
    for content in [chosen.to_owned(), format!("{chosen}\n")] {
        let place = Place::holding(content.as_bytes(), 0o600);
        assert_eq!(
            Token::load(&place.path()).expect("is taken").expose(),
            chosen
        );
    }
}

#[test]
fn debug_output_does_not_show_the_secret() {
    let place = Place::new();
    let token = Token::load_or_create(&place.path()).expect("is made");
    assert_eq!(format!("{token:?}"), "Token(..)");
}
