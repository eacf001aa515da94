//! `holon doctor` on healthy, empty and damaged homes.

use crate::support::{hello, world};
use holon_testkit::World;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt as _;

/// Runs the doctor; returns its exit code and its findings by check.
fn examine(world: &World) -> (Option<i32>, impl Fn(&str) -> (String, String)) {
    let ran = world.run(&["--json", "doctor"]);
    let report: Value = ran.json();
    let level = move |check: &str| {
        let findings = report["findings"].as_array().unwrap();
        let found = findings.iter().find(|finding| finding["check"] == check);
        let found = found.unwrap_or_else(|| panic!("{check} was not examined: {report}"));
        let text = |key: &str| found[key].as_str().unwrap_or_default().to_owned();
        (
            text("level"),
            format!("{} | {}", text("message"), text("next_step")),
        )
    };
    (ran.code, level)
}

#[test]
fn a_home_that_does_not_exist_lacks_only_a_model_and_is_not_created() {
    let world = world();
    let (code, finding) = examine(&world);
    assert_eq!(code, Some(1));
    let (level, words) = finding("models");
    assert_eq!(level, "error");
    assert!(words.contains("holon init"), "{words}");
    for check in [
        "home", "settings", "lock", "socket", "database", "memory", "terminal",
    ] {
        assert_eq!(finding(check).0, "ok", "{check}: {}", finding(check).1);
    }
    assert!(!world.home().exists());
}

#[test]
fn a_home_with_a_running_host_is_healthy() {
    let world = world();
    let model = hello(&world);
    let said = world.run(&["config", "set", "model.default", &model]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let _host = world.serve(&[]);
    let (code, finding) = examine(&world);
    for check in ["home", "settings", "lock", "socket", "database", "models"] {
        assert_eq!(finding(check).0, "ok", "{check}: {}", finding(check).1);
    }
    assert!(finding("socket").1.contains("the host answers"));
    assert_eq!(code, Some(0));
}

#[test]
fn the_model_of_a_running_host_counts_and_not_that_of_the_settings() {
    let world = world();
    let model = hello(&world);
    let served = world.serve(&["--model", &model]);
    let (code, finding) = examine(&world);
    let (level, words) = finding("models");
    assert_eq!(level, "ok", "{words}");
    assert!(words.contains(&format!("the host ask {model}")), "{words}");
    assert_eq!(code, Some(0));
    assert_eq!(served.terminate().0, Some(0));
    assert_eq!(examine(&world).1("models").0, "error");
}

#[test]
fn a_memory_index_that_is_not_complete_is_named_with_the_command_that_rebuilds_it() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    let ran = world.run(&["run", "hi", "--agent", "main"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let rebuilt = world.run(&["memory", "rebuild", "--agent", "main"]);
    assert_eq!(rebuilt.code, Some(0), "{rebuilt:?}");
    let (level, words) = examine(&world).1("memory");
    assert_eq!(level, "ok", "{words}");
    assert!(words.contains("complete, of 1 agent"), "{words}");
    assert_eq!(served.terminate().0, Some(0));
    let marker = world.home().join("agents/main/.holon/indexes/memory.dirty");
    std::fs::write(marker, "").unwrap();
    let (level, words) = examine(&world).1("memory");
    assert_eq!(level, "warning", "{words}");
    assert!(
        words.ends_with("holon memory rebuild --agent main"),
        "{words}"
    );
}

#[test]
fn each_damage_is_named_with_its_next_step() {
    let world = world();
    let model = hello(&world);
    assert_eq!(world.run(&["run", "hi", "--model", &model]).code, Some(0));
    let home = world.home();
    let database = home.join("state/holon.sqlite3");
    let mut bytes = std::fs::read(&database).unwrap();
    let second_page = 4096;
    bytes[second_page..].fill(0xa5);
    std::fs::write(&database, bytes).unwrap();
    std::fs::write(home.join("config.toml"), "model = [").unwrap();
    std::fs::write(home.join("run/holon.sock"), "not a socket").unwrap();
    let token = home.join("run/control.token");
    std::fs::write(&token, "a-token-of-the-operator-0123456789").unwrap();
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o644)).unwrap();
    std::fs::set_permissions(&home, std::fs::Permissions::from_mode(0o755)).unwrap();
    let (code, finding) = examine(&world);
    assert_eq!(code, Some(1));
    for (check, part) in [
        ("home", "chmod 700"),
        ("settings", "correct the settings file"),
        ("token", "delete it"),
        ("socket", "move it away"),
        ("database", "restore it from a backup"),
    ] {
        let (level, words) = finding(check);
        assert_eq!(level, "error", "{check}: {words}");
        assert!(words.contains(part), "{check}: {words}");
    }
}

#[test]
fn a_pipe_in_the_place_of_the_settings_is_named_instead_of_waited_for() {
    let world = world();
    let home = world.home();
    std::fs::create_dir(&home).unwrap();
    std::fs::set_permissions(&home, std::fs::Permissions::from_mode(0o700)).unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(home.join("config.toml"))
        .status();
    assert!(made.unwrap().success());
    let (code, finding) = examine(&world);
    assert_eq!(code, Some(1));
    assert!(finding("settings").1.contains("not a regular file"));
}
