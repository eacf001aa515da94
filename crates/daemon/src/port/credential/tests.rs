//! Tests of credentials: commands that print them, refusals, and logins that are replaced.

use super::*;
use holon_config::{FileSettings, Flags, resolve};
use holon_domain::provider::AuthKind;
use std::path::Path;

/// Creates a lookup with one provider whose credential this shell script prints.
fn keys(script: &str) -> Keys {
    let text = format!(
        "[providers.work]\ntransport = \"openai_responses\"\nbase_url = \"https://llm.example/v1\"\n\
         [providers.work.auth]\nsource = \"credential_process\"\nkind = \"bearer_token\"\n\
         command = [\"/bin/sh\", \"-c\", {}]\n",
        serde_json::Value::from(script)
    );
    let file = FileSettings::parse(&text, Path::new("/h/config.toml")).unwrap();
    let flags = Flags {
        home: Some("/h".into()),
        ..Flags::default()
    };
    let settings = resolve(&Env::default(), &flags, Some(&file)).unwrap();
    Keys::new(settings.providers, Env::default(), "/h".into())
}

async fn command_secret(keys: &Keys) -> Result<String, String> {
    let credential = keys.credential("work").await?.unwrap();
    assert_eq!(credential.kind, AuthKind::BearerToken);
    Ok(credential.secret.expose_secret().to_owned())
}

#[tokio::test]
async fn a_command_prints_the_credential_and_is_not_run_again_until_it_was_refused() {
    let dir = tempfile::tempdir().unwrap();
    let count = dir.path().join("count");
    let count = count.display();
    let keys = keys(&format!(
        "echo run >> '{count}'; wc -l < '{count}' | tr -d ' '"
    ));
    assert_eq!(command_secret(&keys).await.unwrap(), "1");
    assert_eq!(command_secret(&keys).await.unwrap(), "1");
    let refused = keys.credential("work").await.unwrap().unwrap();
    let renewed = keys.renewed("work", &refused).await.unwrap();
    assert_eq!(renewed.secret.expose_secret(), "2");
    let late = keys.renewed("work", &refused).await.unwrap();
    assert_eq!(late.secret.expose_secret(), "2", "another caller was first");
    assert_eq!(command_secret(&keys).await.unwrap(), "2");
}

#[tokio::test]
async fn a_command_that_fails_is_named_and_nothing_it_said_is_repeated() {
    for (script, what) in [
        ("echo s3cret; exit 3", "ended with exit status 3"),
        ("echo s3cret >&2; kill -9 $$", "was ended by signal 9"),
        ("true", "printed nothing"),
        ("echo s3cret; echo s3cret", "printed more than one line"),
        (
            "yes s3cret | head -c 100000",
            "printed more than 65536 bytes",
        ),
    ] {
        let shown = command_secret(&keys(script)).await.unwrap_err();
        assert!(shown.contains(what), "{script}: {shown}");
        assert!(shown.contains("the credential command of work"), "{shown}");
        assert!(!shown.contains("s3cret"), "{shown}");
    }
}

#[tokio::test]
async fn words_of_a_command_arrive_as_they_are() {
    let argv: Vec<String> = ["printf", "%s|%s|%s", "it's", "$HOME", "a b"]
        .map(str::to_owned)
        .to_vec();
    let shown = run("work", &argv).await.unwrap();
    assert_eq!(shown.expose_secret(), "it's|$HOME|a b");
}

#[test]
fn keys_show_nothing_of_what_they_know() {
    assert_eq!(format!("{:?}", keys("true")), "Keys { .. }");
}

