//! Tests of commands that cannot be started under a shim, and of the environment of those that can.

use super::place::{Place, finish, image};
use holon_domain::command::CommandFailure;
use holon_process::{ShimSpec, ShimmedState, attach, start};
use std::os::fd::AsFd as _;

async fn failure(spec: ShimSpec) -> CommandFailure {
    start(&image(), spec).await.expect_err("it cannot start")
}

fn reason(failure: CommandFailure) -> String {
    match failure {
        CommandFailure::Spawn { reason } => reason,
        other => panic!("not a spawn failure: {other:?}"),
    }
}

#[tokio::test]
async fn a_missing_shell_is_named_with_the_next_step() {
    for shell in ["/no/such/shell", "no-such-shell-anywhere"] {
        let place = Place::new();
        let spec = ShimSpec {
            shell: Some(shell.to_owned()),
            ..place.spec("true")
        };
        let reason = reason(failure(spec).await);
        assert!(
            reason.contains(shell) && reason.contains("leave the shell out"),
            "{reason}"
        );
    }
}

#[tokio::test]
async fn a_missing_directory_is_not_mistaken_for_a_missing_shell() {
    let place = Place::new();
    let cwd = place.path().join("gone");
    let spec = ShimSpec {
        cwd: cwd.clone(),
        ..place.spec("true")
    };
    let expected = CommandFailure::MissingWorkdir {
        workdir: cwd.display().to_string(),
    };
    assert_eq!(failure(spec).await, expected);
    let found = attach(place.locator()).await;
    assert!(matches!(found, ShimmedState::StartFailed(failure) if failure == expected));
}

#[tokio::test]
async fn text_the_system_cannot_take_says_what_to_do() {
    let place = Place::new();
    assert!(reason(failure(place.spec("echo a\0b")).await).contains("NUL"));
    // Over the limit of one argument, and over the limit of all arguments.
    for length in [200 << 10, 2 << 20] {
        let place = Place::new();
        let long = failure(place.spec(&format!(": {}", "x".repeat(length)))).await;
        assert!(reason(long).contains("write the text to a file"));
    }
    let place = Place::new();
    let long = failure(ShimSpec {
        env: vec![("LONG".to_owned(), "x".repeat(200 << 10))],
        ..place.spec("true")
    });
    assert!(reason(long.await).contains("environment"));
}

#[tokio::test]
async fn an_output_file_that_exists_is_not_written_over() {
    let place = Place::new();
    std::fs::write(place.path().join("out"), "precious").unwrap();
    assert!(reason(failure(place.spec("echo gone")).await).contains("exists already"));
    assert_eq!(place.out(), "precious");
}

#[tokio::test]
async fn a_spec_of_another_version_is_not_run() {
    let place = Place::new();
    let spec = ShimSpec {
        version: 2,
        ..place.spec("touch ran")
    };
    assert!(reason(failure(spec).await).contains("version 2"));
    assert!(!place.path().join("ran").exists());
}

#[tokio::test]
async fn the_environment_is_what_the_spec_says_and_nothing_else() {
    let place = Place::new();
    let spec = ShimSpec {
        env: vec![("ONLY".to_owned(), "a b".to_owned())],
        shell: Some("/bin/sh".to_owned()),
        ..place.spec("exec /usr/bin/env")
    };
    finish(spec).await;
    let out = place.out();
    let mut names: Vec<&str> = out
        .lines()
        .filter_map(|line| Some(line.split_once('=')?.0))
        .collect();
    // The shell sets this variable itself.
    names.retain(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(name));
    assert_eq!(names, ["ONLY"]);
}

#[tokio::test]
async fn a_command_has_its_three_descriptors_and_no_other() {
    let place = Place::new();
    // Without close-on-exec, so that only the shim can keep it from the command.
    let held = tempfile::tempfile().unwrap();
    let leaky = rustix::io::dup(&held).unwrap();
    rustix::io::fcntl_setfd(leaky.as_fd(), rustix::io::FdFlags::empty()).unwrap();
    finish(place.spec("exec ls /proc/self/fd")).await;
    // The fourth descriptor belongs to `ls` itself.
    assert_eq!(place.out(), "0\n1\n2\n3\n");
}

#[tokio::test]
async fn a_command_starts_with_fresh_signals_in_its_own_session() {
    let place = Place::new();
    let cmd = "grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status; umask; ps -o pid=,sid=,pgid= -p $$";
    finish(place.spec(&format!("exec bash -c '{}'", cmd.replace('\'', "'\\''")))).await;
    let out = place.out();
    let ignored = out.lines().find(|line| line.starts_with("SigIgn")).unwrap();
    let blocked = out.lines().find(|line| line.starts_with("SigBlk")).unwrap();
    assert!(
        ignored.ends_with("0000000000000000") && blocked.ends_with("0000000000000000"),
        "{out}"
    );
    let ids: Vec<&str> = out.lines().last().unwrap().split_whitespace().collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{out}");
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let ours = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    assert!(
        out.lines().any(|line| line == ours.unwrap().trim()),
        "{out}"
    );
}

#[tokio::test]
async fn a_command_may_open_as_many_files_as_the_host_might_when_it_began() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let place = Place::new();
    let limit = getrlimit(Resource::Nofile);
    let lowered = Rlimit {
        current: Some(777),
        ..limit
    };
    setrlimit(Resource::Nofile, lowered).unwrap();
    let image = image();
    // A host raises its own limit like this.
    setrlimit(Resource::Nofile, limit).unwrap();
    let task = start(&image, place.spec("ulimit -Sn; ulimit -Hn")).await;
    super::place::end_of(&task.unwrap()).await;
    let most = limit
        .maximum
        .map_or_else(|| "unlimited".to_owned(), |most| most.to_string());
    assert_eq!(place.out(), format!("777\n{most}\n"));
}
