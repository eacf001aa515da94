//! `holon serve`: start, shutdown, and the files it leaves.

use crate::processes::ProcessCleanup;
use crate::support::{doer, hello, http, silent, until, world};

#[test]
fn a_host_leaves_its_marks_while_it_runs_and_takes_them_away() {
    let world = world();
    let served = world.serve(&[]);
    let record = std::fs::read_to_string(world.home().join("run/daemon.json")).unwrap();
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    assert_eq!(record["pid"].as_u64(), Some(u64::from(served.pid())));
    assert_eq!(record["http_addr"].as_str(), Some(served.addr.as_str()));
    assert_eq!(record["socket_path"].as_str(), served.socket.to_str());
    assert_eq!(record["home_dir"].as_str(), world.home().to_str());
    let health = http(
        &served.addr,
        "GET /healthz HTTP/1.1\nHost: localhost\nConnection: close\n\n",
    );
    assert!(health.starts_with("HTTP/1.1 200 "), "{health}");
    let socket = served.socket.clone();
    assert_eq!(served.terminate().0, Some(0));
    assert!(!socket.exists() && !world.home().join("run/daemon.json").exists());
}

#[test]
fn going_down_stops_no_agent_and_what_was_begun_goes_on_at_the_next_start() {
    let world = world();
    let silent = silent(&world);
    let served = world.serve(&["--model", &silent]);
    assert_eq!(world.run(&["prompt", "take your time"]).code, Some(0));
    // A pending model request is dropped: the drain does not wait for it.
    let (code, log) = served.terminate();
    assert_eq!(code, Some(0), "{log}");
    std::fs::write(
        world.path().join("silent.json"),
        r#"{"rounds":[{"text":"Here I am again."}]}"#,
    )
    .unwrap();
    let served = world.serve(&["--model", &silent]);
    let told = crate::looking::follow(&world, "main", 1);
    assert_eq!(told[0]["text"], "Here I am again.");
    assert_eq!(
        world.run(&["status", "--json"]).json()["agent"]["lifecycle"],
        "runnable"
    );
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn after_a_crash_the_socket_file_is_replaced_and_work_goes_on() {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let go_on = "until [ -e ../../../go ]; do sleep 0.05; done; echo and done";
    let model = doer(&world, &format!("echo ran >> ../../../ran; {go_on}"));
    let served = world.serve(&["--model", &model]);
    assert_eq!(world.run(&["prompt", "go"]).code, Some(0));
    until("the command runs", || world.path().join("ran").exists());
    served.crash();
    // The command continues without a host, and ends.
    world.write("go", "");
    assert!(
        world.home().join("run/holon.sock").exists(),
        "a crash leaves the socket file"
    );
    let served = world.serve(&["--model", &model]);
    let told = crate::looking::follow(&world, "main", 1);
    let said = told[0]["text"].as_str().unwrap();
    assert!(said.starts_with("Saw: exit 0"), "{said}");
    assert!(said.contains("and done"), "{said}");
    assert_eq!(
        std::fs::read_to_string(world.path().join("ran")).unwrap(),
        "ran\n",
        "a command is found again and not run again"
    );
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_client_can_ask_the_host_to_go_down() {
    let world = world();
    let mut served = world.serve(&["--model", &hello(&world)]);
    let token = std::fs::read_to_string(world.home().join("run/control.token")).unwrap();
    let request = format!(
        "POST /control/runtime/shutdown HTTP/1.1\nHost: localhost\nAuthorization: Bearer {}\nContent-Length: 0\nConnection: close\n\n",
        token.trim()
    );
    assert!(http(&served.addr, &request).contains("\"shutdown_requested\":true"));
    assert_eq!(served.wait().0, Some(0));
}

#[test]
fn a_repeated_request_to_go_down_does_not_end_the_next_host() {
    let world = world();
    let model = hello(&world);
    let ask = |addr: &str| {
        let token = std::fs::read_to_string(world.home().join("run/control.token")).unwrap();
        let request = format!(
            "POST /control/runtime/shutdown HTTP/1.1\nHost: localhost\nAuthorization: Bearer {}\nIdempotency-Key: k\nContent-Length: 0\nConnection: close\n\n",
            token.trim()
        );
        let answer = http(addr, &request);
        assert!(answer.contains("\"shutdown_requested\":true"), "{answer}");
    };
    let mut first = world.serve(&["--model", &model]);
    ask(&first.addr);
    assert_eq!(first.wait().0, Some(0));
    let second = world.serve(&["--model", &model]);
    ask(&second.addr);
    assert_eq!(world.run(&["run", "hi"]).code, Some(0));
    assert_eq!(second.terminate().0, Some(0));
}

#[test]
fn a_write_beyond_the_largest_file_does_not_end_the_host() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    let pid = rustix::process::Pid::from_raw(i32::try_from(served.pid()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::XFSZ).unwrap();
    assert_eq!(world.run(&["run", "hi"]).code, Some(0));
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_host_announces_itself_to_programs_in_one_line() {
    use std::io::BufRead as _;
    let world = world();
    let mut child = world
        .command()
        .args(["serve", "--json", "--port", "0"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    std::io::BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let ready: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(ready["pid"].as_u64(), Some(u64::from(child.id())));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn agents_follow_a_home_that_was_moved() {
    let world = world();
    let model = doer(&world, "pwd; echo learned >> note");
    let go = [
        "run",
        "--create-agent",
        "--agent",
        "scout",
        "--model",
        &model,
        "go",
    ];
    let ran = world.run(&go);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let elsewhere = world.path().join("elsewhere");
    std::fs::rename(world.home(), &elsewhere).unwrap();
    let home = elsewhere.to_str().unwrap();
    let ran = world.run_in(&go, b"", &[("HOLON_HOME", home)]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let agent_home = elsewhere.join("agents/scout");
    assert!(
        ran.stdout.contains(agent_home.to_str().unwrap()),
        "{}",
        ran.stdout
    );
    let note = std::fs::read_to_string(agent_home.join("note")).unwrap();
    assert_eq!(note, "learned\nlearned\n");
    assert!(!world.home().exists(), "nothing is made at the old place");
}
