//! `--connect URL --token-file FILE`: every command that talks to a host does so with one of another machine, and with
//! no other.

use crate::processes::ProcessCleanup;
use crate::support::{hello, until, world};
use holon_testkit::{ProgramOutput, World};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt as _;

/// A host, and a place without one from which it is asked.
struct Apart {
    far: World,
    near: World,
    _served: holon_testkit::HostProcess,
    url: String,
}

impl Apart {
    fn new() -> Self {
        let far = world();
        let served = far.serve(&["--model", &hello(&far)]);
        let url = format!("http://{}", served.addr);
        Self {
            far,
            near: world(),
            _served: served,
            url,
        }
    }

    fn token_file(&self) -> String {
        let path = self.far.home().join("run/control.token");
        path.to_str().unwrap().to_owned()
    }

    /// Runs a command at the place without a host, with these options.
    fn run(&self, args: &[&str]) -> ProgramOutput {
        let file = self.token_file();
        let options = ["--connect", &self.url, "--token-file", &file];
        self.near.run(&[args, &options].concat())
    }

    /// The same with these options before the command, which may end with the words of another one.
    fn run_before(&self, options: &[&str], command: &[&str]) -> ProgramOutput {
        let file = self.token_file();
        let host = ["--connect", &self.url, "--token-file", &file];
        self.near.run(&[&host, options, command].concat())
    }

    fn json(&self, args: &[&str]) -> Value {
        let ran = self.run(&[args, &["--json"]].concat());
        assert_eq!(ran.code, Some(0), "{args:?}: {ran:?}");
        ran.json()
    }
}

/// A command line for the host at the URL. `{name}` stands for what an earlier answer named.
struct Step {
    line: &'static str,
    /// Name under which a field of the answer is kept, and the pointer to it.
    keeps: Option<(&'static str, &'static str)>,
    /// Code with which the host refuses it; absent if it is done.
    refusal: Option<&'static str>,
}

const fn done(line: &'static str) -> Step {
    Step {
        line,
        keeps: None,
        refusal: None,
    }
}

const fn kept(line: &'static str, name: &'static str, pointer: &'static str) -> Step {
    Step {
        keeps: Some((name, pointer)),
        ..done(line)
    }
}

const fn refused(line: &'static str, code: &'static str) -> Step {
    Step {
        refusal: Some(code),
        ..done(line)
    }
}

/// Every command that talks to a host, in an order in which each has what it needs.
const REMOTE: &[Step] = &[
    done("status"),
    done("prompt hello"),
    done("run hello --agent main"),
    done("run hello"),
    done("tail"),
    done("events"),
    done("transcript"),
    done("explain"),
    done("debug prompt"),
    done("debug latency"),
    done("context show"),
    done("context fold"),
    done("context limit 40000"),
    refused("context pin 99", "turn_not_found"),
    refused("context unpin 99", "turn_not_found"),
    done("context clear"),
    done("agent create other"),
    done("agent list"),
    done("agent tree"),
    done("agent status other"),
    done("agent stop other"),
    done("agent start other"),
    refused("agent abort other", "no_current_run"),
    done("agent model get other"),
    done("agent model set {model} other"),
    done("agent model clear other"),
    done("agent clone other third"),
    done("agent export other --out other.tar"),
    done("agent import other.tar --as fourth"),
    done("agent archive fourth"),
    done("work list"),
    kept("work create tidy --agent other", "item", "/id"),
    done("work show {item} --agent other"),
    done("work update {item} --objective sweep --agent other"),
    done("work resume {item} --agent other"),
    done("work complete {item} --agent other"),
    kept("task start --accepts-input -- cat", "task", "/task_id"),
    done("task list"),
    done("task show {task}"),
    done("task input {task} words"),
    done("task output {task}"),
    done("task stop {task}"),
    done("wait list"),
    refused("wait cancel wait_00000000000000000000", "wait_not_found"),
    kept("timer create --after 1h", "timer", "/id"),
    done("timer list"),
    done("timer show {timer}"),
    done("timer cancel {timer}"),
    kept("workspace attach {root}", "workspace", "/workspace_id"),
    done("workspace list"),
    done("workspace use {workspace}"),
    done("workspace exit"),
    done("workspace detach {workspace}"),
    done("worktree list"),
    done("worktree clean"),
    done("wake main look"),
    done("memory rebuild"),
    done("memory search hello"),
    done("memory episodes"),
    done("storage report"),
    done("storage prune --older-than 1 --dry-run"),
    refused("memory get brief:none", "memory_source_not_found"),
    done("skills list"),
    done("skills install ghx --builtin"),
    done("skills uninstall ghx"),
    done("delivery add desk --command true"),
    done("delivery list"),
    done("delivery test desk"),
    done("delivery retry desk"),
    done("delivery remove desk"),
    done("usage"),
    done("budget set --agent main --tokens 1000000"),
    done("budget show"),
    done("budget clear --agent main"),
    kept(
        "binding add main --transport chat --actor jo --route room --callback http://127.0.0.1:9/in --auth none",
        "binding",
        "/binding/binding_id",
    ),
    done("binding list main"),
    done("binding revoke main {binding}"),
    kept("trigger create --mode wake_hint", "trigger", "/id"),
    done("trigger list"),
    done("trigger show {trigger}"),
    done("trigger rotate {trigger}"),
    done("trigger revoke {trigger}"),
    done("webhook set main --allow-unsigned"),
    done("webhook show main"),
    done("webhook remove main"),
    done("token create reader --scope read"),
    done("token list"),
    done("token revoke reader"),
    done("agent delete other --yes"),
];

