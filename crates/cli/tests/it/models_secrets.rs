//! A key is sent to its provider and appears nowhere else: not on disk, not on the screen, not in logs, and not in
//! commands of agents, after any failure and at any log level.

use crate::models::{Entry, configure, key_in, together};
use crate::support::world;
use holon_testkit::World;
use holon_testkit::provider::{Fault, Protocol, Provider, RecordedRequest, Round, Script};
use serde_json::json;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Key whose value must not be found.
const CANARY: &str = "sk-canary-0b5e1d77aa42";

/// Lists the files under a directory that contain the key.
fn leaks(dir: &Path) -> Vec<String> {
    files_with(dir, CANARY)
}

/// Lists the files under a directory that contain these words, including the log of an open database.
fn files_with(dir: &Path, words: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_with(&path, words));
        } else if path.is_file() {
            let content = std::fs::read(&path).unwrap();
            let mut windows = content.windows(words.len());
            if windows.any(|window| window == words.as_bytes()) {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

/// Source of the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeySource {
    /// A variable of the host's environment.
    Variable,
    /// A profile that the program stored itself.
    Profile,
    /// A command that prints the key.
    Command,
    /// The login of another program.
    Login,
}

impl KeySource {
    /// Puts the key into its source, and returns its settings.
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

/// An agent that prints its environment, a key that is refused, and a server that repeats its input in every possible
/// way.
fn script() -> Script {
    let script = Script::choose(|request: &RecordedRequest| match request.index {
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

fn key_stays_secret(kept: KeySource, protocol: Protocol) {
    let world = world();
    let provider = Provider::start(script());
    let mut entry = Entry::new("fake", protocol, provider.base_url());
    entry.auth = Some(format!("{{ {} }}", kept.put(&world)));
    configure(&world, "model.default = \"fake/model\"\n", &[entry]);
    let mut variables = vec![("RUST_LOG", "trace")];
    if kept == KeySource::Variable {
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
    let allowed = (kept == KeySource::Profile).then_some(store);
    assert_eq!(home, Vec::from_iter(allowed), "{kept:?} {protocol:?}");
    let (_, log) = served.terminate();
    let port = provider.port().to_string();
    assert!(log.contains(&port), "the log tells of calls: {log}");
    assert!(!log.contains(CANARY), "{kept:?} {protocol:?}: {log}");
    let in_body =
        |request: &RecordedRequest| String::from_utf8_lossy(&request.raw).contains(CANARY);
    let told = provider.finish().iter().any(in_body);
    assert!(!told, "the model is told the key by {kept:?} {protocol:?}");
}

#[test]
fn a_key_is_found_nowhere_but_where_it_is_kept_and_in_the_header_it_is_sent_in() {
    let mut cases: Vec<_> = Protocol::ALL
        .iter()
        .map(|protocol| (KeySource::Variable, *protocol))
        .collect();
    cases.push((KeySource::Profile, Protocol::Messages));
    cases.push((KeySource::Command, Protocol::Chat));
    cases.push((KeySource::Login, Protocol::Codex));
    together(&cases, |(kept, protocol)| {
        key_stays_secret(*kept, *protocol)
    });
}

/// The two halves of the key.
const HALVES: [&str; 2] = ["sk-canary-0", "b5e1d77aa42"];

/// A server that sends the key back: split over two texts, in arguments, whole, escaped and in errors, together with
/// the content of this file, which is the host's control token.
fn sends_back(token: PathBuf) -> Script {
    let [first, second] = HALVES;
    let escaped = CANARY.replace('-', "\\u002d");
    let script = Script::choose(move |request: &RecordedRequest| match request.index {
        0 => Round::text(format!("Your key: {first}"))
            .say(format!("{second}, isn't it?"))
            .call("ExecCommand", json!({ "cmd": format!("echo {CANARY}") }))
            .raw_call("ExecCommand", &format!("{{\"cmd\": \"echo {escaped}\"}}"))
            .raw_call("ExecCommand", &format!("echo {escaped}")),
        1 => {
            let token = std::fs::read_to_string(&token).unwrap();
            Round::text(format!("{CANARY} {token}")).reasoning(CANARY)
        }
        _ => Round::fault(Fault::Status {
            code: 400,
            headers: vec![("x-echo".to_owned(), CANARY.to_owned())],
            body: format!(
                "{{\"error\": {{\"message\": \"bad key {escaped}\", \"code\": \"{CANARY}\"}}}}"
            ),
        }),
    });
    script.key(CANARY)
}

#[test]
fn a_key_that_a_provider_sends_back_is_stored_and_shown_nowhere() {
    together(&Protocol::ALL, |protocol| {
        let world = world();
        let token = world.home().join("run/control.token");
        let provider = Provider::start(sends_back(token.clone()));
        let mut entry = Entry::new("fake", *protocol, provider.base_url());
        entry.auth = key_in("CANARY_KEY");
        configure(&world, "model.default = \"fake/model\"\n", &[entry]);
        let served = world.serve_with(&[], &[("RUST_LOG", "debug"), ("CANARY_KEY", CANARY)]);
        let token_text = std::fs::read_to_string(&token).unwrap();
        let secrets = [HALVES[0], HALVES[1], token_text.trim()];
        let mut said = String::new();
        for (code, words) in [(0, "[secret] [secret]"), (1, "bad key [secret]")] {
            let ran = world.run(&["run", "look", "--agent", "main", "--json"]);
            assert_eq!(ran.code, Some(code), "{protocol:?}: {ran:?}");
            assert!(format!("{ran:?}").contains(words), "{protocol:?}: {ran:?}");
            said.push_str(&format!("{ran:?}"));
        }
        for look in [
            "status",
            "transcript",
            "tail",
            "status --json",
            "transcript --json",
            "tail --json",
        ] {
            let args: Vec<&str> = look.split(' ').collect();
            said.push_str(&format!("{:?}", world.run(&args)));
        }
        assert!(said.contains("Your key: [secret]"), "{protocol:?}: {said}");
        assert!(said.contains("echo [secret]"), "{protocol:?}: {said}");
        // The token is in its own file, which outlives the host. The key is in no file.
        let assert_unstored = |secret: &str| {
            let holding = files_with(&world.home(), secret);
            let allowed = (secret == token_text.trim()).then(|| token.display().to_string());
            assert_eq!(holding, Vec::from_iter(allowed), "{protocol:?}");
        };
        for secret in secrets {
            assert!(!said.contains(secret), "{protocol:?}: {said}");
            assert_unstored(secret);
        }
        let (_, log) = served.terminate();
        for secret in secrets {
            assert!(!log.contains(secret), "{protocol:?}: {log}");
            assert_unstored(secret);
        }
        for request in provider.finish() {
            let body = String::from_utf8_lossy(&request.raw);
            assert!(!body.contains(HALVES[1]), "{protocol:?}: {body}");
        }
    });
}

/// Returns the output of an agent's `env`, as its model reads it.
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
    let looks = Script::choose(
        |request: &RecordedRequest| match request.tool_outputs().len() {
            0 => Round::text("I look.").call("ExecCommand", json!({ "cmd": "env" })),
            _ => Round::text("Seen."),
        },
    );
    let provider = Provider::start(looks);
    let first = Entry::new("first", Protocol::Chat, provider.base_url());
    configure(&world, "model.default = \"first/one\"\n", &[first]);
    let served = world.serve_with(&[], &[("WORK_LLM_KEY", CANARY)]);
    // Before the settings name it, it is a variable like any other.
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

    // A key stays secret after its provider is removed.
    told(&["set", "model.default", "first/one"]);
    told(&["providers", "remove", "work"]);
    assert!(!environment_of_a_command(&world, &provider).contains(CANARY));
    assert_eq!(served.terminate().0, Some(0));
    provider.finish();
}