/// Builds a lookup with the login of the Codex program in `dir`.
fn login_keys(dir: &Path) -> Keys {
    let text = "[providers.work]\ntransport = \"openai_responses\"\nbase_url = \"https://llm.example/v1\"\n\
                auth = { source = \"external_cli\", external = \"codex_cli\", kind = \"session_token\" }\n";
    let file = FileSettings::parse(text, Path::new("/h/config.toml")).unwrap();
    let flags = Flags {
        home: Some("/h".into()),
        ..Flags::default()
    };
    let home = dir.as_os_str().to_owned();
    let env = Env::from_lookup(
        move |name| (name == "CODEX_HOME").then(|| home.clone()),
        None,
    );
    let settings = resolve(&env, &flags, Some(&file)).unwrap();
    Keys::new(settings.providers, env, "/h".into())
}

fn write_login(dir: &Path, content: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    let path = dir.join("auth.json");
    std::fs::write(&path, content).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

fn login(token: &str) -> String {
    serde_json::json!({ "tokens": { "access_token": token } }).to_string()
}

/// `{"exp":1}` as the middle of a token.
const LONG_EXPIRED: &str = "h.eyJleHAiOjF9.s";

#[tokio::test]
async fn only_a_usable_login_that_differs_from_the_refused_one_is_a_renewal() {
    let dir = tempfile::tempdir().unwrap();
    let keys = login_keys(dir.path());
    write_login(dir.path(), &login("old"));
    let old = keys.credential("work").await.unwrap().unwrap();
    keys.note_refused("work", Some(&old));
    let half = login("new-token");
    let half = half.split_at(half.len() / 2).0;
    for content in [&login("old"), half, "", "[]", &login(LONG_EXPIRED)] {
        write_login(dir.path(), content);
        assert!(!keys.is_renewed("work").await, "{content}");
    }
    std::fs::remove_file(dir.path().join("auth.json")).unwrap();
    assert!(!keys.is_renewed("work").await, "no file");
    write_login(dir.path(), &login("new"));
    assert!(keys.is_renewed("work").await);
}

#[tokio::test]
async fn any_usable_login_renews_one_that_could_not_be_sent() {
    for unusable in [&login(LONG_EXPIRED), "{"] {
        let dir = tempfile::tempdir().unwrap();
        let keys = login_keys(dir.path());
        write_login(dir.path(), unusable);
        let error = keys.credential("work").await.unwrap_err();
        assert!(error.contains("codex login"), "{error}");
        assert!(!keys.is_renewed("work").await, "{unusable}");
        write_login(dir.path(), &login("new"));
        assert!(keys.is_renewed("work").await, "{unusable}");
    }
}

#[tokio::test]
async fn a_login_is_read_again_after_a_refusal() {
    let dir = tempfile::tempdir().unwrap();
    let keys = login_keys(dir.path());
    write_login(dir.path(), &login("old"));
    let old = keys.credential("work").await.unwrap().unwrap();
    assert!(keys.renewed("work", &old).await.is_none(), "it is the same");
    write_login(dir.path(), "{");
    assert!(keys.renewed("work", &old).await.is_none(), "half a file");
    write_login(dir.path(), &login("new"));
    let new = keys.renewed("work", &old).await.unwrap();
    assert_eq!(new.secret.expose_secret(), "new");
}

#[tokio::test]
async fn no_command_is_run_to_look_for_a_renewal() {
    let dir = tempfile::tempdir().unwrap();
    let ran = dir.path().join("ran");
    let keys = keys(&format!("echo key; touch '{}'", ran.display()));
    assert!(!keys.is_renewed("work").await);
    assert!(!ran.exists());
}

#[tokio::test]
async fn a_command_is_run_once_for_each_refusal() {
    let dir = tempfile::tempdir().unwrap();
    let runs = dir.path().join("runs");
    let keys = keys(&format!("echo run >> '{}'; echo same", runs.display()));
    let count = || std::fs::read_to_string(&runs).unwrap().lines().count();
    for refusals in 1..4 {
        let refused = keys.credential("work").await.unwrap().unwrap();
        assert!(keys.renewed("work", &refused).await.is_none());
        assert_eq!(count(), 1 + refusals);
    }
}