/// Commands of this machine, and the console, which has tests of its own.
const LOCAL: &[&str] = &[
    "init",
    "serve",
    "daemon",
    "service",
    "solve",
    "tui",
    "template",
    "config",
    "explain-error",
    "backup",
    "restore",
    "doctor",
    "demo",
    "completions",
    "man-pages",
];

/// Lists the commands without subcommands, from the reference that is made from the command line itself.
fn commands() -> Vec<&'static str> {
    let reference = include_str!("../../../../docs/reference/cli.md");
    let named: Vec<&str> = reference
        .lines()
        .filter_map(|line| line.trim_start_matches('#').strip_prefix(" `holon "))
        .filter_map(|rest| rest.strip_suffix('`'))
        .collect();
    let is_group = |name: &str| {
        let prefix = format!("{name} ");
        named.iter().any(|other| other.starts_with(&prefix))
    };
    let leaves = named.iter().filter(|name| !is_group(name));
    leaves.copied().collect()
}

#[test]
fn every_command_is_known_to_talk_to_a_host_or_to_work_on_this_machine() {
    let commands = commands();
    assert!(commands.len() > 100, "{commands:?}");
    for command in commands {
        let is_of = |line: &str| line == command || line.starts_with(&format!("{command} "));
        let is_remote = REMOTE.iter().any(|step| is_of(step.line));
        let first = command.split(' ').next().unwrap();
        let is_local = LOCAL.contains(&first);
        assert!(
            is_remote != is_local,
            "holon {command} needs a line in REMOTE or its first word in LOCAL"
        );
    }
}

#[test]
fn every_command_that_talks_to_a_host_takes_one_at_a_url() {
    let apart = Apart::new();
    let _swept = ProcessCleanup(&apart.far);
    let far_root = apart.far.path().join("user").to_str().unwrap().to_owned();
    let mut names = vec![
        ("root".to_owned(), far_root),
        ("model".to_owned(), hello(&apart.far)),
    ];
    for step in REMOTE {
        let filled = |word: &str| {
            let mut word = word.to_owned();
            for (name, value) in &names {
                word = word.replace(&format!("{{{name}}}"), value);
            }
            word
        };
        let words: Vec<String> = step.line.split(' ').map(filled).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let ran = apart.run_before(&["--json"], &words);
        match step.refusal {
            None => assert_eq!(ran.code, Some(0), "{words:?}: {ran:?}"),
            Some(code) => {
                assert_eq!(ran.code, Some(1), "{words:?}: {ran:?}");
                let error: Value = serde_json::from_str(&ran.stderr).unwrap();
                assert_eq!(error["code"], code, "{words:?}: {ran:?}");
            }
        }
        if let Some((name, pointer)) = step.keeps {
            let answer = ran.json();
            let value = answer.pointer(pointer).and_then(Value::as_str);
            let value = value.unwrap_or_else(|| panic!("{pointer} of {words:?}: {answer}"));
            names.push((name.to_owned(), value.to_owned()));
        }
    }
    assert!(
        !apart.near.home().exists(),
        "nothing of this machine is used"
    );
    let listed = apart.json(&["agent", "list"]);
    assert!(listed.to_string().contains("third"), "{listed}");
    assert!(apart.far.run(&["agent", "list"]).answer().contains("third"));
}

#[test]
fn a_run_at_a_url_reads_no_settings_of_this_machine() {
    let apart = Apart::new();
    let file = apart.token_file();
    let far = ["--connect", &apart.url, "--token-file", &file];
    // A model that is none stops every run that reads the settings of this machine.
    let run = |options: &[&str]| {
        let mut command = apart.near.command();
        command.args(["run", "hello", "--agent", "main"]);
        command.args(options).env("HOLON_MODEL", "no model");
        command.output().unwrap()
    };
    let ran = run(&far);
    assert!(ran.status.success(), "{ran:?}");
    let ran = run(&[]);
    assert!(!ran.status.success(), "{ran:?}");
}

