//! Tests of commands that cannot be started, and of the environment of those that can.

use crate::support::{output, spec, try_run};
use holon_domain::command::CommandFailure;
use holon_process::CommandSpec;
use std::path::PathBuf;

fn reason(failure: CommandFailure) -> String {
    match failure {
        CommandFailure::Spawn { reason } => reason,
        other => panic!("not a spawn failure: {other:?}"),
    }
}

#[tokio::test]
async fn a_missing_shell_is_named_with_the_next_step() {
    for shell in ["/no/such/shell", "no-such-shell-anywhere"] {
        let ran = try_run(CommandSpec {
            shell: Some(shell.to_owned()),
            ..spec("true")
        })
        .await;
        let reason = reason(ran.unwrap_err());
        assert!(
            reason.contains(shell) && reason.contains("leave the shell out"),
            "{reason}"
        );
    }
}

#[tokio::test]
async fn a_missing_directory_is_not_mistaken_for_a_missing_shell() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    for cwd in [dir.path().join("gone"), file] {
        let ran = try_run(CommandSpec {
            cwd: cwd.clone(),
            ..spec("true")
        })
        .await;
        assert_eq!(
            ran.unwrap_err(),
            CommandFailure::MissingWorkdir {
                workdir: cwd.display().to_string()
            }
        );
    }
}

#[tokio::test]
async fn a_shell_that_is_no_program_fails_to_start() {
    let ran = try_run(CommandSpec {
        shell: Some("/".to_owned()),
        ..spec("true")
    })
    .await;
    assert!(reason(ran.unwrap_err()).contains("permissions"));
}

#[tokio::test]
async fn text_the_system_cannot_take_says_what_to_do() {
    let nul = try_run(spec("echo a\0b")).await.unwrap_err();
    assert!(reason(nul).contains("NUL"));
    let long = try_run(spec(&format!(": {}", "x".repeat(4 << 20))))
        .await
        .unwrap_err();
    assert!(reason(long).contains("write the text to a file"));
}

#[tokio::test]
async fn a_command_runs_in_its_directory() {
    let dir = tempfile::tempdir().unwrap();
    let cwd = dir.path().canonicalize().unwrap();
    let ran = output(CommandSpec {
        cwd: cwd.clone(),
        ..spec("pwd -P")
    })
    .await;
    assert_eq!(PathBuf::from(ran.stdout.head.trim_end()), cwd);
}

#[tokio::test]
async fn the_environment_is_set_and_cleared_as_asked() {
    let requested = CommandSpec {
        env: vec![
            ("SET_BY_US".to_owned(), "a b".to_owned()),
            ("BOTH".to_owned(), "kept".to_owned()),
        ],
        remove_env: vec!["PATH".to_owned(), "BOTH".to_owned()],
        // `env` by its full path, since the search path is what was removed.
        ..spec("/usr/bin/env")
    };
    let ran = output(CommandSpec {
        cmd: "/usr/bin/env | /usr/bin/sort".to_owned(),
        ..requested.clone()
    })
    .await;
    assert!(ran.stdout.head.contains("SET_BY_US=a b\n") && ran.stdout.head.contains("BOTH=kept\n"));
    let inherited = output(CommandSpec {
        remove_env: vec!["CARGO_MANIFEST_DIR".to_owned()],
        ..spec("env")
    })
    .await;
    assert!(!inherited.stdout.head.contains("CARGO_MANIFEST_DIR="));
    let kept = output(spec("env")).await;
    assert!(
        kept.stdout.head.contains("CARGO_MANIFEST_DIR="),
        "the rest is inherited"
    );
}

#[tokio::test]
async fn a_login_shell_is_one() {
    let shell = Some("/bin/bash".to_owned());
    let cmd = "shopt -q login_shell && echo login || echo plain";
    let home = tempfile::tempdir().unwrap();
    let env = vec![("HOME".to_owned(), home.path().display().to_string())];
    for (login, expected) in [(true, "login\n"), (false, "plain\n")] {
        let ran = output(CommandSpec {
            shell: shell.clone(),
            login,
            env: env.clone(),
            ..spec(cmd)
        })
        .await;
        assert!(ran.stdout.head.ends_with(expected), "{:?}", ran.stdout);
    }
}

#[tokio::test]
async fn no_open_file_of_the_host_reaches_a_command() {
    let held = tempfile::NamedTempFile::new().unwrap();
    let name = held
        .path()
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    let ran = output(spec("ls -l /dev/fd/ /proc/self/fd/ 2>/dev/null")).await;
    assert!(!ran.stdout.head.is_empty() && !ran.stdout.head.contains(&name));
}
