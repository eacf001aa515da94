//! Captures logins of a user whose profile the test writes.

use super::*;
use std::path::Path;

/// A user with a temporary home and `/bin/sh` as login shell.
struct User {
    home: tempfile::TempDir,
}

impl User {
    fn new(profile: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        let user = Self { home };
        user.write(profile);
        user
    }

    fn write(&self, profile: &str) {
        std::fs::write(self.home.path().join(".profile"), profile).unwrap();
    }

    fn login(&self) -> Login {
        let home = self.home.path().to_str().unwrap().to_owned();
        let overrides = vec![("HOME".to_owned(), home)];
        Login::new(Some("/bin/sh".to_owned()), overrides)
    }

    /// Number of times the profile was read, if it contains `COUNT`.
    fn reads(&self) -> usize {
        let count = std::fs::read_to_string(self.home.path().join("count"));
        count.unwrap_or_default().lines().count()
    }
}

const COUNT: &str = "echo read >> \"$HOME/count\"\n";

async fn value(login: &Login, name: &str) -> Option<String> {
    let vars = login.vars(&[]).await.unwrap();
    vars.get(name).cloned()
}

/// Advances the clock, so that the files are checked again.
async fn advance(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

async fn wait_until(condition: impl Fn() -> bool) {
    let polling = async {
        while !condition() {
            tokio::task::yield_now().await;
        }
    };
    let reached = tokio::time::timeout(Duration::from_secs(60), polling).await;
    reached.expect("the condition becomes true");
}

#[tokio::test]
async fn a_login_gives_what_its_files_export_and_what_the_host_has() {
    let user = User::new("echo Welcome; export TOOL='a=b\nc'; HIDDEN=1\n");
    let login = user.login();
    assert_eq!(value(&login, "TOOL").await.as_deref(), Some("a=b\nc"));
    assert_eq!(value(&login, "HIDDEN").await, None);
    // Cargo sets it for every test it runs.
    assert!(value(&login, "CARGO_MANIFEST_DIR").await.is_some());
    let inherited = login.inherited(&[]).await.unwrap();
    assert!(inherited.contains_key("CARGO_MANIFEST_DIR"));
    assert!(!inherited.contains_key("TOOL"));
}

#[tokio::test]
async fn the_files_are_read_once_for_all_and_again_when_they_change() {
    let user = User::new(&format!("{COUNT}export TOOL=one\n"));
    let login = user.login();
    let (first, second, third) = tokio::join!(
        value(&login, "TOOL"),
        value(&login, "TOOL"),
        value(&login, "TOOL")
    );
    assert_eq!(
        [first, second, third],
        [const { Some("one") }; 3].map(|one| one.map(str::to_owned))
    );
    advance(CHECK_INTERVAL).await;
    assert_eq!(value(&login, "TOOL").await.as_deref(), Some("one"));
    assert_eq!(user.reads(), 1);
    user.write(&format!("{COUNT}export TOOL=another\n"));
    advance(CHECK_INTERVAL).await;
    assert_eq!(value(&login, "TOOL").await.as_deref(), Some("another"));
    assert_eq!(user.reads(), 2);
}

#[tokio::test]
async fn files_that_break_a_login_leave_what_there_was() {
    let user = User::new("export TOOL=one\n");
    let login = user.login();
    assert_eq!(value(&login, "TOOL").await.as_deref(), Some("one"));
    user.write(&format!("{COUNT}exit 3\n"));
    advance(CHECK_INTERVAL).await;
    assert_eq!(value(&login, "TOOL").await.as_deref(), Some("one"));
    assert_eq!(user.reads(), PRINT_COMMANDS.len());
    advance(CHECK_INTERVAL).await;
    assert_eq!(value(&login, "TOOL").await.as_deref(), Some("one"));
    assert_eq!(
        user.reads(),
        PRINT_COMMANDS.len(),
        "not again for every command"
    );
    advance(RETRY_AFTER).await;
    assert_eq!(value(&login, "TOOL").await.as_deref(), Some("one"));
    wait_until(|| user.reads() == 2 * PRINT_COMMANDS.len()).await;
}

#[tokio::test]
async fn after_a_failed_login_no_caller_waits_for_the_next() {
    let user = User::new("exit 3\n");
    let gate = user.home.path().join("gate");
    rustix::fs::mkfifoat(rustix::fs::CWD, &gate, rustix::fs::Mode::RWXU).unwrap();
    let login = user.login();
    assert_eq!(value(&login, "TOOL").await, None);
    user.write(&format!(
        "{COUNT}read x < \"$HOME/gate\"; export TOOL=one\n"
    ));
    for _ in 0..3 {
        advance(CHECK_INTERVAL).await;
        assert_eq!(value(&login, "TOOL").await, None);
    }
    let open = move || std::fs::write(gate, "\n").unwrap();
    tokio::task::spawn_blocking(open).await.unwrap();
    let polling = async { while value(&login, "TOOL").await.as_deref() != Some("one") {} };
    // Shorter than the time until the next retry.
    let polling = tokio::time::timeout(RETRY_AFTER / 2, polling).await;
    polling.expect("the login goes on beside");
    assert_eq!(user.reads(), 1);
}

#[tokio::test]
async fn a_login_that_hangs_is_not_tried_another_way() {
    let user = User::new(&format!("{COUNT}exec sleep 3600\n"));
    let login = user.login();
    let time_is_up = async {
        wait_until(|| user.reads() == 1).await;
        advance(Duration::from_millis(CAPTURE_MS)).await;
    };
    let (host_has, ()) = tokio::join!(value(&login, "CARGO_MANIFEST_DIR"), time_is_up);
    assert!(host_has.is_some());
    assert_eq!(user.reads(), 1);
}

#[tokio::test]
async fn a_login_that_never_worked_gives_what_the_host_has() {
    let user = User::new("exit 3\n");
    let login = user.login();
    assert!(value(&login, "CARGO_MANIFEST_DIR").await.is_some());
    let nowhere = Login::new(Some("/nowhere/sh".to_owned()), Vec::new());
    assert!(value(&nowhere, "CARGO_MANIFEST_DIR").await.is_some());
}

#[tokio::test]
async fn an_environment_is_read_also_where_env_is_missing() {
    let user = User::new("export PATH=\"$HOME/bin\" TOOL=one\n");
    let bin = user.home.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let cat = ["/bin/cat", "/usr/bin/cat"].map(Path::new);
    let cat = cat.into_iter().find(|cat| cat.exists()).unwrap();
    std::os::unix::fs::symlink(cat, bin.join("cat")).unwrap();
    assert_eq!(value(&user.login(), "TOOL").await.as_deref(), Some("one"));
}

#[tokio::test]
async fn what_is_kept_from_commands_is_kept_from_the_files_too() {
    let user = User::new("export COPY=\"[$CARGO_MANIFEST_DIR]\"\n");
    let login = user.login();
    let without = ["CARGO_MANIFEST_DIR".to_owned()];
    let vars = login.vars(&without).await.unwrap();
    assert_eq!(vars.get("COPY").map(String::as_str), Some("[]"));
    assert_eq!(vars.get("CARGO_MANIFEST_DIR"), None);
}

#[tokio::test]
async fn a_value_that_is_no_text_is_left_out() {
    let user = User::new("export BROKEN=\"$(printf '\\377')\" WHOLE=é\n");
    let login = user.login();
    assert_eq!(value(&login, "BROKEN").await, None);
    assert_eq!(value(&login, "WHOLE").await.as_deref(), Some("é"));
}

#[test]
fn nothing_of_an_environment_shows() {
    let overrides = vec![("SECRET".to_owned(), "s3cret".to_owned())];
    let shown = format!("{:?}", Login::new(None, overrides));
    assert!(!shown.contains("s3cret"), "{shown}");
}