#[test]
fn a_follower_at_a_url_sees_what_the_host_stores() {
    let apart = Apart::new();
    let file = apart.token_file();
    let follow = ["events", "--follow", "--after", "0", "--json"];
    let mut follower = apart
        .near
        .command()
        .args(follow)
        .args(["--connect", &apart.url, "--token-file", &file])
        .stdout(std::fs::File::create(apart.near.path().join("seen")).unwrap())
        .spawn()
        .unwrap();
    apart.json(&["prompt", "hello"]);
    until("the follower sees the message", || {
        let seen = std::fs::read_to_string(apart.near.path().join("seen")).unwrap();
        seen.contains("message_enqueued") || seen.contains("message_admitted")
    });
    follower.kill().unwrap();
    follower.wait().unwrap();
}

#[test]
fn a_host_that_refuses_or_is_not_there_is_not_replaced_by_that_of_this_machine() {
    let apart = Apart::new();
    // A host on this machine that would answer.
    let _near = apart.near.serve(&["--model", &hello(&apart.near)]);
    let own = apart.near.home().join("run/control.token");
    let own = own.to_str().unwrap();
    let wrong = apart
        .near
        .run(&["status", "--connect", &apart.url, "--token-file", own]);
    assert_eq!(wrong.code, Some(1), "{wrong:?}");
    assert!(
        wrong
            .stderr
            .contains("--token-file does not hold a token of that host"),
        "{wrong:?}"
    );
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let gone = format!("http://{}", free.local_addr().unwrap());
    drop(free);
    for args in [&["status"][..], &["run", "hello"], &["prompt", "hello"]] {
        let options = ["--connect", &gone, "--token-file", own];
        let ran = apart.near.run(&[args, &options].concat());
        assert_eq!(ran.code, Some(3), "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(&gone), "{ran:?}");
        assert!(!ran.stderr.contains("holon daemon start"), "{ran:?}");
    }
}

#[test]
fn options_that_name_no_host_or_two_are_refused() {
    let apart = Apart::new();
    let token = apart.token_file();
    let open = apart.near.write("open", &"a".repeat(40));
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o644)).unwrap();
    let open = open.to_str().unwrap();
    let url = apart.url.as_str();
    let https = url.replace("http:", "https:");
    for (args, code, words) in [
        (&["status", "--connect", url][..], 2, "needs --token-file"),
        (
            &["status", "--token-file", &token],
            2,
            "goes with --connect",
        ),
        (
            &["status", "--connect", &https, "--token-file", &token],
            2,
            "speaks http, not https",
        ),
        (
            &["status", "--connect", "box", "--token-file", &token],
            2,
            "takes a URL",
        ),
        (
            &["status", "--connect", url, "--token-file", "missing"],
            1,
            "there is no token file",
        ),
        (
            &["status", "--connect", url, "--token-file", open],
            1,
            "chmod 600",
        ),
        (
            &[
                "status",
                "--home",
                "/x",
                "--connect",
                url,
                "--token-file",
                &token,
            ],
            2,
            "name two hosts",
        ),
        (
            &[
                "workspace",
                "attach",
                ".",
                "--connect",
                url,
                "--token-file",
                &token,
            ],
            2,
            "name a path of the host",
        ),
    ] {
        let ran = apart.near.run(args);
        assert_eq!(ran.code, Some(code), "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(words), "{args:?}: {ran:?}");
    }
    for args in [
        &["daemon", "status"][..],
        &["daemon", "stop"],
        &["service", "status"],
        &["serve"],
        &["init"],
        &["config", "list"],
        &["template", "list"],
        &["demo"],
    ] {
        let ran = apart.run(args);
        assert_eq!(ran.code, Some(2), "{args:?}: {ran:?}");
        assert!(ran.stderr.contains("on this machine only"), "{ran:?}");
    }
    assert!(!apart.near.home().exists());
}

#[test]
fn a_command_of_this_machine_refuses_a_token_file_that_it_would_not_read() {
    let world = world();
    for args in [
        &["explain-error"][..],
        &["doctor"],
        &["daemon", "status"],
        &["daemon", "stop"],
        &["config", "list"],
    ] {
        let refused = world.run(&[args, &["--token-file", "token"]].concat());
        assert_eq!(refused.code, Some(2), "{args:?}: {refused:?}");
        assert!(
            refused.stderr.contains("leave out --token-file"),
            "{args:?}: {refused:?}"
        );
    }
    let read = world.run(&["daemon", "start", "--port", "0", "--token-file", "missing"]);
    assert!(!read.stderr.contains("leave out"), "{read:?}");
    assert_eq!(read.code, Some(1), "it reads the file: {read:?}");
}

