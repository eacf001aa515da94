//! Settings that change while a host runs: taken over for later turns, or refused with the reason.

use crate::looking::follow;
use crate::support::{http, record, world};
use holon_testkit::World;
use rustix::process::Signal;
use serde_json::json;
use std::os::unix::fs::PermissionsExt as _;

/// Writes a settings file whose model answers with this text, and returns the model.
fn write_settings(world: &World, name: &str) -> String {
    let model = world.model(name, &json!([{ "text": format!("I am {name}.") }]));
    world.write(
        "holon/config.toml",
        &format!("[model]\ndefault = {model:?}\n"),
    );
    let private = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(world.home(), private).unwrap();
    model
}

/// Returns the agent's answer to its n-th prompt.
fn answer_to_prompt(world: &World, nth: usize) -> String {
    assert_eq!(world.run(&["prompt", "who are you?"]).code, Some(0));
    let told = follow(world, "main", nth);
    told[nth - 1]["text"].as_str().unwrap().to_owned()
}

#[test]
fn a_running_host_takes_a_change_over_for_turns_to_come() {
    let world = world();
    write_settings(&world, "first");
    let served = world.serve(&[]);
    assert_eq!(answer_to_prompt(&world, 1), "I am first.");
    let second = world.model("second", &json!([{ "text": "I am second." }]));
    let set = world.run(&["config", "set", "model.default", &second, "--json"]);
    assert_eq!(set.json()["applied_via"], "daemon");
    assert_eq!(answer_to_prompt(&world, 2), "I am second.");
    let key = "retention.event_budget_bytes";
    let late = world.run(&["config", "set", key, "2000000"]);
    assert!(
        late.stderr
            .contains("counts from the next start of the host on: retention.event_budget_bytes"),
        "{late:?}"
    );
    assert_eq!(served.terminate().0, Some(0));
    let offline = world.run(&["config", "unset", key, "--json"]);
    assert_eq!(offline.json()["applied_via"], "offline_store");
}

#[test]
fn a_change_the_host_cannot_use_is_told_and_the_host_goes_on_as_before() {
    let world = world();
    write_settings(&world, "first");
    let served = world.serve_with(&[], &[("HOLON_MAX_TOOL_OUTPUT_TOKENS", "1000")]);
    let args = [
        "config",
        "set",
        "runtime.default_tool_output_tokens",
        "5000",
    ];
    let refused = world.run(&args);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(
        refused
            .stderr
            .contains("the running host did not take it over: "),
        "{}",
        record(&world, &args, &refused)
    );
    assert_eq!(answer_to_prompt(&world, 1), "I am first.");
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_file_that_was_broken_by_hand_is_refused_and_the_old_settings_stay() {
    let world = world();
    write_settings(&world, "first");
    let served = world.serve(&[]);
    world.write("holon/config.toml", "[model\n");
    let token = std::fs::read_to_string(world.home().join("run/control.token")).unwrap();
    let ask = |request: &str| {
        let (addr, token) = (&served.addr, token.trim());
        let head = format!("Host: localhost\nAuthorization: Bearer {token}\nConnection: close\n");
        http(
            addr,
            &format!("{request} HTTP/1.1\n{head}Content-Length: 0\n\n"),
        )
    };
    let answer = ask("POST /control/runtime/reload");
    assert!(answer.starts_with("HTTP/1.1 409 "), "{answer}");
    assert!(
        answer.contains("invalid_settings") && answer.contains("is not valid TOML"),
        "{answer}"
    );
    let status = ask("GET /status");
    assert!(status.contains("first.json"), "{status}");
    write_settings(&world, "second");
    // Only the signal asks the host to reload.
    served.signal(Signal::HUP);
    served.wait_for_log("settings were read again changed=[\"model.default\"]");
    assert_eq!(answer_to_prompt(&world, 1), "I am second.");
    let (code, log) = served.terminate();
    assert_eq!(code, Some(0));
    assert!(
        log.contains("settings were read again and cannot be used"),
        "{log}"
    );
}

#[test]
fn a_file_that_was_broken_by_hand_keeps_no_client_from_the_running_host() {
    let world = world();
    write_settings(&world, "first");
    let served = world.serve(&[]);
    world.write("holon/config.toml", "[model\n");
    for args in [
        ["status"].as_slice(),
        &["tail"],
        &["transcript"],
        &["agent", "list"],
        &["agent", "model", "get"],
        &["prompt", "who are you?"],
        &["run", "who are you?"],
    ] {
        let ran = world.run(args);
        assert_eq!(ran.code, Some(0), "{args:?}: {ran:?}");
        let lines: Vec<&str> = ran.stderr.lines().collect();
        let [warning] = lines.as_slice() else {
            panic!("one line is said beside: {args:?}: {ran:?}");
        };
        assert!(
            warning.starts_with("warning: config.toml is left out: ")
                && warning.contains("line 1, column 7"),
            "{warning}"
        );
    }
    let set = world.run(&["config", "set", "runtime.max_output_tokens", "10"]);
    assert_eq!(set.code, Some(1), "{set:?}");
    assert_eq!(served.terminate().0, Some(0));
    let alone = world.run(&["run", "hi"]);
    assert_eq!(alone.code, Some(1), "{alone:?}");
    assert!(alone.stderr.contains("error: "), "{alone:?}");
    let absent = world.run(&["status"]);
    assert_eq!(absent.code, Some(3), "{absent:?}");
}
