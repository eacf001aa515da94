//! The socket, the log and the addresses of a host in the background.

use crate::daemon::{DaemonWorld, pid_of};
use crate::support::{hello, http, until};
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::os::unix::net::UnixListener;
use std::process::Stdio;
use std::sync::mpsc;

const TOKEN: &str = "a-token-of-the-operator-0123456789";

/// Writes a private file with the token.
fn token_file(daemon: &DaemonWorld) -> String {
    let path = daemon.0.write("token", &format!("{TOKEN}\n"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Reads datagrams as a service manager does, without letting them pile up.
fn listen(socket: std::os::unix::net::UnixDatagram) -> mpsc::Receiver<String> {
    let (heard, states) = mpsc::channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 256];
        while let Ok(read) = socket.recv(&mut buffer) {
            let state =
                String::from_utf8_lossy(buffer.get(..read).unwrap_or_default()).into_owned();
            if heard.send(state).is_err() {
                return;
            }
        }
    });
    states
}

/// Sends an authenticated request and returns the first line of the response.
fn ask(addr: &str, host: &str, token: &str) -> String {
    let request = format!(
        "GET /agents/list HTTP/1.1\nHost: {host}\nAuthorization: Bearer {token}\nConnection: close\n\n"
    );
    http(addr, &request)
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn a_socket_path_that_something_else_has_is_left_to_it() {
    let daemon = DaemonWorld::new();
    let model = hello(&daemon.0);
    let run = daemon.0.home().join("run");
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&run)
        .unwrap();
    let socket = run.join("holon.sock");
    let other = UnixListener::bind(&socket).unwrap();
    for command in [&["daemon", "start"][..], &["serve"]] {
        let mut args = command.to_vec();
        args.extend(["--port", "0", "--json", "--model", &model]);
        let refused = daemon.0.run(&args);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(
            refused.stderr.contains(r#""code":"socket_taken""#),
            "{refused:?}"
        );
    }
    assert!(socket.exists());
    drop(other);
    std::fs::remove_file(&socket).unwrap();
    std::fs::write(&socket, "precious").unwrap();
    let refused = daemon.0.run(&[
        "daemon", "start", "--port", "0", "--json", "--model", &model,
    ]);
    assert!(
        refused.stderr.contains(r#""code":"socket_taken""#),
        "{refused:?}"
    );
    assert_eq!(std::fs::read_to_string(&socket).unwrap(), "precious");
    std::fs::remove_file(&socket).unwrap();
    assert_eq!(daemon.start(&["--model", &model])["action"], "started");
}

#[test]
fn a_home_whose_path_is_too_long_for_a_socket_gets_a_short_one() {
    let daemon = DaemonWorld::new();
    let long = daemon.0.path().join("d".repeat(60)).join("e".repeat(60));
    let long = long.to_str().unwrap();
    let runtime = daemon.0.path().join("rt");
    std::fs::DirBuilder::new()
        .mode(0o700)
        .create(&runtime)
        .unwrap();
    let model = hello(&daemon.0);
    let run = |args: &[&str]| {
        let mut line = vec!["--home", long];
        line.extend(args);
        daemon.0.run_in(
            &line,
            b"",
            &[("XDG_RUNTIME_DIR", runtime.to_str().unwrap())],
        )
    };
    let started = run(&[
        "daemon", "start", "--port", "0", "--json", "--model", &model,
    ]);
    assert_eq!(started.code, Some(0), "{started:?}");
    let socket = started.json()["socket_path"].as_str().unwrap().to_owned();
    assert!(
        socket.starts_with(runtime.to_str().unwrap()) && socket.len() <= 103,
        "{socket}"
    );
    let mode = std::fs::metadata(&socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // Clients find it by the record, also without the variable.
    let status = daemon.0.run(&["--home", long, "status", "--json"]);
    assert_eq!(status.code, Some(0), "{status:?}");
    for args in [["daemon", "logs"], ["daemon", "status"]] {
        let said = run(&args);
        assert!(said.stdout.contains("too long for the system"), "{said:?}");
    }
    assert_eq!(
        run(&["daemon", "stop", "--json"]).json()["action"],
        "stopped"
    );
    assert!(!std::path::Path::new(&socket).exists());
    // Without a session directory it lies beneath the user's home.
    let line = [
        "--home", long, "daemon", "start", "--port", "0", "--json", "--model", &model,
    ];
    let socket = daemon.0.run(&line).json()["socket_path"]
        .as_str()
        .unwrap()
        .to_owned();
    let user = daemon.0.path().join("user/.holon-sockets");
    assert!(socket.starts_with(user.to_str().unwrap()), "{socket}");
    assert_eq!(
        run(&["daemon", "stop", "--json"]).json()["action"],
        "stopped"
    );
}

#[test]
fn an_address_that_others_can_reach_needs_a_token_of_the_operator() {
    let daemon = DaemonWorld::new();
    for (args, code, exit) in [
        (&["--listen", "0.0.0.0:0"][..], "token_required", 1),
        (&["--listen", "[::]:0"], "token_required", 1),
        (
            &["--access", "lan", "--host", "127.0.0.2"],
            "invalid_settings",
            2,
        ),
        (
            &["--access", "tailnet", "--advertise", "http://box.example"],
            "invalid_settings",
            2,
        ),
        (
            &["--access", "lan", "--token-file", "TOKEN"],
            "invalid_settings",
            2,
        ),
        (
            &["--access", "tunnel", "--listen", "0.0.0.0:1"],
            "invalid_settings",
            2,
        ),
        (
            &[
                "--access",
                "lan",
                "--host",
                "0.0.0.0",
                "--token-file",
                "TOKEN",
            ],
            "invalid_settings",
            2,
        ),
        (&["--token", "short"], "token_unusable", 1),
        (
            &["--token", "hct_0123456789abcdef0123456789abcdef"],
            "token_unusable",
            1,
        ),
        (
            &["--token", "hlt_0123456789abcdef0123456789abcdef"],
            "token_unusable",
            1,
        ),
        (
            &["--token", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"],
            "token_unusable",
            1,
        ),
    ] {
        let token = token_file(&daemon);
        for command in [
            &["daemon", "start"][..],
            &["serve"],
            &["service", "install", "--dry-run"],
        ] {
            let mut line = command.to_vec();
            line.push("--json");
            line.extend(
                args.iter()
                    .map(|arg| if *arg == "TOKEN" { token.as_str() } else { arg }),
            );
            let refused = daemon.0.run(&line);
            let code = format!(r#""code":"{code}""#);
            assert!(refused.stderr.contains(&code), "{line:?}: {refused:?}");
            assert_eq!(refused.code, Some(exit), "{line:?}");
        }
    }
    assert!(!daemon.has("daemon.json"));
}

#[test]
fn a_host_for_a_network_answers_to_its_names_and_to_its_own_token_only() {
    let daemon = DaemonWorld::new();
    let token = token_file(&daemon);
    let model = hello(&daemon.0);
    let line = [
        "daemon",
        "start",
        "--json",
        "--access",
        "lan",
        "--host",
        "127.0.0.2",
        "--listen",
        "127.0.0.2:0",
        "--advertise",
        "https://box.example/holon",
        "--token-file",
        &token,
        "--model",
        &model,
    ];
    let ran = daemon.0.run(&line);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let started = ran.json();
    assert_eq!(started["access"], "lan");
    assert_eq!(started["advertise_url"], "https://box.example/holon");
    let addr = started["http_addr"].as_str().unwrap();
    assert!(addr.starts_with("127.0.0.2:"), "{addr}");
    assert_eq!(ask(addr, "box.example", TOKEN), "HTTP/1.1 200 OK");
    assert_eq!(ask(addr, "127.0.0.2", TOKEN), "HTTP/1.1 200 OK");
    assert!(!ask(addr, "evil.example", TOKEN).contains(" 200 "));
    assert!(!ask(addr, "box.example", "0123456789abcdef0123456789abcdef").contains(" 200 "));
    assert!(!daemon.has("control.token"), "no second token is made");
    let handshake = format!(
        "GET /handshake HTTP/1.1\nHost: box.example\nAuthorization: Bearer {TOKEN}\nConnection: close\n\n"
    );
    assert!(http(addr, &handshake).contains(r#""advertise_url":"https://box.example/holon""#));
    let again = daemon.0.run(&line).json();
    assert_eq!(again["action"], "already_running");
}

#[test]
fn a_token_on_the_command_line_works_warns_and_is_passed_on_unseen() {
    let daemon = DaemonWorld::new();
    let model = hello(&daemon.0);
    let line = [
        "daemon", "start", "--port", "0", "--json", "--token", TOKEN, "--model", &model,
    ];
    let ran = daemon.0.run(&line);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("use --token-file"), "{ran:?}");
    let started = ran.json();
    let addr = started["http_addr"].as_str().unwrap();
    assert_eq!(ask(addr, "localhost", TOKEN), "HTTP/1.1 200 OK");
    let pid = pid_of(&started);
    for name in ["cmdline", "environ"] {
        let text = std::fs::read(format!("/proc/{pid}/{name}")).unwrap();
        assert!(!String::from_utf8_lossy(&text).contains(TOKEN), "{name}");
    }
    for name in ["daemon.json", "daemon.log", "control.token"] {
        let text = std::fs::read_to_string(daemon.0.home().join("run").join(name));
        assert!(!text.unwrap_or_default().contains(TOKEN), "{name}");
    }
    let stdin = [
        "daemon",
        "restart",
        "--port",
        "0",
        "--json",
        "--token-file",
        "-",
        "--model",
        &model,
    ];
    let other = TOKEN.replace("operator", "successor");
    let ran = daemon.0.run_with(&stdin, other.as_bytes());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let addr = ran.json()["http_addr"].as_str().unwrap().to_owned();
    assert_eq!(ask(&addr, "localhost", &other), "HTTP/1.1 200 OK");
    assert!(!ask(&addr, "localhost", TOKEN).contains(" 200 "));
}

#[test]
fn the_log_is_shown_followed_and_rotated() {
    let daemon = DaemonWorld::new();
    let model = hello(&daemon.0);
    let empty = daemon.0.run(&["daemon", "logs"]);
    assert!(empty.stdout.contains("there is no log"), "{empty:?}");
    let run = daemon.0.home().join("run");
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&run)
        .unwrap();
    let full = format!("{}\n", "x".repeat(1023)).repeat(8 << 10);
    std::fs::write(run.join("daemon.log"), full).unwrap();
    daemon.start(&["--model", &model]);
    let rotated = std::fs::metadata(run.join("daemon.log.1")).unwrap();
    assert_eq!(rotated.len(), 8 << 20);
    assert!(std::fs::metadata(run.join("daemon.log")).unwrap().len() < 1 << 20);
    let logs = daemon
        .0
        .run(&["daemon", "logs", "--lines", "1", "--json"])
        .json();
    let tail: Vec<&str> = logs["tail"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(tail.len(), 1);
    assert!(
        tail.iter().any(|line| line.contains("host is up")),
        "{tail:?}"
    );
    assert_eq!(
        logs["metadata_path"].as_str(),
        run.join("daemon.json").to_str()
    );
    assert_eq!(
        logs["runtime_metadata"]["home_dir"].as_str(),
        daemon.0.home().to_str()
    );
    let mut follow = daemon
        .0
        .command()
        .args(["daemon", "logs", "--follow", "--lines", "1"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(follow.stdout.take().unwrap()).lines();
    lines.next().unwrap().unwrap();
    assert_eq!(
        daemon
            .0
            .run(&[
                "config",
                "set",
                "runtime.default_tool_output_tokens",
                "5000"
            ])
            .code,
        Some(0)
    );
    let heard = lines.any(|line| line.unwrap().contains("settings were read again"));
    assert!(heard);
    follow.kill().unwrap();
    follow.wait().unwrap();
    let too_many = daemon.0.run(&["daemon", "logs", "--lines", "10001"]);
    assert_eq!(too_many.code, Some(2), "{too_many:?}");
}

#[test]
fn a_host_of_a_service_manager_reports_to_it_and_is_restarted_by_it_only() {
    let daemon = DaemonWorld::new();
    let path = daemon.0.path().join("notify");
    let states = listen(std::os::unix::net::UnixDatagram::bind(&path).unwrap());
    let variables = [
        ("NOTIFY_SOCKET", path.to_str().unwrap()),
        ("WATCHDOG_USEC", "100000"),
    ];
    let call = serde_json::json!({ "tool": "ExecCommand", "input": { "cmd": "echo seen:$NOTIFY_SOCKET:$WATCHDOG_USEC" } });
    let model = daemon.0.model(
        "peek",
        &serde_json::json!([{ "text": "", "calls": [call] }, { "text": "Saw: {{tool_result}}" }]),
    );
    let served = daemon.0.serve_with(&["--model", &model], &variables);
    let mut said = Vec::new();
    until("it is ready and alive", || {
        said.push(states.recv().unwrap());
        let alive = said.iter().filter(|state| *state == "WATCHDOG=1").count();
        said.iter().any(|state| state == "READY=1") && alive >= 3
    });
    assert!(
        daemon.0.run(&["run", "look"]).answer().contains("seen::"),
        "commands do not see it"
    );
    assert_eq!(daemon.status()["service_manager"], "systemd");
    let refused = daemon
        .0
        .run(&["daemon", "restart", "--port", "0", "--json"]);
    assert!(refused.stderr.contains("managed_by_service"), "{refused:?}");
    let logs = daemon.0.run(&["daemon", "logs"]);
    assert!(
        logs.stdout.contains("systemd, which keeps its log"),
        "{logs:?}"
    );
    assert_eq!(served.terminate().0, Some(0));
    until("it says that it stops", || {
        states.recv().unwrap() == "STOPPING=1"
    });
}