#[test]
fn a_position_of_another_store_is_refused_and_one_of_this_store_is_not() {
    let world = world();
    let _served = world.serve(&["--model", &hello(&world)]);
    let events = |epoch: &str, more: &[&str]| {
        let args = ["events", "--after", "1", "--json", "--epoch", epoch];
        world.run(&[&args, more].concat())
    };
    let refused = events("00000000", &[]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("epoch_changed"), "{refused:?}");
    let replaced = events("00000000", &["--follow"]);
    assert_eq!(replaced.code, Some(1), "{replaced:?}");
    assert!(replaced.stderr.contains("store_replaced"), "{replaced:?}");
    let status = world.run(&["daemon", "status", "--json"]).json();
    let epoch = status["epoch"]
        .as_str()
        .unwrap_or_else(|| panic!("{status}"));
    let read = events(epoch, &[]);
    assert_eq!(read.code, Some(0), "{read:?}");
    assert_eq!(events("a b", &[]).code, Some(2), "it is no epoch");
}

#[test]
fn a_proposed_command_asks_the_same_host_and_a_creation_says_what_it_did() {
    let apart = Apart::new();
    let host = format!(
        "--connect {} --token-file {}",
        apart.url,
        apart.token_file()
    );
    let unknown = apart.run(&["status", "--agent", "nobody"]);
    let hint = format!("holon {host} agent list");
    assert!(unknown.stderr.contains(&hint), "{unknown:?}");
    let capped = apart.run(&["budget", "set", "--agent", "main", "--tokens", "1"]);
    assert_eq!(capped.code, Some(0), "{capped:?}");
    let waits = apart.run(&["run", "--agent", "main", "hello"]);
    let hint = format!("holon {host} status --agent main");
    assert!(waits.stderr.contains(&hint), "{waits:?}");
    let none = apart.run(&["work", "list"]);
    let hint = format!("holon {host} work create");
    assert!(none.stdout.contains(&hint), "{none:?}");
    for (said, created) in [("agent scout is created", true), ("existed already", false)] {
        let made = apart.run(&["agent", "create", "scout"]);
        assert_eq!(made.code, Some(0), "{made:?}");
        assert!(made.stdout.contains(said), "{created}: {made:?}");
    }
    let again = apart.json(&["agent", "create", "scout"]);
    assert_eq!(again["created"], false, "{again}");
    let home = again["agent_home"].as_str().unwrap();
    assert!(home.ends_with("/agents/scout"), "{home}");
}

#[test]
fn status_explain_and_tail_propose_commands_for_the_same_host() {
    let apart = Apart::new();
    let host = format!(
        "holon --connect {} --token-file {}",
        apart.url,
        apart.token_file()
    );
    apart.json(&["agent", "create", "scout"]);
    apart.json(&["agent", "stop", "scout"]);
    let start = format!("{host} agent start scout");
    for command in ["status", "explain"] {
        let shown = apart.run(&[command, "--agent", "scout"]);
        assert!(shown.stdout.contains(&start), "{command}: {shown:?}");
        assert!(
            !shown.stdout.contains("holon agent"),
            "{command}: {shown:?}"
        );
    }
    apart.json(&["budget", "set", "--agent", "main", "--tokens", "1"]);
    let waits = apart.run(&["run", "--agent", "main", "hello"]);
    assert_ne!(waits.code, Some(0), "{waits:?}");
    let raise = format!("{host} budget set");
    for command in ["tail", "status", "explain"] {
        let shown = apart.run(&[command, "--agent", "main"]);
        assert!(shown.stdout.contains(&raise), "{command}: {shown:?}");
        assert!(
            !shown.stdout.contains("holon budget"),
            "{command}: {shown:?}"
        );
    }
}

#[test]
fn a_stored_text_that_holds_a_command_is_shown_as_it_was_written() {
    let apart = Apart::new();
    let objective = "run: holon status, then holon work list";
    let made = apart.json(&["work", "create", objective]);
    let item = made["id"].as_str().unwrap_or_else(|| panic!("{made}"));
    let shown = apart.run(&["work", "show", item]);
    assert!(shown.stdout.contains(objective), "{shown:?}");
    assert!(!shown.stdout.contains("--connect"), "{shown:?}");
}
