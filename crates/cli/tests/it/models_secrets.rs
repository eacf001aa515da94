//! Keys go to the provider they are for and nowhere else: not to disk, not to the screen, not into logs, not to the
//! commands of agents, whatever goes wrong and however much is logged.

use crate::models::{Entry, configure, together};
use crate::support::world;
use holon_testkit::World;
use holon_testkit::provider::{Fault, Protocol, Provider, Recorded, Round, Script};
use serde_json::json;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// The key that must not be found.
const CANARY: &str = "sk-canary-0b5e1d77aa42";

/// Files under a directory that contain the key.
fn leaks(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(leaks(&path));
        } else if path.is_file() {
            let content = std::fs::read(&path).unwrap();
            let mut windows = content.windows(CANARY.len());
            if windows.any(|window| window == CANARY.as_bytes()) {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

/// Where the key comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kept {
    /// A variable of the host's environment.
    Variable,
    /// A profile that was stored by the program itself.
    Profile,
    /// A command that prints it.
    Command,
    /// The login of another program.
    Login,
}

impl Kept {
    /// Puts the key where it is kept, and writes it as the settings do.
    fn put(self, world: &World) -> String {
        let secret = |name: &str, content: &str| {
            let path = world.write(name, content);
            let private = std::fs::Permissions::from_mode(0o600);
            std::fs::set_permissions(&path, private).unwrap();
            path.display().to_string()
        };
        match self {
            Self::Variable => {
                "source = \"env\", env = \"CANARY_KEY\", kind = \"api_key\"".to_owned()
            }
            Self::Profile => {
                let args = ["config", "credentials", "set", "canary", "--stdin"];
                let stored = world.run_with(&args, CANARY.as_bytes());
                assert!(!stored.answer().contains(CANARY), "{stored:?}");
                "source = \"credential_profile\", profile = \"canary\", kind = \"api_key\""
                    .to_owned()
            }
            Self::Command => {
                let path = secret("user/key", CANARY);
                format!(
                    "source = \"credential_process\", command = [\"cat\", {path:?}], kind = \"bearer_token\""
                )
            }
            Self::Login => {
                let login =
                    json!({ "tokens": { "access_token": CANARY, "account_id": "someone" } });
                secret("user/.codex/auth.json", &login.to_string());
                "source = \"external_cli\", external = \"codex_cli\", kind = \"session_token\""
                    .to_owned()
            }
        }
    }
}

/// An agent that prints its environment, a key that is not taken, and a server that repeats what it was sent in every
/// way it can.
fn script() -> Script {
    let script = Script::choose(|request: &Recorded| match request.index {
        0 => Round::text("I look.").call("ExecCommand", json!({ "cmd": "env" })),
        1 => Round::text("Nothing to see."),
        2 => Round::fault(Fault::Unauthorized),
        _ => Round::fault(Fault::Status {
            code: 418,
            headers: vec![("x-echo".to_owned(), CANARY.to_owned())],
            body: format!("<p>your key {CANARY} and {:?}</p>", request.headers),
        }),
    });
    script.key(CANARY)
}

fn key_stays_secret(kept: Kept, protocol: Protocol) {
    let world = world();
    let provider = Provider::start(script());
    let mut entry = Entry::new("fake", protocol, provider.base_url());
    entry.auth = Some(format!("{{ {} }}", kept.put(&world)));
    configure(&world, "model.default = \"fake/model\"\n", &[entry]);
    let mut variables = vec![("RUST_LOG", "trace")];
    if kept == Kept::Variable {
        variables.push(("CANARY_KEY", CANARY));
    }
    let served = world.serve_with(&[], &variables);
    for code in [0, 1, 1] {
        let ran = world.run(&["run", "look", "--agent", "main", "--json"]);
        assert_eq!(ran.code, Some(code), "{kept:?} {protocol:?}: {ran:?}");
        let said = format!("{ran:?}");
        assert!(!said.contains(CANARY), "{kept:?} {protocol:?}: {said}");
    }
    for look in [
        "status",
        "transcript",
        "tail",
        "config doctor",
        "config list",
    ] {
        let mut args: Vec<&str> = look.split(' ').collect();
        args.push("--json");
        let said = format!("{:?}", world.run(&args));
        assert!(!said.contains(CANARY), "{kept:?} {protocol:?}: {said}");
    }
    let home = leaks(&world.home());
    let store = world.home().join("credentials.json").display().to_string();
    let allowed = (kept == Kept::Profile).then_some(store);
    assert_eq!(home, Vec::from_iter(allowed), "{kept:?} {protocol:?}");
    let (_, log) = served.terminate();
    let port = provider.port().to_string();
    assert!(log.contains(&port), "the log tells of calls: {log}");
    assert!(!log.contains(CANARY), "{kept:?} {protocol:?}: {log}");
    let in_body = |request: &Recorded| String::from_utf8_lossy(&request.raw).contains(CANARY);
    let told = provider.finish().iter().any(in_body);
    assert!(!told, "the model is told the key by {kept:?} {protocol:?}");
}

#[test]
fn a_key_is_found_nowhere_but_where_it_is_kept_and_in_the_header_it_is_sent_in() {
    let mut cases: Vec<_> = Protocol::ALL
        .iter()
        .map(|protocol| (Kept::Variable, *protocol))
        .collect();
    cases.push((Kept::Profile, Protocol::Messages));
    cases.push((Kept::Command, Protocol::Chat));
    cases.push((Kept::Login, Protocol::Codex));
    together(&cases, |(kept, protocol)| {
        key_stays_secret(*kept, *protocol)
    });
}

/// What an agent's `env` prints, as its model is told.
fn environment_of_a_command(world: &World, provider: &Provider) -> String {
    let asked = provider.requests().len();
    let ran = world.run(&["run", "look", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let requests = provider.requests().split_off(asked);
    let seen = requests.last().unwrap().tool_outputs().concat();
    assert!(seen.contains("HOLON_AGENT_ID="), "{seen}");
    seen
}

#[test]
fn a_key_a_running_host_is_told_of_is_kept_from_commands_from_then_on() {
    let world = world();
    let looks = Script::choose(|request: &Recorded| match request.tool_outputs().len() {
        0 => Round::text("I look.").call("ExecCommand", json!({ "cmd": "env" })),
        _ => Round::text("Seen."),
    });
    let provider = Provider::start(looks);
    let first = Entry::new("first", Protocol::Chat, provider.base_url());
    configure(&world, "model.default = \"first/one\"\n", &[first]);
    let served = world.serve_with(&[], &[("WORK_LLM_KEY", CANARY)]);
    // Until somebody says so, it is a variable like any other.
    assert!(environment_of_a_command(&world, &provider).contains(CANARY));

    let base_url = provider.base_url();
    let told = |args: &[&str]| {
        let ran = world.run(&[&["config"], args, &["--json"]].concat());
        assert_eq!(ran.json()["applied_via"], "daemon", "{ran:?}");
    };
    told(&[
        "providers",
        "set",
        "work",
        "--base-url",
        &base_url,
        "--credential-env",
        "WORK_LLM_KEY",
    ]);
    assert!(!environment_of_a_command(&world, &provider).contains(CANARY));
    told(&["set", "model.default", "work/one"]);
    assert!(!environment_of_a_command(&world, &provider).contains(CANARY));
    let requests = provider.requests();
    let sent = requests.last().unwrap().header("authorization");
    assert_eq!(sent, Some(format!("Bearer {CANARY}").as_str()));

    // A key does not become public because its provider is gone.
    told(&["set", "model.default", "first/one"]);
    told(&["providers", "remove", "work"]);
    assert!(!environment_of_a_command(&world, &provider).contains(CANARY));
    assert_eq!(served.terminate().0, Some(0));
    provider.finish();
}
