//! A daemon at the limits of its machine: few open files, a full disk, and another user.

use crate::daemon::DaemonWorld;
use crate::disk::{on_disk, prelude, said};
use crate::support::{hello, until, world};
use rustix::process::{Resource, getrlimit, setrlimit};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

const PROGRAM: &str = env!("CARGO_BIN_EXE_holon");

/// Lets this process open as many files as the system allows.
fn raise_file_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
}

#[test]
fn clients_over_tcp_cannot_starve_the_socket_of_a_host_with_few_files() {
    raise_file_limit();
    let daemon = DaemonWorld::new();
    let model = hello(&daemon.0);
    let started = Command::new("sh")
        .args(["-c", "ulimit -n 1024; exec \"$0\" \"$@\"", PROGRAM])
        .args([
            "daemon", "start", "--port", "0", "--json", "--model", &model,
        ])
        .env("HOLON_HOME", daemon.0.home())
        .env("HOME", daemon.0.path().join("user"))
        .output()
        .unwrap();
    let view: serde_json::Value = serde_json::from_slice(&started.stdout).unwrap();
    let address = view["http_addr"].as_str().unwrap();
    let mut held = Vec::new();
    for _ in 0..1_100 {
        let Ok(mut stream) = TcpStream::connect(address) else {
            break;
        };
        // A request that never ends keeps its connection until the host's time for it is over.
        drop(stream.write_all(b"GET /hea"));
        held.push(stream);
    }
    assert!(held.len() > 600, "{} connections", held.len());
    for _ in 0..5 {
        let listed = daemon.0.run(&["agent", "list"]);
        assert_eq!(listed.code, Some(0), "{listed:?}");
        let sent = daemon.0.run(&["prompt", "hello"]);
        assert_eq!(sent.code, Some(0), "{sent:?}");
    }
    let log = std::fs::read_to_string(daemon.0.home().join("run/daemon.log")).unwrap();
    let complaints = log.matches("could not accept").count();
    assert!(complaints <= 2, "{complaints} lines: {log}");
    drop(held);
}

#[test]
fn a_daemon_on_a_full_disk_can_be_looked_at_and_goes_on_when_there_is_space() {
    let world = world();
    let model = hello(&world);
    world.write("large", &"a".repeat(1_000_000));
    let script = format!(
        "{}
         holon daemon start --port 0 --model {model} > started; echo start $?
         cat /dev/zero > small/filler 2> /dev/null
         holon daemon status > looked; echo status $?
         holon prompt - < large; echo refused $?
         holon daemon start --port 0 --model {model} > again; echo again $?
         rm small/filler
         holon run hi --agent main; echo after $?
         fill
         holon daemon stop > stopped; echo stop $?
         holon daemon start --port 0 --model {model} > full; echo full $?
         holon transcript | grep -c Hello
         rm small/filler
         holon run hi --agent main; echo after $?
         holon daemon stop > stopped; echo stop $?",
        prelude(&model)
    );
    let Some(output) = on_disk(&world, "size=6m", &script) else {
        return;
    };
    let (said, errors) = said(&output);
    let expected = "start 0\nstatus 0\nrefused 1\nagain 0\nHello there.\nafter 0\nstop 0\nfull 0\n1\n\
                    Hello there.\nafter 0\nstop 0\n";
    assert_eq!(said, expected, "{errors}");
}

/// Runs a program as another user; `None` if this user may not.
fn as_other(words: &[&str]) -> Option<Output> {
    let run = |words: &[&str]| {
        Command::new("setpriv")
            .args([
                "--reuid",
                "65534",
                "--regid",
                "65534",
                "--clear-groups",
                "--",
            ])
            .args(words)
            .current_dir("/")
            .output()
            .ok()
    };
    if run(&["true"]).is_some_and(|probe| probe.status.success()) {
        return run(words);
    }
    eprintln!("not checked here: this user cannot act as another one");
    None
}

fn open_to_others(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Asserts that commands of another user do not call a host absent that they cannot see.
fn refuses_to_tell(home: &Path) {
    let home = home.to_str().unwrap();
    let Some(probe) = as_other(&[PROGRAM, "--version"]) else {
        return;
    };
    if !probe.status.success() {
        eprintln!("not checked here: another user cannot run the program");
        return;
    }
    for command in [&["daemon", "status"][..], &["daemon", "stop"], &["status"]] {
        let program = ["env", "HOME=/", PROGRAM, "--home", home];
        let words = [&program[..], command].concat();
        let refused = as_other(&words).unwrap();
        assert_eq!(refused.status.code(), Some(1), "{words:?}: {refused:?}");
        assert!(refused.stdout.is_empty(), "{words:?}: {refused:?}");
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        for part in ["may not look into", "as the user who owns it"] {
            assert!(said.contains(part), "{words:?}: {said}");
        }
        assert!(!said.contains("daemon start"), "{words:?}: {said}");
    }
}

#[test]
fn another_user_can_neither_read_the_home_nor_reach_the_host() {
    let daemon = DaemonWorld::new();
    let model = hello(&daemon.0);
    let started = daemon.start(&["--model", &model]);
    // Only the home itself protects it from here on.
    open_to_others(daemon.0.path(), 0o755);
    let home = daemon.0.home();
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let (socket, token) = (
        text(&home.join("run/holon.sock")),
        text(&home.join("run/control.token")),
    );
    for words in [
        &["ls", &text(&home)][..],
        &["cat", &token],
        &["cat", &text(&home.join("state/holon.sqlite3"))],
        &["cat", &text(&home.join("run/daemon.json"))],
        &["touch", &text(&home.join("run/x"))],
        &[
            "curl",
            "-sS",
            "--unix-socket",
            &socket,
            "http://x/agents/list",
        ],
    ] {
        let Some(refused) = as_other(words) else {
            return;
        };
        assert!(!refused.status.success(), "{words:?}: {refused:?}");
        assert!(refused.stdout.is_empty(), "{words:?}: {refused:?}");
    }
    refuses_to_tell(&home);
    // The peer's user id is checked too, if an operator has opened the directories and the socket.
    for (path, mode) in [
        (home.clone(), 0o755),
        (home.join("run"), 0o755),
        (home.join("run/holon.sock"), 0o666),
    ] {
        open_to_others(&path, mode);
    }
    let words = [
        "curl",
        "-sS",
        "--unix-socket",
        &socket,
        "http://x/agents/list",
    ];
    let refused = as_other(&words).unwrap();
    assert!(!refused.status.success(), "{refused:?}");
    assert!(refused.stdout.is_empty(), "{refused:?}");
    until("the refusal is in the log", || {
        let log = std::fs::read_to_string(home.join("run/daemon.log")).unwrap();
        log.contains("refused a socket connection of another user")
    });
    let read = as_other(&["cat", &token]).unwrap();
    assert!(
        !read.status.success(),
        "the token is its owner's alone: {read:?}"
    );
    let mut stream = TcpStream::connect(started["http_addr"].as_str().unwrap()).unwrap();
    let request = "GET /agents/list HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    open_to_others(&home.join("run"), 0o700);
    open_to_others(&home, 0o700);
    assert_eq!(
        daemon.0.run(&["agent", "list"]).code,
        Some(0),
        "the owner may"
    );
}
