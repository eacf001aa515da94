//! `holon daemon`: a host in the background is started once, found again, and stopped by proof of its identity.

use crate::models::{Entry, configure};
use crate::processes;
use crate::support::{hello, silent, until, world};
use holon_testkit::World;
use holon_testkit::provider::{Fault, Protocol, Provider, Round, Script};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;

/// A world whose host in the background is stopped when dropped.
pub(crate) struct DaemonWorld(pub(crate) World);

impl DaemonWorld {
    pub(crate) fn new() -> Self {
        Self(world())
    }

    /// Runs `holon daemon` with these arguments and a free port, and returns the result.
    pub(crate) fn start(&self, args: &[&str]) -> Value {
        let mut line = vec!["daemon", "start", "--port", "0", "--json"];
        line.extend(args);
        let ran = self.0.run(&line);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.json()
    }

    pub(crate) fn status(&self) -> Value {
        self.0.run(&["daemon", "status", "--json"]).json()
    }

    pub(crate) fn stop(&self) -> Value {
        let ran = self.0.run(&["daemon", "stop", "--json"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.json()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.home().join("run").join(name).exists()
    }
}

impl Drop for DaemonWorld {
    fn drop(&mut self) {
        drop(self.0.run(&["daemon", "stop"]));
    }
}

pub(crate) fn pid_of(view: &Value) -> u64 {
    view["pid"]
        .as_u64()
        .unwrap_or_else(|| panic!("no pid: {view}"))
}

pub(crate) fn signal(pid: u64, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    let handle = pidfd_open(pid, PidfdFlags::empty()).unwrap();
    pidfd_send_signal(&handle, signal).unwrap();
}

pub(crate) fn code_of(ran: &holon_testkit::ProgramOutput) -> String {
    let body: Value = serde_json::from_str(ran.stderr.lines().last().unwrap_or_default())
        .unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    body["code"].as_str().unwrap_or_default().to_owned()
}

/// Returns the fields of `/proc/PID/stat` after the name: state, parent, group, session, ...
fn stat(pid: u64) -> Vec<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    fields.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn a_host_without_a_model_says_so_and_its_agents_need_one() {
    let daemon = DaemonWorld::new();
    let model = hello(&daemon.0);
    let said = |args: &[&str]| {
        let ran = daemon.0.run(args);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.stderr
    };
    let started = said(&["daemon", "start", "--port", "0", "--model", &model]);
    assert!(!started.contains("no default model"), "{started}");
    // The options of a start do not last.
    let restarted = said(&["daemon", "restart", "--port", "0"]);
    assert!(restarted.contains("no default model"), "{restarted}");
    assert!(restarted.contains("holon init"), "{restarted}");
    let note = "note: the restart changed ";
    let noted = restarted.lines().find(|line| line.starts_with(note));
    let noted = noted.expect("a note of what changed");
    assert!(
        noted.contains("model") && noted.contains("http://127.0.0.1:"),
        "{noted}"
    );
    let again = said(&["daemon", "restart", "--port", "0"]);
    assert!(!again.contains(note), "{again}");
    let status = daemon.0.run(&["status"]);
    assert!(
        status.answer().contains("\nneeds you  a model: holon init"),
        "{status:?}"
    );
    let misspelt = daemon.0.run(&["status", "--agent", "mian"]);
    assert!(
        misspelt.stderr.contains("next: did you mean main?"),
        "{misspelt:?}"
    );
}

#[test]
fn a_host_is_started_once_found_again_from_anywhere_and_stopped() {
    let daemon = DaemonWorld::new();
    let model = hello(&daemon.0);
    let started = daemon.start(&["--model", &model]);
    assert_eq!(started["action"], "started");
    assert_eq!(started["state"], "running");
    let again = daemon.start(&["--model", &model]);
    assert_eq!(again["action"], "already_running");
    assert_eq!(pid_of(&again), pid_of(&started));
    let elsewhere = daemon
        .0
        .command()
        .current_dir("/")
        .args([
            "daemon", "start", "--port", "0", "--json", "--model", &model,
        ])
        .output()
        .unwrap();
    let elsewhere: Value = serde_json::from_slice(&elsewhere.stdout).unwrap();
    assert_eq!(elsewhere["action"], "already_running", "{elsewhere}");
    assert_eq!(pid_of(&elsewhere), pid_of(&started));
    let answer = daemon.0.run(&["run", "hello"]);
    assert_eq!(answer.answer().trim(), "Hello there.");
    assert_eq!(daemon.stop()["action"], "stopped");
    assert!(!daemon.has("daemon.json") && !daemon.has("holon.sock"));
    assert_eq!(daemon.stop()["action"], "not_running");
}

#[test]
fn a_change_that_the_host_took_over_is_no_other_configuration() {
    let daemon = DaemonWorld::new();
    let (first, second) = (hello(&daemon.0), silent(&daemon.0));
    let set = |model: &str| {
        daemon
            .0
            .run(&["config", "set", "model.default", model, "--json"])
    };
    assert_eq!(set(&first).code, Some(0));
    let started = daemon.start(&[]);
    assert_eq!(set(&second).json()["applied_via"], "daemon");
    let again = daemon.start(&[]);
    assert_eq!(again["action"], "already_running", "{again}");
    assert_eq!(pid_of(&again), pid_of(&started));
    assert_eq!(daemon.status()["config_fingerprint_match"], true);
    // The file says what it said at the start, and the host was not told.
    let file = daemon.0.home().join("config.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let text = text.replace(&second, &first);
    std::fs::write(&file, text).unwrap();
    let refused = daemon.0.run(&["daemon", "start", "--port", "0", "--json"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert_eq!(code_of(&refused), "config_differs");
}

#[test]
fn a_start_with_another_token_is_refused_also_if_the_file_is_the_same() {
    let daemon = DaemonWorld::new();
    let model = hello(&daemon.0);
    let write = |token: &str| {
        let path = daemon.0.write("token", token);
        let private = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(&path, private).unwrap();
        path.display().to_string()
    };
    let file = write("0123456789abcdefghijklmnopqrstuv");
    let args = ["--model", &model, "--token-file", &file];
    daemon.start(&args);
    assert_eq!(daemon.start(&args)["action"], "already_running");
    write("vutsrqponmlkjihgfedcba9876543210");
    let line = ["daemon", "start", "--port", "0", "--json"];
    let refused = daemon.0.run(&[&line[..], &args].concat());
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert_eq!(code_of(&refused), "config_differs");
    daemon.stop();
    let given = ["--model", &model, "--token-file", "-"];
    let given = [&line[..], &given].concat();
    let start = |token: &[u8]| daemon.0.run_with(&given, token);
    let one = b"0123456789abcdefghijklmnopqrstuv";
    assert_eq!(start(one).json()["action"], "started");
    assert_eq!(start(one).json()["action"], "already_running");
    let refused = start(b"vutsrqponmlkjihgfedcba9876543210");
    assert_eq!(code_of(&refused), "config_differs", "{refused:?}");
    assert!(
        refused.stderr.contains("another configuration: the token"),
        "{refused:?}"
    );
}

#[test]
fn another_configuration_is_refused_until_a_restart() {
    let daemon = DaemonWorld::new();
    let model = hello(&daemon.0);
    let started = daemon.start(&["--model", &model]);
    let other = silent(&daemon.0);
    let args = [
        "daemon", "start", "--port", "0", "--json", "--model", &other,
    ];
    let refused = daemon.0.run(&args);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert_eq!(code_of(&refused), "config_differs");
    assert!(
        refused.stderr.contains("holon daemon restart"),
        "{refused:?}"
    );
    assert!(
        refused
            .stderr
            .contains("another configuration: model.default"),
        "{refused:?}"
    );
    assert!(!daemon.has("startup_failure.json"), "no start was tried");
    assert_eq!(
        pid_of(&daemon.status()),
        pid_of(&started),
        "the host goes on"
    );
    let args = [
        "daemon", "restart", "--port", "0", "--json", "--model", &other,
    ];
    let restarted = daemon.0.run(&args).json();
    assert_eq!(restarted["action"], "restarted");
    assert_ne!(pid_of(&restarted), pid_of(&started));
    assert_eq!(
        daemon.start(&["--model", &other])["action"],
        "already_running"
    );
}

#[test]
fn a_status_shows_the_host_and_says_when_its_settings_have_changed() {
    let daemon = DaemonWorld::new();
    let before = daemon.0.run(&["daemon", "status", "--json"]);
    assert_eq!(before.code, Some(3), "no host runs: {before:?}");
    assert_eq!(before.json()["state"], "stopped");
    assert!(!daemon.0.home().exists(), "a look creates nothing");
    let started = daemon.start(&["--model", &hello(&daemon.0)]);
    until("the agent is prepared", || {
        daemon.status()["activity"]["state"] == "idle"
    });
    let ran = daemon.0.run(&["daemon", "status", "--json"]);
    assert_eq!(ran.code, Some(0));
    let status = ran.json();
    let home = daemon.0.home();
    for (field, expected) in [
        ("state", Value::from("running")),
        ("healthy", true.into()),
        ("home_dir", home.to_str().into()),
        ("socket_path", home.join("run/holon.sock").to_str().into()),
        ("http_addr", started["http_addr"].clone()),
        ("pid", started["pid"].clone()),
        ("control_connectivity", "connected".into()),
        ("config_fingerprint_match", true.into()),
        ("last_failure", Value::Null),
        ("access", "local".into()),
        ("log_path", home.join("run/daemon.log").to_str().into()),
        ("stale_files", Value::Array(Vec::new())),
    ] {
        assert_eq!(status[field], expected, "{field}: {status}");
    }
    assert_eq!(status["activity"]["state"], "idle", "{status}");
    assert_eq!(status["activity"]["active_agent_count"], 1, "{status}");
    assert!(
        status["runtime_config_fingerprint"]
            .as_str()
            .is_some_and(|text| text.len() == 32)
    );
    let key = "runtime.default_tool_output_tokens";
    assert_eq!(daemon.0.run(&["config", "set", key, "5000"]).code, Some(0));
    assert_eq!(daemon.status()["config_fingerprint_match"], false);
    let words = daemon.0.run(&["daemon", "status"]);
    assert!(
        words.stdout.contains(
            "settings: changed since the host started (runtime.default_tool_output_tokens)"
        ),
        "{words:?}"
    );
    assert!(
        words
            .stdout
            .contains("idle: 1 agent, 0 working, 0 waiting; 0 tasks"),
        "{words:?}"
    );
}

#[test]
fn a_host_in_the_background_has_a_session_of_its_own_and_nothing_of_its_starter() {
    let daemon = DaemonWorld::new();
    let pid = pid_of(&daemon.start(&["--model", &hello(&daemon.0)]));
    let session = stat(pid)[3].clone();
    assert_eq!(session, pid.to_string());
    let open = |fd: u32| std::fs::read_link(format!("/proc/{pid}/fd/{fd}")).unwrap();
    assert_eq!(open(0), Path::new("/dev/null"));
    assert_eq!(open(1), Path::new("/dev/null"));
    assert_eq!(open(2), daemon.0.home().join("run/daemon.log"));
    // A terminal that closes sends SIGHUP, which a host without a terminal takes as a request to reload.
    signal(pid, Signal::HUP);
    until("the settings are read again", || {
        let log = daemon.0.run(&["daemon", "logs"]);
        log.stdout.contains("settings were read again")
    });
    assert_eq!(pid_of(&daemon.status()), pid);
}

#[test]
fn what_a_crashed_host_left_is_reported_and_removed() {
    let daemon = DaemonWorld::new();
    let model = hello(&daemon.0);
    let first = pid_of(&daemon.start(&["--model", &model]));
    processes::kill(i32::try_from(first).unwrap());
    let status = daemon.status();
    assert_eq!(status["state"], "stale", "{status}");
    assert_eq!(
        status["stale_files"].as_array().unwrap().len(),
        2,
        "{status}"
    );
    let second = daemon.start(&["--model", &model]);
    assert_eq!(second["action"], "started");
    processes::kill(i32::try_from(pid_of(&second)).unwrap());
    assert_eq!(daemon.stop()["action"], "cleaned");
    assert!(!daemon.has("daemon.json") && !daemon.has("holon.sock"));
    assert_eq!(daemon.status()["state"], "stopped");
    let restart = [
        "daemon", "restart", "--port", "0", "--json", "--model", &model,
    ];
    assert_eq!(daemon.0.run(&restart).json()["action"], "restarted");
}

#[test]
fn files_that_name_a_living_process_without_the_lock_are_stale_and_it_is_left_alone() {
    let daemon = DaemonWorld::new();
    let model = hello(&daemon.0);
    let first = pid_of(&daemon.start(&["--model", &model]));
    let record = daemon.0.home().join("run/daemon.json");
    let text = std::fs::read_to_string(&record).unwrap();
    processes::kill(i32::try_from(first).unwrap());
    // The system has given the id to another process: to one that must not be signalled.
    let mut bystander = std::process::Command::new("sleep")
        .arg("600")
        .spawn()
        .unwrap();
    let reused = text.replace(&first.to_string(), &bystander.id().to_string());
    std::fs::write(&record, reused).unwrap();
    let lock = daemon.0.home().join("run/holon.lock");
    std::fs::write(&lock, format!("{}\nstarted 1\nhost\n", bystander.id())).unwrap();
    assert_eq!(daemon.status()["state"], "stale");
    assert_eq!(daemon.stop()["action"], "cleaned");
    assert!(bystander.try_wait().unwrap().is_none(), "it was signalled");
    assert_eq!(daemon.start(&["--model", &model])["action"], "started");
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}

#[test]
fn a_host_that_cannot_be_asked_is_stopped_by_signals() {
    let daemon = DaemonWorld::new();
    let model = hello(&daemon.0);
    let socket = daemon.0.home().join("run/holon.sock");
    daemon.start(&["--model", &model]);
    // The host cannot create its socket again while this is in the way.
    std::fs::remove_file(&socket).unwrap();
    std::fs::create_dir(&socket).unwrap();
    assert_eq!(daemon.stop()["action"], "terminated");
    std::fs::remove_dir(&socket).unwrap();
    let stuck = pid_of(&daemon.start(&["--model", &model]));
    signal(stuck, Signal::STOP);
    assert_eq!(daemon.stop()["action"], "killed");
    assert!(
        !daemon.has("daemon.json") && !daemon.has("holon.sock"),
        "a stop leaves nothing"
    );
    assert_eq!(daemon.status()["state"], "stopped");
}

#[test]
fn a_single_run_is_neither_stopped_nor_displaced() {
    let daemon = DaemonWorld::new();
    let model = silent(&daemon.0);
    let mut run = daemon
        .0
        .command()
        .args(["run", "--model", &model, "wait"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("the run owns the home", || {
        daemon.status()["pid"].as_u64() == Some(u64::from(run.id()))
    });
    let stop = daemon.0.run(&["daemon", "stop", "--json"]);
    assert_eq!(
        (stop.code, code_of(&stop).as_str()),
        (Some(1), "home_in_use"),
        "{stop:?}"
    );
    let start = daemon.0.run(&["daemon", "start", "--port", "0", "--json"]);
    assert_eq!(
        (start.code, code_of(&start).as_str()),
        (Some(1), "home_in_use"),
        "{start:?}"
    );
    assert!(run.try_wait().unwrap().is_none(), "the run goes on");
    run.kill().unwrap();
    run.wait().unwrap();
}

#[test]
fn the_newest_failure_of_an_agent_is_shown_while_no_host_runs() {
    let daemon = DaemonWorld::new();
    let refused = Fault::Status {
        code: 400,
        headers: Vec::new(),
        body: r#"{"error":{"message":"no such thing"}}"#.to_owned(),
    };
    let provider = Provider::start(Script::always(Round::fault(refused)));
    let entry = Entry::new("fake", Protocol::Chat, provider.base_url());
    configure(&daemon.0, "model.default = \"fake/reader\"\n", &[entry]);
    daemon.start(&[]);
    let ran = daemon.0.run(&["run", "Go.", "--agent", "main"]);
    assert_ne!(ran.code, Some(0), "{ran:?}");
    daemon.stop();
    let shown = daemon.status();
    assert_eq!(shown["state"], "stopped", "{shown}");
    let failure = &shown["last_failure"];
    assert_eq!(failure["agent_id"], "main", "{failure}");
    assert_eq!(failure["phase"], "runtime_turn", "{failure}");
    assert!(
        failure["detail_hint"]
            .as_str()
            .unwrap()
            .contains("explain main"),
        "{failure}"
    );
}

#[test]
fn a_start_that_fails_is_kept_until_one_succeeds() {
    let daemon = DaemonWorld::new();
    let model = hello(&daemon.0);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap().to_string();
    let failed = daemon.0.run(&[
        "daemon", "start", "--listen", &addr, "--json", "--model", &model,
    ]);
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert_eq!(code_of(&failed), "address_unavailable");
    assert!(failed.stderr.contains("holon daemon logs"), "{failed:?}");
    let failure = daemon.status()["last_failure"].clone();
    assert_eq!(failure["phase"], "startup", "{failure}");
    assert!(
        failure["summary"].as_str().unwrap().contains(&addr),
        "{failure}"
    );
    assert_eq!(failure["detail_hint"], "holon daemon logs");
    let logs = daemon.0.run(&["daemon", "logs", "--json"]).json();
    assert_eq!(logs["startup_failure"]["summary"], failure["summary"]);
    assert_eq!(logs["last_failure"]["code"], "address_unavailable");
    daemon.start(&["--model", &model]);
    assert_eq!(daemon.status()["last_failure"], Value::Null);
    for name in [
        "startup_failure.json",
        "shutdown_failure.json",
        "last_failure.json",
    ] {
        assert!(!daemon.has(name), "{name}");
    }
}

#[test]
fn a_stop_in_the_middle_of_a_turn_stops_no_agent() {
    let daemon = DaemonWorld::new();
    let model = silent(&daemon.0);
    daemon.start(&["--model", &model]);
    assert_eq!(daemon.0.run(&["prompt", "take your time"]).code, Some(0));
    until("the turn runs", || {
        daemon.status()["activity"]["state"] == "processing"
    });
    assert_eq!(daemon.status()["activity"]["processing_agent_count"], 1);
    assert_eq!(daemon.stop()["action"], "stopped");
    daemon
        .0
        .write("silent.json", r#"{"rounds":[{"text":"Here I am again."}]}"#);
    daemon.start(&["--model", &model]);
    let told = crate::looking::follow(&daemon.0, "main", 1);
    assert_eq!(told[0]["text"], "Here I am again.");
}
